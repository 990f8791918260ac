//! The interval of Wilcoxon's signed ranks around the Hodges-Lehmann estimate: exact for differences that are symmetric about
//! their centre, whatever their tails (Hodges & Lehmann 1963; Hollander, Wolfe & Chicken 2014, section 3.3).
//!
//! `k` differences have k (k + 1) / 2 Walsh averages, the means of all pairs and of each with itself. The interval with `b`
//! outside on each side runs from the c-th smallest to the c-th largest of them, where c is the number of values of the
//! signed-rank statistic in its lower tail of at most `b`.

use std::sync::LazyLock;

use super::{Basis, CERTIFY_LATER, Interval};

/// The exact distribution is tabulated up to here; beyond, the normal approximation is as good.
const MAX_EXACT: usize = 150;
/// Standard normal quantile of 1 - [`CERTIFY_LATER`].
const Z_LATER: f64 = 2.747_781_385_444_992_6;

/// By `k`: c at the level [`CERTIFY_LATER`].
static COUNTS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let mut chance = vec![1.0];
    let mut counts = vec![0];
    for rank in 1..=MAX_EXACT {
        // Each rank has either sign with equal chance.
        let mut next = chance.clone();
        next.resize(chance.len() + rank, 0.0);
        next.iter_mut().skip(rank).zip(&chance).for_each(|(sum, without)| *sum += without);
        next.iter_mut().for_each(|chance| *chance /= 2.0);
        chance = next;
        let mut tail = 0.0;
        let within = chance.iter().take_while(|chance| {
            tail += **chance;
            tail <= CERTIFY_LATER
        });
        counts.push(within.count());
    }
    counts
});

/// c for `k` differences: 0 if they are too few for any interval.
fn count(k: usize) -> usize {
    COUNTS.get(k).copied().unwrap_or_else(|| {
        let k = k as f64;
        let (mean, variance) = (k * (k + 1.0) / 4.0, k * (k + 1.0) * (2.0 * k + 1.0) / 24.0);
        (mean - Z_LATER * variance.sqrt()).floor().max(0.0) as usize
    })
}

/// True if the whole interval is within `bound` either way.
pub(super) fn inside(differences: &[f64], bound: f64) -> bool {
    let outside = count(differences.len());
    if outside == 0 {
        return false;
    }
    let mut sorted = differences.to_vec();
    sorted.sort_by(f64::total_cmp);
    let above = averages_from(sorted.iter().copied(), bound);
    let below = averages_from(sorted.iter().rev().map(|difference| -difference), bound);
    above < outside && below < outside
}

/// The number of Walsh averages of ascending values that are at least `bound`.
fn averages_from(ascending: impl Iterator<Item = f64> + Clone, bound: f64) -> usize {
    let values: Vec<f64> = ascending.collect();
    let mut number = 0;
    // The smallest partner that still reaches the bound moves up as the larger value moves down.
    let mut partner = 0;
    for larger in (0..values.len()).rev() {
        while partner <= larger && (values[partner] + values[larger]) / 2.0 < bound {
            partner += 1;
        }
        if partner > larger {
            break;
        }
        number += larger - partner + 1;
    }
    number
}

/// The Hodges-Lehmann estimate, the median of the Walsh averages, and its interval; `None` for too few differences.
pub(super) fn interval(differences: &[f64]) -> Option<Interval> {
    let outside = count(differences.len());
    let last = differences.len();
    let pairs = (0..last).flat_map(|one| (one..last).map(move |other| (one, other)));
    let mut averages: Vec<f64> =
        pairs.map(|(one, other)| (differences[one] + differences[other]) / 2.0).collect();
    averages.sort_by(f64::total_cmp);
    let low = *averages.get(outside.checked_sub(1)?)?;
    let high = averages[averages.len() - outside];
    Some(Interval {
        centre: crate::median(&mut averages)?,
        low,
        high,
        level: CERTIFY_LATER,
        basis: Basis::SignedRanks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_the_exact_distribution() {
        // Three of the 1,024 sign patterns of ten ranks have a sum of at most 2: 0.00293.
        // NumPy: the distribution of 40 ranks, lower tail of at most 0.003.
        assert_eq!([8, 9, 10, 40].map(count), [0, 1, 3, 209]);
        let (exact, normal) = (COUNTS[MAX_EXACT] as f64, count(MAX_EXACT + 1) as f64);
        assert!((normal / exact - 1.0).abs() < 0.03, "{exact} {normal}");
    }

    #[test]
    fn looking_inside_and_the_interval_agree() {
        let differences: Vec<f64> = (0..20).map(|n| 0.01 * f64::from(n * 37 % 20) - 0.08).collect();
        let ranks = interval(&differences).unwrap();
        let reach = ranks.low.abs().max(ranks.high.abs());
        assert!(inside(&differences, reach * 1.001) && !inside(&differences, reach));
        assert_eq!(interval(&differences[..8]), None);
        assert!(!inside(&[0.0; 8], 1.0) && inside(&[0.0; 9], 1.0));
    }

    #[test]
    fn one_wild_difference_does_not_carry_it_away() {
        let mut differences: Vec<f64> = (0..30).map(|n| 0.001 * f64::from(n % 5) - 0.002).collect();
        differences[7] = 3.0;
        let ranks = interval(&differences).unwrap();
        assert!(ranks.centre.abs() < 0.001 && ranks.high < 0.02, "{ranks:?}");
    }
}
