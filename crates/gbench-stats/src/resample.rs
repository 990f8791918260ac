//! Tries the rule many times on rounds of one program against itself.
//!
//! Both sides are the same program, so only chance decided which of them was head: suites with other signs were as likely as
//! the measured one, whatever noise, drift or outliers the rounds contain. The share of such suites with a red is therefore an
//! exact count, not a simulation of a model.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::seq_e::{SequentialLimits, Series, Status, decide};

/// One row's differences of the program against itself.
#[derive(Clone, Copy, Debug)]
pub struct ResampledRow<'a> {
    pub series: Series<'a>,
    /// Rows of one case share its signs.
    pub case: usize,
    /// The injected effect, in the scale of the differences.
    pub effect: f64,
}

/// The rounds of a tried suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The measured rounds, in their order.
    AsMeasured,
    /// This many rounds, each drawn from the measured ones, the same for all rows.
    Drawn(usize),
}

/// Counts of the resampled suites.
#[derive(Clone, Debug, PartialEq)]
pub struct Tries {
    pub suites: u32,
    /// Suites in which a row without a planted effect was called regressed.
    pub with_red: u32,
    /// Rows that the screen left open, on average.
    pub candidates: f64,
    /// By row: how often an effect was planted in it, and how often it was found.
    pub planted: Vec<(u32, u32)>,
}

/// Tries the rule on `suites` suites. `plants`: the number of rows of each that get their effect, in turn; 0 measures false
/// alarms.
pub fn tries(
    rows: &[ResampledRow],
    limits: &SequentialLimits,
    length: Length,
    suites: u32,
    plants: usize,
    seed: u64,
) -> Tries {
    let mut random = Pcg64::seed_from_u64(seed);
    let cases = rows.iter().map(|row| row.case + 1).max().unwrap_or(0);
    let longest = rows.iter().map(|row| row.series.differences.len()).max().unwrap_or(0);
    let rounds = match length {
        Length::AsMeasured => longest,
        Length::Drawn(rounds) => rounds,
    };
    let limits = SequentialLimits { most_rounds: rounds.max(limits.screen_rounds), ..*limits };
    let mut tries = Tries { suites, with_red: 0, candidates: 0.0, planted: vec![(0, 0); rows.len()] };
    let mut next = 0;
    let mut differences: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); rows.len()];
    let mut orders: Vec<Vec<bool>> = vec![Vec::with_capacity(rounds); rows.len()];
    for _ in 0..suites {
        let planted: Vec<usize> = (0..plants.min(rows.len())).map(|at| (next + at) % rows.len()).collect();
        next += plants;
        differences.iter_mut().for_each(Vec::clear);
        orders.iter_mut().for_each(Vec::clear);
        for round in 0..rounds {
            let place: f64 = random.random();
            let heads: Vec<bool> = (0..cases).map(|_| random.random()).collect();
            for (at, row) in rows.iter().enumerate() {
                let there = row.series.differences;
                let from = match length {
                    Length::AsMeasured => round,
                    Length::Drawn(_) => (place * there.len() as f64) as usize,
                };
                let Some(taken) = there.get(from) else { continue };
                let shift = if planted.contains(&at) { row.effect } else { 0.0 };
                let order = row.series.head_second.get(from);
                // As in a comparison, the second round has the opposite order of the first.
                let as_measured = match (round, order, orders[at].first()) {
                    (1, Some(order), Some(first)) => order != first,
                    _ => heads[row.case],
                };
                orders[at].extend(order.map(|order| *order == as_measured));
                differences[at].push(if as_measured { *taken } else { -taken } + shift);
            }
        }
        let series: Vec<Series> = rows
            .iter()
            .zip(differences.iter().zip(&orders))
            .map(|(row, (differences, head_second))| Series {
                differences,
                head_second,
                shared: 0,
                ..row.series
            })
            .collect();
        let (screen, results) = decide(&series, &limits);
        let mut rest = results.iter().enumerate().filter(|(at, _)| !planted.contains(at));
        tries.with_red += u32::from(rest.any(|(_, result)| result.status == Status::Regressed));
        tries.candidates += screen.candidates as f64 / f64::from(suites);
        for at in planted {
            tries.planted[at].0 += 1;
            tries.planted[at].1 += u32::from(results[at].status == Status::Regressed);
        }
    }
    tries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{LIMITS, row, uniform};

    fn of_noise(noise: f64) -> Vec<Vec<f64>> {
        let of_seed = |seed| -> Vec<f64> {
            let mut uniform = uniform(seed);
            (0..12).map(|_| noise * uniform()).collect()
        };
        (0..6).map(of_seed).collect()
    }

    fn rows(differences: &[Vec<f64>]) -> Vec<ResampledRow<'_>> {
        let rows = differences.iter().enumerate();
        rows.map(|(case, it)| ResampledRow { series: row(it), case, effect: 1.03_f64.ln() }).collect()
    }

    #[test]
    fn false_alarms_stay_within_their_level_and_planted_effects_are_found() {
        let quiet = of_noise(0.02);
        let tries = |planted| tries(&rows(&quiet), &LIMITS, Length::Drawn(40), 300, planted, 1);
        let (none, some) = (tries(0), tries(1));
        assert!(none.with_red <= 8, "{none:?}");
        assert_eq!(none.planted, [(0, 0); 6]);
        assert!(some.planted.iter().all(|(planted, found)| *planted == 50 && *found >= 45), "{some:?}");
        assert_eq!(tries(1), some);
    }

    /// The count can fail: a rule that is too permissive has its false alarms counted.
    #[test]
    fn a_rule_without_a_level_is_seen_to_cry_wolf() {
        let free = SequentialLimits { alpha: 5.0, ..LIMITS };
        let tries = tries(&rows(&of_noise(0.3)), &free, Length::Drawn(40), 200, 0, 1);
        assert!(tries.with_red > 100, "{tries:?}");
    }

    #[test]
    fn rounds_as_measured_keep_their_size_and_rows_of_one_case_their_coin() {
        let one = vec![vec![0.5; 40]];
        // Forty equal signs in a row do not occur: a constant difference with fair signs is not an effect.
        let same = tries(&rows(&one), &LIMITS, Length::AsMeasured, 200, 0, 3);
        assert!(same.with_red <= 4, "{same:?}");
        assert_eq!(same.candidates.round(), 1.0);
        assert_eq!(tries(&[], &LIMITS, Length::AsMeasured, 5, 2, 3).with_red, 0);
    }
}
