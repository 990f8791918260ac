//! What texts of several kinds have in common.

use crate::model::text::list;

/// Names of which only the first are kept, and how many there are: `a, b and 4 more`.
pub(super) fn named(count: u32, named: &[String]) -> String {
    let more = (count as usize).saturating_sub(named.len());
    let shown = list(named, named.len());
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// A factor without digits that say nothing.
pub(super) fn times(factor: f64) -> String {
    const MOST: f64 = 1e6;
    if factor < MOST { format!("{factor:.0}") } else { "more than a million".into() }
}

/// Why rounds that resemble their neighbours prove nothing; a reason of rows, and a warning of the comparison.
pub(super) fn serial_correlation(correlation: f64, error: f64) -> String {
    format!(
        "successive rounds are correlated (lag-1 autocorrelation {correlation:.2} ± {error:.2}): processes of one side are not \
         independent of each other"
    )
}
