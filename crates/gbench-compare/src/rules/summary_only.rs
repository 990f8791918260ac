//! Sides of one process each that stated a summary and no samples: what little that allows.

use gbench_model::Stated;
use gbench_stats::{SampleGroup, TQuantiles, Welch};

use super::rule::RowDecision;
use crate::evidence::samples::Evidence;
use crate::evidence::scale::Scale;
use crate::verdict::change::Change;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// Confidence of the interval shown: no verdict rests on it, so nothing is corrected.
const ERROR_RATE: f64 = 0.05;

/// Never more than inconclusive: the spread within one process says nothing of how processes differ.
pub(crate) fn decide(
    evidence: &Evidence,
    base: &Stated,
    head: &Stated,
    quantiles: &mut TQuantiles,
) -> RowDecision {
    let decision = |reason, change| RowDecision {
        change,
        ..RowDecision::undecided(reason, Advice::SeveralProcessesOrHistory {})
    };
    let scale = Scale::of(&[base.value], &[head.value], evidence.better);
    let groups = [base, head].map(|stated| group(stated, scale));
    let ratio = head.value / base.value;
    let [Some(b), Some(h)] = groups else {
        return decision(Reason::SummaryOnly { ratio: Some(ratio).filter(|ratio| ratio.is_finite()) }, None);
    };
    let welch = Welch::new(b, h);
    let (low, high) = welch.interval(ERROR_RATE, quantiles);
    let change = Change {
        low: scale.slowdown(low),
        high: scale.slowdown(high),
        confidence: 1.0 - ERROR_RATE,
        ..Change::known(scale.ratio(welch.difference), scale.slowdown(welch.difference))
    };
    let finite = [change.ratio, change.slowdown, change.low, change.high].iter().all(|end| end.is_finite());
    let reason = Reason::SummaryOfIterations {
        low: finite.then_some(change.low),
        high: finite.then_some(change.high),
        base_iterations: b.count,
        head_iterations: h.count,
    };
    decision(reason, finite.then_some(change))
}

/// The stated iterations on the scale; a deviation becomes that of the logarithm by its share of the value. `None`
/// without a deviation or with fewer than two iterations.
fn group(stated: &Stated, scale: Scale) -> Option<SampleGroup> {
    let count = stated.count.filter(|count| *count > 1)?;
    let stddev = stated.stddev.filter(|stddev| stddev.is_finite() && *stddev >= 0.0)?;
    let mean = scale.turned(&[stated.value])?[0];
    let stddev = match scale {
        Scale::Log { .. } => stddev / stated.value,
        Scale::Linear { unit, .. } => stddev / unit,
    };
    Some(SampleGroup { count: u32::try_from(count).unwrap_or(u32::MAX), mean, stddev })
}
