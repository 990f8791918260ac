//! Deals cases to shards so that all shards take about as long: longest processing time first (Graham 1969,
//! <https://doi.org/10.1137/0117039>).

use std::cmp::Reverse;

/// The shard of each case, counted from 0: the dearest case first, each to the shard that has least so far.
///
/// `costs`: in milliseconds, of cases in an order that is the same everywhere. Whole numbers, so that every machine comes to
/// the same result. `loads`: what the shards have before, one each, at least one; the new sums afterwards.
pub(super) fn deal(costs: &[u64], loads: &mut [u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|at| Reverse(costs[*at]));
    let mut dealt = vec![0; costs.len()];
    // A case that costs nothing measurable still goes to a shard with few cases.
    let mut cases = vec![0_u32; loads.len()];
    for at in order {
        let least = (0..loads.len()).min_by_key(|shard| (loads[*shard], cases[*shard])).unwrap_or(0);
        loads[least] = loads[least].saturating_add(costs[at]);
        cases[least] += 1;
        dealt[at] = least;
    }
    dealt
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, LogNormal};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// A suite whose cases take log-normally long: a median of 20 s, and the middle two thirds within a factor of e^`spread`.
    fn suite(cases: usize, spread: f64, random: &mut Pcg64Mcg) -> Vec<u64> {
        let seconds = LogNormal::new(20.0_f64.ln(), spread).unwrap();
        (0..cases).map(|_| (1000.0 * seconds.sample(random)) as u64).collect()
    }

    /// The longest shard over the mean, where `costs` decided and the cases really take `real`.
    fn longest_over_mean(costs: &[u64], real: &[u64], shards: usize) -> f64 {
        let mut really = vec![0; shards];
        for (at, shard) in deal(costs, &mut vec![0; shards]).into_iter().enumerate() {
            really[shard] += real[at];
        }
        let mean = real.iter().sum::<u64>() as f64 / shards as f64;
        *really.iter().max().unwrap() as f64 / mean
    }

    /// Shards of so many cases that three of them fit into each on average, and no single case is longer than the mean: no
    /// cut can help against such a one.
    fn is_possible(costs: &[u64], shards: usize) -> bool {
        let mean = costs.iter().sum::<u64>() as f64 / shards as f64;
        costs.len() >= 3 * shards && costs.iter().all(|cost| *cost as f64 <= mean)
    }

    const SHARDS: [usize; 8] = [2, 3, 4, 6, 8, 16, 32, 64];

    #[test]
    fn v4_the_longest_shard_of_a_simulated_suite_takes_at_most_fifteen_percent_more_than_the_mean() {
        let mut random = Pcg64Mcg::seed_from_u64(37);
        let (mut judged, mut excluded, mut worst) = (0, 0, 0.0_f64);
        for cases in [50, 100, 200, 500, 1000, 2000] {
            for spread in [0.5, 1.0, 1.5] {
                for _ in 0..20 {
                    let costs = suite(cases, spread, &mut random);
                    for shards in SHARDS {
                        if !is_possible(&costs, shards) {
                            excluded += 1;
                            continue;
                        }
                        judged += 1;
                        let ratio = longest_over_mean(&costs, &costs, shards);
                        assert!(ratio <= 1.15, "{cases} cases of spread {spread} in {shards}: {ratio}");
                        worst = worst.max(ratio);
                    }
                }
            }
        }
        println!("{judged} cuts of 360 suites, {excluded} excluded: the worst {worst:.3}");
        // A test that excludes nearly everything would prove nothing.
        assert!(judged >= 1500 && worst > 1.01, "{judged} judged, {excluded} excluded, {worst}");
    }

    /// docs/merging.md has these figures.
    #[test]
    fn v4_costs_that_are_wrong_by_thirty_percent_make_shards_little_longer() {
        let mut random = Pcg64Mcg::seed_from_u64(38);
        let error = LogNormal::new(0.0, 0.3).unwrap();
        let (mut ratios, mut by_count) = (Vec::new(), Vec::new());
        for cases in [50, 200, 1000] {
            for _ in 0..100 {
                let real = suite(cases, 1.0, &mut random);
                let costs: Vec<u64> =
                    real.iter().map(|real| (*real as f64 * error.sample(&mut random)) as u64).collect();
                for shards in SHARDS.into_iter().filter(|shards| is_possible(&real, *shards)) {
                    ratios.push(longest_over_mean(&costs, &real, shards));
                    by_count.push(longest_over_mean(&vec![1; cases], &real, shards));
                }
            }
        }
        let at = |ratios: &mut Vec<f64>, share: f64| {
            ratios.sort_by(f64::total_cmp);
            ratios[((ratios.len() - 1) as f64 * share) as usize]
        };
        let [median, p95] = [0.5, 0.95].map(|share| at(&mut ratios, share));
        let [counted, counted95] = [0.5, 0.95].map(|share| at(&mut by_count, share));
        println!(
            "{} cuts: median {median:.3}, 95 % {p95:.3}; by count {counted:.3}, {counted95:.3}",
            ratios.len()
        );
        assert!(
            median < 1.1 && p95 < 1.3 && counted > 1.2 && counted95 > 1.9,
            "{median} {p95} {counted} {counted95}"
        );
    }

    #[test]
    fn every_shard_gets_a_case_and_cases_that_cost_nothing_are_spread() {
        assert_eq!(deal(&[5, 90, 5], &mut [0; 3]), [1, 0, 2]);
        assert_eq!(deal(&[0; 4], &mut [0; 2]), [0, 1, 0, 1]);
        let mut loads = [7, 0];
        assert_eq!(deal(&[3, 3, 3], &mut loads), [1, 1, 1]);
        assert_eq!(loads, [7, 9]);
    }
}
