//! The requests that a server answered. A run that lost some of them is faster than it is.

use std::collections::BTreeMap;

use gbench_formats::adapters::LoadFields;
use gbench_model::{AnswerValues, FailureKind, Outcome};

/// The name of this answer.
const ANSWERED: &str = "requests answered";

/// The number of requests that a server answered, as an answer of the case: head has to answer as many as base.
pub(crate) fn answered(
    load: LoadFields,
    notes: &BTreeMap<String, serde_json::Value>,
) -> Option<(String, AnswerValues)> {
    let requests = notes.get(load.answered?)?.as_f64()?;
    let values = AnswerValues { values: vec![Some(requests)], tolerance: 0.0, varies: false };
    Some((ANSWERED.to_owned(), values))
}

/// The failure of a case whose processes answered different numbers of requests: one of them lost some.
pub(crate) fn lost_requests(
    before: &BTreeMap<String, AnswerValues>,
    now: &BTreeMap<String, AnswerValues>,
) -> Option<Outcome> {
    let [before, now] = [before, now].map(|answer| Some(*answer.get(ANSWERED)?.values.first()?));
    let (before, now) = before.flatten().zip(now.flatten())?;
    (before != now).then(|| Outcome::Failed {
        kind: FailureKind::Harness,
        cause: format!("it answered {now} requests, and {before} in an earlier run: requests failed"),
        advice: "look into the server's log: times of a run that lost requests are not figures".into(),
    })
}
