use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

const LIMITS: SequentialLimits = SequentialLimits {
    version: Version::Two,
    alpha: 0.01,
    alpha_improved: 0.05,
    screen_rounds: 3,
    most_rounds: 40,
};

fn series(differences: &[f64]) -> Series<'_> {
    Series { differences, target: 0.02, min_effect: 0.0025, family: 0, unresolved: &[], shared: 0 }
}

#[derive(serde::Deserialize)]
struct Golden {
    d: Vec<Vec<f64>>,
    #[serde(rename = "prior_R3")]
    prior: GoldenPrior,
    #[serde(alias = "eproc", alias = "seq_e2")]
    verdicts: GoldenVerdicts,
}

#[derive(serde::Deserialize)]
struct GoldenPrior {
    d0: f64,
    s0_sq: f64,
}

#[derive(serde::Deserialize)]
struct GoldenVerdicts {
    status: Vec<String>,
    rounds: Vec<usize>,
}

/// What `fixtures/statistics/seq_e.json` calls each status.
fn word(status: Status) -> &'static str {
    match status {
        Status::Regressed => "regressed",
        Status::Improved => "improved",
        Status::Unchanged => "unchanged",
        Status::Open | Status::Exhausted => "inconclusive",
    }
}

#[test]
fn statuses_rounds_and_priors_of_seq_e_are_those_of_the_reference() {
    held_to_the_reference("seq_e", Version::One, 5);
}

#[test]
fn n1_statuses_rounds_and_priors_of_seq_e_2_are_those_of_the_reference() {
    held_to_the_reference("seq_e_2", Version::Two, 10);
}

fn held_to_the_reference(file: &str, version: Version, suites: usize) {
    let path = format!("{}/../../fixtures/statistics/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let golden: Vec<Golden> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(golden.len(), suites);
    for suite in golden {
        let variances: Vec<f64> = suite.d.iter().map(|d| variance(&d[..3])).collect();
        let prior = Prior::fit(&variances, 2.0);
        assert!((prior.freedom / suite.prior.d0 - 1.0).abs() < 1e-5, "{prior:?}");
        assert!((prior.variance / suite.prior.s0_sq - 1.0).abs() < 1e-5, "{prior:?}");
        let all: Vec<Series> = suite.d.iter().map(|d| series(d)).collect();
        let (_, results) = decide(&all, &SequentialLimits { version, ..LIMITS });
        let words: Vec<_> = results.iter().map(|result| word(result.status)).collect();
        let rounds: Vec<_> = results.iter().map(|result| result.rounds).collect();
        assert_eq!(
            (words, rounds),
            (suite.verdicts.status.iter().map(String::as_str).collect(), suite.verdicts.rounds)
        );
    }
}

#[test]
fn a_red_needs_its_rounds_however_large_the_effect() {
    let suite = [[0.5; 40]; 27];
    let all: Vec<Series> = suite.iter().map(|d| series(d)).collect();
    let (screen, results) = decide(&all, &LIMITS);
    let one = SequentialLimits { version: Version::One, ..LIMITS };
    assert_eq!((screen.candidates, LIMITS.least_fresh_rounds(27), one.least_fresh_rounds(27)), (27, 13, 12));
    assert!(results.iter().all(|result| result.status == Status::Regressed && result.rounds == 16));
}

#[test]
fn too_few_rounds_leave_it_open_and_too_many_end_it() {
    let noisy: Vec<f64> = (0..40).map(|round| if round % 2 == 0 { 0.2 } else { -0.2 }).collect();
    for (rounds, status) in
        [(0, Status::Open), (2, Status::Open), (39, Status::Open), (40, Status::Exhausted)]
    {
        let (_, results) = decide(&[series(&noisy[..rounds])], &LIMITS);
        assert_eq!((results[0].status, results[0].rounds), (status, rounds));
    }
}

#[test]
fn constant_differences_have_a_scale() {
    let (_, results) = decide(&[series(&[0.0; 3]), series(&[0.19; 40])], &LIMITS);
    assert_eq!(results[0].status, Status::Unchanged);
    assert_eq!(results[1].status, Status::Regressed);
    assert_eq!(results[1].scale, MIN_SCALE);
}

#[test]
fn the_lower_bound_lies_between_the_minimum_effect_and_the_mean() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(5);
    let differences: Vec<f64> = (0..40).map(|_| 0.05 + 0.02 * (random.random::<f64>() - 0.5)).collect();
    let all = [series(&differences)];
    let (screen, results) = decide(&all, &LIMITS);
    let result = &results[0];
    assert_eq!(result.status, Status::Regressed);
    let bound = at_least(&differences[3..result.rounds], result.scale, &LIMITS, screen.candidates).unwrap();
    assert!(bound >= 0.0025 && bound < result.mean, "{bound} of {}", result.mean);
    assert_eq!(at_least(&differences[3..5], result.scale, &LIMITS, screen.candidates), None);
}

/// What is called detectable is found in about four of five simulated benchmarks, and half of it in few.
#[test]
fn a_detectable_effect_is_mostly_found() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(9);
    let mut normal = move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let noise = 0.02;
    let effect = detectable(37, noise, 0.0025, &LIMITS, 5);
    assert!(effect > 0.01 && effect < 0.06, "{effect}");
    let mut found = |effect: f64| {
        let red = |_: &u32| {
            let mut mixture = Mixture::new(Version::Two);
            (0..37).any(|_| {
                mixture.add((effect + noise * normal() - 0.0025) / noise);
                mixture.ln() >= LIMITS.ln_red(5)
            })
        };
        (0..1000).filter(red).count()
    };
    assert!((750..=950).contains(&found(effect)), "{}", found(effect));
    assert!(found(effect / 2.0) < 400);
    assert_eq!(detectable(5, noise, 0.0025, &LIMITS, 5), f64::INFINITY);
}

proptest! {
    /// Adding rounds later is valid: what was decided stays decided, at the same round.
    #[test]
    fn a_decision_stands_whatever_rounds_come_after_it(seed in 0u64..1000, cut in 3usize..40) {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let mut draw = |location_shift: f64| -> Vec<f64> {
            (0..40).map(|_| location_shift + 0.02 * (random.random::<f64>() - 0.5)).collect()
        };
        let suite = [draw(0.0), draw(0.03), draw(-0.04), draw(0.015), draw(0.0)];
        let whole: Vec<Series> = suite.iter().map(|d| series(d)).collect();
        let part: Vec<Series> = suite.iter().map(|d| series(&d[..cut])).collect();
        let (after, before) = (decide(&whole, &LIMITS), decide(&part, &LIMITS));
        prop_assert_eq!(&after.0, &before.0);
        for (after, before) in after.1.iter().zip(&before.1) {
            if before.status != Status::Open {
                prop_assert_eq!(after, before);
            } else {
                prop_assert!(after.rounds >= cut);
            }
        }
    }

    /// Exchanging the sides of every round turns each difference round: regressed and improved change places,
    /// but for their different levels.
    #[test]
    fn the_sides_are_treated_alike(seed in 0u64..500) {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let differences: Vec<f64> = (0..40).map(|_| 0.03 + 0.02 * (random.random::<f64>() - 0.5)).collect();
        let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
        let limits = SequentialLimits { alpha_improved: 0.01, ..LIMITS };
        let (_, there) = decide(&[series(&differences)], &limits);
        let (_, back) = decide(&[series(&turned)], &limits);
        prop_assert_eq!(there[0].status == Status::Regressed, back[0].status == Status::Improved);
        prop_assert_eq!((there[0].rounds, there[0].ln_worse), (back[0].rounds, back[0].ln_better));
    }
}
