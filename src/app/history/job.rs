//! The history of what a measuring job has just measured, with the job's own run as the newest.

use std::collections::HashSet;

use super::load::{self, LoadedTrends};
use super::selection::RunSelection;
use super::source::TrendSource;
use super::{SHOWN_RUNS, USUAL_BRANCH, USUAL_RUNS, accepted, match_key, renamed};
use crate::app::paths::project_root;
use crate::app::store::stores::{Stored, Stores};
use crate::model::{CaseId, Result, RunRecord, Shard};
use crate::suite::Suite;
use crate::trend::{SeriesFilter, TrendRun, TrendsDocument, V1Series, trends_of};

pub(crate) struct JobRun<'r> {
    pub record: &'r RunRecord,
    pub commit: &'r str,
    /// The branch whose history it continues: of a pull request the one that it is to be merged into.
    pub branch: &'r str,
    /// The machine of a matrix; empty for the only one.
    pub label: &'r str,
    pub event: &'r str,
    pub shard: Option<Shard>,
}

pub(crate) enum TrendsOfJob<'r> {
    /// These cases and metrics, with the 30 runs before it.
    Rows(HashSet<(&'r CaseId, &'r str)>),
    /// Those of the judged series in which something happened.
    Findings,
}

/// The document about a job; `None` where there is no history yet, or nothing in it that is wanted. `suite`: of the checkout;
/// `store`: the address of the history, else the usual branch. Errors: the history is there and cannot be read.
pub(crate) fn trends_of_job(
    suite: &Suite,
    store: Option<&str>,
    run: &JobRun<'_>,
    wanted: &TrendsOfJob<'_>,
) -> Result<Option<TrendsDocument>> {
    let stored = Stores::new(Some(store.unwrap_or(USUAL_BRANCH))).of(Some(suite))?;
    let Stored::Branch(branch) = &*stored else { return Ok(None) };
    if !branch.history()?.is_there()? {
        return Ok(None);
    }
    let source = TrendSource::of(&stored)?;
    let cache = load::cache_file(suite, branch.address())?;
    // A night of a matrix is as many runs as it has parts.
    let parts = run.shard.map_or(1, |shard| shard.of as usize);
    let nights = match wanted {
        TrendsOfJob::Rows(_) => SHOWN_RUNS,
        TrendsOfJob::Findings => USUAL_RUNS,
    };
    let runs = RunSelection::new(None, Some(run.branch), Some(run.label), nights * parts)?;
    let measured: HashSet<&CaseId> = run.record.cases.iter().map(|case| &case.id).collect();
    let filter = SeriesFilter {
        run: &|run| runs.takes(run),
        series: &|case, metric| match wanted {
            TrendsOfJob::Rows(rows) => rows.contains(&(case, metric)),
            TrendsOfJob::Findings => !metric.is_empty() && measured.contains(case),
        },
        renamed: &renamed(suite),
    };
    let own = TrendRun {
        run_id: run.record.run_id.clone(),
        started: run.record.started.clone(),
        commit: run.commit.to_owned(),
        branch: run.branch.to_owned(),
        label: run.label.to_owned(),
        event: run.event.to_owned(),
        conclusion: None,
    };
    let match_key = match_key(suite);
    let loaded = load::load(&source, &cache, &runs, filter, Some((own, run.record)), &match_key)?;
    let LoadedTrends { mut table, dictionary, left_out, warnings } = loaded;
    if let TrendsOfJob::Findings = wanted {
        table.series.retain(|series| series.judged && series.better.is_some());
    }
    let trends = trends_of(&table, &dictionary, &match_key);
    let address = branch.address().to_string();
    let mut document = TrendsDocument::new(address, &table, &trends, (left_out, warnings));
    document.unmeasured.clear();
    let newest = document.runs.len().saturating_sub(1) as u32;
    match wanted {
        // A row that the history does not know shows nothing.
        TrendsOfJob::Rows(_) => document.series.retain(|series| {
            series.points.len() > 1 && series.points.last().is_some_and(|point| point.run == newest)
        }),
        TrendsOfJob::Findings => {
            accepted::mark(&mut document, &stored, &project_root(suite)?)?;
            document.series.retain(has_findings);
        }
    }
    Ok(Some(document))
}

fn has_findings(series: &V1Series) -> bool {
    !series.changes.is_empty() || !series.withdrawn.is_empty() || series.drift.is_some()
}
