//! The allowed error of an answer, and the choice of checked elements.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::cuda::accuracy::Accuracy;
use gbench_model::DType;

/// Unit roundoff of single precision, in which every kernel calculates.
pub(super) const U: f64 = unit(DType::F32);

/// The largest error of the functions `expf`, `logf`, `erff`, `tanhf` and `rsqrtf`, as a multiple of [`U`]: 2 ulp by the CUDA
/// C++ programming guide's table of mathematical functions, and an ulp is at most 2 U of the value.
pub(super) const FUNCTION: f64 = 4.0;

/// Half the distance from 1 to the next number.
pub(super) const fn unit(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 1.0 / (1_u64 << 11) as f64,
        DType::Bf16 => 1.0 / (1_u64 << 8) as f64,
        _ => 1.0 / (1_u64 << 24) as f64,
    }
}

/// The allowed error of `value` if it was computed in single precision to within `error` and then rounded to `dtype`.
pub(super) fn rounded(dtype: DType, value: f64, error: f64) -> f64 {
    // Below the least normal number, numbers are equally spaced: half of that spacing.
    let least = match dtype {
        DType::F16 => f64::powi(2.0, -25),
        DType::Bf16 => f64::powi(2.0, -134),
        _ => f64::powi(2.0, -149),
    };
    let rounding = if dtype == DType::F32 { 0.0 } else { unit(dtype) * (value.abs() + error) };
    // The omitted second-order terms are far below a thousandth.
    error * 1.001 + rounding + least
}

/// Additions that one element goes through in a sum over a block: `each` in its thread, then the lanes pairwise, then the
/// warps in sequence.
pub(super) fn chain(each: u64, threads: u32) -> f64 {
    each as f64 + 5.0 + f64::from(threads / 32)
}

/// The worst of all checked elements.
pub(super) struct Worst(Accuracy);

impl Worst {
    pub(super) fn new() -> Self {
        Self(Accuracy { worst: 0.0, max_abs_error: 0.0 })
    }

    pub(super) fn see(&mut self, found: f64, expected: f64, allowed: f64) {
        let error = (found - expected).abs();
        let share = if error == 0.0 { 0.0 } else { error / allowed };
        // `max` would ignore a NaN.
        if share > self.0.worst || share.is_nan() {
            self.0.worst = share;
        }
        if error > self.0.max_abs_error || error.is_nan() {
            self.0.max_abs_error = error;
        }
    }

    pub(super) fn done(self) -> Accuracy {
        self.0
    }
}

pub(super) struct CheckedElements(Pcg64);

impl CheckedElements {
    pub(super) fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// All of `count` if that is at most `most`; else that many, including the first and the last few.
    pub(super) fn of(&mut self, count: usize, most: usize) -> Vec<usize> {
        if count <= most {
            return (0..count).collect();
        }
        let ends = most / 8;
        let mut chosen: Vec<usize> = (0..ends).chain(count - ends..count).collect();
        chosen.extend((0..most - 2 * ends).map(|_| self.0.random_range(0..count)));
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_stays_the_worst_whatever_follows() {
        let mut worst = Worst::new();
        worst.see(1.0, 1.0, 0.0);
        assert_eq!(worst.0, Accuracy { worst: 0.0, max_abs_error: 0.0 });
        worst.see(1.5, 1.0, 1.0);
        assert_eq!(worst.0, Accuracy { worst: 0.5, max_abs_error: 0.5 });
        worst.see(f64::NAN, 1.0, 1.0);
        worst.see(9.0, 1.0, 1.0);
        assert!(worst.0.worst.is_nan() && worst.0.max_abs_error.is_nan());
        // Any error is wrong if none is allowed.
        let mut worst = Worst::new();
        worst.see(1.0, 2.0, 0.0);
        assert!(worst.done().worst > 1.0);
    }

    #[test]
    fn a_sample_has_both_ends_and_no_element_twice() {
        assert_eq!(CheckedElements::new(1).of(5, 8), [0, 1, 2, 3, 4]);
        let chosen = CheckedElements::new(1).of(1_000_000, 800);
        assert!(chosen.is_sorted_by(|one, other| one < other) && chosen.len() > 700);
        assert_eq!((chosen[99], chosen[chosen.len() - 100]), (99, 999_900));
        assert_ne!(chosen, CheckedElements::new(2).of(1_000_000, 800));
    }
}
