//! Metrics that are judged by their absolute difference: the errors that a benchmark finds in its own answer. A share says
//! nothing of them: from 1e-9 to 1e-8 is ten times as much and still exact, from 1e-6 to 0.9 is a wrong answer.

use crate::model::Better;
use crate::stats::{SampleGroup, TQuantiles, Welch};

use super::{Evidence, RowDecision, Verdict};

/// Of a difference of two decimal figures, forgiven where it meets the margin.
const ROUNDING: f64 = 1e-9;

/// Both sides gave one value each, in at least `least` processes: no chance is involved. `None` of others.
pub fn known(evidence: &Evidence, least: usize) -> Option<RowDecision> {
    let value = |centres: &[f64]| {
        let first = *centres.first()?;
        (centres.len() >= least && centres.iter().all(|centre| *centre == first)).then_some(first)
    };
    let (base, head) = (value(&evidence.base.centres)?, value(&evidence.head.centres)?);
    let (worse, margin) = (turned(evidence, head - base), margin(evidence));
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
pub fn apart(evidence: &Evidence, quantiles: &mut TQuantiles) -> RowDecision {
    let (base, head) = (&evidence.base.centres, &evidence.head.centres);
    let alike = base.iter().chain(head).all(|value| *value == base[0]);
    if let Some(decision) = known(evidence, if alike { 1 } else { 2 }) {
        return decision;
    }
    let (Some(base), Some(head)) = (SampleGroup::of(base), SampleGroup::of(head)) else {
        let mut decision = decision(evidence, Verdict::Inconclusive, false);
        decision.reason = "one process on a side does not show how much processes differ by chance".into();
        decision.next = "measure both sides with at least 2 processes, better 5: `--processes 5`".into();
        return decision;
    };
    let (low, high) = Welch::new(base, head).interval(LEVEL, quantiles);
    let [one, other] = [turned(evidence, low), turned(evidence, high)];
    let (least, most, margin) = (one.min(other), one.max(other), margin(evidence));
    let verdict = match () {
        () if least > margin => Verdict::Regressed,
        () if most < -margin => Verdict::Improved,
        () if least >= -margin && most <= margin => Verdict::Unchanged,
        () => Verdict::Inconclusive,
    };
    let mut decision = decision(evidence, verdict, true);
    if verdict == Verdict::Inconclusive {
        decision.reason = format!(
            "its processes vary, so that the difference lies somewhere from {least:.3e} to {most:.3e}, and {margin:.3e} \
             matters"
        );
        decision.next = "measure both sides with more processes, or set a larger `margin` for it".into();
    }
    decision
}

fn turned(evidence: &Evidence, difference: f64) -> f64 {
    if evidence.better == Better::Lower { difference } else { -difference }
}

fn margin(evidence: &Evidence) -> f64 {
    evidence.limits.margin.unwrap_or(0.0) * (1.0 + ROUNDING)
}

fn decision(evidence: &Evidence, verdict: Verdict, tested: bool) -> RowDecision {
    let (base, head) = (evidence.base.row_centre(), evidence.head.row_centre());
    let changed = matches!(verdict, Verdict::Regressed | Verdict::Improved);
    let reason = match (changed, base.zip(head)) {
        (true, Some((base, head))) => format!(
            "it went from {base:.3e} to {head:.3e}, and a difference of {:.3e} matters",
            evidence.limits.margin.unwrap_or(0.0)
        ),
        _ => String::new(),
    };
    let next = match verdict {
        Verdict::Regressed => {
            "look for what made the answer less accurate, or set a larger `margin` for it in the base's suite file"
        }
        _ => "",
    };
    RowDecision {
        verdict,
        reason,
        next: next.into(),
        advice: None,
        change: None,
        sequence: None,
        tested,
        open: false,
    }
}
