//! The effects of sessions on a series: its scale, autocorrelation and outliers.

/// Runs on each side for a run's local median.
const HALF: usize = 4;
const WINDOW: usize = 2 * HALF + 1;
/// Deviations from the local median are cut off at this many scales.
const CLIP: f64 = 2.0;
/// The smallest scale: 0.01 %, so that counts that never vary have a scale.
pub(crate) const FLOOR: f64 = 1e-4;
/// The largest lag of the autocorrelation, in runs.
const LAGS: usize = 6;
/// The largest plausible inflation: that of an autoregression of 0.6.
const MOST_INFLATION: f64 = 4.0;
/// The median and the upper quartile of the absolute difference of two standard normal values.
const MEDIAN_DIFFERENCE: f64 = 0.953_872_552_417_876;
const QUARTILE_DIFFERENCE: f64 = 1.626_835_600_930_487;

/// Scale and autocorrelation of a series, from the differences of nearby runs, which a few steps and spikes hardly affect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SessionNoise {
    /// Standard deviation of a run about its level.
    pub scale: f64,
    /// The same from the median difference only: for alternating states, that of one state.
    pub near: f64,
    /// Coefficient of an autoregression of order 1, from 0 to 0.7.
    pub phi: f64,
}

impl SessionNoise {
    /// Needs at least three logarithms.
    ///
    /// The autocorrelation follows Chakar et al. 2017, "A robust approach for estimating change-points in the mean of an AR(1)
    /// process": squared differences over two runs, divided by those over one, minus 1.
    pub(crate) fn of(logarithms: &[f64]) -> Self {
        let [near, wide] = [1, 2].map(|lag| quantiles_of_differences(logarithms, lag));
        let phi = ((wide[0] / near[0]).powi(2) - 1.0).clamp(0.0, 0.7);
        let phi = if phi.is_nan() { 0.0 } else { phi };
        let deviation = |difference: f64| (difference / (1.0 - phi).sqrt()).max(FLOOR);
        let of_median = near[0] / MEDIAN_DIFFERENCE;
        // The quartile matters if runs alternate between two states: the median would only see one of them.
        let of_quartile = near[1] / QUARTILE_DIFFERENCE;
        Self { scale: deviation(of_median.max(of_quartile)), near: deviation(of_median), phi }
    }

    /// Each run, limited to two scales from the median of the nine runs around it: a spike does not move a level, and a
    /// lasting step keeps its edge.
    pub(crate) fn winsorised(&self, logarithms: &[f64]) -> Vec<f64> {
        let width = WINDOW.min(logarithms.len());
        let mut window = [0.0; WINDOW];
        let clip = CLIP * self.scale;
        let cut = |(at, value): (usize, &f64)| {
            // At the ends the window keeps its length, so that a shift needs a majority there as well.
            let start = at.saturating_sub(HALF).min(logarithms.len() - width);
            window[..width].copy_from_slice(&logarithms[start..start + width]);
            let median = middle(&mut window[..width]);
            value.clamp(median - clip, median + clip)
        };
        logarithms.iter().enumerate().map(cut).collect()
    }
}

fn quantiles_of_differences(series: &[f64], lag: usize) -> [f64; 2] {
    let mut differences: Vec<f64> = series.iter().zip(&series[lag..]).map(|(a, b)| (b - a).abs()).collect();
    let count = differences.len();
    [count / 2, (3 * count / 4).min(count - 1)]
        .map(|rank| *differences.select_nth_unstable_by(rank, f64::total_cmp).1)
}

/// The upper median; needs at least one value.
fn middle(values: &mut [f64]) -> f64 {
    *values.select_nth_unstable_by(values.len() / 2, f64::total_cmp).1
}

/// Variance of a mean of many runs relative to that of independent ones; at least 1.
///
/// From the autocorrelation of the ranks of the residuals about the medians of pieces, with Bartlett's weights (Newey & West
/// 1987), corrected for the autocorrelation that subtracting the medians removes.
pub(crate) fn inflation(series: &[f64], edges: &[usize]) -> f64 {
    let mut residuals = Vec::with_capacity(series.len());
    for piece in edges.windows(2).map(|ends| &series[ends[0]..ends[1]]) {
        let median = middle(&mut piece.to_vec());
        residuals.extend(piece.iter().map(|value| value - median));
    }
    inflation_of(&residuals, edges.len() - 1)
}

/// `fitted`: the number of means that were subtracted.
pub(crate) fn inflation_of(residuals: &[f64], fitted: usize) -> f64 {
    let ranks = super::ranks::centred(residuals);
    let products = |lag: usize| ranks.iter().zip(&ranks[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let variance = products(0);
    if variance == 0.0 {
        return 1.0;
    }
    let (mut total, mut width) = (1.0, 1.0);
    for lag in 1..=LAGS.min(ranks.len() - 1) {
        let weight = 2.0 * (1.0 - lag as f64 / (LAGS + 1) as f64);
        total += weight * products(lag) / variance;
        width += weight;
    }
    (total + width * fitted as f64 / ranks.len() as f64).clamp(1.0, MOST_INFLATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty runs that hardly vary, the last ones a step higher.
    fn with_step(last: usize) -> Vec<f64> {
        (0..40).map(|at| (at % 3) as f64 * 0.01 + f64::from(at + last >= 40)).collect()
    }

    #[test]
    fn a_spike_is_cut_and_a_lasting_step_is_kept() {
        let mut series = with_step(20);
        series[8] += 3.0;
        let cut = SessionNoise::of(&series).winsorised(&series);
        assert!(cut[8] < 0.1 && cut[19] < 0.1 && cut[20] > 0.9, "{cut:?}");
    }

    #[test]
    fn four_runs_at_the_end_are_no_level_of_their_own_and_five_are() {
        let end = |last| SessionNoise::of(&with_step(last)).winsorised(&with_step(last))[39];
        assert!(end(4) < 0.1 && end(5) > 0.9);
    }

    #[test]
    fn runs_that_resemble_their_neighbours_inflate_the_variance() {
        let alternating: Vec<f64> = (0..60).map(|at| f64::from(at * 37 % 60)).collect();
        let slow: Vec<f64> = (0..60).map(|at| (f64::from(at) / 6.0).sin()).collect();
        assert!(inflation(&alternating, &[0, 60]) < 1.5);
        assert_eq!(inflation(&slow, &[0, 60]), MOST_INFLATION);
        assert_eq!(inflation(&[1.0; 12], &[0, 12]), 1.0);
        // A constant series has the smallest scale.
        assert_eq!(SessionNoise::of(&[2.0; 10]), SessionNoise { scale: FLOOR, near: FLOOR, phi: 0.0 });
    }
}
