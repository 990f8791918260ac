//! Figures over commits: the runs of a store become series, each with what happened to it.

mod load;
mod source;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use globset::{Glob, GlobMatcher};

use super::request::SelectionRequest;
use super::stores::{Stored, Stores};
use crate::model::{CaseId, Exit, Fault, Result, near};
use crate::store::Address;
use crate::suite::{Benchmark, Suite};
use crate::trend::{SeriesFilter, TrendRun, TrendsDocument, trends_of};
use load::LoadedTrends;
use source::TrendSource;

/// The branch that the workflows of `init --github` keep the history on.
const USUAL_BRANCH: &str = "git:gbench-history";

/// Runs that are shown unless more are asked for: of a nightly suite, more than a year.
pub const USUAL_RUNS: usize = 400;

/// What of a history is wanted.
#[derive(Clone, Debug)]
pub struct HistoryRequest {
    pub config: Option<PathBuf>,
    /// `--store`.
    pub store: Option<String>,
    /// The name of a case or a benchmark, or a glob over benchmarks.
    pub case: Option<String>,
    /// A glob over metrics; absent: those that the gate judges by.
    pub metric: Option<String>,
    /// A date, a time, or how long ago.
    pub since: Option<String>,
    pub branch: Option<String>,
    pub label: Option<String>,
    /// The newest runs that are shown; 0: all.
    pub runs: usize,
}

impl HistoryRequest {
    /// Reads the history. Errors: no such store, a case or a metric that no run has, a time that is none.
    pub fn document(&self, builtins: &[Benchmark]) -> Result<TrendsDocument> {
        let since = self.since.as_deref().map(|text| since(text, SystemTime::now())).transpose()?;
        let selection = CaseFilter::new(self)?;
        let suite = SelectionRequest::of_file(self.config.clone()).suite(builtins)?;
        let (stored, address) = self.stored(&suite)?;
        let source = TrendSource::of(&stored)?;
        let cache = load::cache_file(&suite, &address)?;
        let is_wanted = |run: &TrendRun| {
            since.as_ref().is_none_or(|since| run.started >= *since)
                && self.branch.as_ref().is_none_or(|branch| *branch == run.branch)
                && self.label.as_ref().is_none_or(|label| *label == run.label)
        };
        let series = |case: &CaseId, metric: &str| selection.takes(case, metric);
        let filter = SeriesFilter { run: &is_wanted, series: &series };
        let LoadedTrends { mut table, dictionary, warnings } =
            load::load(&source, cache.as_ref(), filter, self.newest())?;
        if self.metric.is_none() {
            table.series.retain(|series| series.judged && series.better.is_some());
        }
        if table.runs.is_empty() {
            return Err(self.no_run(&address));
        }
        if table.series.is_empty() && table.unmeasured.is_empty() {
            return Err(selection.nothing(&source, cache.as_ref()));
        }
        let match_key: BTreeMap<_, _> =
            suite.gate.match_key.iter().map(|(field, setting)| (field.clone(), setting.value)).collect();
        let trends = trends_of(&table, &dictionary, &match_key);
        Ok(TrendsDocument::new(address.to_string(), &table, &trends, warnings))
    }

    /// Runs that are looked at, the newest ones.
    fn newest(&self) -> usize {
        if self.runs == 0 { usize::MAX } else { self.runs }
    }

    /// The store that is named, else the suite's; where that is a folder in which no record is kept, the branch that the workflows write.
    fn stored(&self, suite: &Suite) -> Result<(std::rc::Rc<Stored>, Address)> {
        let stored = Stores::new(self.store.as_deref()).of(Some(suite))?;
        let address = |stored: &Stored| match stored {
            Stored::Folder(store) => Address::Dir(store.root().to_owned()),
            Stored::Branch(branch) => branch.address().clone(),
        };
        let is_bare = matches!(&*stored, Stored::Folder(store) if store.names().is_empty());
        if self.store.is_none() && is_bare {
            let usual = Stores::new(Some(USUAL_BRANCH)).of(Some(suite));
            if let Ok(usual) = usual
                && let Stored::Branch(branch) = &*usual
                && branch.need().is_ok()
            {
                let address = address(&usual);
                return Ok((usual, address));
            }
        }
        let address = address(&stored);
        Ok((stored, address))
    }

    fn no_run(&self, address: &Address) -> Fault {
        let is_narrowed = self.since.is_some() || self.branch.is_some() || self.label.is_some();
        let (what, next) = match (address, is_narrowed) {
            (_, true) => (
                "no run is of this time, branch and label",
                "leave out `--since`, `--branch` and `--label`, and see what is there".to_owned(),
            ),
            (Address::Dir(_), false) => (
                "no run is kept here",
                "save one with `gbench-ci baseline save NAME`, or name a branch: `--store git:gbench-history`".to_owned(),
            ),
            (_, false) => {
                ("no run is kept here", format!("add one: `gbench-ci publish --history {address}`"))
            }
        };
        Fault::at(format!("store `{address}`"), what, next)
    }
}

/// Which cases and metrics are wanted.
struct CaseFilter<'r> {
    case: Option<(&'r str, Option<GlobMatcher>)>,
    metric: Option<(&'r str, GlobMatcher)>,
}

impl<'r> CaseFilter<'r> {
    fn new(request: &'r HistoryRequest) -> Result<Self> {
        let glob = |flag: &str, text: &str| {
            let glob = Glob::new(text).map(|glob| glob.compile_matcher());
            glob.map_err(|error| {
                let what = format!("`{}` is no glob: {}", text.escape_debug(), error.kind());
                Fault::at_flag(format!("{flag} {text}"), what, "write a name, or `*` for any part of one")
            })
        };
        // Parameters stand in brackets, which mean something else to a glob: such a name is taken as it is.
        let case = request.case.as_deref().map(|text| (text, glob("CASE", text).ok()));
        let metric = request.metric.as_deref();
        let metric = metric.map(|text| glob("--metric", text).map(|glob| (text, glob))).transpose()?;
        Ok(Self { case, metric })
    }

    /// `metric`: empty for a case without figures.
    fn takes(&self, case: &CaseId, metric: &str) -> bool {
        let of_case = self.case.as_ref().is_none_or(|(text, glob)| {
            let (id, name) = (case.benchmark.as_str(), case.benchmark.name());
            let is_meant = |glob: &GlobMatcher| glob.is_match(id) || glob.is_match(name);
            id == *text || name == *text || case.to_string() == *text || glob.as_ref().is_some_and(is_meant)
        });
        of_case && (metric.is_empty() || self.metric.as_ref().is_none_or(|(_, glob)| glob.is_match(metric)))
    }

    /// No series is as wanted: what there is instead.
    fn nothing(&self, source: &TrendSource<'_>, cache: Option<&crate::store::FrameFile>) -> Fault {
        let all = SeriesFilter { run: &|_| true, series: &|_, _| true };
        let table = load::load(source, cache, all, USUAL_RUNS).map(|loaded| loaded.table).unwrap_or_default();
        let (place, what, known) = match (&self.case, &self.metric) {
            (Some((text, _)), _) if !table.series.iter().any(|series| self.takes(&series.id.case, "")) => {
                let known = table.series.iter().map(|series| series.id.case.benchmark.to_string()).collect();
                ((*text).to_owned(), "no run has a case of this name", known)
            }
            (_, Some((text, _))) => {
                let known = table.series.iter().map(|series| series.id.metric.clone()).collect();
                (format!("--metric {text}"), "no run has a metric of this name", known)
            }
            _ => ("the history".to_owned(), "no metric in it is one that the gate judges by", Vec::new()),
        };
        let mut known: Vec<String> = known;
        known.sort();
        known.dedup();
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let close = match (self.case.as_ref(), self.metric.as_ref()) {
            (_, Some((text, _))) if place.starts_with("--metric") => near(text, &names),
            (Some((text, _)), _) => near(text, &names),
            _ => Vec::new(),
        };
        let next = match (close.is_empty(), names.is_empty()) {
            (false, _) => format!("did you mean {}?", close.join(" or ")),
            (true, false) => {
                format!("there are {}", crate::model::text::list(&known, 8))
            }
            (true, true) => "show every metric: `--metric '*'`".to_owned(),
        };
        Fault::at(place, what, next).exits(Exit::Usage)
    }
}

/// The start of the runs that are meant, RFC 3339: `2026-11-01`, `2026-11-01T12:00:00Z`, or how long ago, `30d`.
fn since(text: &str, now: SystemTime) -> Result<String> {
    let date = format!("{text}T00:00:00Z");
    let time = humantime::parse_rfc3339(text).or_else(|_| humantime::parse_rfc3339(&date)).ok();
    let ago = || humantime::parse_duration(text).ok().and_then(|ago: Duration| now.checked_sub(ago));
    let time = time.or_else(ago).ok_or_else(|| {
        let what = format!("`{}` is neither a date nor a time span", text.escape_debug());
        Fault::at_flag(format!("--since {text}"), what, "write 2026-11-01, or 30d for the last 30 days")
    })?;
    Ok(humantime::format_rfc3339_millis(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_takes_a_date_a_time_or_how_long_ago() {
        let now = humantime::parse_rfc3339("2026-11-23T12:00:00Z").unwrap();
        assert_eq!(since("2026-11-01", now).unwrap(), "2026-11-01T00:00:00.000Z");
        assert_eq!(since("2026-11-01T10:00:00Z", now).unwrap(), "2026-11-01T10:00:00.000Z");
        assert_eq!(since("2d", now).unwrap(), "2026-11-21T12:00:00.000Z");
        for wrong in ["", "yesterday", "2026-13-01", "9999999999999999y"] {
            assert!(since(wrong, now).is_err(), "{wrong}");
        }
    }
}
