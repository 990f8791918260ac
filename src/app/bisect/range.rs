//! The range that a history proposes: the newest lasting change for the worse of a case.

use super::request::BisectRequest;
use crate::app::history::{HistoryRequest, USUAL_RUNS};
use crate::model::text::{short_commit, signed_percent};
use crate::model::{Fault, Result};
use crate::suite::Benchmark;
use crate::trend::{TrendsDocument, V1ChangePoint};

pub(super) struct ProposedRange {
    pub text: String,
    pub metric: String,
    /// Change of the metric, as a share.
    pub change: f64,
    pub why: String,
}

/// Errors: there is no history, or it knows no such change; each explains how to name a range instead.
pub(super) fn from_history(
    case: &str,
    request: &BisectRequest,
    builtins: &[Benchmark],
) -> Result<ProposedRange> {
    let next = format!("name the range: `gbench-ci bisect {} GOOD..BAD`", crate::model::shell_word(case));
    let history = HistoryRequest {
        config: request.run.selection.config.clone(),
        store: request.store.clone(),
        case: Some(case.to_owned()),
        suites: Vec::new(),
        params: Vec::new(),
        metric: request.metric.clone(),
        since: None,
        branch: None,
        label: None,
        runs: USUAL_RUNS,
    };
    let document = history.document(builtins).map_err(|fault| {
        let what = format!("no range is given, and the history tells none: {}", fault.what);
        Fault { what, next: format!("{next}; of the history: {}", fault.next), ..fault }
    })?;
    newest(&document, request.any).ok_or_else(|| {
        let worse = if request.any { "lasting change" } else { "lasting change for the worse" };
        let what =
            format!("no range is given, and {} knows no {worse} of it between two commits", document.store);
        Fault::at_flag(case, what, next)
    })
}

fn newest(document: &TrendsDocument, any: bool) -> Option<ProposedRange> {
    // The cause of an accepted change is known.
    let counts = |change: &&V1ChangePoint| any || change.worse == Some(true) && change.accepted.is_none();
    let changes = document.series.iter().flat_map(|series| {
        series.changes.iter().filter(counts).filter_map(move |change| {
            let (good, bad) = (change.good.as_ref()?, change.bad.as_ref()?);
            let run = series.points.get(change.at as usize)?.run;
            (good != bad).then_some((run, series, change, good, bad))
        })
    });
    let (_, series, change, good, bad) = changes.max_by_key(|(run, ..)| *run)?;
    let why = format!(
        "range  {}..{}: {} of {} changed by {} there, by {}",
        short_commit(good),
        short_commit(bad),
        series.metric,
        series.case,
        signed_percent(change.change),
        document.store
    );
    Some(ProposedRange {
        text: format!("{good}..{bad}"),
        metric: series.metric.clone(),
        change: change.change,
        why,
    })
}
