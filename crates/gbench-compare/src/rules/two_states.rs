//! Figures that every process of a side gives alike, and that differ between the sides: what speaks against a change is a
//! program that takes one of two states in each process, such as a pool of memory that is there or not.

/// Processes a side after which two figures differ by more than chance, over `rows` that share `alpha`: where a program
/// takes one of two states in each process, all of base and all of head are in different ones in at most 4^-n of
/// comparisons.
pub(crate) fn least_that_differ(rows: usize, alpha: f64) -> usize {
    let needed = (rows.max(1) as f64 / alpha).ln() / 4_f64.ln();
    needed.ceil().max(2.0) as usize
}

/// The largest chance that a program which takes one of two states in each process is in one of them in all of base and
/// in the other in all of head, whatever the odds.
pub(crate) fn in_two_states(counts: (u32, u32)) -> f64 {
    let (base, head) = (f64::from(counts.0), f64::from(counts.1));
    let share = base / (base + head);
    share.powf(base) * (1.0 - share).powf(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_processes_are_needed_as_make_it_rarer_than_the_row_may_be() {
        assert_eq!([1, 20, 100].map(|rows| least_that_differ(rows, 0.01)), [4, 6, 7]);
        assert_eq!(in_two_states((6, 6)), 4_f64.powi(-6));
        // At the worst odds, one to two.
        assert!((in_two_states((2, 4)) - (1.0 / 9.0) * (16.0 / 81.0)).abs() < 1e-15);
        for (rows, alpha) in [(1, 0.05), (20, 0.01), (3000, 1e-4)] {
            let least = least_that_differ(rows, alpha) as u32;
            let level = alpha / rows as f64;
            assert!(in_two_states((least, least)) <= level && in_two_states((least - 1, least - 1)) > level);
        }
    }
}
