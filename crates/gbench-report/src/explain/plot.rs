//! Positions of numbers on an axis, and the ranges of the axes; shared by both kinds of picture.

use gbench_compare::{DecisionTrace, SequentialStep};

/// The range of the differences: symmetric about zero, up to the farthest round or the target.
pub(super) fn reach(trace: &DecisionTrace) -> f64 {
    let rounds = trace.rounds.differences.iter().copied().filter(|difference| difference.is_finite());
    let farthest = rounds.map(f64::abs).fold(trace.target, f64::max);
    if farthest > 0.0 { farthest * 1.08 } else { 1.0 }
}

/// The steps after the screen, on which the evidence rests.
pub(super) fn fresh_steps(trace: &DecisionTrace) -> impl DoubleEndedIterator<Item = &SequentialStep> {
    trace.steps.iter().filter(|step| step.rounds > trace.screened())
}

/// The range of the clocks of both sides in MHz, at least a hundredth of the highest. `None` without samples.
pub(super) fn clock_span(trace: &DecisionTrace) -> Option<(f64, f64)> {
    let clocks = || trace.measured_rounds.iter().flat_map(|turn| turn.clocks).flatten();
    let (low, high) = (clocks().min_by(f64::total_cmp)?, clocks().max_by(f64::total_cmp)?);
    Some((low.min(high * 0.99), high))
}

/// Evidence far below even odds carries no more information.
pub(super) const MIN_EVIDENCE: f64 = -2.0;

/// The range of log10 e-values: from slightly below the lowest, but at least [`MIN_EVIDENCE`], to slightly above the
/// required or reached one.
pub(super) fn evidence_span(values: impl Iterator<Item = f64>, needed: f64) -> (f64, f64) {
    let (low, high) = values.fold((0.0_f64, needed), |(low, high), value| (low.min(value), high.max(value)));
    (low.max(MIN_EVIDENCE) - 0.2, high + 0.3)
}

/// The position of `value` between `from` and `to`, limited to 0 and 1.
pub(super) fn share(value: f64, from: f64, to: f64) -> f64 {
    if to > from { ((value - from) / (to - from)).clamp(0.0, 1.0) } else { 0.5 }
}
