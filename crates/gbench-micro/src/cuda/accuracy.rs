//! How right an answer is.

/// How far an answer is from the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Accuracy {
    /// The worst error as a share of what is allowed: right up to 1. NaN is wrong.
    pub worst: f64,
    /// The largest difference of an element.
    pub max_abs_error: f64,
}
