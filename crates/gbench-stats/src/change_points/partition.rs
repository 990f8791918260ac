//! The cheapest partition of a series into constant pieces.

use super::sums::Sums;

/// Edges of the pieces, 0 and the length among them: the partition with the least sum of squares plus `penalty` for each
/// edge within, each piece of at least `least` runs. The series has at least that many.
///
/// Optimal partitioning by dynamic programming (Jackson et al. 2005), without starts that can no longer be best (PELT:
/// Killick, Fearnhead & Eckley 2012). Squared cost is safe because the series is winsorised before.
pub(super) fn edges(sums: &Sums, least: usize, penalty: f64) -> Vec<usize> {
    let count = sums.len();
    let mut cost = vec![f64::INFINITY; count + 1];
    let mut before = vec![0; count + 1];
    cost[0] = -penalty;
    let mut starts = vec![0];
    let mut costs = Vec::new();
    for end in least..=count {
        if end >= 2 * least {
            starts.push(end - least);
        }
        costs.clear();
        costs.extend(starts.iter().map(|&start| cost[start] + sums.squares(start, end)));
        for (&start, without) in starts.iter().zip(&costs) {
            if without + penalty < cost[end] {
                cost[end] = without + penalty;
                before[end] = start;
            }
        }
        let limit = cost[end];
        let mut at = 0;
        starts.retain(|_| {
            at += 1;
            costs[at - 1] <= limit
        });
    }
    let mut edges = vec![count];
    let mut end = count;
    while end > 0 {
        end = before[end];
        edges.push(end);
    }
    edges.reverse();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::reference;

    #[test]
    fn partitions_agree_with_ruptures() {
        reference("partition.json", 4, |case| {
            let ours = edges(&Sums::new(&case.list("series")), case.take("least"), case.take("penalty"));
            assert_eq!(ours, case.take::<Vec<usize>>("edges"));
        });
    }

    #[test]
    fn what_is_constant_is_one_piece_however_small_the_penalty() {
        for runs in [20, 5] {
            assert_eq!(edges(&Sums::new(&vec![3.0; runs]), 5, 1e-12), [0, runs]);
        }
    }
}
