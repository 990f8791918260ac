//! The rule `process-welch-holm`: Welch's interval over processes, a least effect that matters, Holm over the
//! suite.
//!
//! The process is the unit: each is reduced to its median (or the value that it stated), because the samples
//! within one process share its clock state, memory layout and luck, and treating them as independent calls
//! half of all untouched benchmarks regressed. Of these medians the logarithms are compared, turned so that up
//! is worse whatever the metric. With `t` the threshold, the slowdown factor lies on this line:
//!
//! ```text
//!            1/(1+t)        1         1+t
//!   improved    |       unchanged      |    regressed        ... if the whole interval lies there,
//! --------------+-----------+----------+-----------------    else inconclusive
//! ```
//!
//! - Each row tests "not beyond the threshold" in both directions at half the row's error rate each, and Holm
//!   (1979) shares `alpha` over all tested rows: the chance of even one false red or green is at most `alpha`.
//! - Regressed and improved rest on the interval at the row's level after Holm: the one that the row shows, so
//!   that interval and verdict cannot disagree. Unchanged rests on the plain `1 - alpha` interval of the row.
//! - Where each side's processes all gave one value, nothing is left to chance: the values are compared as they
//!   are, outside the correction.
//! - Zero and negative values have no logarithm. Their differences are compared instead, in units of the base's
//!   mean; where that is zero, any difference counts, and there is no ratio to show.

use crate::model::Better;
use crate::stats::{Group, TQuantiles, Welch, holm, mean};

use super::evidence::spread;
use super::words::{count, percent};
use super::{Change, Decision, Evidence, Rule, Verdict};

/// Standard normal quantile of 0.8: effects called detectable are found four times out of five.
const POWER_Z: f64 = 0.841_621_233_572_914_2;

/// Advising more processes a side than this would be no advice.
const MOST_PROCESSES: f64 = 200.0;

/// An end of an interval beyond this slowdown is cut there: it says nothing more, and JSON has no infinity.
const FARTHEST: f64 = 1e9;

/// Threshold comparisons of exact values forgive the rounding of a division, and nothing else.
const ROUNDING: f64 = 1e-12;

/// See the file's own comment.
#[derive(Clone, Copy, Debug)]
pub struct ProcessWelchHolm {
    /// Error rate of the whole suite, above 0 and below 1.
    pub alpha: f64,
}

/// What becomes of one row before the suite is looked at as a whole.
enum Question {
    Settled(Decision),
    Tested(Test),
}

/// A row that is left to chance.
struct Test {
    welch: Welch,
    scale: Scale,
    /// Improved lies below, regressed above; in the scale's own unit.
    limits: (f64, f64),
    counts: (u32, u32),
    spreads: (f64, f64),
}

/// How differences of what is compared become slowdowns.
#[derive(Clone, Copy)]
enum Scale {
    /// Logarithms, with the metric's direction turned to "up is worse".
    Log { sign: f64 },
    /// Values divided by `unit`, turned alike; `base` is the base's mean in the same unit, not turned.
    Linear { sign: f64, unit: f64, base: f64 },
}

impl Rule for ProcessWelchHolm {
    fn name(&self) -> &str {
        "process-welch-holm"
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }

    fn decide(&self, evidence: &[Evidence]) -> Vec<Decision> {
        let questions: Vec<Question> = evidence.iter().map(question).collect();
        let p: Vec<f64> = questions.iter().filter_map(Question::p).collect();
        let mut steps = holm(&p, self.alpha).into_iter();
        let mut quantiles = TQuantiles::default();
        let mut decide = |question| match question {
            Question::Settled(decision) => decision,
            Question::Tested(test) => {
                // One step for each tested row, in order.
                let (level, adjusted_p) = steps.next().map_or((self.alpha, 1.0), |s| (s.level, s.adjusted_p));
                test.decide(self.alpha, level, adjusted_p, &mut quantiles)
            }
        };
        questions.into_iter().map(&mut decide).collect()
    }
}

impl Question {
    /// Two-sided p-value of "the change is within the threshold".
    fn p(&self) -> Option<f64> {
        match self {
            Question::Settled(_) => None,
            Question::Tested(Test { welch, limits, .. }) => {
                let one_sided = welch.p_above(limits.1).min(welch.p_below(limits.0));
                Some((2.0 * one_sided).min(1.0))
            }
        }
    }
}

fn question(evidence: &Evidence) -> Question {
    let (base, head) = (evidence.base.centres.as_slice(), evidence.head.centres.as_slice());
    let constant = |centres: &[f64]| centres.iter().all(|centre| *centre == centres[0]);
    let exact = constant(base) && constant(head);
    let enough = base.len() > 1 && head.len() > 1;
    if exact && (enough || base[0] == head[0]) {
        return Question::Settled(decide_exactly(base[0], head[0], evidence));
    }
    let scale = Scale::of(base, head, evidence.better);
    let groups = (scale.group(base), scale.group(head));
    let (Some(base_group), Some(head_group)) = groups else {
        return Question::Settled(too_few(base.len(), head.len()));
    };
    Question::Tested(Test {
        welch: Welch::new(base_group, head_group),
        limits: scale.limits(evidence.threshold),
        counts: (base_group.count, head_group.count),
        spreads: (
            spread(base).unwrap_or_else(|| scale.share(base_group.stddev)),
            spread(head).unwrap_or_else(|| scale.share(head_group.stddev)),
        ),
        scale,
    })
}

/// Two known values: no chance, no interval, no correction.
fn decide_exactly(base: f64, head: f64, evidence: &Evidence) -> Decision {
    let threshold = evidence.threshold;
    let (worse, better) = match evidence.better {
        Better::Lower => (head, base),
        Better::Higher => (base, head),
    };
    let slowdown = match base > 0.0 && head > 0.0 {
        true => worse / better - 1.0,
        false if worse == better => 0.0,
        false => (worse - better) / base.abs(),
    };
    let fastest = if base > 0.0 && head > 0.0 { 1.0 / (1.0 + threshold) - 1.0 } else { -threshold };
    let verdict = match slowdown {
        slowdown if slowdown > threshold + ROUNDING => Verdict::Regressed,
        slowdown if slowdown < fastest - ROUNDING => Verdict::Improved,
        _ => Verdict::Unchanged,
    };
    let ratio = if worse == better { 1.0 } else { head / base };
    let change = Change {
        ratio,
        slowdown,
        low: slowdown,
        high: slowdown,
        confidence: 1.0,
        adjusted_p: None,
        detectable: None,
    };
    let changed = format!("every process of a side gave the same value: {base} on base, {head} on head");
    Decision {
        verdict,
        reason: if base == head { String::new() } else { changed },
        next: String::new(),
        change: (ratio.is_finite() && slowdown.is_finite()).then_some(change),
        sequence: None,
        tested: false,
        open: false,
    }
}

fn too_few(base: usize, head: usize) -> Decision {
    let (base, head) = (count(base, "process"), count(head, "process"));
    Decision {
        verdict: Verdict::Inconclusive,
        reason: format!("{base} on base and {head} on head do not show how much processes differ by chance"),
        next: "measure both sides with at least 2 processes, better 5: `--processes 5`".into(),
        change: None,
        sequence: None,
        tested: false,
        open: false,
    }
}

impl Scale {
    fn of(base: &[f64], head: &[f64], better: Better) -> Self {
        let sign = if better == Better::Lower { 1.0 } else { -1.0 };
        let all = || base.iter().chain(head);
        if all().all(|value| *value > 0.0) {
            return Scale::Log { sign };
        }
        let unit = all().map(|value| value.abs()).fold(0.0, f64::max);
        // Both sides all zero are equal, and equal sides never come here; so the unit is above 0.
        let scaled: Vec<f64> = base.iter().map(|value| value / unit).collect();
        Scale::Linear { sign, unit, base: mean(&scaled).unwrap_or(0.0) }
    }

    fn group(self, centres: &[f64]) -> Option<Group> {
        let turned: Vec<f64> = match self {
            Scale::Log { sign } => centres.iter().map(|centre| sign * centre.ln()).collect(),
            Scale::Linear { sign, unit, .. } => centres.iter().map(|centre| sign * centre / unit).collect(),
        };
        Group::of(&turned)
    }

    fn limits(self, threshold: f64) -> (f64, f64) {
        let limit = match self {
            Scale::Log { .. } => threshold.ln_1p(),
            Scale::Linear { base, .. } => threshold * base.abs(),
        };
        (-limit, limit)
    }

    /// Slowdown of a difference; may be infinite or, where the base's mean is zero, not a number.
    fn slowdown(self, difference: f64) -> f64 {
        match self {
            Scale::Log { .. } => difference.exp_m1(),
            Scale::Linear { base, .. } => difference / base.abs(),
        }
    }

    fn ratio(self, difference: f64) -> f64 {
        match self {
            Scale::Log { sign } => (sign * difference).exp(),
            Scale::Linear { sign, base, .. } => 1.0 + sign * difference / base,
        }
    }

    /// A deviation as a share of the base.
    fn share(self, deviation: f64) -> f64 {
        match self {
            Scale::Log { .. } => deviation,
            Scale::Linear { base, .. } => deviation / base.abs(),
        }
    }
}

impl Test {
    fn decide(&self, alpha: f64, level: f64, adjusted_p: f64, quantiles: &mut TQuantiles) -> Decision {
        let (fast, slow) = self.limits;
        let corrected = self.welch.interval(level, quantiles);
        let plain = self.welch.interval(alpha, quantiles);
        let (verdict, interval, error_rate) = match (corrected, plain) {
            ((low, _), _) if low > slow => (Verdict::Regressed, corrected, level),
            ((_, high), _) if high < fast => (Verdict::Improved, corrected, level),
            (_, (low, high)) if low >= fast && high <= slow => (Verdict::Unchanged, plain, alpha),
            _ => (Verdict::Inconclusive, corrected, level),
        };
        let change = self.change(interval, error_rate, adjusted_p, level, quantiles);
        let (reason, next) = match verdict {
            Verdict::Inconclusive => {
                (self.doubt(change.as_ref(), error_rate), self.more(alpha, level, quantiles))
            }
            _ => Default::default(),
        };
        Decision { verdict, reason, next, change, sequence: None, tested: true, open: false }
    }

    /// `None` where the base is zero and nothing can be said relative to it.
    fn change(
        &self,
        (low, high): (f64, f64),
        error_rate: f64,
        adjusted_p: f64,
        level: f64,
        quantiles: &mut TQuantiles,
    ) -> Option<Change> {
        let slowdown = self.scale.slowdown(self.welch.difference);
        let ratio = self.scale.ratio(self.welch.difference);
        let farthest = FARTHEST.max(slowdown.abs());
        let end = |difference| self.scale.slowdown(difference).clamp(-farthest, farthest);
        let reach = (quantiles.upper(level / 2.0, self.welch.freedom) + POWER_Z) * self.welch.error;
        let detectable = self.scale.slowdown(self.limits.1 + reach);
        (slowdown.is_finite() && ratio.is_finite()).then(|| Change {
            ratio,
            slowdown,
            low: end(low),
            high: end(high),
            confidence: 1.0 - error_rate,
            adjusted_p: Some(adjusted_p),
            detectable: Some(detectable).filter(|detectable| *detectable < FARTHEST),
        })
    }

    fn doubt(&self, change: Option<&Change>, error_rate: f64) -> String {
        let (base, head) = self.counts;
        let Some(change) = change else {
            return format!(
                "the base is zero on average, and {base} processes on base and {head} on head vary too much to \
                 tell a difference from it"
            );
        };
        let spreads = [self.spreads.0, self.spreads.1].map(percent).join(" and ");
        let found = match change.detectable {
            Some(detectable) => format!("would have found a slowdown of {} or more", percent(detectable)),
            None => "would not have found any slowdown".to_owned(),
        };
        format!(
            "the {} interval from {} to {} reaches across the threshold of {}: {base} and {head} processes with a \
             spread of {spreads} {found}",
            percent(1.0 - error_rate),
            percent(change.low),
            percent(change.high),
            percent(self.scale.slowdown(self.limits.1)),
        )
    }

    /// How many processes would probably settle it, if the change is what it looks like now. Two-sample size by
    /// the normal approximation with its usual correction for t (Guenther 1981).
    fn more(&self, alpha: f64, level: f64, quantiles: &mut TQuantiles) -> String {
        let size = self.welch.difference.abs();
        let (margin, error_rate) = match size > self.limits.1 {
            true => (size - self.limits.1, level),
            false => (self.limits.1 - size, alpha),
        };
        let z = quantiles.upper(error_rate / 2.0, f64::MAX);
        // The error's square holds each side's variance over its count; with equal counts n it is sum / n.
        let (base, head) = self.counts;
        let sum = self.welch.error.powi(2) * f64::from(base.max(head));
        let needed = ((z + POWER_Z).powi(2) * sum / margin.powi(2) + z.powi(2) / 4.0).ceil();
        let needed = needed.max(f64::from(base.max(head)) + 1.0);
        match needed <= MOST_PROCESSES {
            true => format!("measure both sides with about {needed} processes: `--processes {needed}`"),
            false => "quieten the machine (lock the clocks, stop other work) or raise the threshold: more \
                      processes alone would hardly decide it"
                .into(),
        }
    }
}
