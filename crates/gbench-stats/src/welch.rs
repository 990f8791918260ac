//! Two groups with possibly different variances: Welch's t with Satterthwaite's degrees of freedom (Welch 1947, Satterthwaite
//! 1946).

use super::order_statistics::{mean, sample_stddev};
use super::student::{TQuantiles, t_tail};

/// One group of values, summarised for the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleGroup {
    pub count: u32,
    pub mean: f64,
    /// Sample standard deviation (n - 1).
    pub stddev: f64,
}

impl SampleGroup {
    /// `None` for fewer than two values, or if the deviation overflows.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            count: u32::try_from(values.len()).ok()?,
            mean: mean(values)?,
            stddev: sample_stddev(values)?,
        })
    }

    /// The group without its `cut` smallest and `cut` largest values, as Yuen (1974) compares such means: the deviation is
    /// that of the values with the cut ones moved to the nearest remaining one. `None` if fewer than two values remain.
    pub fn trimmed(values: &[f64], cut: usize) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let kept = sorted.get(cut..sorted.len().checked_sub(cut)?)?.to_vec();
        let ([low, .., high], count) = (kept.as_slice(), kept.len()) else { return None };
        let moved: Vec<f64> = sorted.iter().map(|value| value.clamp(*low, *high)).collect();
        let freedom = |count: usize| (count - 1) as f64;
        Some(Self {
            count: u32::try_from(count).ok()?,
            mean: mean(&kept)?,
            stddev: sample_stddev(&moved)? * (freedom(sorted.len()) / freedom(count)).sqrt(),
        })
    }

    fn error2(&self) -> f64 {
        self.stddev.powi(2) / f64::from(self.count)
    }
}

/// The difference of two means, head - base, and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    pub difference: f64,
    /// Standard error of the difference; 0 if neither group varies.
    pub error: f64,
    /// Satterthwaite's degrees of freedom; meaningless if the error is 0.
    pub freedom: f64,
}

impl Welch {
    /// Both groups must have at least two values, which [`SampleGroup::of`] ensures.
    pub fn new(base: SampleGroup, head: SampleGroup) -> Self {
        let (b, h) = (base.error2(), head.error2());
        let total = b + h;
        // Shares, not squares of squares, so that even variances of 1e-200 work.
        let share = if total > 0.0 { b / total } else { 0.5 };
        let spread =
            share.powi(2) / f64::from(base.count - 1) + (1.0 - share).powi(2) / f64::from(head.count - 1);
        Self { difference: head.mean - base.mean, error: total.sqrt(), freedom: 1.0 / spread }
    }

    /// Two-sided interval with error rate `level`: 0.05 gives the 95 % interval. A point if nothing varies.
    pub fn interval(&self, level: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        if self.error == 0.0 {
            return (self.difference, self.difference);
        }
        let half = quantiles.upper(level / 2.0, self.freedom) * self.error;
        (self.difference - half, self.difference + half)
    }

    /// One-sided p-value against "the difference is at most `limit`".
    pub fn p_above(&self, limit: f64) -> f64 {
        self.p(self.difference - limit)
    }

    /// One-sided p-value against "the difference is at least `limit`".
    pub fn p_below(&self, limit: f64) -> f64 {
        self.p(limit - self.difference)
    }

    fn p(&self, excess: f64) -> f64 {
        if self.error > 0.0 {
            return t_tail(excess / self.error, self.freedom);
        }
        // Nothing varies, so the difference is known exactly.
        if excess > 0.0 { 0.0 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{close, reference};
    use proptest::prelude::*;

    fn welch(base: &[f64], head: &[f64]) -> Welch {
        Welch::new(SampleGroup::of(base).unwrap(), SampleGroup::of(head).unwrap())
    }

    #[test]
    fn intervals_and_shifted_tests_agree_with_scipy() {
        let mut quantiles = TQuantiles::default();
        reference("welch.json", 10, |case| {
            let ours = welch(&case.list("base"), &case.list("head"));
            close([ours.freedom], [case.take("freedom")], 1e-11);
            for (level, field) in [(0.05, "interval_95"), (0.001, "interval_999")] {
                let (low, high) = ours.interval(level, &mut quantiles);
                close([low, high], case.list(field), 1e-10);
            }
            let shift = case.take("shift");
            close([ours.p_above(shift)], [case.take("p_above")], 1e-10);
            close([ours.p_below(-shift)], [case.take("p_below")], 1e-10);
        });
    }

    #[test]
    fn a_trimmed_group_is_yuens() {
        let group = SampleGroup::trimmed(&[9.0, 1.0, 2.0, 3.0, -50.0, 4.0], 1).unwrap();
        // Of 1 1 2 3 4 4 the squares add up to 9.5 around 2.5; Yuen's squared error is 9.5 / (4 * 3).
        assert_eq!((group.count, group.mean), (4, 2.5));
        close([group.error2()], [9.5 / 12.0], 1e-12);
        assert_eq!(SampleGroup::trimmed(&[1.0, 2.0, 4.0], 0), SampleGroup::of(&[1.0, 2.0, 4.0]));
        assert_eq!(SampleGroup::trimmed(&[1.0, 2.0, 3.0], 1), None);
        assert_eq!(SampleGroup::trimmed(&[1.0], 1), None);
    }

    #[test]
    fn groups_that_do_not_vary_are_compared_exactly() {
        let ours = welch(&[2.0, 2.0], &[3.0, 3.0, 3.0]);
        assert_eq!(ours.interval(0.05, &mut TQuantiles::default()), (1.0, 1.0));
        assert_eq!((ours.p_above(0.5), ours.p_above(1.0), ours.p_below(0.0)), (0.0, 1.0, 1.0));
        // A group that does not vary leaves the freedom of the other.
        assert_eq!(welch(&[2.0, 2.0, 2.0], &[1.0, 2.0, 4.0, 3.0]).freedom, 3.0);
    }

    fn group(most: f64) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.9..most, 2..8)
    }

    proptest! {
        #[test]
        fn the_interval_excludes_a_limit_exactly_when_the_test_rejects_it(
            base in group(1.1), head in group(1.3), limit in -0.1..0.3_f64,
        ) {
            let ours = welch(&base, &head);
            let (low, high) = ours.interval(0.1, &mut TQuantiles::default());
            prop_assume!((low - limit).abs() > 1e-9 && (high - limit).abs() > 1e-9);
            prop_assert_eq!(low > limit, ours.p_above(limit) < 0.05);
            prop_assert_eq!(high < limit, ours.p_below(limit) < 0.05);
        }

        #[test]
        fn swapping_the_groups_mirrors_the_answer(base in group(1.1), head in group(1.3)) {
            let (one, other) = (welch(&base, &head), welch(&head, &base));
            prop_assert_eq!(one.difference, -other.difference);
            prop_assert!((one.p_above(0.02) - other.p_below(-0.02)).abs() < 1e-12);
        }
    }
}
