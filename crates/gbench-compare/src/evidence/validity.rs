//! Validity checks of rounds, made at run time. A doubt can only make a verdict weaker.
//!
//! The rule rests on one thing: that without a change the sign of every round's difference is as likely plus as minus,
//! whatever the rounds before. State that stays with a side from round to round, such as a cache or a process that is
//! reused, breaks it.

use std::collections::HashMap;
use std::hash::Hash;

use gbench_stats::seq_e::Version;

use super::quantized::constant_samples;
use super::samples::{Evidence, MeasuredSide};
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;
use crate::wording::warning::Warning;
use gbench_model::Side;

/// Samples from which on two equal lists of them are not an accident.
const MIN_SAMPLES: usize = 8;
/// Different values among them, likewise: a coarse timer knows only few.
const MIN_VALUES: usize = 4;

/// Rounds after which figures that have been the same so far are not waited for any longer.
const REPEATED_ROUNDS: usize = 8;

/// Correlation of one round's difference with the next that is more than independent rounds give.
const MAX_SERIAL_CORRELATION: f64 = 0.15;
/// Standard errors by which [`MAX_SERIAL_CORRELATION`] must be exceeded to be called so.
const CLEARLY: f64 = 2.33;
/// Fewer rounds show no correlation of one with the next.
pub(crate) const MIN_ROUNDS: usize = 6;
/// Fewer rows show no shift of the whole suite.
const MIN_ROWS: usize = 8;

/// The reason why the numbers of a row are not fresh measurements, and the remedy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RepeatedNumbers {
    pub reason: Reason,
    pub next: Advice,
    pub may_change: bool,
}

/// Absent where the numbers are what measurements look like.
///
/// SEQ-E doubts a side that is constant by itself. SEQ-E 2 doubts constant sides only where both are and agree: what
/// differs by more than its digits can hide is a difference, whatever repeats.
pub(crate) fn repeated_numbers(evidence: &Evidence, version: Version) -> Option<RepeatedNumbers> {
    // An error of a result that is always the same is not an error of measuring.
    if evidence.limits.absolute {
        return None;
    }
    let sides = [(Side::Base, &evidence.base), (Side::Head, &evidence.head)];
    let cached = |(side, measured): (Side, &MeasuredSide)| {
        let (first, second) = the_same_list_twice(measured)?;
        let reason = Reason::RepeatedSamples { side, first, second };
        Some(RepeatedNumbers { reason, next: Advice::MeasureAnew {}, may_change: false })
    };
    let constant = |(side, measured): (Side, &MeasuredSide)| {
        let reason = Reason::ConstantSide { side, processes: measured.processes.len() as u32 };
        let next = Advice::DeclareExact {};
        is_constant(measured).then_some(RepeatedNumbers { reason, next, may_change: false })
    };
    match version {
        Version::One => sides.into_iter().find_map(|side| cached(side).or_else(|| constant(side))),
        Version::Two | Version::Three => {
            sides.into_iter().find_map(cached).or_else(|| both_constant(evidence))
        }
    }
}

fn is_constant(measured: &MeasuredSide) -> bool {
    measured.processes.len() > 1 && measured.processes.windows(2).all(|two| two[0].samples == two[1].samples)
}

fn both_constant(evidence: &Evidence) -> Option<RepeatedNumbers> {
    let value =
        |measured: &MeasuredSide| measured.processes.first().and_then(|it| it.samples.first().copied());
    let (base, head) = (&evidence.base, &evidence.head);
    let several = base.processes.len() > 1 && head.processes.len() > 1;
    let lists_agree = || is_constant(base) && is_constant(head) && value(base) == value(head);
    let samples_agree = || constant_samples(evidence).is_some_and(|[base, head]| base == head);
    let agree = several && (lists_agree() || samples_agree());
    agree.then_some(RepeatedNumbers {
        reason: Reason::ConstantSides {
            base_processes: base.processes.len() as u32,
            head_processes: head.processes.len() as u32,
        },
        next: Advice::DeclareExact {},
        may_change: base.processes.len() < REPEATED_ROUNDS,
    })
}

/// Two processes whose samples agree one by one, though they vary.
fn the_same_list_twice(measured: &MeasuredSide) -> Option<(u32, u32)> {
    let varied = |samples: &[f64]| {
        let mut seen: Vec<f64> = Vec::with_capacity(MIN_VALUES);
        samples.iter().any(|value| {
            if !seen.contains(value) {
                seen.push(*value);
            }
            seen.len() >= MIN_VALUES
        })
    };
    let mut lists = std::collections::HashMap::with_capacity(measured.processes.len());
    let long = measured.processes.iter().filter(|process| process.samples.len() >= MIN_SAMPLES);
    for process in long.filter(|process| varied(process.samples)) {
        let bits: Vec<u64> = process.samples.iter().map(|value| value.to_bits()).collect();
        if let Some(first) = lists.insert(bits, process.process) {
            return Some((first, process.process));
        }
    }
    None
}

/// Lag-1 correlation of differences and its standard error, freed of the bias that the estimated mean brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SerialCorrelation {
    pub correlation: f64,
    pub error: f64,
}

impl SerialCorrelation {
    /// Pools the differences of many rows, each weighted by its rounds. Rows that the screen decided are too short, and
    /// no red is among them. `None` where no row is long enough and varies.
    pub fn pooled<'a>(rows: impl IntoIterator<Item = &'a [f64]>) -> Option<Self> {
        let (mut sum, mut weight) = (0.0, 0.0);
        for row in rows {
            if let Some(correlation) = lag_1(row) {
                sum += correlation * row.len() as f64;
                weight += row.len() as f64;
            }
        }
        (weight > 0.0).then(|| Self { correlation: sum / weight, error: 1.0 / weight.sqrt() })
    }

    /// [`SerialCorrelation::pooled`] of rows of which those with one key share their noise, and together count as one.
    pub(crate) fn clustered<'a, K: Eq + Hash>(
        rows: impl IntoIterator<Item = (K, &'a [f64])>,
    ) -> Option<Self> {
        // For each cluster: the sum of correlations times rounds, of rounds, and of rows.
        let mut clusters: HashMap<K, [f64; 3]> = HashMap::new();
        for (key, row) in rows {
            if let Some(correlation) = lag_1(row) {
                let rounds = row.len() as f64;
                let cluster = clusters.entry(key).or_default();
                [correlation * rounds, rounds, 1.0].iter().zip(cluster).for_each(|(one, sum)| *sum += one);
            }
        }
        let mut clusters: Vec<[f64; 3]> = clusters.into_values().collect();
        clusters.sort_by(|one, other| one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1])));
        let sum = clusters.iter().map(|[correlations, _, rows]| correlations / rows).sum::<f64>();
        let weight = clusters.iter().map(|[_, rounds, rows]| rounds / rows).sum::<f64>();
        (weight > 0.0).then(|| Self { correlation: sum / weight, error: 1.0 / weight.sqrt() })
    }

    pub fn is_clear(&self) -> bool {
        self.correlation - CLEARLY * self.error > MAX_SERIAL_CORRELATION
    }
}

/// Lag-1 autocorrelation about the mean, plus 1/n: the mean of independent differences is -1/n (Kendall 1954).
fn lag_1(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    if values.len() < MIN_ROUNDS {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let product: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    // Equal differences: what is left of their squares is the rounding of the mean.
    let size = values.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
    (square > count * (1e-9 * size).powi(2)).then(|| product / square + 1.0 / count)
}

/// The median slowdown of a suite, and a warning where it is clearly not zero.
pub(crate) fn location_shift(slowdowns: &[f64]) -> (Option<f64>, Option<Warning>) {
    let mut sorted = slowdowns.to_vec();
    let Some(median) = gbench_stats::median(&mut sorted) else { return (None, None) };
    let rows = slowdowns.len();
    let worse = slowdowns.iter().filter(|slowdown| **slowdown > 0.0).count();
    // The sign test by its normal approximation, with continuity correction.
    let z = ((worse as f64 - rows as f64 / 2.0).abs() - 0.5) / (rows as f64 / 4.0).sqrt();
    let clear = rows >= MIN_ROWS && median.abs() > 0.0025 && z > 3.3;
    let warning = clear.then_some(Warning::LocationShift { rows: rows as u32, median });
    (Some(median), warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn pooled(rounds: &[Vec<f64>]) -> Option<SerialCorrelation> {
        SerialCorrelation::pooled(rounds.iter().map(Vec::as_slice))
    }

    #[test]
    fn independent_differences_do_not_stick_and_drifting_sides_do() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(3);
        let mut draw = || random.random::<f64>() - 0.5;
        let fair: Vec<Vec<f64>> = (0..60).map(|_| (0..6).map(|_| draw()).collect()).collect();
        let found = pooled(&fair).unwrap();
        assert!(found.correlation.abs() < 0.12 && !found.is_clear(), "{found:?}");
        let drifting = |_| -> Vec<f64> {
            let mut last = draw();
            let next = |_| {
                last = 0.8 * last + 0.4 * draw();
                last
            };
            (0..8).map(next).collect()
        };
        let correlated: Vec<Vec<f64>> = (0..60).map(drifting).collect();
        assert!(pooled(&correlated).unwrap().is_clear());
        assert_eq!(pooled(&[vec![0.0; 5], vec![1.0, 2.0]]), None);
        let equal = vec![(6.0_f64 / 5.0).ln(); 40];
        assert_eq!(pooled(&[equal]), None, "the rounding of a mean is not a correlation");
    }

    #[test]
    fn r4_rows_of_one_process_are_one_witness_of_what_sticks() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(5);
        let mut draw = || random.random::<f64>() - 0.5;
        let (mut by_rows, mut by_processes) = (0, 0);
        for _ in 0..400 {
            // Fourteen rounds of one noise and nearly nothing else, in twenty rows.
            let noise: Vec<f64> = (0..14).map(|_| draw()).collect();
            let rows: Vec<Vec<f64>> =
                (0..20).map(|_| noise.iter().map(|noise| noise + 0.05 * draw()).collect()).collect();
            by_rows += u32::from(pooled(&rows).unwrap().is_clear());
            let clustered = SerialCorrelation::clustered(rows.iter().map(|row| (0, row.as_slice())));
            by_processes += u32::from(clustered.unwrap().is_clear());
        }
        // Half a percent of the comparisons are two.
        assert!(by_processes <= 2 && by_rows > 40, "{by_processes} {by_rows}");
        let apart = [vec![0.1, -0.1, 0.2, -0.2, 0.1, -0.3], vec![0.2, 0.1, -0.1, -0.2, 0.1, 0.3]];
        let keyed = apart.iter().enumerate().map(|(key, row)| (key, row.as_slice()));
        assert_eq!(SerialCorrelation::clustered(keyed), pooled(&apart), "each in a process of its own");
    }

    #[test]
    fn a_whole_suite_that_moved_is_said_and_a_few_rows_are_not() {
        let moved: Vec<f64> = (0..20).map(|row| 0.01 + 0.001 * f64::from(row % 3)).collect();
        let (median, warning) = location_shift(&moved);
        assert!(median.unwrap() > 0.01);
        assert!(warning.unwrap().to_string().contains("1.1 % worse"));
        let mixed: Vec<f64> = (0..20).map(|row| if row % 2 == 0 { 0.02 } else { -0.02 }).collect();
        assert_eq!([&mixed[..], &moved[..5]].map(|rows| location_shift(rows).1), [None, None]);
        assert_eq!(location_shift(&[]), (None, None));
    }
}
