//! Metrics that are judged by their absolute difference: the errors that a benchmark finds in its own answer. A share
//! says nothing of them: from 1e-9 to 1e-8 is ten times as much and still exact, from 1e-6 to 0.9 is a wrong answer.

use gbench_stats::{SampleGroup, TQuantiles, Welch};

use super::rule::RowDecision;
use crate::evidence::samples::Evidence;
use crate::evidence::scale::sign;
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// The rounding of a difference of two decimal figures, allowed where it meets the margin.
const ROUNDING: f64 = 1e-9;

/// Both sides gave one value each, in at least `least` processes: no chance is involved. `None` of others.
pub(crate) fn known(evidence: &Evidence, least: usize) -> Option<RowDecision> {
    let (base, head) = (evidence.base.one_value(least)?, evidence.head.one_value(least)?);
    let (worse, margin) = (sign(evidence.better) * (head - base), margin(evidence));
    let verdict = match worse {
        worse if worse > margin => Verdict::Regressed,
        worse if worse < -margin => Verdict::Improved,
        _ => Verdict::Unchanged,
    };
    Some(decision(evidence, verdict, false))
}

/// Error rate of a row of two records that were measured apart: a fiftieth of the usual one of a whole suite, since these
/// rows take no part in the correction for many.
const LEVEL: f64 = 0.001;

/// The sides of two records that were measured apart, each process one value.
pub(crate) fn apart(evidence: &Evidence, quantiles: &mut TQuantiles) -> RowDecision {
    let (base, head) = (&evidence.base.centres, &evidence.head.centres);
    let alike = base.iter().chain(head).all(|value| *value == base[0]);
    if let Some(decision) = known(evidence, if alike { 1 } else { 2 }) {
        return decision;
    }
    let (Some(base), Some(head)) = (SampleGroup::of(base), SampleGroup::of(head)) else {
        let next = Advice::MeasureProcesses { least: 2, better: 5 };
        return RowDecision::undecided(Reason::OneProcess {}, next);
    };
    let (low, high) = Welch::new(base, head).interval(LEVEL, quantiles);
    let [one, other] = [low, high].map(|end| sign(evidence.better) * end);
    let (least, most, margin) = (one.min(other), one.max(other), margin(evidence));
    let verdict = match () {
        () if least > margin => Verdict::Regressed,
        () if most < -margin => Verdict::Improved,
        () if least >= -margin && most <= margin => Verdict::Unchanged,
        () => Verdict::Inconclusive,
    };
    let mut decision = decision(evidence, verdict, true);
    if verdict == Verdict::Inconclusive {
        decision.reason = Some(Reason::DifferenceAcrossMargin { low: least, high: most, margin });
        decision.next = Some(Advice::MoreProcessesOrMargin {});
    }
    decision
}

fn margin(evidence: &Evidence) -> f64 {
    evidence.limits.margin.unwrap_or(0.0) * (1.0 + ROUNDING)
}

fn decision(evidence: &Evidence, verdict: Verdict, tested: bool) -> RowDecision {
    let (base, head) = (evidence.base.row_centre(), evidence.head.row_centre());
    let changed = matches!(verdict, Verdict::Regressed | Verdict::Improved);
    let margin = evidence.limits.margin.unwrap_or(0.0);
    let reason = base.zip(head).filter(|_| changed);
    let reason = reason.map(|(base, head)| Reason::BeyondMargin { base, head, margin });
    let next = (verdict == Verdict::Regressed).then_some(Advice::AccuracyOrMargin {});
    RowDecision { tested, ..RowDecision::plain(verdict, reason, next) }
}
