//! The cheapest partition of a series into levels, with a bounded cost per run.

/// A run costs the squared distance from its level in scales, at most that of three scales: a spike only shows that it does
/// not belong to this level.
const MOST_COST: f64 = 9.0;
/// Runs whose median is a candidate level.
const WINDOW: usize = 9;
/// Levels nearer to each other than this share of a scale are merged.
const RESOLUTION: f64 = 0.25;

/// Edges of the pieces, including 0 and the length: the partition with the least cost plus `penalty` per inner edge. `scale`:
/// the standard deviation of a run. Edges with a piece shorter than `least` before or after them are dropped. The series must
/// not be empty.
///
/// Optimal partitioning with a bounded cost (Fearnhead & Rigaill 2019, "Changepoint detection in the presence of outliers").
/// The candidate levels are the medians of all windows of nine runs, so that one pass over runs and levels suffices.
pub(super) fn edges(series: &[f64], scale: f64, penalty: f64, least: usize) -> Vec<usize> {
    let levels = levels(series, RESOLUTION * scale);
    let mut costs = vec![0.0_f64; levels.len()];
    // By run and level: the level of the previous run on the cheapest way here.
    let mut before: Vec<Vec<u32>> = Vec::with_capacity(series.len());
    for run in series {
        let cheapest = index_of_least(&costs);
        let moved = costs[cheapest] + penalty;
        before
            .push((0..levels.len()).map(|at| if moved < costs[at] { cheapest } else { at } as u32).collect());
        for (cost, level) in costs.iter_mut().zip(&levels) {
            *cost = cost.min(moved) + ((run - level) / scale).powi(2).min(MOST_COST);
        }
    }
    let count = series.len();
    let mut level = index_of_least(&costs);
    let mut edges = vec![count];
    let mut next = count;
    for at in (1..count).rev() {
        let from = before[at][level] as usize;
        if from != level && next - at >= least && at >= least {
            edges.push(at);
            next = at;
        }
        level = from;
    }
    edges.push(0);
    edges.reverse();
    edges
}

/// The distinct medians of all windows, sorted.
fn levels(series: &[f64], apart: f64) -> Vec<f64> {
    let mut window = series[..WINDOW.min(series.len())].to_vec();
    let width = window.len();
    let mut medians: Vec<f64> = series
        .windows(width)
        .map(|runs| {
            window.copy_from_slice(runs);
            *window.select_nth_unstable_by(width / 2, f64::total_cmp).1
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    medians.dedup_by(|next, kept| *next - *kept < apart);
    medians
}

fn index_of_least(costs: &[f64]) -> usize {
    (0..costs.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(series: &[f64], levels: &[f64], edges: &[usize], penalty: f64) -> f64 {
        let of_piece = |piece: &[f64]| {
            let of = |level: &f64| piece.iter().map(|run| (run - level).powi(2).min(MOST_COST)).sum::<f64>();
            levels.iter().map(of).fold(f64::INFINITY, f64::min)
        };
        let pieces = edges.windows(2).map(|ends| of_piece(&series[ends[0]..ends[1]]));
        pieces.sum::<f64>() + penalty * (edges.len() - 2) as f64
    }

    #[test]
    fn no_other_one_or_two_edges_are_cheaper() {
        let noise = |at: usize| ((at * 7919) % 31) as f64 / 10.0 - 1.5;
        for jumps in [[0.0, 0.0], [6.0, 6.0], [5.0, -3.0], [0.0, 8.0]] {
            let level = |at: usize| {
                if at < 14 {
                    0.0
                } else if at < 25 {
                    jumps[0]
                } else {
                    jumps[1]
                }
            };
            let mut series: Vec<f64> = (0..40).map(|at| noise(at) + level(at)).collect();
            series[7] += 50.0;
            let levels = levels(&series, RESOLUTION);
            let found = edges(&series, 1.0, 12.0, 1);
            let least = cost(&series, &levels, &found, 12.0);
            for first in 0..40 {
                for second in first + 1..40 {
                    let other: Vec<usize> =
                        if first == 0 { vec![0, second, 40] } else { vec![0, first, second, 40] };
                    assert!(
                        least <= cost(&series, &levels, &other, 12.0) + 1e-9,
                        "{jumps:?} {found:?} {other:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_constant_is_one_piece_however_small_the_penalty() {
        for runs in [20, 5] {
            assert_eq!(edges(&vec![3.0; runs], 1e-4, 1e-12, 5), [0, runs]);
        }
    }

    #[test]
    fn two_steps_six_runs_apart_are_two() {
        let series: Vec<f64> = (0..40).map(|at| 10.0 * f64::from(at / 17 + at / 23)).collect();
        assert_eq!(edges(&series, 1.0, 20.0, 5), [0, 17, 23, 34, 40]);
    }
}
