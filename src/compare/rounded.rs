//! Figures so coarse that every process gave the same: what lies below their last digit nobody measured.

use super::Evidence;

/// Processes a side from which on the same figure over and over shows that they differ by less than its last digit.
pub const LEAST_PROCESSES: usize = 5;

/// The smallest step that the samples of both sides could show: their last decimal place in use, or the smallest distance
/// between two of them, where that is larger (a timer's tick). Above 0; `None` where all of them are zero.
pub fn resolution(evidence: &Evidence) -> Option<f64> {
    let processes = evidence.base.processes.iter().chain(&evidence.head.processes);
    let mut values: Vec<f64> = processes.flat_map(|process| process.samples).copied().collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let place = values.iter().filter_map(|value| last_place(*value)).min()?;
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]);
    let gap = gaps.fold(f64::INFINITY, f64::min);
    let place = 10.0_f64.powi(place);
    Some(if gap.is_finite() { place.max(gap) } else { place })
}

/// The power of ten of the last digit, of twelve at most: what a change of unit adds is no digit of the source.
fn last_place(value: f64) -> Option<i32> {
    let text = format!("{value:.11e}");
    let (digits, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let decimals = digits.trim_end_matches('0').split_once('.').map_or(0, |(_, decimals)| decimals.len());
    (value != 0.0).then_some(exponent - decimals as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_is_found_at_any_size() {
        let cases = [(12.3, -1), (1.25e-3, -5), (120.0, 1), (0.1 + 0.2, -1), (-7.0, 0), (0.012, -3)];
        for (value, place) in cases {
            assert_eq!(last_place(value), Some(place), "{value}");
        }
        assert_eq!(last_place(0.0), None);
    }
}
