//! The detectors that are compared, each with the settings that it may choose from.

use gbench_ci::stats::{change_points, change_points::LEVEL};
use statrs::distribution::{ContinuousCDF, Normal};

use super::{bayes, costs, energy};

/// Places in a series of logarithms, with a setting.
type Detect = fn(&[f64], f64) -> Vec<usize>;

pub struct Candidate {
    pub name: &'static str,
    pub settings: &'static [f64],
    pub detect: Detect,
}

const PENALTIES: &[f64] = &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
const LEVELS: &[f64] = &[1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8];

pub const OURS: Candidate = Candidate { name: "**ours**", settings: &[LEVEL], detect: ours };

pub const OTHERS: [Candidate; 9] = [
    Candidate { name: "E-divisive, 99 permutations", settings: &[0.01], detect: energy::permuted },
    Candidate { name: "E-divisive, windows, t tests", settings: LEVELS, detect: energy::merged },
    Candidate { name: "PELT, squares", settings: PENALTIES, detect: costs::squared },
    Candidate { name: "partition, absolute", settings: PENALTIES, detect: absolute },
    Candidate { name: "partition, Huber", settings: PENALTIES, detect: huber },
    Candidate { name: "partition, biweight", settings: PENALTIES, detect: biweight },
    Candidate { name: "binary segmentation, ranks", settings: LEVELS, detect: ranks },
    Candidate { name: "kernel, Gaussian", settings: &[0.25, 0.5, 1.0, 2.0, 4.0], detect: costs::kernel },
    Candidate { name: "Bayesian online", settings: &[1e2, 1e4, 1e6, 1e9, 1e12, 1e18], detect: bayes::online },
];

fn ours(series: &[f64], level: f64) -> Vec<usize> {
    let values: Vec<f64> = series.iter().map(|value| value.exp()).collect();
    change_points(&values, level).unwrap_or_default().iter().map(|point| point.at).collect()
}

fn absolute(series: &[f64], strength: f64) -> Vec<usize> {
    let sd = costs::scale(series);
    costs::partition(series, 5, strength * (series.len() as f64).ln(), |_, deviation| deviation / sd)
}

fn huber(series: &[f64], strength: f64) -> Vec<usize> {
    let sd = costs::scale(series);
    costs::partition(series, 5, strength * (series.len() as f64).ln(), |_, deviation| {
        let z = deviation / sd;
        if z < 1.345 { z * z } else { 1.345 * (2.0 * z - 1.345) }
    })
}

/// Fearnhead & Rigaill 2019: a cost that no outlier raises beyond a limit.
fn biweight(series: &[f64], strength: f64) -> Vec<usize> {
    let sd = costs::scale(series);
    costs::partition(series, 5, strength * (series.len() as f64).ln(), |_, deviation| {
        (deviation / sd).powi(2).min(9.0)
    })
}

/// The place with the largest rank sum statistic, again within each side; Bonferroni over the places.
fn ranks(series: &[f64], level: f64) -> Vec<usize> {
    let mut found = Vec::new();
    let mut pieces = vec![(0, series.len())];
    while let Some((start, end)) = pieces.pop() {
        let count = end - start;
        if count < 10 {
            continue;
        }
        let mut order: Vec<usize> = (start..end).collect();
        order.sort_by(|a, b| series[*a].total_cmp(&series[*b]));
        let mut rank = vec![0.0; count];
        order
            .iter()
            .enumerate()
            .for_each(|(place, at)| rank[at - start] = place as f64 - (count - 1) as f64 / 2.0);
        let (mut sum, mut best) = (0.0, (0, 0.0));
        for at in 1..=count - 5 {
            sum += rank[at - 1];
            let variance = (at * (count - at)) as f64 * (count + 1) as f64 / 12.0;
            let z = f64::abs(sum) / variance.sqrt();
            if at >= 5 && z > best.1 {
                best = (at, z);
            }
        }
        if 2.0 * count as f64 * Normal::standard().sf(best.1) < level {
            let at = start + best.0;
            found.push(at);
            pieces.extend([(start, at), (at, end)]);
        }
    }
    found.sort_unstable();
    found
}
