//! Tests by ranks whether two neighbouring pieces differ, without assumptions about the tails of the noise.

use statrs::distribution::{ContinuousCDF, Normal};

/// Two-sided p value of a shift at `at` within `piece`, which has runs on both sides. `inflation`: variance of a mean relative
/// to that of independent runs.
///
/// The normal approximation of Wilcoxon's rank sum, corrected for ties, or a bound if that is smaller. The bound is valid far
/// into the tail, where a few runs are clear of many: the ranks of the smaller side are a sample without replacement, whose
/// mean is spread no more than that of as many uniform values (Hoeffding 1963, theorems 1 and 4).
pub(super) fn shift(piece: &[f64], at: usize, inflation: f64) -> f64 {
    let ranks = centred(piece);
    let count = piece.len() as f64;
    let (before, after) = (at as f64, count - at as f64);
    let variance = ranks.iter().map(|rank| rank * rank).sum::<f64>() / (count - 1.0);
    if variance == 0.0 {
        return 1.0;
    }
    let mean = (ranks[at..].iter().sum::<f64>() / after).abs();
    let z = mean / (inflation * variance * before / (after * count)).sqrt();
    let normal = 2.0 * Normal::standard().sf(z);
    // The rank sum of one side determines the other's.
    let fewer = before.min(after);
    let bound = 2.0 * uniform_tail(mean * after / fewer, fewer / inflation);
    normal.min(bound).min(1.0)
}

/// Middle ranks, scaled to -0.5 to 0.5 with mean 0.
pub(super) fn centred(values: &[f64]) -> Vec<f64> {
    let count = values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; count];
    let mut first = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = first as f64 + tied.len() as f64 / 2.0;
        tied.iter().for_each(|&index| ranks[index] = middle / count as f64 - 0.5);
        first += tied.len();
    }
    ranks
}

/// Chernoff bound for the mean of `count` uniform values from -0.5 to 0.5 being at least `mean`.
fn uniform_tail(mean: f64, count: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    if mean >= 0.5 {
        return 0.0;
    }
    // The slope of the cumulant generating function ln(2 sinh(t / 2) / t) rises with t; the bound is least where the slope
    // equals the mean.
    let slope = |t: f64| if t < 1e-3 { t / 12.0 } else { 0.5 / (t / 2.0).tanh() - 1.0 / t };
    // The slope is below 1/2 - 1/t + 1e-4 from 10 on, so this upper end is beyond the solution.
    let (mut low, mut high) = (0.0, 20.0 + 2.0 / (0.5 - mean));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if slope(middle) < mean { low = middle } else { high = middle }
    }
    let t = 0.5 * (low + high);
    // ln(2 sinh(t / 2) / t), rewritten so that the exponential does not overflow.
    let cumulant = if t < 1e-3 { t * t / 24.0 } else { t / 2.0 + (-(-t).exp_m1()).ln() - t.ln() };
    (count * (cumulant - t * mean)).exp().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{close, reference};

    #[test]
    fn p_values_agree_with_scipy_where_the_normal_approximation_is_the_smaller_one() {
        reference("ranks.json", 4, |case| {
            let before = case.list("before");
            let piece = [&before[..], &case.list("after")].concat();
            close([shift(&piece, before.len(), 1.0)], [case.take("p")], 1e-9);
        });
    }

    #[test]
    fn five_runs_clear_of_three_hundred_are_beyond_chance_and_above_the_exact_figure() {
        let piece: Vec<f64> = (0..305).map(f64::from).collect();
        let p = shift(&piece, 300, 1.0);
        // Twice 1 in 305 choose 5.
        let exact = 2.0 / (305.0 * 304.0 * 303.0 * 302.0 * 301.0 / 120.0);
        assert!(p < 1e-7 && p > exact, "{p:e} {exact:e}");
        let reversed: Vec<f64> = piece.iter().rev().copied().collect();
        assert!((shift(&reversed, 5, 1.0) / p - 1.0).abs() < 1e-9);
    }

    #[test]
    fn autocorrelation_and_ties_make_it_harder_to_be_sure() {
        let piece: Vec<f64> = (0..40).map(|at| f64::from(at % 7) + 3.0 * f64::from(at / 20)).collect();
        assert!(shift(&piece, 20, 3.0) > shift(&piece, 20, 1.0));
        assert_eq!(shift(&[1.0; 20], 10, 1.0), 1.0);
        assert_eq!(centred(&[2.0, 1.0, 2.0, 3.0]), [0.0, -0.375, 0.0, 0.375]);
    }

    #[test]
    fn the_bound_is_near_the_uniform_tail_itself_for_one_value() {
        // Chernoff bound for one uniform value: at least its tail, and decreasing.
        let bounds = [0.1, 0.3, 0.49, 0.4999].map(|x| uniform_tail(x, 1.0));
        assert!(bounds.is_sorted_by(|one, next| one > next));
        assert!(bounds.iter().zip([0.4, 0.2, 0.01, 0.0001]).all(|(bound, tail)| *bound > tail));
        assert_eq!((uniform_tail(0.0, 3.0), uniform_tail(0.5, 3.0)), (1.0, 0.0));
    }
}
