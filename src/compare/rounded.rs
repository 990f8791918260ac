//! Figures so coarse that every process gave the same: what lies below their last digit nobody measured.

use super::Evidence;

/// Processes a side from which on the same figure over and over shows that they differ by less than its last digit.
pub const LEAST_PROCESSES: usize = 5;

/// The smallest step that the samples could show: their last decimal place in use, or the smallest distance between two
/// samples of one side, where that is larger (a timer's tick). Above 0; `None` where all of them are zero.
pub fn resolution(evidence: &Evidence) -> Option<f64> {
    let sides = [&evidence.base, &evidence.head].map(|side| {
        let samples = side.processes.iter().flat_map(|process| process.samples);
        let mut values: Vec<f64> = samples.copied().collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    });
    let place = 10.0_f64.powi(sides.iter().flatten().filter_map(|value| last_place(*value)).min()?);
    let gaps = sides.iter().flat_map(|values| values.windows(2).map(|pair| pair[1] - pair[0]));
    Some(gaps.reduce(f64::min).map_or(place, |gap| gap.max(place)))
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
