//! The scale on which two sides are compared, and the way back to a slowdown.

use gbench_model::Better;
use gbench_stats::{SampleGroup, mean};

use super::samples::Evidence;

/// A margin as large as the base itself: no difference of logarithms goes beyond it.
const WHOLE: f64 = 50.0;

/// An absolute margin as a difference of logarithms. `usual`: the base's geometric mean. It is the farther one of the two
/// ways to be off by the margin: `-ln(1 - m)`.
pub(crate) fn margin_in_logarithms(margin: f64, usual: f64) -> f64 {
    (-(-margin / usual).max(-1.0).ln_1p()).min(WHOLE)
}

/// By which a difference is turned, so that up is worse.
pub(crate) fn sign(better: Better) -> f64 {
    if better == Better::Lower { 1.0 } else { -1.0 }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    /// Logarithms, with the metric's direction turned to "up is worse".
    Log { sign: f64 },
    /// Values divided by `unit`, turned alike; `base` is the base's mean in the same unit, not turned.
    Linear { sign: f64, unit: f64, base: f64 },
}

impl Scale {
    /// Not for sides that are all zero: they have no unit.
    pub(crate) fn of(base: &[f64], head: &[f64], better: Better) -> Self {
        let sign = sign(better);
        let all = || base.iter().chain(head);
        if all().all(|value| *value > 0.0) {
            return Scale::Log { sign };
        }
        let unit = all().map(|value| value.abs()).fold(0.0, f64::max);
        let scaled: Vec<f64> = base.iter().map(|value| value / unit).collect();
        Scale::Linear { sign, unit, base: mean(&scaled).unwrap_or(0.0) }
    }

    pub(crate) fn turned(self, values: &[f64]) -> Option<Vec<f64>> {
        let turned: Vec<f64> = match self {
            Scale::Log { sign } => values.iter().map(|value| sign * value.ln()).collect(),
            Scale::Linear { sign, unit, .. } => values.iter().map(|value| sign * value / unit).collect(),
        };
        Some(turned).filter(|turned| turned.iter().all(|value| value.is_finite()))
    }

    pub(crate) fn group(self, values: &[f64]) -> Option<SampleGroup> {
        SampleGroup::of(&self.turned(values)?)
    }

    /// Improved is below, regressed above. A row's absolute margin widens them where it is more than its threshold.
    pub(crate) fn limits(self, evidence: &Evidence) -> (f64, f64) {
        let (threshold, margin) = (evidence.threshold, evidence.limits.margin.unwrap_or(0.0));
        let (share, margin) = match self {
            Scale::Log { .. } => {
                let logarithms: Vec<f64> = evidence.base.centres.iter().map(|centre| centre.ln()).collect();
                let usual = mean(&logarithms).unwrap_or(0.0).exp();
                (threshold.ln_1p(), margin_in_logarithms(margin, usual))
            }
            Scale::Linear { base, unit, .. } => (threshold * base.abs(), margin / unit),
        };
        let limit = share.max(margin);
        (-limit, limit)
    }

    /// Slowdown of a difference; may be infinite or, where the base's mean is zero, not a number.
    pub(crate) fn slowdown(self, difference: f64) -> f64 {
        match self {
            Scale::Log { .. } => difference.exp_m1(),
            Scale::Linear { base, .. } => difference / base.abs(),
        }
    }

    pub(crate) fn ratio(self, difference: f64) -> f64 {
        match self {
            Scale::Log { sign } => (sign * difference).exp(),
            Scale::Linear { sign, base, .. } => 1.0 + sign * difference / base,
        }
    }

    pub(crate) fn share(self, deviation: f64) -> f64 {
        match self {
            Scale::Log { .. } => deviation,
            Scale::Linear { base, .. } => deviation / base.abs(),
        }
    }

    pub(crate) fn of_share(self, share: f64) -> f64 {
        match self {
            Scale::Log { .. } => share,
            Scale::Linear { base, .. } => share * base.abs(),
        }
    }
}
