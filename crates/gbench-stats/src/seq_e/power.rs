//! Power of the rule: which effects it finds, and how fast. Figures for advice, not for verdicts.

use super::bets::ln_factor;
use super::{MIN_SCALE, SequentialLimits, Version};

/// The smallest effect, in logarithms, that `fresh` rounds of normal noise with deviation `noise` would be called red
/// for, four times out of five. Infinite where the rounds are too few for any.
pub fn detectable(
    fresh: usize,
    noise: f64,
    min_effect: f64,
    limits: &SequentialLimits,
    candidates: usize,
) -> f64 {
    if fresh < limits.least_fresh_rounds(candidates) {
        return f64::INFINITY;
    }
    let scale = noise.max(MIN_SCALE);
    let bets = limits.version.bets();
    let needed = limits.ln_red(candidates) + (bets.len() as f64).ln();
    let enough = |effect: f64| {
        bets.iter().any(|bet| {
            let (mean, deviation) = growth(*bet, (effect - min_effect) / scale);
            let fresh = fresh as f64;
            fresh * mean - POWER_Z * fresh.sqrt() * deviation >= needed
        })
    };
    let (mut low, mut high) = (min_effect, min_effect + scale);
    while !enough(high) {
        low = high;
        high = min_effect + (high - min_effect) * 2.0;
        if high > min_effect + 1e4 * scale {
            return f64::INFINITY;
        }
    }
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// Mean gain of ln e a round for an effect that lies `beyond` the minimum effect, in units of the scale; 0 or less
/// where there is none.
pub fn pace(beyond: f64, version: Version) -> f64 {
    let best = version.bets().iter().map(|bet| growth(*bet, beyond).0).fold(f64::NEG_INFINITY, f64::max);
    best.max(0.0)
}

/// Standard normal quantile of 0.8: effects called detectable are found four times out of five.
pub const POWER_Z: f64 = 0.841_621_233_572_914_2;

/// Mean and deviation of one round's ln factor for `x ~ N(centre, 1)`, by the Gauss-Hermite rule of seven points.
fn growth(bet: (f64, f64), centre: f64) -> (f64, f64) {
    // Nodes and weights of the rule for the standard normal (Abramowitz & Stegun table 25.10, rescaled).
    const RULE: [(f64, f64); 7] = [
        (0.0, 0.457_142_857_142_857_1),
        (1.154_405_394_739_968, 0.240_123_178_605_012_7),
        (-1.154_405_394_739_968, 0.240_123_178_605_012_7),
        (2.366_759_410_734_541, 0.030_757_123_967_586_5),
        (-2.366_759_410_734_541, 0.030_757_123_967_586_5),
        (3.750_439_717_725_742, 0.000_548_268_855_972_218),
        (-3.750_439_717_725_742, 0.000_548_268_855_972_218),
    ];
    let mean: f64 = RULE.iter().map(|(node, weight)| weight * ln_factor(bet, centre + node)).sum();
    let square: f64 =
        RULE.iter().map(|(node, weight)| weight * (ln_factor(bet, centre + node) - mean).powi(2)).sum();
    (mean, square.sqrt())
}
