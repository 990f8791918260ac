//! The random order of the processes of a round, by a recorded seed.
//!
//! The statistics rely on it: with identical programs each round's difference is as likely as its negative, because chance
//! alone decides who goes first. The order is a hash of the seed, the case and the round, and depends on nothing else: not on
//! open cases, earlier runs or interruptions.

use sha2::{Digest, Sha256};

use gbench_model::{CaseId, Comparison, SequentialRuleName};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOrder {
    pub seed: u64,
    /// The second round reverses the first one's order. Both screen: among three drawn rounds, all have the same order in a
    /// quarter of the cases, and an effect of the position then looks like a change without noise. Confirming rounds are always
    /// drawn.
    pub balanced: bool,
}

impl From<u64> for RunOrder {
    fn from(seed: u64) -> Self {
        Self { seed, balanced: true }
    }
}

impl RunOrder {
    pub fn of(comparison: &Comparison) -> Self {
        Self { seed: comparison.seed, balanced: comparison.rule.name != SequentialRuleName::SeqE }
    }

    /// The order of a case's processes in a round: the indices below `participants`, at most 3.
    pub fn in_round(self, case: &CaseId, round: u32, participants: usize) -> Vec<usize> {
        match (self.balanced, round) {
            (true, 1) => order(self.seed, case, 0, participants).into_iter().rev().collect(),
            _ => order(self.seed, case, round, participants),
        }
    }

    /// The position of a case among those that share a process of a round: random, and the same on every side.
    pub fn place(self, case: &CaseId, round: u32) -> u64 {
        draw(b"gbench-ci/place/v1", self.seed, case, round)
    }
}

/// All orders of base and head, and of all three, are equally likely. An order of three without the third is a fair order of
/// two, so that a control may end early. Ignores the device, which is known only after the first process.
fn order(seed: u64, case: &CaseId, round: u32, participants: usize) -> Vec<usize> {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let drawn = draw(b"gbench-ci/coin/v1", seed, case, round);
    // The remainder of 2^64 by 6 favours four of the orders by less than 1 in 10^18.
    let order = match participants {
        0..=2 => ORDERS[(drawn % 2) as usize],
        _ => ORDERS[(drawn % 6) as usize],
    };
    order.into_iter().filter(|index| *index < participants).collect()
}

/// `purpose` makes draws independent.
fn draw(purpose: &[u8], seed: u64, case: &CaseId, round: u32) -> u64 {
    let case = CaseId { device: "host".into(), ..case.clone() };
    // Fixed lengths first, the only text last: no two draws hash the same bytes.
    let digest = Sha256::new()
        .chain_update(purpose)
        .chain_update(seed.to_le_bytes())
        .chain_update(round.to_le_bytes())
        .chain_update(case.to_string())
        .finalize();
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::{Params, Thermal, Timing};

    fn case(name: &str) -> CaseId {
        CaseId {
            benchmark: name.parse().unwrap(),
            variant: None,
            params: Params::new(),
            timing: Timing::Protocol,
            thermal: Thermal::Warm,
            device: "host".into(),
        }
    }

    fn heads_first(seed: u64, name: &str) -> Vec<bool> {
        (0..400).map(|round| order(seed, &case(name), round, 2) == [1, 0]).collect()
    }

    #[test]
    fn it_is_fair() {
        // 400 tosses: the mean is 200, the deviation 10.
        for name in ["s/a", "s/b", "s/c"] {
            let first = heads_first(7, name).iter().filter(|first| **first).count();
            assert!((160..=240).contains(&first), "{name}: {first} of 400");
        }
        let mut counts = std::collections::BTreeMap::new();
        for round in 0..1200 {
            *counts.entry(order(7, &case("s/a"), round, 3)).or_insert(0) += 1;
        }
        // Each of six orders: the mean is 200, the deviation 13.
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (145..=255).contains(count)), "{counts:?}");
    }

    #[test]
    fn cases_rounds_and_seeds_are_tossed_independently() {
        let same = |one: &[bool], other: &[bool]| one.iter().zip(other).filter(|(a, b)| a == b).count();
        let (a, b) = (heads_first(7, "s/a"), heads_first(7, "s/b"));
        assert!((160..=240).contains(&same(&a, &b)));
        assert!((160..=240).contains(&same(&a, &heads_first(8, "s/a"))));
        // Successive rounds are independent: 399 neighbours.
        assert!((160..=240).contains(&same(&a[1..], &a[..399])));
    }

    /// Old records stay replayable and resumable. The figures are from Python's hashlib.
    #[test]
    fn it_never_changes() {
        let word = |first: bool| if first { 'h' } else { 'b' };
        let tosses: String = heads_first(20_261_121, "s/a").into_iter().take(16).map(word).collect();
        assert_eq!(tosses, "bhhbhhbbbhhhhhhh");
        assert_eq!(order(20_261_121, &case("s/a"), 0, 3), [0, 1, 2]);
        let elsewhere = CaseId { device: "cuda:NVIDIA H100".into(), ..case("s/a") };
        assert_eq!(order(7, &elsewhere, 5, 3), order(7, &case("s/a"), 5, 3));
    }

    #[test]
    fn n1_the_second_round_of_the_screen_takes_the_opposite_order_and_all_others_are_tossed() {
        let (balanced, tossed) =
            (RunOrder { seed: 7, balanced: true }, RunOrder { seed: 7, balanced: false });
        for name in ["s/a", "s/b", "s/c", "s/d"] {
            for participants in [2, 3] {
                let of = |order: RunOrder, round| order.in_round(&case(name), round, participants);
                let mut opposite = of(balanced, 0);
                opposite.reverse();
                assert_eq!(of(balanced, 1), opposite);
                for round in (0..40).filter(|round| *round != 1) {
                    assert_eq!(of(balanced, round), of(tossed, round));
                    assert_eq!(of(tossed, round), order(7, &case(name), round, participants));
                }
            }
        }
    }

    #[test]
    fn an_order_of_three_without_the_control_is_fair_too() {
        let first = (0..400).filter(|round| {
            let order = order(3, &case("s/a"), *round, 3);
            order.iter().find(|index| **index < 2) == Some(&1)
        });
        let first = first.count();
        assert!((160..=240).contains(&first), "{first} of 400");
    }
}
