//! Descriptive statistics. Inputs are finite; statistics that need more values are `None`.

use std::collections::BTreeMap;

/// Describes all samples of a metric, in its unit. The runner stores it as `model::Summary`.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    pub samples: u64,
    /// Processes with at least one sample.
    pub processes: u32,
    pub mean: f64,
    pub median: f64,
    /// Sample standard deviation (n - 1); `None` for a single sample.
    pub stddev: Option<f64>,
    pub min: f64,
    pub max: f64,
    /// `p25 p50 p75 p90 p95 p99` and the requested ones (`p99.9`), by type-7 quantiles.
    pub percentiles: BTreeMap<String, f64>,
}

/// Percentiles in every description.
const PERCENTILES: [f64; 6] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// Describes the samples of all processes taken together, for readers; decisions are based on processes.
///
/// `extra`: further percentiles in percent; those outside 0 to 100 are ignored. `None` if there is no sample or one is not
/// finite.
pub fn summarize<'a>(processes: impl IntoIterator<Item = &'a [f64]>, extra: &[f64]) -> Option<Description> {
    let mut sorted = Vec::new();
    let mut count = 0;
    for values in processes {
        sorted.extend_from_slice(values);
        count += u32::from(!values.is_empty());
    }
    if !sorted.iter().all(|value| value.is_finite()) {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let percentiles = PERCENTILES.iter().chain(extra).filter_map(|percent| {
        let in_range = (0.0..=100.0).contains(percent);
        Some((format!("p{percent}"), quantile(&sorted, percent / 100.0).filter(|_| in_range)?))
    });
    Some(Description {
        samples: sorted.len() as u64,
        processes: count,
        mean: mean(&sorted)?,
        median: quantile(&sorted, 0.5)?,
        stddev: sample_stddev(&sorted),
        min: *sorted.first()?,
        max: *sorted.last()?,
        percentiles: percentiles.collect(),
    })
}

/// Arithmetic mean; `None` without values. Compensated, so that a large offset does not cost digits.
pub fn mean(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let total = sum(values.iter().copied());
    if values.is_empty() {
        return None;
    }
    // The mean is finite even if the sum overflows.
    let finite = total.is_finite();
    Some(if finite { total / count } else { sum(values.iter().map(|value| value / count)) })
}

/// Neumaier's variant of Kahan summation (Neumaier 1974): exact to the last digits in any order.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0);
    for value in values {
        let next = total + value;
        let (large, small) = if total.abs() >= value.abs() { (total, value) } else { (value, total) };
        lost += (large - next) + small;
        total = next;
    }
    total + lost
}

/// Sample standard deviation (n - 1), two passes; `None` for fewer than two values, or if it overflows.
pub fn sample_stddev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    // Deviations are scaled by the largest, so that their squares neither overflow nor underflow.
    let largest = values.iter().map(|value| (value - centre).abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return Some(0.0);
    }
    let scaled = |value: &f64| (value - centre) / largest;
    let squares = sum(values.iter().map(|value| scaled(value).powi(2)));
    // The mean was rounded to a double; the error that this adds to the squares is subtracted.
    let offset = sum(values.iter().map(scaled)).powi(2) / values.len() as f64;
    let deviation = largest * ((squares - offset) / (values.len() - 1) as f64).max(0.0).sqrt();
    deviation.is_finite().then_some(deviation)
}

/// Median of `values`, in any order; reorders them. `None` without values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let upper = *upper;
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(lower.filter(|_| even).map_or(upper, |lower| between(lower, upper, 0.5)))
}

/// Quantile of ascending `sorted` at `p` in 0 to 1, type 7 (Hyndman & Fan 1996): NumPy's and R's default. `None` without
/// values.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let index = (position.floor() as usize).min(last);
    let upper = sorted[(index + 1).min(last)];
    Some(between(sorted[index], upper, position - index as f64))
}

/// The point at `share` of the way from `low` to `high`, never outside them.
fn between(low: f64, high: f64, share: f64) -> f64 {
    let span = high - low;
    let point = if !span.is_finite() {
        low * (1.0 - share) + high * share
    } else if share < 0.5 {
        low + span * share
    } else {
        high - span * (1.0 - share)
    };
    point.clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{close, reference};
    use proptest::prelude::*;

    #[test]
    fn every_figure_agrees_with_numpy_to_twelve_digits() {
        reference("order.json", 7, |case| {
            let (name, mut values): (String, _) = (case.take("name"), case.list("values"));
            let ours = summarize([&values[..]], &[0.0, 1.0, 99.9, 100.0]).unwrap();
            close([ours.mean], [case.take("mean")], 1e-12);
            let middle = case.take("median");
            close([ours.median, median(&mut values).unwrap()], [middle, middle], 1e-12);
            close(ours.stddev, case.take::<Option<f64>>("stddev"), 1e-12);
            let theirs: BTreeMap<String, f64> = case.take("percentiles");
            assert!(ours.percentiles.keys().eq(theirs.keys()), "{name}");
            close(ours.percentiles.into_values(), theirs.into_values(), 1e-12);
        });
    }

    #[test]
    fn nothing_is_said_of_nothing_or_of_numbers_that_are_none() {
        assert_eq!([&[][..], &[1.0, f64::NAN]].map(|values| summarize([values], &[])), [None, None]);
        assert_eq!((mean(&[]), sample_stddev(&[1.0]), quantile(&[], 0.5)), (None, None, None));
    }

    #[test]
    fn empty_processes_do_not_count_and_percentiles_out_of_range_are_left_out() {
        let parts: [&[f64]; 3] = [&[1.0, 2.0], &[], &[3.0]];
        let ours = summarize(parts, &[101.0, -1.0, f64::NAN, 99.9]).unwrap();
        assert_eq!((ours.samples, ours.processes, ours.percentiles.len()), (3, 2, 7));
    }

    #[test]
    fn the_ends_of_the_range_of_doubles_stay_finite() {
        let ours = summarize([[f64::MAX, f64::MAX, -f64::MAX].as_slice()], &[]).unwrap();
        assert!(ours.mean.is_finite() && ours.median == f64::MAX);
        assert!(ours.percentiles.values().all(|value| value.is_finite()));
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-1e6..1e6_f64, 1..40)
    }

    fn both(values: &[f64], change: impl Fn(f64) -> f64) -> [Description; 2] {
        let changed: Vec<f64> = values.iter().map(|value| change(*value)).collect();
        [values, &changed].map(|values| summarize([values], &[]).unwrap())
    }

    proptest! {
        #[test]
        fn a_shift_moves_the_centre_and_leaves_the_spread(values in values(), shift in -1e6..1e6_f64) {
            let [was, is] = both(&values, |value| value + shift);
            prop_assert!((is.mean - was.mean - shift).abs() < 1e-8);
            prop_assert!((is.median - was.median - shift).abs() < 1e-8);
            prop_assert!((is.stddev.unwrap_or(0.0) - was.stddev.unwrap_or(0.0)).abs() < 1e-8);
        }

        #[test]
        fn a_scale_scales_everything(values in values(), power in -20..20_i32) {
            // Powers of two scale without rounding, so the figures must be equal, not merely close.
            let scale = 2.0_f64.powi(power);
            let [was, is] = both(&values, |value| value * scale);
            prop_assert_eq!(is.mean, was.mean * scale);
            prop_assert_eq!(is.stddev, was.stddev.map(|stddev| stddev * scale));
            prop_assert_eq!(is.percentiles["p90"], was.percentiles["p90"] * scale);
        }

        #[test]
        fn the_order_of_samples_does_not_matter(values in values()) {
            let mut reversed: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert_eq!(summarize([&values[..]], &[]), summarize([&reversed[..]], &[]));
            prop_assert_eq!(median(&mut values.clone()), median(&mut reversed));
        }

        #[test]
        fn quantiles_rise_and_stay_within_the_extremes(mut values in values(), p in 0.0..1.0, q in 0.0..1.0) {
            values.sort_by(f64::total_cmp);
            let [below, above] = [f64::min(p, q), f64::max(p, q)].map(|at| quantile(&values, at).unwrap());
            prop_assert!(below <= above + 1e-9);
            prop_assert!(values[0] <= below && above <= values[values.len() - 1]);
        }
    }
}
