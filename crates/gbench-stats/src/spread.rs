//! Tests whether one side of a comparison in rounds varies far more than the other.
//!
//! With identical programs, and base and head of a round in a random order, both values of a round may have been swapped. So
//! `d = |head - m| - |base - m|`, with `m` the median of all values of both sides, has either sign with equal chance, whatever
//! the noise is: `m` does not change when the two are swapped. Given the sizes, the sum of `d` has random signs, and is
//! reached or exceeded with a chance of at most `min over l of exp(-l sum) prod cosh(l d)` (Chernoff's bound), which is near
//! the exact chance if a few large ones decide.

use super::median;

/// The spreads of both sides, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spreads {
    /// Mean distance from the side's own median.
    pub base: f64,
    pub head: f64,
    /// ln of a bound of the chance that head is this much farther from the middle than base if both are the same; 0 if it is
    /// not farther.
    pub ln_chance: f64,
}

/// Head varies far more from this multiple of base's spread on.
const FAR_MORE: f64 = 3.0;

impl Spreads {
    /// `rounds`: values of base and head, starting with the first round of a comparison if `from_first`, whose first two
    /// rounds share one coin. `None` without rounds.
    pub fn of(rounds: &[[f64; 2]], from_first: bool) -> Option<Self> {
        let mut all: Vec<f64> = rounds.iter().flatten().copied().collect();
        let middle = median(&mut all)?;
        let mut farther: Vec<f64> =
            rounds.iter().map(|[base, head]| (head - middle).abs() - (base - middle).abs()).collect();
        if let (true, [first, second, ..]) = (from_first, &mut farther[..]) {
            *second += std::mem::take(first);
        }
        let spread = |side: usize| {
            let mut values: Vec<f64> = rounds.iter().map(|round| round[side]).collect();
            let own = median(&mut values)?;
            Some(values.iter().map(|value| (value - own).abs()).sum::<f64>() / values.len() as f64)
        };
        Some(Self { base: spread(0)?, head: spread(1)?, ln_chance: ln_chance(&farther) })
    }

    /// True if head varies far more, and by more than `least`, with a chance of at most `alpha` for equal programs.
    pub fn head_is_noisier(&self, least: f64, alpha: f64) -> bool {
        self.head >= least && self.head >= FAR_MORE * self.base && self.ln_chance <= alpha.ln()
    }
}

/// ln of a bound of the chance that random signs of these sizes have this sum or more. Each factor is a bound by itself, so
/// the best of several is one, too.
fn ln_chance(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if sum.is_nan() || sum <= 0.0 || !largest.is_finite() {
        return 0.0;
    }
    // cosh overflows although its logarithm does not.
    let ln_cosh = |x: f64| x + (-2.0 * x).exp().ln_1p() - std::f64::consts::LN_2;
    let bound = |power: i32| {
        let factor = 2_f64.powi(power) / largest;
        values.iter().map(|value| ln_cosh((factor * value).abs())).sum::<f64>() - factor * sum
    };
    (-4..=12).map(bound).fold(0.0, f64::min)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, LogNormal, Normal, StudentT};
    use rand_pcg::Pcg64;

    use super::*;

    #[test]
    fn the_bound_is_the_exact_chance_where_large_ones_decide_and_never_below_it() {
        // Ten of ten: one of 1,024. Additional small ones change nothing.
        assert!((ln_chance(&[1.0; 10]) - 1024_f64.recip().ln()).abs() < 0.01);
        assert!(ln_chance(&[[1.0; 10], [1e-6; 10]].concat()) < 1000_f64.recip().ln());
        assert_eq!([ln_chance(&[1.0, -1.0]), ln_chance(&[0.0; 4]), ln_chance(&[])], [0.0; 3]);
        // All 2^10 patterns of signs.
        let sizes: [f64; 10] = std::array::from_fn(|at| 1.0 + at as f64);
        let signed = |pattern: u32| -> Vec<f64> {
            let sign = |at: usize| if pattern >> at & 1 == 1 { 1.0 } else { -1.0 };
            sizes.iter().enumerate().map(|(at, size)| sign(at) * size).collect()
        };
        let sums: Vec<f64> = (0..1024).map(|pattern| signed(pattern).iter().sum()).collect();
        for pattern in 0..1024 {
            let sum = sums[pattern as usize];
            let exact = sums.iter().filter(|other| **other >= sum).count() as f64 / 1024.0;
            assert!(ln_chance(&signed(pattern)) >= exact.ln() - 1e-9, "{pattern}");
        }
    }

    type Draw = fn(&mut Pcg64) -> f64;

    const NOISE: [(&str, Draw); 5] = [
        ("gauss", |random| Normal::new(0.0, 0.05).unwrap().sample(random)),
        ("heavy tails", |random| 0.02 * StudentT::new(2.0).unwrap().sample(random)),
        ("skewed", |random| 0.05 * LogNormal::new(0.0, 1.5).unwrap().sample(random)),
        ("two states", |random| f64::from(u8::from(random.random_bool(0.3))) * 0.3 + plain(random, 0.005)),
        ("outliers", |random| f64::from(u8::from(random.random_bool(0.05))) * 0.5 + plain(random, 0.005)),
    ];

    fn plain(random: &mut Pcg64, deviation: f64) -> f64 {
        Normal::new(0.0, deviation).unwrap().sample(random)
    }

    /// The share of comparisons in which head is called noisier at 1 %.
    fn share(base: Draw, head: Draw, rounds: usize, level: f64) -> f64 {
        let mut random = Pcg64::seed_from_u64(rounds as u64);
        let is_noisier = |_: &usize| {
            let rounds: Vec<[f64; 2]> = (0..rounds).map(|_| [base(&mut random), head(&mut random)]).collect();
            Spreads::of(&rounds, true).unwrap().head_is_noisier(0.02, level)
        };
        (0..4000).filter(is_noisier).count() as f64 / 4000.0
    }

    #[test]
    fn a4_equal_programs_are_not_told_apart_by_their_noise() {
        for (name, noise) in NOISE {
            for rounds in [8, 12, 40] {
                let found = share(noise, noise, rounds, 0.01);
                println!("{name}, {rounds} rounds: {found}");
                // 4,000 at 1 %: 0.0047 more is three standard errors.
                assert!(found <= 0.0147, "{name}, {rounds} rounds: {found}");
            }
        }
    }

    #[test]
    fn a4_and_a16_a_head_that_varies_far_more_is_found() {
        let quiet: Draw = |random| plain(random, 0.005);
        // A suite of 20 rows.
        let level = 0.01 / 20.0;
        let wild: Draw = |random| 0.14 + random.random_range(-2.0..2.0);
        assert!(share(quiet, wild, 20, level) > 0.99);
        let now_and_then: Draw =
            |random| f64::from(u8::from(random.random_bool(1.0 / 3.0))) * 1.6_f64.ln() + plain(random, 0.005);
        assert!(share(quiet, now_and_then, 40, level) > 0.7);
        // A head that is slower but as quiet as base is not noisier, nor is a quieter one.
        assert_eq!(share(quiet, |random| 0.3 + plain(random, 0.005), 40, level), 0.0);
        assert_eq!(share(wild, quiet, 40, level), 0.0);
    }
}
