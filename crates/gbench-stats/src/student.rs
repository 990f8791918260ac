//! Student's t: tails from statrs' incomplete beta function, quantiles refined until they agree with them.

use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::gamma::ln_gamma;

/// Beyond this many degrees of freedom, the normal quantile with the first term of its expansion is accurate to nine digits,
/// and the incomplete beta function begins to be less accurate.
const NORMAL_FROM: f64 = 1e6;

/// First term by which the t quantile exceeds the normal quantile `z` (Fisher & Cornish 1960). `z` is limited to 100, whose
/// tail is below any double.
fn excess(z: f64, freedom: f64) -> f64 {
    let z = z.clamp(-100.0, 100.0);
    (z.powi(3) + z) / (4.0 * freedom)
}

/// P(T > t) with `freedom` > 0 degrees of freedom; infinite `t` gives 0 or 1.
pub fn t_tail(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if freedom < NORMAL_FROM => student.sf(t),
        _ => Normal::standard().sf(t - excess(t, freedom)),
    }
}

/// Caches quantiles of Student's t: the inverse is the expensive part of a suite's decision, and rows with equal numbers of
/// processes need the same ones.
#[derive(Default)]
pub struct TQuantiles {
    known: HashMap<(u64, u64), f64>,
}

impl TQuantiles {
    /// The t that is exceeded with probability `tail`, 0 < `tail` <= 0.5; infinite for a tail of 0.
    pub fn upper(&mut self, tail: f64, freedom: f64) -> f64 {
        let key = (tail.to_bits(), freedom.to_bits());
        *self.known.entry(key).or_insert_with(|| upper_quantile(tail, freedom))
    }
}

/// Newton's method for ln tail(t) over ln t. The function is concave and decreasing: from the right of the root every step
/// stays right of it, and a step from the left crosses over, so it cannot diverge. It starts at the expanded normal quantile.
fn upper_quantile(tail: f64, freedom: f64) -> f64 {
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    if tail >= 0.5 {
        return 0.0;
    }
    let z = -Normal::standard().inverse_cdf(tail);
    let mut t = z + excess(z, freedom);
    if freedom >= NORMAL_FROM {
        return t;
    }
    let ln_density_at_0 = ln_gamma((freedom + 1.0) / 2.0)
        - ln_gamma(freedom / 2.0)
        - 0.5 * (freedom * std::f64::consts::PI).ln();
    for _ in 0..50 {
        let here = t_tail(t, freedom);
        let density = (ln_density_at_0 - (freedom + 1.0) / 2.0 * (t * t / freedom).ln_1p()).exp();
        let step = (here / tail).ln() * here / (density * t);
        t *= step.exp();
        if step.abs() < 1e-13 {
            break;
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{close, reference};
    use proptest::prelude::*;

    #[test]
    fn quantiles_and_tails_agree_with_scipy_far_into_the_tail() {
        let mut quantiles = TQuantiles::default();
        reference("student.json", 63, |case| {
            let [freedom, tail, quantile] = ["freedom", "tail", "quantile"].map(|field| case.take(field));
            // statrs' logarithm of gamma loses digits as the degrees of freedom grow.
            let tolerance = 1e-12 + 1e-14 * f64::min(freedom, 1e6);
            close([quantiles.upper(tail, freedom)], [quantile], tolerance);
            close([t_tail(quantile, freedom)], [tail], 10.0 * tolerance);
        });
    }

    #[test]
    fn the_ends_are_where_they_belong() {
        let quantiles = [0.5, 0.0].map(|tail| TQuantiles::default().upper(tail, 3.0));
        assert_eq!(quantiles, [0.0, f64::INFINITY]);
        assert_eq!([f64::INFINITY, f64::NEG_INFINITY].map(|t| t_tail(t, 3.0)), [0.0, 1.0]);
    }

    proptest! {
        #[test]
        fn a_quantile_has_the_tail_it_was_asked_for(ln_tail in -60.0..-0.8_f64, freedom in 1.0..500.0_f64) {
            let tail = ln_tail.exp();
            let t = TQuantiles::default().upper(tail, freedom);
            prop_assert!((t_tail(t, freedom) / tail - 1.0).abs() < 1e-9, "{t}");
        }
    }
}
