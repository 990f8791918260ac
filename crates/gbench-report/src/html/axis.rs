//! Positions and ticks of a chart.

use std::f64::consts::LN_10;

/// Maps a range of values to a range of pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// The height covers at least this share, so that noise of a percent does not look large.
const LEAST_RANGE: f64 = 0.05;

impl Axis {
    /// Includes all values, with a margin on both sides. `from`, `to`: pixels of the low and the high end.
    pub(super) fn over(values: impl Iterator<Item = f64>, [from, to]: [f64; 2]) -> Self {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold(ends, |(low, high), it| (low.min(it), high.max(it)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let range = (high - low).max(LEAST_RANGE * high.abs().max(low.abs())).max(f64::MIN_POSITIVE);
        let middle = low / 2.0 + high / 2.0;
        let half = 0.55 * range;
        Self { low: middle - half, high: middle + half, from, to }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        let share = if share.is_finite() { share.clamp(-1.0, 2.0) } else { 0.5 };
        self.from + (self.to - self.from) * share
    }

    /// Round values within it, about this number.
    pub(super) fn ticks(&self, about: u32) -> Vec<f64> {
        let step = (self.high - self.low) / f64::from(about.max(1));
        if !step.is_finite() || step <= 0.0 {
            return Vec::new();
        }
        let power = 10_f64.powf(step.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|it| *it >= step).unwrap_or(step);
        let first = (self.low / step).ceil() as i64;
        (0..=i64::from(4 * about))
            .map(|at| (first + at) as f64 * step)
            .take_while(|it| *it <= self.high)
            .collect()
    }
}

/// The same for values above zero, of which equal ratios are equal distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogAxis(Axis);

impl LogAxis {
    pub(super) fn over(values: impl Iterator<Item = f64>, ends: [f64; 2]) -> Self {
        Self(Axis::over(values.map(f64::ln), ends))
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        self.0.place(value.ln())
    }

    /// Round values within it, at most this number.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let decades = (self.0.low / LN_10).floor() as i32..=(self.0.high / LN_10).floor() as i32;
        let is_inside = |tick: &f64| (self.0.low..=self.0.high).contains(&tick.ln());
        let of = |steps: &[f64]| -> Vec<f64> {
            let all =
                decades.clone().flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
            all.filter(is_inside).collect()
        };
        let finer = [&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let mut ticks = finer.into_iter().map(of).find(|ticks| ticks.len() <= most).unwrap_or_default();
        if ticks.len() < 2 {
            let axis = Axis { low: self.0.low.exp(), high: self.0.high.exp(), ..self.0 };
            ticks = axis.ticks(most as u32).into_iter().filter(|tick| *tick > 0.0).collect();
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis::over([0.00123, 0.00131].into_iter(), [100.0, 0.0]);
        let ticks = axis.ticks(4);
        let expected = [0.00125, 0.0013];
        assert_eq!(ticks.len(), 2, "{ticks:?}");
        assert!(ticks.iter().zip(expected).all(|(tick, it)| (tick - it).abs() < 1e-12), "{ticks:?}");
        assert!(axis.place(0.00131) < axis.place(0.00123));
    }

    #[test]
    fn ticks_of_ratios_are_round_and_few() {
        for (values, most, expected) in [
            ([100.0, 20_000.0], 3, vec![100.0, 1000.0, 10_000.0]),
            ([610.0, 2600.0], 5, vec![700.0, 1000.0, 1500.0, 2000.0]),
            ([1.0, 1.1], 4, vec![1.0, 1.05, 1.1]),
        ] {
            let axis = LogAxis::over(values.into_iter(), [0.0, 100.0]);
            let ticks: Vec<f64> =
                axis.ticks(most).iter().map(|tick| (tick * 100.0).round() / 100.0).collect();
            assert_eq!(ticks, expected);
        }
        for values in [vec![], vec![0.0], vec![-1.0, f64::NAN], vec![1e-300, 1e300]] {
            let axis = LogAxis::over(values.iter().copied(), [100.0, 0.0]);
            assert!(axis.place(1.0).is_finite() && axis.place(0.0).is_finite(), "{values:?}");
            assert!(axis.ticks(5).len() < 40, "{values:?}");
        }
    }

    #[test]
    fn odd_values_have_a_place_all_the_same() {
        for values in [vec![], vec![f64::NAN], vec![0.0], vec![1e308, -1e308], vec![5e-324]] {
            let axis = Axis::over(values.iter().copied(), [100.0, 0.0]);
            assert!(axis.place(1.0).is_finite() && axis.place(f64::NAN).is_finite(), "{values:?}");
            assert!(axis.ticks(4).len() < 40, "{values:?}");
        }
    }
}
