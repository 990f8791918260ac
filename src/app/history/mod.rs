//! Figures over commits: the runs of a store become series, each with what happened to it.

mod accepted;
mod job;
mod load;
mod rows;
mod selection;
mod source;

pub(crate) use job::{JobRun, TrendsOfJob, trends_of_job};
pub(crate) use rows::{RowsOfMachine, trends_of_rows};

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use super::paths::project_root;
use super::request::SelectionRequest;
use super::store::stores::{Stored, Stores};
use crate::github::Slug;
use crate::history::Address;
use crate::model::text::{count, list};
use crate::model::{BenchmarkId, CaseId, Fault, Result, Strictness, near};
use crate::store::FrameFile;
use crate::suite::{Benchmark, Suite, has_params};
use crate::trend::{SeriesFilter, TrendRun, TrendSeries, TrendTable, TrendsDocument, trends_of};
use load::LoadedTrends;
use selection::{CaseSelection, RunSelection};
use source::TrendSource;

/// The branch that the workflows of `init --github` keep the history on.
pub(crate) const USUAL_BRANCH: &str = "git:gbench-history";

/// The same branch at GitHub.
pub(crate) fn usual_branch_of(slug: &Slug) -> String {
    format!("github:{slug}@gbench-history")
}

/// Runs that are shown unless more are asked for: of a nightly suite on one machine, more than a year.
pub(crate) const USUAL_RUNS: usize = 400;

/// Nights before a pull request's head that its comment shows.
const SHOWN_RUNS: usize = 30;

/// Runs, cases and metrics to show.
#[derive(Clone, Debug)]
pub(crate) struct HistoryRequest {
    pub config: Option<PathBuf>,
    pub store: Option<String>,
    /// A glob over the names of cases and of benchmarks.
    pub case: Option<String>,
    /// Suites by name; empty: all.
    pub suites: Vec<String>,
    /// `n=32,64`: cases with one of these values.
    pub params: Vec<String>,
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
    /// Reads the history. Errors: no such store, a case or a metric that no run has, an invalid time.
    pub(crate) fn document(&self, builtins: &[Benchmark]) -> Result<TrendsDocument> {
        let [since, branch, label] = [&self.since, &self.branch, &self.label].map(Option::as_deref);
        let runs = RunSelection::new(since, branch, label, self.runs)?;
        let cases =
            CaseSelection::new(self.case.as_deref(), self.metric.as_deref(), &self.suites, &self.params)?;
        let suite = SelectionRequest::of_file(self.config.clone()).suite(builtins)?;
        let (stored, address) = self.stored(&suite)?;
        let source = TrendSource::of(&stored)?;
        let cache = load::cache_file(&suite, &address)?;
        let (match_key, renamed) = (match_key(&suite), renamed(&suite));
        // A benchmark is found under the name that it had before, too.
        let takes = |case: &CaseId, metric: &str| {
            let before = || renamed.iter().filter(|(_, now)| **now == case.benchmark);
            let mut former = before().map(|(before, _)| CaseId { benchmark: before.clone(), ..case.clone() });
            cases.takes(case, metric) || former.any(|former| cases.takes(&former, metric))
        };
        let read = |runs: &RunSelection<'_>| {
            let filter = SeriesFilter { run: &|run| runs.takes(run), series: &takes, renamed: &renamed };
            load::load(&source, &cache, runs, filter, None, &match_key)
        };
        let LoadedTrends { mut table, dictionary, left_out, mut warnings } = read(&runs)?;
        if table.runs.is_empty() {
            let all = if runs.is_narrowed() { read(&RunSelection::all())?.table } else { table };
            return Err(match all.runs.iter().map(day).max() {
                Some(newest) => no_such_run(&all, newest, &address),
                None => no_run(&address, self.store.is_some()),
            });
        }
        if table.series.is_empty() && table.unmeasured.is_empty() {
            let elsewhere = read(&RunSelection::all())?.table;
            return Err(if elsewhere.series.is_empty() {
                unknown_name(&source, &cache, &cases)?
            } else {
                not_in_these_runs(&elsewhere)
            });
        }
        if self.metric.is_none() {
            table.series.retain(|series| series.judged && series.better.is_some());
        }
        if table.series.is_empty() && table.unmeasured.is_empty() {
            let what = "no metric in it is one that the gate judges by";
            return Err(Fault::at(format!("store `{address}`"), what, "show every metric: `--metric '*'`"));
        }
        warnings.extend(forgetful_names(&stored, &suite));
        let trends = trends_of(&table, &dictionary, &match_key);
        let mut document = TrendsDocument::new(address.to_string(), &table, &trends, (left_out, warnings));
        accepted::mark(&mut document, &stored, &project_root(&suite)?)?;
        Ok(document)
    }

    /// The store that is named, else the suite's; where that is a folder in which no record is kept, the branch that the
    /// workflows write.
    fn stored(&self, suite: &Suite) -> Result<(Rc<Stored>, Address)> {
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
}

/// Benchmarks of the suite by the names that they had before.
fn renamed(suite: &Suite) -> BTreeMap<BenchmarkId, BenchmarkId> {
    let named = |benchmark: &Benchmark| Some((benchmark.renamed_from.clone()?, benchmark.id.clone()));
    suite.benchmarks.iter().filter_map(named).collect()
}

fn match_key(suite: &Suite) -> BTreeMap<String, Strictness> {
    suite.gate.match_key.iter().map(|(field, setting)| (field.clone(), setting.value)).collect()
}

/// That names of a folder are full: with the next run that is saved the oldest is dropped, and the series never grow.
fn forgetful_names(stored: &Stored, suite: &Suite) -> Option<String> {
    let Stored::Folder(store) = stored else { return None };
    let keep = suite.run.keep.value as usize;
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    store.list().iter().for_each(|entry| *runs.entry(entry.name.to_string()).or_default() += 1);
    let full: Vec<String> =
        runs.into_iter().filter(|(_, runs)| *runs >= keep).map(|(name, _)| format!("`{name}`")).collect();
    (keep < USUAL_RUNS && !full.is_empty()).then(|| {
        format!(
            "{} keeps its newest {}, and older ones are dropped: set `keep = {USUAL_RUNS}` in [run] of the suite file",
            list(&full, 3),
            count(keep, "run")
        )
    })
}

fn day(run: &TrendRun) -> &str {
    run.started.get(..10).unwrap_or(&run.started)
}

/// `is_named`: by `--store`.
fn no_run(address: &Address, is_named: bool) -> Fault {
    let place = format!("store `{address}`");
    match address {
        Address::Dir(folder) if is_named && !folder.is_dir() => Fault::at(
            place,
            "there is no such folder",
            "name one in which `gbench-ci baseline save` keeps runs",
        ),
        Address::Dir(_) => {
            let next = "save one with `gbench-ci baseline save NAME`, or name a branch: `--store git:gbench-history`";
            Fault::at(place, "no run is kept here", next)
        }
        _ => {
            let next = format!("add one: `gbench-ci publish --history {address}`");
            Fault::at(place, "no run is kept here", next)
        }
    }
}

/// The store has other runs. `all`: of these, `newest`: day of the newest of them.
fn no_such_run(all: &TrendTable, newest: &str, address: &Address) -> Fault {
    let place = |run: &TrendRun| match run.label.as_str() {
        "" => run.branch.clone(),
        label => format!("{} on {label}", run.branch),
    };
    let places: BTreeSet<String> = all.runs.iter().map(place).collect();
    let places: Vec<String> = places.into_iter().collect();
    let what = "no run is of this time, branch and label";
    let there = format!("there are runs of {}, the newest of {newest}", list(&places, 8));
    Fault::at(
        format!("store `{address}`"),
        what,
        format!("change `--since`, `--branch` or `--label`: {there}"),
    )
}

fn not_in_these_runs(elsewhere: &TrendTable) -> Fault {
    let newest = elsewhere.series.iter().max_by_key(|series| series.points.last().map(|point| point.run));
    let run = newest.and_then(|series| elsewhere.runs.get(series.points.last()?.run as usize));
    let last =
        run.map_or(String::new(), |run| format!("; the last one is of {} on {}", day(run), run.branch));
    let what = format!("it has no figure in these runs{last}");
    let place = newest.map_or_else(String::new, |series| series.id.case.to_string());
    Fault::at(place, what, "take more runs: `--runs 0`, and leave out `--since`, `--branch` and `--label`")
}

fn unknown_name(source: &TrendSource<'_>, cache: &FrameFile, cases: &CaseSelection<'_>) -> Result<Fault> {
    let all = SeriesFilter { run: &|_| true, series: &|_, _| true, renamed: &BTreeMap::new() };
    let table = load::load(source, cache, &RunSelection::all(), all, None, &BTreeMap::new())?.table;
    let is_case_known = table.series.iter().any(|series| cases.takes_case(&series.id.case));
    let is_of_suite = |series: &&TrendSeries| cases.takes_suite(&series.id.case);
    let (place, text, what, mut known): (_, _, _, Vec<String>) = match (&cases.case, &cases.metric) {
        _ if !table.series.iter().any(|series| is_of_suite(&series)) => {
            let suites = table.series.iter().map(|series| series.id.case.benchmark.suite().to_owned());
            let asked = cases.suites.join(",");
            let text = cases.suites.first().copied().unwrap_or_default();
            (format!("--suite {asked}"), text, "no run has a suite of this name", suites.collect())
        }
        _ if !table.series.iter().any(|series| has_params(&series.id.case.params, &cases.params)) => {
            let asked = cases.params.iter().map(|(name, values)| format!("{name}={}", values.join(",")));
            let of_suite = table.series.iter().filter(is_of_suite);
            let names: BTreeSet<&String> = cases.params.iter().map(|(name, _)| name).collect();
            let written = |series: &TrendSeries| {
                let params = series.id.case.params.iter().filter(|(name, _)| names.contains(name));
                params.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
            };
            let known = of_suite.flat_map(written).collect();
            let what = "no case has these parameters";
            (format!("--param {}", asked.collect::<Vec<_>>().join(" ")), "", what, known)
        }
        (Some((text, _)), _) if !is_case_known => {
            let name = |series: &TrendSeries| series.id.case.benchmark.to_string();
            let own = |series: &&TrendSeries| {
                let benchmark = &series.id.case.benchmark;
                text.split_once('[').is_some_and(|(of, _)| of == benchmark.as_str() || of == benchmark.name())
            };
            // If the benchmark exists, one of its cases is meant.
            let cases: Vec<String> =
                table.series.iter().filter(own).map(|series| series.id.case.to_string()).collect();
            let known = if cases.is_empty() { table.series.iter().map(name).collect() } else { cases };
            ((*text).to_owned(), *text, "no run has a case of this name", known)
        }
        (_, Some((text, _))) => {
            let of_case = table.series.iter().filter(|series| cases.takes_case(&series.id.case));
            let known = of_case.map(|series| series.id.metric.clone()).collect();
            (format!("--metric {text}"), *text, "no run has a metric of this name", known)
        }
        _ => ("the history".to_owned(), "", "no run has any figure", Vec::new()),
    };
    known.sort();
    known.dedup();
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let next = match (near(text, &names), names.is_empty()) {
        (close, _) if !close.is_empty() => format!("did you mean {}?", close.join(" or ")),
        (_, false) => format!("there are {}", list(&known, 8)),
        (_, true) => "look at what failed: `gbench-ci baseline list` names the runs".to_owned(),
    };
    Ok(Fault::at(place, what, next))
}
