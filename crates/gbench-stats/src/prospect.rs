//! Forecasts for a benchmark with known noise: the rounds until it is certified unchanged, or an effect is proven.
//!
//! Four runs of five need no more than these figures.

use super::TQuantiles;
use super::seq_e::{CERTIFY_LATER, CERTIFY_SCREEN, PowerContext, SequentialLimits, detectable};

/// Forecasts of more rounds are `None`.
pub const MAX_ROUNDS: usize = 10_000;
/// Standard normal quantile of 0.9: the mean of an unchanged benchmark is within it, either way, four times of five.
const EITHER_WAY: f64 = 1.281_551_565_544_600_4;

/// The narrowest target, in logarithms, within which a benchmark with this noise is certified after `rounds`. `borrowed`:
/// degrees of freedom from the prior of the variances. Infinite before the screen is over.
pub fn certified_within(
    noise: f64,
    rounds: usize,
    borrowed: f64,
    limits: &SequentialLimits,
    quantiles: &mut TQuantiles,
) -> f64 {
    if rounds < limits.screen_rounds {
        return f64::INFINITY;
    }
    let level = if rounds == limits.screen_rounds { CERTIFY_SCREEN } else { CERTIFY_LATER };
    let quantile = quantiles.upper(level, borrowed + (rounds - 1) as f64);
    (quantile + EITHER_WAY) * noise / (rounds as f64).sqrt()
}

/// Rounds after which an unchanged benchmark is certified within its target; `None` beyond [`MAX_ROUNDS`].
pub fn rounds_to_certify(noise: f64, target: f64, borrowed: f64, limits: &SequentialLimits) -> Option<usize> {
    let mut quantiles = TQuantiles::default();
    let mut enough = |rounds| certified_within(noise, rounds, borrowed, limits, &mut quantiles) < target;
    // The level changes after the screen, so its last round is a separate case.
    if enough(limits.screen_rounds) {
        return Some(limits.screen_rounds);
    }
    first(limits.screen_rounds + 1, enough)
}

/// Rounds after which an effect, in logarithms, is called red; `None` beyond [`MAX_ROUNDS`].
pub fn rounds_to_prove(
    effect: f64,
    row: PowerContext,
    limits: &SequentialLimits,
    candidates: usize,
) -> Option<usize> {
    let enough = |rounds: usize| detectable(limits.bets_in(rounds, 0), row, limits, candidates) <= effect;
    first(limits.screen_rounds + 1, enough)
}

/// The first number from `low` on that satisfies a monotone condition.
fn first(low: usize, mut holds: impl FnMut(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (low, MAX_ROUNDS);
    if !holds(high) {
        return None;
    }
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seq_e::{Status, decide};
    use crate::test_support::{self, normal, row};

    const LIMITS: SequentialLimits =
        SequentialLimits { screen_rounds: 4, most_rounds: 200, ..test_support::LIMITS };

    /// Share of simulated benchmarks that end with `status` within `rounds`.
    fn share(status: Status, rounds: usize, effect: f64, noise: f64, seed: u64) -> f64 {
        let mut normal = normal(seed);
        let ends = |_: &u32| {
            let differences: Vec<f64> = (0..rounds).map(|_| effect + noise * normal()).collect();
            decide(&[row(&differences)], &LIMITS).1[0].status == status
        };
        (0..400).filter(ends).count() as f64 / 400.0
    }

    #[test]
    fn four_of_five_unchanged_benchmarks_are_certified_by_then() {
        for noise in [0.01, 0.02, 0.05] {
            let rounds = rounds_to_certify(noise, 0.02, 0.0, &LIMITS).unwrap();
            let share = share(Status::Unchanged, rounds, 0.0, noise, 1);
            assert!(share > 0.72, "{share} after {rounds} at {noise}");
        }
        assert_eq!(rounds_to_certify(0.001, 0.02, 0.0, &LIMITS), Some(4));
        assert_eq!(rounds_to_certify(5.0, 0.02, 0.0, &LIMITS), None);
    }

    #[test]
    fn most_true_changes_are_proven_by_then() {
        let power = |noise| PowerContext { noise, min_effect: 0.0025, target: 0.02 };
        let rounds = rounds_to_prove(0.0296, power(0.03), &LIMITS, 1).unwrap();
        let share = share(Status::Regressed, rounds, 0.0296, 0.03, 2);
        // Only four rounds determine the scale here, which costs some of them.
        assert!((0.6..1.0).contains(&share), "{share} after {rounds}");
        assert_eq!(rounds_to_prove(0.03, power(0.0001), &LIMITS, 1), Some(1 + 11));
        assert_eq!(rounds_to_prove(0.002, power(0.01), &LIMITS, 1), None);
    }

    #[test]
    fn a_wider_target_needs_fewer_rounds() {
        let mut quantiles = TQuantiles::default();
        let mut within = |rounds| certified_within(0.05, rounds, 8.0, &LIMITS, &mut quantiles);
        assert!(within(40) < within(20) && within(3).is_infinite());
        let target = within(40);
        assert_eq!(rounds_to_certify(0.05, target * 1.0001, 8.0, &LIMITS), Some(40));
    }
}
