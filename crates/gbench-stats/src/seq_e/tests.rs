use std::collections::BTreeMap;

use super::*;
use crate::test_support::{LIMITS, normal, reference, row, uniform};
use proptest::prelude::*;
use serde_json::{Value, json};

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
    held_to_the_reference("seq_e.json", 5, Version::One, "eproc", &["profile", "truth", "gst"]);
}

#[test]
fn n1_statuses_rounds_and_priors_of_seq_e_2_are_those_of_the_reference() {
    held_to_the_reference("seq_e_2.json", 10, Version::Two, "seq_e2", &["profile"]);
}

#[test]
fn r1_statuses_and_rounds_of_seq_e_3_and_its_order_effects_are_those_of_the_reference() {
    reference("seq_e_3.json", 15, |suite| {
        let _: (Value, Value) = (suite.take("profile"), suite.take("truth"));
        let rounds: Vec<Vec<f64>> = suite.take("d");
        let orders: Vec<Vec<i8>> = suite.take("order");
        let orders: Vec<Vec<bool>> = orders.iter().map(|row| row.iter().map(|c| *c > 0).collect()).collect();
        let (target, min_effect) = (0.02_f64.ln_1p(), 0.0025_f64.ln_1p());
        let with_order = |(d, order)| Series { target, min_effect, head_second: order, ..row(d) };
        let all: Vec<Series> =
            rounds.iter().map(Vec::as_slice).zip(orders.iter().map(Vec::as_slice)).map(with_order).collect();
        let t: f64 = suite.take("slot_t");
        assert!((slots::slot_t(all.iter()) - t).abs() < 1e-6, "{t}");
        drop(suite.take::<Value>("seq_e2"));
        // Few rows cannot lend each other information.
        let screen_rounds = if all.len() < 4 { 4 } else { 3 };
        let limits = SequentialLimits { version: Version::Three, screen_rounds, ..LIMITS };
        assert_eq!(said(&decide(&all, &limits).1), suite.take::<Value>("seq_e3"));
    });
}

fn said(results: &[SequentialResult]) -> Value {
    let words: Vec<_> = results.iter().map(|result| word(result.status)).collect();
    let rounds: Vec<_> = results.iter().map(|result| result.rounds).collect();
    json!({"status": words, "rounds": rounds})
}

fn held_to_the_reference(file: &str, suites: usize, version: Version, rule: &str, not_ours: &[&str]) {
    reference(file, suites, |suite| {
        not_ours.iter().for_each(|field| drop(suite.take::<Value>(field)));
        let rounds: Vec<Vec<f64>> = suite.take("d");
        let variances: Vec<f64> = rounds.iter().map(|d| variance(&d[..3])).collect();
        let prior = Prior::fit(&variances, 2.0);
        let theirs: BTreeMap<String, f64> = suite.take("prior_R3");
        assert!((prior.freedom / theirs["d0"] - 1.0).abs() < 1e-5, "{prior:?}");
        assert!((prior.variance / theirs["s0_sq"] - 1.0).abs() < 1e-5, "{prior:?}");
        let all: Vec<Series> = rounds.iter().map(|d| row(d)).collect();
        let (_, results) = decide(&all, &SequentialLimits { version, ..LIMITS });
        assert_eq!(said(&results), suite.take::<Value>(rule));
    });
}

#[test]
fn a_red_needs_its_rounds_however_large_the_effect() {
    let of = |version| SequentialLimits { version, ..LIMITS };
    let (screen, _) = decide(&[row(&[0.5; 40]); 27], &LIMITS);
    let least =
        [Version::One, Version::Two, Version::Three].map(|version| of(version).least_bets(screen.candidates));
    assert_eq!((screen.candidates, least), (27, [12, 13, 13]));
    // The screening rounds are not among the thirteen; from SEQ-E 3 on they are, the first two as one.
    for (version, needed) in [(Version::Two, 16), (Version::Three, 14)] {
        let (_, results) = decide(&[row(&[0.5; 40]); 27], &of(version));
        assert!(
            results.iter().all(|it| it.status == Status::Regressed && it.rounds == needed),
            "{results:?}"
        );
    }
}

#[test]
fn too_few_rounds_leave_it_open_and_too_many_end_it() {
    let noisy: Vec<f64> = (0..40).map(|round| if round % 2 == 0 { 0.2 } else { -0.2 }).collect();
    for (rounds, status) in
        [(0, Status::Open), (2, Status::Open), (39, Status::Open), (40, Status::Exhausted)]
    {
        let (_, results) = decide(&[row(&noisy[..rounds])], &LIMITS);
        assert_eq!((results[0].status, results[0].rounds), (status, rounds));
    }
}

#[test]
fn constant_differences_have_a_scale() {
    let (_, results) = decide(&[row(&[0.0; 3]), row(&[0.19; 40])], &LIMITS);
    assert_eq!([0, 1].map(|at| results[at].status), [Status::Unchanged, Status::Regressed]);
    assert_eq!(results[1].scale, MIN_SCALE);
}

fn about(shift: f64, uniform: &mut impl FnMut() -> f64) -> Vec<f64> {
    (0..40).map(|_| shift + 0.02 * uniform()).collect()
}

#[test]
fn the_lower_bound_lies_between_the_minimum_effect_and_the_mean() {
    for version in [Version::One, Version::Two, Version::Three] {
        for sign in [1.0, -1.0] {
            let limits = SequentialLimits { version, ..LIMITS };
            let differences: Vec<f64> =
                about(0.05, &mut uniform(5)).iter().map(|difference| sign * difference).collect();
            let series = row(&differences);
            let (screen, results) = decide(&[series], &limits);
            let result = &results[0];
            assert_eq!(result.status, if sign > 0.0 { Status::Regressed } else { Status::Improved });
            let bound = at_least(&series, result, &screen, &limits).unwrap();
            assert!((0.0025..result.mean.abs()).contains(&bound), "{result:?}");
        }
    }
    let (screen, results) = decide(&[row(&[0.0; 3])], &LIMITS);
    assert_eq!(at_least(&row(&[0.0; 3]), &results[0], &screen, &LIMITS), None);
}

/// Rows that screen in one process share its noise: quiet rows are not twenty independent witnesses.
#[test]
fn r4_rows_that_share_a_process_are_one_witness_of_its_noise() {
    const SUITES: usize = 400;
    let mut normal = normal(11);
    let (mut wrong, mut planted) = ([0, 0], 0);
    for _ in 0..SUITES {
        let common: Vec<f64> = (0..3).map(|_| 0.021 * normal()).collect();
        let of_row = |row: usize, normal: &mut dyn FnMut() -> f64| -> Vec<f64> {
            let shift = if row < 4 { 0.03_f64.ln_1p() } else { 0.0 };
            let own = (3..20).map(|_| 0.021 * normal()).collect::<Vec<_>>();
            common.iter().chain(&own).map(|noise| shift + noise + 0.004 * normal()).collect()
        };
        let rows: Vec<Vec<f64>> = (0..20).map(|row| of_row(row, &mut normal)).collect();
        planted += 4;
        for (at, cluster) in [Some(0), None].into_iter().enumerate() {
            let series: Vec<Series> = rows.iter().map(|d| Series { cluster, shared: 3, ..row(d) }).collect();
            let results = decide(&series, &LIMITS).1;
            wrong[at] += results[..4].iter().filter(|result| result.status == Status::Unchanged).count();
        }
    }
    println!("+3 % called unchanged: {wrong:?} of {planted}, told of the shared process and not");
    // 0.2 % is three; a Poisson number with mean three is seven or more in 3 % of seeds, and this one is fixed.
    assert!(wrong[0] <= 6 && wrong[1] > wrong[0], "{wrong:?} of {planted}");
}

/// A detectable effect is found in about four of five simulated benchmarks, and half of it in few.
#[test]
fn a_detectable_effect_is_mostly_found() {
    let mut normal = normal(9);
    let noise = 0.02;
    let power = PowerContext { noise, min_effect: 0.0025, target: 0.02 };
    let effect = detectable(37, power, &LIMITS, 5);
    assert!(effect > 0.01 && effect < 0.06, "{effect}");
    let mut found = |effect: f64| {
        let red = |_: &u32| {
            let mut mixture = bets::Mixture::new(LIMITS.version);
            (0..37).any(|_| {
                mixture.add((effect + noise * normal() - 0.0025) / LIMITS.version.unit(noise, power.target));
                mixture.ln() >= LIMITS.ln_red(5)
            })
        };
        (0..1000).filter(red).count()
    };
    let (whole, half) = (found(effect), found(effect / 2.0));
    assert!((750..=950).contains(&whole) && half < 400, "{whole} {half}");
    assert_eq!(detectable(5, power, &LIMITS, 5), f64::INFINITY);
}

proptest! {
    /// Adding rounds later is valid: a decision stays the same, at the same round.
    #[test]
    fn a_decision_stands_whatever_rounds_come_after_it(seed in 0u64..1000, cut in 3usize..40) {
        let mut uniform = uniform(seed);
        let suite = [0.0, 0.03, -0.04, 0.015, 0.0].map(|shift| about(shift, &mut uniform));
        let whole = suite.each_ref().map(|d| row(d));
        let part = suite.each_ref().map(|d| row(&d[..cut]));
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

    /// Exchanging the sides of every round negates each difference: regressed and improved change places, except for their
    /// different levels.
    #[test]
    fn the_sides_are_treated_alike(seed in 0u64..500) {
        let differences = about(0.03, &mut uniform(seed));
        let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
        let limits = SequentialLimits { alpha_improved: 0.01, ..LIMITS };
        let [there, back] = [differences, turned].map(|d| decide(&[row(&d)], &limits).1.remove(0));
        prop_assert_eq!(there.status == Status::Regressed, back.status == Status::Improved);
        prop_assert_eq!((there.rounds, there.ln_worse), (back.rounds, back.ln_better));
    }
}
