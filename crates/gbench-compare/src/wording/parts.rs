//! Parts that texts of several kinds share.

/// A factor without meaningless digits.
pub(super) fn factor(factor: f64) -> String {
    const MAX: f64 = 1e6;
    if factor < MAX { format!("{factor:.0}") } else { "more than a million".into() }
}

/// Why rounds that resemble their neighbours prove nothing; a reason of rows, and a warning of the comparison.
pub(super) fn correlated(correlation: f64, error: f64) -> String {
    format!(
        "successive rounds are correlated (lag-1 autocorrelation {correlation:.2} ± {error:.2}): processes of one side are not \
         independent of each other"
    )
}

pub(crate) fn counted(names: &[String], most: usize) -> (u32, Vec<String>) {
    (names.len() as u32, names[..names.len().min(most)].to_vec())
}
