//! Rows of executed instructions, through the public door: records in, verdicts out.

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::records::noise;
use crate::support::rounds::{Planned, differences, sides, timed};

/// A case of a harness with a noisy time, and with instructions beside it: `base` and `head` by round.
fn compared(
    suite: u32,
    cases: usize,
    rounds: u32,
    count: impl Fn(usize, Side, u32) -> f64,
) -> VerdictDocument {
    let noisy =
        |case: usize| timed(&format!("s/c{case}"), &differences(suite + case as u32, 0.0, 0.2, rounds));
    let plans: Vec<Planned> = (0..cases).map(noisy).collect();
    let (mut base, mut head) = sides(&plans);
    for (side, record) in [(Side::Base, &mut base), (Side::Head, &mut head)] {
        for (index, case) in record.cases.iter_mut().enumerate() {
            case.id.timing = Timing::Harness;
            let mut metric = case.metrics[0].clone();
            (metric.name, metric.unit) = ("instructions".into(), "instructions".into());
            metric.better = Some(Better::Lower);
            for (round, process) in metric.processes.iter_mut().enumerate() {
                process.values = vec![count(index, side, round as u32)];
            }
            case.metrics.insert(0, metric);
        }
    }
    let input = |record| SideInput { record, name: "x".into() };
    let policy = Policy::of(base.comparison.as_ref().unwrap());
    compare(&input(&base), &input(&head), &policy).unwrap()
}

/// Nearly 700 a execution, within `jitter` either way.
fn counted(suite: u32, index: usize, side: Side, round: u32, jitter: f64) -> f64 {
    let drawn = noise([suite, index as u32, round, side as u32]);
    700.0 * (1.0 + jitter * drawn.clamp(-1.0, 1.0))
}

fn counts(document: &VerdictDocument) -> Vec<&Row> {
    document.rows.iter().filter(|row| row.metric == "instructions").collect()
}

/// Between -1 and 1.
const JITTER: f64 = 1e-4;

#[test]
fn f7_of_100_suites_without_a_change_none_is_red_by_its_counts() {
    for suite in 0..100 {
        let document =
            compared(suite, 3, 10, |index, side, round| counted(suite, index, side, round, JITTER));
        for row in counts(&document) {
            assert_eq!(row.verdict, Verdict::Unchanged, "{suite}: {}", row.reason);
        }
    }
}

#[test]
fn a_change_is_known_from_as_many_processes_as_make_chance_rare_and_says_that_time_is_open() {
    let one_more = |index: usize, side: Side, round: u32| {
        let more = if index == 1 && side == Side::Head { 1.03 } else { 1.0 };
        more * counted(7, index, side, round, JITTER)
    };
    let without = compared(7, 3, 10, |index, side, round| counted(7, index, side, round, JITTER));
    for (rounds, verdict, code) in
        [(4, Verdict::Inconclusive, "few-counts"), (5, Verdict::Regressed, "counts-agree")]
    {
        let document = compared(7, 3, rounds, one_more);
        let row = counts(&document).into_iter().find(|row| row.case.benchmark.as_str() == "s/c1").unwrap();
        assert_eq!(row.verdict, verdict, "{rounds}: {}", row.reason);
        assert_eq!(serde_json::to_value(row.why.as_ref().unwrap()).unwrap()["code"], code);
        // Four rows share the error rate: the times, and the count that differs.
        let candidates = |document: &VerdictDocument| document.method.rounds.as_ref().unwrap().candidates;
        let unchanged = compared(7, 3, rounds, |i, s, r| counted(7, i, s, r, JITTER));
        assert_eq!((candidates(&document), candidates(&unchanged)), (4, 3));
    }
    assert!(without.rows.iter().all(|row| row.verdict != Verdict::Regressed));
    let document = compared(7, 3, 10, one_more);
    let row = counts(&document).into_iter().find(|row| row.verdict == Verdict::Regressed).unwrap();
    assert!(row.reason.starts_with("3 % more instructions: "), "{}", row.reason);
    assert!(row.reason.ends_with("in 10 processes a side; time is open"), "{}", row.reason);
    assert_eq!(row.time_verdict, Some(Verdict::Inconclusive));
    // Never green in silence: the time stays what it is.
    let time = document.rows.iter().find(|it| it.case == row.case && it.metric == "time").unwrap();
    assert_eq!(time.verdict, Verdict::Inconclusive);
    assert_eq!(document.conclusion, Conclusion::Regressed);
    let fewer = compared(7, 3, 10, |index, side, round| {
        let less = if index == 1 && side == Side::Head { 0.9 } else { 1.0 };
        less * counted(7, index, side, round, JITTER)
    });
    let row = counts(&fewer).into_iter().find(|row| row.verdict == Verdict::Improved).unwrap();
    assert!(row.reason.starts_with("10 % fewer instructions"), "{}", row.reason);
}

#[test]
fn counts_that_differ_within_a_side_are_left_to_the_ordinary_rule() {
    // Two states by chance, 3 % apart, on both sides: no change, and none is known.
    let states = |index: usize, side: Side, round: u32| {
        let state = if noise([1, index as u32, round, 9 + side as u32]) > 0.0 { 1.03 } else { 1.0 };
        state * counted(1, index, side, round, JITTER)
    };
    for row in counts(&compared(1, 3, 10, states)) {
        let why = serde_json::to_value(&row.why).unwrap();
        assert_ne!(why["code"], "counts-agree");
        assert!(!matches!(row.verdict, Verdict::Regressed | Verdict::Improved), "{}", row.reason);
        assert!(row.sequence.is_some());
    }
    // A change that is not ten times the spread.
    let wide = |index: usize, side: Side, round: u32| {
        let more = if side == Side::Head { 1.003 } else { 1.0 };
        more * counted(2, index, side, round, 2.4e-4)
    };
    for row in counts(&compared(2, 3, 10, wide)) {
        assert_ne!(serde_json::to_value(&row.why).unwrap()["code"], "counts-agree", "{}", row.reason);
    }
}

#[test]
fn counts_of_what_is_no_harness_are_judged_as_before() {
    let steps = |index: usize, side: Side, round: u32| {
        let more = if side == Side::Head { 1.03 } else { 1.0 };
        more * counted(3, index, side, round, JITTER)
    };
    let document = compared(3, 3, 10, steps);
    assert!(counts(&document).iter().all(|row| row.sequence.is_none()));
    let plan = Planned {
        metric: "instructions".into(),
        unit: "instructions".into(),
        ..timed("s/own", &differences(5, 0.03, 1e-5, 10))
    };
    let (mut base, mut head) = sides(&[plan]);
    for record in [&mut base, &mut head] {
        record.cases[0].metrics[0].better = Some(Better::Lower);
    }
    let input = |record| SideInput { record, name: "x".into() };
    let judged =
        compare(&input(&base), &input(&head), &Policy::of(base.comparison.as_ref().unwrap())).unwrap();
    assert!(judged.rows[0].sequence.is_some(), "{}", judged.rows[0].reason);
}

/// One case with an exact size: `own` rounds of its own behind eight whose processes it shared.
fn records_of_shared(own: u32, size: impl Fn(Side, bool) -> f64) -> (RunRecord, RunRecord) {
    const SHARED: u32 = 8;
    let plan = Planned {
        metric: "B/op".into(),
        unit: "B".into(),
        ..timed("s/size", &differences(5, 0.0, 0.01, SHARED + own))
    };
    let (mut base, mut head) = sides(&[plan]);
    for (side, record) in [(Side::Base, &mut base), (Side::Head, &mut head)] {
        let case = &mut record.cases[0];
        (case.id.timing, case.metrics[0].better) = (Timing::Harness, Some(Better::Lower));
        let shared_screen = Shown { value: "shared-screen".into(), origin: Origin::Default };
        case.config.insert("isolation".into(), shared_screen);
        for round in 0..SHARED + own {
            let shared = round < SHARED;
            case.processes[round as usize].shared = shared.then_some(3);
            case.metrics[0].processes[round as usize].values = vec![size(side, shared)];
        }
    }
    (base, head)
}

fn shared_then_own(own: u32, size: impl Fn(Side, bool) -> f64) -> VerdictDocument {
    let (base, head) = records_of_shared(own, size);
    let input = |record| SideInput { record, name: "x".into() };
    let policy = Policy::of(base.comparison.as_ref().unwrap());
    compare(&input(&base), &input(&head), &policy).unwrap()
}

#[test]
fn exact_figures_of_shared_processes_are_no_evidence() {
    let after_another = |side: Side, shared: bool| if shared && side == Side::Head { 4096.0 } else { 1024.0 };
    let really = |side: Side, _: bool| if side == Side::Head { 4096.0 } else { 1024.0 };
    let expected = |document: &VerdictDocument, verdict: Verdict, code: Option<&str>| {
        let row = &document.rows[0];
        let why = serde_json::to_value(&row.why).unwrap();
        assert_eq!((row.verdict, why["code"].as_str()), (verdict, code), "{}", row.reason);
    };
    let waiting = Some("few-own-processes");
    for own in [0, 1, 2] {
        expected(&shared_then_own(own, really), Verdict::Inconclusive, waiting);
        expected(&shared_then_own(own, after_another), Verdict::Inconclusive, waiting);
        expected(&shared_then_own(own, |_, _| 1024.0), Verdict::Unchanged, None);
    }
    expected(&shared_then_own(4, really), Verdict::Regressed, Some("exact-values"));
    let document = shared_then_own(4, after_another);
    expected(&document, Verdict::Inconclusive, Some("shared-processes-differ"));
    // The columns are of the rounds that the change is of.
    let centre = |side: &Option<RowSide>| side.as_ref().unwrap().centre;
    assert_eq!(
        (centre(&document.rows[0].base), centre(&document.rows[0].head)),
        (Some(1024.0), Some(1024.0))
    );
    assert!(document.method.rounds.unwrap().shared_screen);
}

#[test]
fn a_change_from_zero_in_shared_processes_makes_a_candidate() {
    let (base, head) = records_of_shared(0, |side, _| if side == Side::Head { 3.0 } else { 0.0 });
    let comparison = base.comparison.clone().unwrap();
    let input = |record| SideInput { record, name: "x".into() };
    let policy = Policy::of(&comparison);
    let progress = case_progress(&SeqE::of(&comparison), &input(&base), &input(&head), &policy).unwrap();
    assert!(progress[0].open && progress[0].looks_changed, "{progress:?}");
}
