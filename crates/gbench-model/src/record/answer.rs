//! The answer of a case, in so few numbers that base and head can be compared by them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::samples::is_default;

/// Figures of one output, of the same inputs in every process: elements, means of parts, whatever the program chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerValues {
    /// Null: not a finite number.
    pub values: Vec<Option<f64>>,
    /// The difference of a value that rounding explains, as a share of the largest absolute value.
    pub tolerance: f64,
    /// Other processes of the case computed other values: these are the first one's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub varies: bool,
}

impl AnswerValues {
    /// The largest difference from `other`, as a share of the largest absolute value of both; `None` if it is within the
    /// tolerance of `self`. Infinite if one has a number where the other has none.
    pub fn difference(&self, other: &Self) -> Option<f64> {
        if self.values.len() != other.values.len() {
            return Some(f64::INFINITY);
        }
        let all = self.values.iter().chain(&other.values).flatten();
        let largest = all.fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let differences = self.values.iter().zip(&other.values).map(|pair| match pair {
            (Some(one), Some(other)) if one == other => 0.0,
            (Some(one), Some(other)) => (one - other).abs() / largest,
            (None, None) => 0.0,
            _ => f64::INFINITY,
        });
        differences.max_by(f64::total_cmp).filter(|most| *most > self.tolerance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_differ_beyond_the_tolerance_or_where_one_is_no_number() {
        let of =
            |values: &[Option<f64>]| AnswerValues { values: values.to_vec(), tolerance: 1e-3, varies: false };
        let base = of(&[Some(0.0), Some(-200.0), None]);
        assert_eq!(base.difference(&base), None);
        assert_eq!(base.difference(&of(&[Some(0.1), Some(-199.9), None])), None);
        assert_eq!(base.difference(&of(&[Some(1.0), Some(-200.0), None])), Some(0.005));
        for other in [of(&[Some(0.0), None, None]), of(&[Some(0.0), Some(-200.0), Some(1.0)]), of(&[])] {
            assert_eq!(base.difference(&other), Some(f64::INFINITY));
        }
        assert_eq!(of(&[Some(0.0)]).difference(&of(&[Some(0.0)])), None);
    }
}
