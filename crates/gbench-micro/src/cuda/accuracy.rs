#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Accuracy {
    /// The worst error as a share of the allowed one: right up to 1. NaN is wrong.
    pub worst: f64,
    /// The largest absolute error of an element.
    pub max_abs_error: f64,
}
