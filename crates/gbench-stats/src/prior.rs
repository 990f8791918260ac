//! The noise of one benchmark, moderated by that of many: empirical Bayes for variances (Smyth 2004, "limma").
//!
//! Three rounds are too few for a benchmark's own variance. The variances of the whole suite are treated as draws from a
//! scaled inverse chi-squared distribution, whose two parameters are fitted to the mean and variance of their logarithms.

use statrs::function::gamma::digamma;

use super::{mean, sample_stddev};

/// Prior of a variance: `variance` with the weight of `freedom` observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// d0: 0 if there is nothing to borrow from, at most 50.
    pub freedom: f64,
    /// s0 squared.
    pub variance: f64,
}

/// Fewer variances than this do not show their distribution.
const MIN_VARIANCES: usize = 4;
const MAX_FREEDOM: f64 = 50.0;
/// Below any variance that a timer can show; keeps the logarithm finite.
const MIN_VARIANCE: f64 = 1e-12;

impl Prior {
    pub const NONE: Prior = Prior { freedom: 0.0, variance: 1.0 };

    /// `variances`: one for each benchmark, each with `freedom` degrees of freedom.
    pub fn fit(variances: &[f64], freedom: f64) -> Self {
        if variances.len() < MIN_VARIANCES {
            return Self::NONE;
        }
        let half = freedom / 2.0;
        let logarithm = |variance: &f64| variance.max(MIN_VARIANCE).ln() - digamma(half) + half.ln();
        let logarithms: Vec<f64> = variances.iter().map(logarithm).collect();
        let (Some(centre), Some(spread)) = (mean(&logarithms), sample_stddev(&logarithms)) else {
            return Self::NONE;
        };
        let excess = spread * spread - trigamma(half);
        let d0 = if excess <= 0.01 { MAX_FREEDOM } else { (2.0 * inverse_trigamma(excess)).min(MAX_FREEDOM) };
        Self { freedom: d0, variance: (centre + digamma(d0 / 2.0) - (d0 / 2.0).ln()).exp() }
    }

    /// Bounds the prior's weight, so that a benchmark unlike the others can still show it.
    pub fn at_most(self, freedom: f64) -> Self {
        Self { freedom: self.freedom.min(freedom), ..self }
    }

    /// A variance with `freedom` degrees of freedom, shrunk towards the prior.
    pub fn moderate(self, variance: f64, freedom: f64) -> f64 {
        (self.freedom * self.variance + freedom * variance) / (self.freedom + freedom)
    }
}

/// The first derivative of digamma, `x` > 0: recurrence up to 10, then the asymptotic series.
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    // Abramowitz & Stegun 6.4.12.
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0))));
    sum + (1.0 + 1.0 / (2.0 * x) + series) / x
}

/// The second derivative of digamma, `x` > 0.
fn tetragamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    // Abramowitz & Stegun 6.4.13.
    sum - y * (1.0 + 1.0 / x + y * (0.5 - y * (1.0 / 6.0 - y * (1.0 / 6.0 - y * (0.3 - y * 5.0 / 6.0)))))
}

/// The x with trigamma(x) = `value` > 0, by Newton's method on its reciprocal (Smyth 2004, appendix).
fn inverse_trigamma(value: f64) -> f64 {
    let mut x = 0.5 + 1.0 / value;
    for _ in 0..50 {
        let here = trigamma(x);
        let step = here * (1.0 - here / value) / tetragamma(x);
        x = (x + step).max(1e-3);
        if step.abs() < 1e-14 * x {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivatives_of_digamma_have_their_known_values() {
        let pi = std::f64::consts::PI;
        // SciPy 1.14: polygamma(1, [1, 0.5]), polygamma(2, the same).
        let cases =
            [(1.0, pi * pi / 6.0, -2.404_113_806_319_188_5), (0.5, pi * pi / 2.0, -16.828_796_644_234_32)];
        for (x, first, second) in cases {
            assert!((trigamma(x) / first - 1.0_f64).abs() < 1e-12, "{x}: {}", trigamma(x));
            assert!((tetragamma(x) / second - 1.0_f64).abs() < 1e-11, "{x}: {}", tetragamma(x));
        }
        for x in [0.01, 0.7, 3.0, 25.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn equal_variances_are_believed_and_wild_ones_are_not() {
        assert_eq!(Prior::fit(&[1e-4; 3], 2.0), Prior::NONE);
        assert_eq!(Prior::fit(&[1e-4; 20], 2.0).freedom, MAX_FREEDOM);
        let wild: Vec<f64> = (0..20).map(|i| 10.0_f64.powi(-i)).collect();
        assert!(Prior::fit(&wild, 2.0).freedom < 1.0);
    }

    #[test]
    fn a_variance_is_drawn_towards_the_prior_by_its_weight() {
        let prior = Prior { freedom: 6.0, variance: 1.0 };
        assert_eq!((prior.moderate(5.0, 2.0), Prior::NONE.moderate(5.0, 2.0)), (2.0, 5.0));
        assert_eq!(prior.at_most(2.0).freedom, 2.0);
    }
}
