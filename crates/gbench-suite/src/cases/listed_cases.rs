//! Gives a benchmark the cases that its harness has listed.

use std::collections::{BTreeMap, HashSet};

use globset::{GlobBuilder, GlobMatcher};

use crate::benchmark::definition::Benchmark;
use crate::benchmark::harness::{CASE, FailedBuild, Listing};
use gbench_formats::adapters::CaseName;
use gbench_model::{Isolation, ParamValue, Thermal};

/// `*` also matches `/`: names of cases are not paths.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(false).build()?.compile_matcher())
}

impl Benchmark {
    /// Sets the cases that the harness has listed: each is a point with the parameter `case` and the harness's own parameters.
    /// `cases` of the suite file selects among them by glob or by listed name, because brackets in a name are a class in a
    /// glob.
    pub fn take_cases(&mut self, found: Vec<CaseName>) {
        let Some(entry) = &mut self.harness else { return };
        let names = |case: &CaseName| [case.native.clone(), case.case.clone()];
        let listed: HashSet<String> = found.iter().flat_map(names).collect();
        // `None`: the name of a case, not a pattern.
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

    /// Sets the other side's cases, if its own could not be listed.
    pub fn take_points_of(&mut self, other: &Benchmark) {
        self.points = other.points.clone();
    }

    /// True if several of its cases may share a process in a round. `screening`: the round screens, and candidates have
    /// separate processes.
    pub fn shares(&self, screening: bool) -> bool {
        let by_harness = match self.settings.isolation.value {
            Isolation::Shared => true,
            Isolation::SharedScreen => screening,
            Isolation::Process => false,
        };
        let warm = self.settings.thermal.value != Thermal::Cold;
        warm && (self.settings.share.value || (self.harness.is_some() && by_harness))
    }

    pub fn measured_by(&self) -> Option<&'static str> {
        self.harness.as_ref().map(|entry| if self.python().is_some() { "python" } else { entry.name() })
    }

    pub fn failed_build(&self) -> Option<&FailedBuild> {
        match &self.harness.as_ref()?.listing {
            Listing::NotBuilt(failed) => Some(failed),
            _ => None,
        }
    }

    pub fn is_listed(&self) -> bool {
        self.harness.as_ref().is_some_and(|entry| matches!(entry.listing, Listing::Listed(_)))
    }

    pub fn is_unlisted(&self) -> bool {
        let open = |listing: &Listing| {
            matches!(listing, Listing::Unlisted | Listing::Unmet { .. } | Listing::NotBuilt(_))
        };
        self.harness.as_ref().is_some_and(|entry| open(&entry.listing))
    }
}
