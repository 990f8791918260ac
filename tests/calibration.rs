//! A suite against itself: figures from made-up records with a known truth, and their report.

use std::collections::BTreeMap;

use gbench_ci::compare::*;
use gbench_ci::model::{Documented, RunRecord, Timing};
use gbench_ci::report::{Style, calibration};

use crate::support::rounds::{Planned, comparison, differences, sides, timed};

const ROUNDS: u32 = 12;

/// Four quiet cases, one that needs more than the usual rounds, one that nothing helps. `noise` draws evenly from -1 to 1.
fn suite() -> Vec<Planned> {
    let mut plans: Vec<Planned> = (0..4)
        .map(|index| timed(&format!("kernels/quiet{index}"), &differences(index, 0.0, 0.004, ROUNDS)))
        .collect();
    plans.push(timed("kernels/loud", &differences(10, 0.0, 0.06, ROUNDS)));
    plans.push(timed("kernels/wild", &differences(11, 0.0, 0.9, ROUNDS)));
    plans
}

fn calibrated(plans: &[Planned]) -> Calibration {
    let (base, head) = sides(plans);
    calibrate(&base, &head, &comparison(plans.len()), ROUNDS).unwrap()
}

fn row<'a>(it: &'a Calibration, name: &str) -> &'a CalibratedRow {
    it.rows.iter().find(|row| row.case.benchmark.name() == name).unwrap()
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

#[test]
fn quiet_cases_are_ready_loud_ones_slow_and_wild_ones_hopeless_with_the_reason() {
    let it = calibrated(&suite());
    assert_eq!(it.rows.len(), 6);
    for index in 0..4 {
        let row = row(&it, &format!("quiet{index}"));
        assert_eq!((row.readiness, row.why.len(), row.help.len()), (Readiness::Ready, 0, 0));
        let prospect = row.prospect.as_ref().unwrap();
        assert!(prospect.rounds_to_certify.unwrap() <= 6 && prospect.detectable.unwrap() < 0.01);
        assert!(prospect.found * 10 >= prospect.planted * 9, "{prospect:?}");
    }
    assert_eq!(row(&it, "loud").readiness, Readiness::Slow);
    let wild = row(&it, "wild");
    assert_eq!(wild.readiness, Readiness::Hopeless);
    assert!(wild.why[0].starts_with("rounds differ by"), "{:?}", wild.why);
    assert!(wild.help.iter().any(|help| help.contains("keep it out of the gate")), "{:?}", wild.help);
    let loud = row(&it, "loud");
    assert!(loud.help.iter().any(|help| help.starts_with("raise its `target` to")), "{:?}", loud.help);
    assert!(!it.false_alarms.too_many(it.alpha), "{:?}", it.false_alarms);
}

/// Alone a case borrows nothing: its floor is the deviation of its rounds.
#[test]
fn the_noise_of_a_case_alone_is_the_deviation_of_its_rounds() {
    let plans = [timed("kernels/one", &differences(3, 0.0, 0.03, ROUNDS))];
    let it = calibrated(&plans);
    let noise = it.rows[0].noise.as_ref().unwrap();
    assert!((noise.floor / deviation(&plans[0].differences) - 1.0).abs() < 1e-9, "{noise:?}");
    // Each process states one figure: what lies within it is not known.
    assert_eq!(noise.parts, None);
    assert_eq!(it.candidates, 1);
}

/// A sample of a harness is the mean of many executions: timing does not weigh as much as their work.
#[test]
fn a_short_iteration_is_a_reason_where_an_iteration_is_what_is_timed() {
    let why = |timing| {
        let plan = Planned { usual: 1e-8, ..timed("kernels/short", &differences(10, 0.0, 0.06, ROUNDS)) };
        let (mut base, mut head) = sides(&[plan]);
        for case in base.cases.iter_mut().chain(&mut head.cases) {
            case.id.timing = timing;
            for process in case.metrics.iter_mut().flat_map(|metric| &mut metric.processes) {
                process.values.extend(process.stated.take().map(|stated| stated.value));
            }
        }
        let it = calibrate(&base, &head, &comparison(1), ROUNDS).unwrap();
        it.rows[0].why.join("; ")
    };
    assert!(why(Timing::Protocol).contains("an iteration takes"), "{}", why(Timing::Protocol));
    assert!(!why(Timing::Harness).contains("an iteration takes"), "{}", why(Timing::Harness));
}

#[test]
fn a_suite_that_differs_from_itself_cries_wolf() {
    let mut plans = suite();
    plans[0].differences = differences(1, 0.05, 0.004, 40);
    let it = calibrated(&plans);
    assert_eq!(it.false_alarms.red.len(), 1);
    assert!(it.false_alarms.too_many(it.alpha));
}

#[test]
fn too_few_rounds_say_nothing_and_ask_for_more() {
    let it = calibrated(&[timed("kernels/short", &differences(1, 0.0, 0.004, 3))]);
    assert_eq!((it.rows[0].readiness, it.rows[0].help.len()), (Readiness::Unknown, 1));
    assert_eq!(it.rows[0].noise, None);
}

#[test]
fn the_same_records_give_the_same_calibration() {
    assert_eq!(calibrated(&suite()), calibrated(&suite()));
}

#[test]
fn numbers_that_repeat_are_hopeless_as_they_are_for_the_rule() {
    let it = calibrated(&[timed("kernels/cached", &[0.0; 12])]);
    // The drift of the made-up machine differs from round to round, so that only a constant side is suspicious.
    assert!(it.rows[0].noise.is_some());
    let (mut base, mut head) = sides(&[timed("kernels/cached", &differences(1, 0.0, 0.01, 12))]);
    let same = |record: &mut RunRecord| {
        record.cases[0].metrics[0].processes.iter_mut().for_each(|process| process.values = vec![1e-3]);
    };
    same(&mut base);
    same(&mut head);
    let it = calibrate(&base, &head, &comparison(1), ROUNDS).unwrap();
    assert_eq!(it.rows[0].readiness, Readiness::Hopeless);
    assert!(it.rows[0].why[0].contains("gave the same value"), "{:?}", it.rows[0].why);
}

/// A calibration with everything that a report can show, made up.
fn made_up() -> Calibration {
    let mut it = calibrated(&suite());
    it.tool_version = "0.0.0".into();
    it.machine = BTreeMap::from([("cpu_model".into(), "made up".into())]);
    it.seconds = 95.0;
    let parts = |within, between, order, autocorrelation, best| Parts {
        within,
        between,
        order,
        autocorrelation,
        iterations: 30.0,
        best_iterations: best,
    };
    let shares = [
        parts(0.62, 0.35, 0.03, 0.12, Some(48)),
        parts(0.08, 0.9, 0.02, 0.4, Some(7)),
        parts(0.3, 0.1, 0.6, 0.2, None),
    ];
    for (row, parts) in it.rows.iter_mut().zip(shares) {
        row.seconds_per_round = 1.2;
        row.noise.as_mut().unwrap().parts = Some(parts);
    }
    let mut case = it.rows[0].case.clone();
    case.benchmark = "kernels/broken".parse().unwrap();
    it.unmeasured.push(Unmeasured { case, reason: "failed: it ended with exit code 7".into() });
    it.control = Some(PlantedControl {
        comparison: it.comparison.clone(),
        planted: 0.05,
        found: true,
        rounds: 11,
        slowdown: Some(0.0493),
        noise: 0.004,
        detectable: Some(0.008),
    });
    it
}

fn shown(it: &Calibration, all: bool) -> String {
    let mut out = Vec::new();
    calibration::terminal(it, Style::PLAIN, all, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_report_reads_well_at_eighty_columns() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/calibration");
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    let good = made_up();
    let mut blind = made_up();
    let control = blind.control.as_mut().unwrap();
    (control.found, control.rounds) = (false, 40);
    let mut wolf = made_up();
    wolf.false_alarms.red.push("kernels/quiet0 time".into());
    wolf.control = None;
    let mut nothing = made_up();
    nothing.rows.clear();
    nothing.control = None;
    let all = [
        ("good", &good, true),
        ("blind", &blind, false),
        ("wolf", &wolf, false),
        ("nothing", &nothing, false),
    ];
    for (name, it, everything) in all {
        let text = shown(it, everything);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(format!("terminal_{name}"), text);
    }
}

#[test]
fn a_calibration_keeps_to_its_schema_and_survives_the_way_out_and_back() {
    let schema = jsonschema::validator_for(&Calibration::schema()).unwrap();
    let it = made_up();
    let value = serde_json::to_value(&it).unwrap();
    assert!(
        schema.is_valid(&value),
        "{:?}",
        schema.iter_errors(&value).next().map(|error| error.to_string())
    );
    assert_eq!(serde_json::from_value::<Calibration>(value).unwrap(), it);
}
