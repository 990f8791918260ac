//! Power of the rule: the effects that it finds, and how fast. For advice, not for verdicts.

use super::{MIN_SCALE, SequentialLimits, Version};

/// The inputs of one row's power, in logarithms, or in the scale of its differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerContext {
    /// Deviation of one round's difference.
    pub noise: f64,
    pub min_effect: f64,
    pub target: f64,
}

/// The smallest effect that is called red four times out of five after `bets` rounds of evidence with normal noise. Infinite
/// if the rounds are too few for any.
pub fn detectable(rounds: usize, row: PowerContext, limits: &SequentialLimits, candidates: usize) -> f64 {
    if rounds < limits.least_bets(candidates) {
        return f64::INFINITY;
    }
    let min_effect = row.min_effect;
    let scale = row.noise.max(MIN_SCALE);
    let unit = limits.version.unit(scale, row.target);
    let bets = limits.version.bets();
    let needed = limits.ln_red(candidates) + (bets.len() as f64).ln();
    let enough = |effect: f64| {
        bets.iter().any(|bet| {
            let (mean, deviation) = growth(limits.version, *bet, (effect - min_effect) / unit, scale / unit);
            let rounds = rounds as f64;
            rounds * mean - POWER_Z * rounds.sqrt() * deviation >= needed
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

/// Mean gain of ln e per round for an effect `beyond` the minimum effect; 0 or less if there is none.
pub fn pace(beyond: f64, row: PowerContext, version: Version) -> f64 {
    let unit = version.unit(row.noise, row.target);
    let gain = |bet: &(f64, f64)| growth(version, *bet, beyond / unit, row.noise / unit).0;
    version.bets().iter().map(gain).fold(0.0, f64::max)
}

/// Standard normal quantile of 0.8: detectable effects are found four times out of five.
pub const POWER_Z: f64 = 0.841_621_233_572_914_2;

/// Mean and deviation of one round's ln factor for `x ~ N(centre, noise^2)`, by the Gauss-Hermite rule of seven points.
fn growth(version: Version, bet: (f64, f64), centre: f64, noise: f64) -> (f64, f64) {
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
    let gains = RULE.map(|(node, weight)| (weight, version.ln_factor(bet, centre + noise * node)));
    let mean: f64 = gains.iter().map(|(weight, gain)| weight * gain).sum();
    let square: f64 = gains.iter().map(|(weight, gain)| weight * (gain - mean).powi(2)).sum();
    (mean, square.sqrt())
}
