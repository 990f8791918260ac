//! The location of one process's samples: the mean of their middle half.
//!
//! It is robust against the slow outliers of GPU timing and, unlike the median, resolves less than one tick of the timer.

/// Mean of the middle half of `ln values`; sorts `values` in place. `floor(n / 4)` values are dropped at each end. `None` if
/// there are no values, or if one has no finite logarithm.
pub fn ln_midmean(values: &mut [f64]) -> Option<f64> {
    let positive = values.iter().all(|value| *value > 0.0);
    if positive { mean_of_middle(values, f64::ln) } else { None }
}

/// Mean of the middle half of `values`, which are sorted in place. `None` if there are no values, or if one is not finite.
pub fn midmean(values: &mut [f64]) -> Option<f64> {
    mean_of_middle(values, |value| value)
}

fn mean_of_middle(values: &mut [f64], scale: fn(f64) -> f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let dropped = values.len() / 4;
    let middle = &values[dropped..values.len() - dropped];
    let known = !middle.is_empty() && values.iter().all(|value| value.is_finite());
    known.then(|| middle.iter().map(|value| scale(*value)).sum::<f64>() / middle.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_dropped_at_each_end_unless_the_values_are_few() {
        for (values, place) in [
            (&[100.0, 1.0, 4.0, 2.0, 3.0, 5.0, 6.0, 0.001][..], Some(3.5)),
            (&[1.0, 2.0, 6.0], Some(3.0)),
            (&[], None),
            (&[f64::NAN], None),
            // It resolves less than a tick.
            (&[1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0], Some(1.25)),
            (&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], Some(1.5)),
        ] {
            assert_eq!(midmean(&mut values.to_vec()), place, "{values:?}");
        }
        let ln = ln_midmean(&mut [8.0, 2.0, 4.0, 1.0]).unwrap();
        assert!((ln - 8.0_f64.ln() / 2.0).abs() < 1e-15);
        assert_eq!([&mut [1.0][..], &mut [], &mut [1.0, 0.0]].map(ln_midmean), [Some(0.0), None, None]);
    }
}
