//! Parts of what a program does, such as its kernels, and the case of the whole.

use std::collections::HashMap;

use gbench_model::{BenchmarkId, CaseId, CaseRecord, Metric, Outcome, is_time};

use super::cases::PairedCase;
use crate::verdict::document::Row;
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// Cases of which a time is judged on both sides and that are not a part of another one, by their benchmarks.
#[derive(Default)]
pub(crate) struct Wholes<'a>(HashMap<&'a BenchmarkId, &'a CaseId>);

impl<'a> Wholes<'a> {
    pub(crate) fn of(pairs: &[PairedCase<'a>]) -> Self {
        let is_whole = |case: Option<&CaseRecord>| {
            case.is_some_and(|case| {
                let gate = |metric: &Metric| case.declared.get(&metric.name).and_then(|said| said.gate);
                let mut times = case.metrics.iter().filter(|metric| is_time(&metric.unit));
                let is_judged = times.any(|metric| gate(metric) != Some(false));
                case.outcome.is_measured() && !case.part_of_whole && is_judged
            })
        };
        let both = pairs.iter().filter(|pair| is_whole(pair.base) && is_whole(pair.head));
        Self(both.map(|pair| (&pair.id.benchmark, pair.id)).collect())
    }

    /// The result for a part that one side never does, if the rows of the whole decide. However many kernels are joined or
    /// renamed, that alone is neither a failure nor an improvement.
    pub(crate) fn part_of_one_side(&self, pair: &PairedCase) -> Option<(Verdict, Reason)> {
        let is_part = pair.base.into_iter().chain(pair.head).all(|case| case.part_of_whole);
        if !is_part || !self.0.contains_key(&pair.id.benchmark) {
            return None;
        }
        let does = |case: Option<&CaseRecord>| case.is_some_and(|case| case.outcome.is_measured());
        let lacks = |case: Option<&CaseRecord>| {
            case.is_none_or(|case| {
                let never = case.processes.iter().all(|process| !process.outcome.is_measured());
                never && matches!(case.outcome, Outcome::Skipped { .. })
            })
        };
        if does(pair.base) && lacks(pair.head) {
            Some((Verdict::Gone, Reason::PartOnBaseOnly {}))
        } else if lacks(pair.base) && does(pair.head) {
            Some((Verdict::New, Reason::PartOnHeadOnly {}))
        } else {
            None
        }
    }

    /// A part that is gone is missing unless a row of its whole is decided: else nothing says what the program costs without it.
    pub(crate) fn hold(&self, rows: &mut [Row]) {
        let decided: Vec<CaseId> = rows
            .iter()
            .filter(|row| matches!(row.verdict, Verdict::Regressed | Verdict::Improved | Verdict::Unchanged))
            .map(|row| row.case.clone())
            .collect();
        for row in rows.iter_mut().filter(|row| row.verdict == Verdict::Gone) {
            if !self.0.get(&row.case.benchmark).is_some_and(|whole| decided.contains(whole)) {
                row.verdict = Verdict::Missing;
                row.explain(Some(Reason::PartWithoutWhole {}), Some(Advice::DecideTheWhole {}));
            }
        }
    }
}
