//! Whether the processes of both sides can be alive at once: two that do not fit in memory together are run one after
//! the other.

/// True where both fit, or where nothing is known against it.
///
/// `base`, `head`: bytes that each takes at its peak, where that is known; of a side without a known peak the other's is
/// assumed, as both are versions of one program. `available`: bytes that there are for both, 0 where that is unknown.
pub fn fits_together(base: Option<u64>, head: Option<u64>, available: u64) -> bool {
    why_apart(base, head, available).is_none()
}

/// Why the two cannot be alive at once, to stand in a record; absent where they can.
pub fn why_apart(base: Option<u64>, head: Option<u64>, available: u64) -> Option<String> {
    let (base, head) = (base.or(head)?, head.or(base)?);
    if available == 0 || base.saturating_add(head) <= available {
        return None;
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Some(format!(
        "one after the other instead of in turns: base takes {} MiB at its peak and head {} MiB, and there are {} MiB for \
         both",
        mib(base),
        mib(head),
        available >> 20
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn two_fit_up_to_what_there_is() {
        assert!(fits_together(Some(30 * GIB), Some(50 * GIB), 80 * GIB));
        assert!(!fits_together(Some(30 * GIB), Some(50 * GIB + 1), 80 * GIB));
        assert!(!fits_together(Some(u64::MAX), Some(u64::MAX), u64::MAX - 1));
    }

    #[test]
    fn a_side_that_is_not_known_is_taken_to_be_like_the_other() {
        assert!(!fits_together(Some(41 * GIB), None, 80 * GIB));
        assert!(!fits_together(None, Some(41 * GIB), 80 * GIB));
        assert!(fits_together(None, Some(40 * GIB), 80 * GIB));
    }

    #[test]
    fn what_nothing_is_known_of_is_tried() {
        assert!(fits_together(None, None, 1));
        assert!(fits_together(Some(u64::MAX), Some(1), 0));
    }

    #[test]
    fn the_reason_names_both_sides_and_what_there_is() {
        let why = why_apart(Some(5 * GIB), Some(4 * GIB), 8 * GIB).unwrap();
        assert_eq!(
            why,
            "one after the other instead of in turns: base takes 5120 MiB at its peak and head 4096 MiB, and there are \
             8192 MiB for both"
        );
    }
}
