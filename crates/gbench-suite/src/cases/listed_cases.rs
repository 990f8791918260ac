//! Gives a benchmark the cases that its harness has listed.

use std::collections::{BTreeMap, HashSet};

use globset::{GlobBuilder, GlobMatcher};

use crate::benchmark::definition::Benchmark;
use crate::benchmark::harness::{FailedBuild, Listing};
use gbench_formats::adapters::CaseName;
use gbench_model::{Isolation, ParamValue, Thermal};

/// The parameter that holds the name of a case in its harness.
pub(super) const CASE: &str = "case";

/// `*` crosses `/` here: names of cases are no paths.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(false).build()?.compile_matcher())
}

impl Benchmark {
    /// Takes the cases that its harness has listed: each a point with the parameter `case` and those that the harness names.
    /// `cases` of the suite file chooses among them, by a glob or by a name as it is listed: brackets, which names of cases
    /// may have, are a class in a glob.
    pub fn take_cases(&mut self, found: Vec<CaseName>) {
        let Some(entry) = &mut self.harness else { return };
        let names = |case: &CaseName| [case.native.clone(), case.case.clone()];
        let listed: HashSet<String> = found.iter().flat_map(names).collect();
        // `None`: the name of a case, which is no pattern.
        let compiled =
            |pattern: &String| (pattern.clone(), matcher(pattern).ok().filter(|_| !listed.contains(pattern)));
        let globs: Vec<(String, Option<GlobMatcher>)> = entry.cases.iter().map(compiled).collect();
        let fits = |(pattern, glob): &(String, Option<GlobMatcher>), case: &CaseName| {
            let mut names = [&case.native, &case.case].into_iter();
            names.any(|name| glob.as_ref().map_or(name == pattern, |glob| glob.is_match(name)))
        };
        let missed = globs.iter().filter(|glob| !found.iter().any(|case| fits(glob, case)));
        entry.unmatched = missed.map(|(pattern, _)| pattern.clone()).collect();
        let chosen = |case: &CaseName| globs.is_empty() || globs.iter().any(|glob| fits(glob, case));
        let mut names = BTreeMap::new();
        self.points.clear();
        for case in found.into_iter().filter(chosen) {
            let mut point = case.params;
            if !case.case.is_empty() {
                point.insert(CASE.into(), ParamValue::Text(case.case));
            }
            if !entry.selects(&point) {
                continue;
            }
            self.points.push(point.clone());
            names.insert(point, case.native);
        }
        entry.listing = Listing::Listed(names);
    }

    /// Takes the cases of the same benchmark on the other side, where its own could not be listed: they are what was to be
    /// measured.
    pub fn take_points_of(&mut self, other: &Benchmark) {
        self.points = other.points.clone();
    }

    /// Whether several of its cases may share a process in a round. `screening`: the processes of the round screen, and
    /// candidates have others of their own.
    pub fn shares(&self, screening: bool) -> bool {
        let by_harness = match self.settings.isolation.value {
            Isolation::Shared => true,
            Isolation::SharedScreen => screening,
            Isolation::Process => false,
        };
        let warm = self.settings.thermal.value != Thermal::Cold;
        warm && (self.settings.share.value || (self.harness.is_some() && by_harness))
    }

    /// The harness whose cases it has, or `python` for modules.
    pub fn measured_by(&self) -> Option<&'static str> {
        self.harness.as_ref().map(|entry| if self.python().is_some() { "python" } else { entry.name() })
    }

    /// The build step that failed when its cases were to be listed.
    pub fn failed_build(&self) -> Option<&FailedBuild> {
        match &self.harness.as_ref()?.listing {
            Listing::NotBuilt(failed) => Some(failed),
            _ => None,
        }
    }

    /// Whether it has the cases that its harness has listed.
    pub fn is_listed(&self) -> bool {
        self.harness.as_ref().is_some_and(|entry| matches!(entry.listing, Listing::Listed(_)))
    }

    /// Whether its cases are still to be listed.
    pub fn is_unlisted(&self) -> bool {
        let open = |listing: &Listing| {
            matches!(listing, Listing::Unlisted | Listing::Unmet { .. } | Listing::NotBuilt(_))
        };
        self.harness.as_ref().is_some_and(|entry| open(&entry.listing))
    }
}
