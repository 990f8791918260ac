//! Parts of what a program does, such as its kernels, and the case of the whole.

use std::collections::HashSet;

use gbench_model::{BenchmarkId, CaseRecord, Metric, Outcome};

use super::cases::PairedCase;
use crate::verdict::outcome::Verdict;
use crate::wording::reason::Reason;

/// Benchmarks with a case that is judged on both sides and is not a part of another one.
pub(crate) struct Wholes<'a>(HashSet<&'a BenchmarkId>);

impl<'a> Wholes<'a> {
    pub(crate) fn of(pairs: &[PairedCase<'a>]) -> Self {
        let is_whole = |case: Option<&CaseRecord>| {
            case.is_some_and(|case| {
                let gate = |metric: &Metric| case.declared.get(&metric.name).and_then(|said| said.gate);
                let is_judged = case.metrics.iter().any(|metric| gate(metric) != Some(false));
                case.outcome.is_measured() && !case.part_of_whole && is_judged
            })
        };
        let both = pairs.iter().filter(|pair| is_whole(pair.base) && is_whole(pair.head));
        Self(both.map(|pair| &pair.id.benchmark).collect())
    }

    /// The result for a part that one side does not do, if the rows of the whole decide. However many kernels are joined or
    /// renamed, that alone is neither a failure nor an improvement.
    pub(crate) fn part_of_one_side(&self, pair: &PairedCase) -> Option<(Verdict, Reason)> {
        let is_part = pair.base.into_iter().chain(pair.head).all(|case| case.part_of_whole);
        if !is_part || !self.0.contains(&pair.id.benchmark) {
            return None;
        }
        let does = |case: Option<&CaseRecord>| case.is_some_and(|case| case.outcome.is_measured());
        let lacks = |case: Option<&CaseRecord>| {
            case.is_none_or(|case| matches!(case.outcome, Outcome::Skipped { .. }))
        };
        if does(pair.base) && lacks(pair.head) {
            Some((Verdict::Gone, Reason::PartOnBaseOnly {}))
        } else if lacks(pair.base) && does(pair.head) {
            Some((Verdict::New, Reason::PartOnHeadOnly {}))
        } else {
            None
        }
    }
}
