//! E-divisive means: with a permutation test (Matteson & James 2014; MongoDB: Daly et al. 2020), and with t tests between
//! neighbours, after candidates from windows are merged (Hunter: Fleming et al. 2023, now Otava).

use gbench_ci::stats::t_tail;
use rand::RngExt;

use super::draw::Seed;

const LEAST: usize = 5;
const PERMUTATIONS: usize = 99;
const WINDOW: usize = 50;

/// The best place, and its energy.
fn split(piece: &[f64]) -> Option<(usize, f64)> {
    let count = piece.len();
    if count < 2 * LEAST {
        return None;
    }
    let side = count + 1;
    let mut sums = vec![0.0; side * side];
    for a in 0..count {
        let mut row = 0.0;
        for b in 0..count {
            row += (piece[a] - piece[b]).abs();
            sums[(a + 1) * side + b + 1] = sums[a * side + b + 1] + row;
        }
    }
    let energy = |at: usize| {
        let (m, n) = (at as f64, (count - at) as f64);
        let (left, both, all) = (sums[at * side + at], sums[at * side + count], sums[count * side + count]);
        let across = both - left;
        let right = all - 2.0 * both + left;
        m * n / (m + n) * (2.0 * across / (m * n) - left / (m * (m - 1.0)) - right / (n * (n - 1.0)))
    };
    let places = (LEAST..=count - LEAST).map(|at| (at, energy(at)));
    places.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// A piece is cut where none of 99 permutations of it reaches its energy.
pub fn permuted(series: &[f64], _: f64) -> Vec<usize> {
    let mut found = Vec::new();
    let mut pieces = vec![(0, series.len())];
    let mut random = Seed(7).random();
    while let Some((start, end)) = pieces.pop() {
        let Some((at, energy)) = split(&series[start..end]) else { continue };
        let mut piece = series[start..end].to_vec();
        let by_chance = (0..PERMUTATIONS).any(|_| {
            for last in (1..piece.len()).rev() {
                piece.swap(last, random.random_range(0..=last));
            }
            split(&piece).is_some_and(|(_, other)| other >= energy)
        });
        if !by_chance {
            found.push(start + at);
            pieces.extend([(start, start + at), (start + at, end)]);
        }
    }
    found.sort_unstable();
    found
}

/// `level`: of the t test by which a point stays.
pub fn merged(series: &[f64], level: f64) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    loop {
        let to = (from + WINDOW).min(series.len());
        let mut pieces = vec![(from, to)];
        while let Some((start, end)) = pieces.pop() {
            let Some((at, _)) = split(&series[start..end]) else { continue };
            // Candidates may be ten times weaker than what stays.
            if welch(&series[start..start + at], &series[start + at..end]) < 10.0 * level {
                found.push(start + at);
                pieces.extend([(start, start + at), (start + at, end)]);
            }
        }
        if to == series.len() {
            break;
        }
        from += WINDOW / 2;
    }
    found.sort_unstable();
    found.dedup();
    loop {
        let edges = [vec![0], found.clone(), vec![series.len()]].concat();
        let p = edges
            .windows(3)
            .map(|around| welch(&series[around[0]..around[1]], &series[around[1]..around[2]]));
        match p.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((weakest, p)) if p > level => found.remove(weakest),
            _ => return found,
        };
    }
}

/// Two-sided p of equal means; 1 of pieces too short for a variance.
fn welch(one: &[f64], other: &[f64]) -> f64 {
    let of = |values: &[f64]| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count, count)
    };
    if one.len() < 2 || other.len() < 2 {
        return 1.0;
    }
    let ((a, va, na), (b, vb, nb)) = (of(one), of(other));
    if va + vb <= 0.0 {
        return if a == b { 1.0 } else { 0.0 };
    }
    let freedom = (va + vb).powi(2) / (va * va / (na - 1.0) + vb * vb / (nb - 1.0));
    2.0 * t_tail((a - b).abs() / (va + vb).sqrt(), freedom)
}
