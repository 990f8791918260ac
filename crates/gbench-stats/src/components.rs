//! Splits the scatter of a benchmark by source: iterations within a process, processes, and their order in a round.
//!
//! The location of a process is the mean of its middle half ([`super::midmean`]). Its uncertainty from the iterations is the
//! variance of a trimmed mean (Tukey & McLaughlin 1963), widened for autocorrelated iterations. Any further scatter of
//! locations is between processes, and more iterations do not reduce it.

use super::{mean, sample_stddev};

/// Fewer samples show nothing about the scatter within a process.
const MIN_SAMPLES: usize = 4;

/// The estimate that iterations give of their process's location.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// Lag-1 autocorrelation of iterations, corrected for the bias of short series; outliers are moved to the ends of the
    /// middle half.
    pub correlation: f64,
    /// Variance of one process's location.
    pub variance: f64,
    /// Iterations per process, on average.
    pub iterations: f64,
}

impl Within {
    /// `processes`: the iterations of each, in order. Processes with fewer than four are skipped; `None` if no other is left.
    pub fn of<'a>(processes: impl IntoIterator<Item = &'a [f64]>) -> Option<Self> {
        let long = processes.into_iter().filter(|samples| samples.len() >= MIN_SAMPLES);
        let drawn_in: Vec<Vec<f64>> = long.map(drawn_in).collect();
        if drawn_in.is_empty() {
            return None;
        }
        let correlation = lag_1(drawn_in.iter().map(Vec::as_slice)).unwrap_or(0.0);
        let of_place = |samples: &Vec<f64>| {
            let count = samples.len() as f64;
            let middle = count - 2.0 * (samples.len() / 4) as f64;
            // Negative correlation does not reduce the estimate: it is rarely real.
            let widening = widening(correlation.max(0.0), samples.len());
            squares(samples).0 / (middle * (middle - 1.0)) * widening * (count - 1.0) / (count - widening)
        };
        let variances: Vec<f64> = drawn_in.iter().map(of_place).collect();
        let lengths: Vec<f64> = drawn_in.iter().map(|samples| samples.len() as f64).collect();
        Some(Self { correlation, variance: mean(&variances)?, iterations: mean(&lengths)? })
    }
}

/// The variance of one process's location by source; see the file's comment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    pub within: f64,
    pub between: f64,
    /// From being first or second in a round.
    pub order: f64,
}

impl Components {
    /// `differences`: head - base by round, of the same program. `late`: second minus first process of each round, if the
    /// order is known.
    pub fn of(differences: &[f64], late: &[f64], within: f64) -> Option<Self> {
        let deviation = sample_stddev(differences)?;
        // Each difference is of two processes.
        let all = deviation * deviation / 2.0;
        let order = mean(late).zip(sample_stddev(late)).map_or(0.0, |(mean, deviation)| {
            let by_chance = deviation * deviation / late.len() as f64;
            ((mean * mean - by_chance) / 2.0).max(0.0)
        });
        let within = within.min(all);
        let order = order.min(all - within);
        Some(Self { within, between: all - within - order, order })
    }

    /// The share of one part in the whole; 0 if nothing varies.
    pub fn share(&self, part: f64) -> f64 {
        let all = self.within + self.between + self.order;
        if all > 0.0 { part / all } else { 0.0 }
    }
}

/// The number of iterations per process with the least total time, n = sqrt(c_launch / c_iteration * within / between)
/// (Kalibera & Jones 2013, for two levels). `within`: variance from one iteration. Infinite if `between` is zero.
pub fn best_iterations(launch: f64, iteration: f64, within: f64, between: f64) -> f64 {
    (launch / iteration * within / between).sqrt()
}

/// Pooled lag-1 autocorrelation of many series about their own means: that of the first-order process whose expected ratio of
/// products to squares, in series this short, equals the observed ratio. `None` if nothing varies, or no series has four
/// values.
pub fn lag_1<'a>(series: impl IntoIterator<Item = &'a [f64]>) -> Option<f64> {
    let (mut square, mut product, mut lengths) = (0.0, 0.0, Vec::new());
    for values in series.into_iter().filter(|values| values.len() >= MIN_SAMPLES) {
        let (squares, products) = squares(values);
        if squares > 0.0 {
            square += squares;
            product += products;
            lengths.push(values.len());
        }
    }
    if lengths.is_empty() {
        return None;
    }
    let found = product / square;
    let expected = |correlation: f64| {
        let (mut products, mut squares) = (0.0, 0.0);
        for length in &lengths {
            let (count, widening) = (*length as f64, widening(correlation, *length));
            let edge = (1.0 - correlation.powi(*length as i32)) / (1.0 - correlation);
            squares += count - widening;
            products += (count - 1.0) * correlation - (count + 1.0) * widening / count + 2.0 * edge / count;
        }
        products / squares
    };
    let (mut low, mut high) = (-0.99, 0.99);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if expected(middle) < found { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

/// The factor on the variance of a mean of `count` neighbours: 1 + 2 sum (1 - k/n) r^k.
fn widening(correlation: f64, count: usize) -> f64 {
    let (r, n) = (correlation, count as f64);
    (1.0 + r) / (1.0 - r) - 2.0 * r * (1.0 - r.powi(count as i32)) / (n * (1.0 - r) * (1.0 - r))
}

/// Sums about the mean: of squares, and of products of neighbours.
fn squares(values: &[f64]) -> (f64, f64) {
    let mean = mean(values).unwrap_or(0.0);
    let square = values.iter().map(|value| (value - mean).powi(2)).sum();
    (square, values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum())
}

/// The samples in order, with those outside of the middle half set to its ends.
fn drawn_in(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let dropped = samples.len() / 4;
    let (low, high) = (sorted[dropped], sorted[samples.len() - 1 - dropped]);
    samples.iter().map(|value| value.clamp(low, high)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::midmean;
    use crate::test_support::normal;

    /// `count` iterations of unit variance around `place`.
    fn process(place: f64, correlation: f64, count: usize, normal: &mut impl FnMut() -> f64) -> Vec<f64> {
        let mut last = normal();
        let fresh = (1.0 - correlation * correlation).sqrt();
        let step = |_| {
            let now = last;
            last = correlation * last + fresh * normal();
            place + now
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn correlation_is_found_in_short_series() {
        let mut normal = normal(1);
        for (correlation, count) in [(0.0, 8), (0.4, 8), (0.4, 30), (0.8, 12), (-0.3, 20)] {
            let series: Vec<_> = (0..3000).map(|_| process(0.0, correlation, count, &mut normal)).collect();
            let found = lag_1(series.iter().map(Vec::as_slice)).unwrap();
            assert!((found - correlation).abs() < 0.03, "{found} of {correlation} at {count}");
        }
        assert_eq!(lag_1([[1.0; 9].as_slice(), &[1.0, 2.0, 3.0]]), None);
    }

    #[test]
    fn the_variance_of_a_trimmed_mean_is_tukeys() {
        // Sorted 1 to 8, two dropped at each end: 3 3 3 4 5 6 6 6, squares about 4.5 are 14; h = 4.
        let samples = [3.0, 5.0, 1.0, 7.0, 2.0, 8.0, 4.0, 6.0];
        let within = Within::of([samples.as_slice()]).unwrap();
        assert!(within.correlation < 0.0, "{within:?}");
        assert!((within.variance - 14.0 / 12.0).abs() < 1e-12, "{within:?}");
        assert_eq!(Within::of([[1.0, 2.0, 3.0].as_slice()]), None);
    }

    #[test]
    fn the_variance_within_is_that_of_simulated_places() {
        let mut normal = normal(2);
        for correlation in [0.0, 0.5] {
            let series: Vec<_> = (0..4000).map(|_| process(0.0, correlation, 30, &mut normal)).collect();
            let within = Within::of(series.iter().map(Vec::as_slice)).unwrap();
            let places: Vec<f64> = series.iter().map(|one| midmean(&mut one.clone()).unwrap()).collect();
            let truth = sample_stddev(&places).unwrap().powi(2);
            assert!((within.variance / truth - 1.0).abs() < 0.15, "{within:?}, in truth {truth}");
        }
    }

    #[test]
    fn the_parts_of_the_scatter_are_told_apart() {
        let mut normal = normal(3);
        let (count, between, late) = (12, 0.5, 0.8);
        let (mut differences, mut lates, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..4000 {
            let [first, second] = [0.0, late].map(|shift| {
                samples.push(process(shift + between * normal(), 0.3, count, &mut normal));
                midmean(&mut samples[samples.len() - 1].clone()).unwrap()
            });
            lates.push(second - first);
            differences.push(if round % 2 == 0 { second - first } else { first - second });
        }
        let within = Within::of(samples.iter().map(Vec::as_slice)).unwrap();
        let parts = Components::of(&differences, &lates, within.variance).unwrap();
        assert!((parts.between / 0.25 - 1.0).abs() < 0.15, "{parts:?}");
        assert!((parts.order / 0.32 - 1.0).abs() < 0.15, "{parts:?}");
        let shares = [parts.within, parts.between, parts.order].map(|part| parts.share(part));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(Components::of(&[0.0; 5], &[], 0.0).unwrap().share(0.0), 0.0);
    }

    #[test]
    fn dear_launches_and_quiet_processes_ask_for_more_iterations() {
        assert_eq!(best_iterations(1.0, 0.01, 4.0, 1.0), 20.0);
        assert_eq!(best_iterations(4.0, 0.01, 4.0, 1.0), 40.0);
        assert!(best_iterations(1.0, 0.01, 4.0, 0.0).is_infinite());
    }
}
