//! Comparisons in rounds through the public door: records in, verdicts out.

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::fixture;
use crate::support::rounds::{Planned, differences, sides, timed};

fn input(record: &RunRecord) -> SideInput<'_> {
    SideInput { record, name: record.side.map_or("", |side| side.into_str()).into() }
}

fn policy(record: &RunRecord) -> Policy {
    Policy::of(record.comparison.as_ref().unwrap())
}

fn judge(base: &RunRecord, head: &RunRecord) -> VerdictDocument {
    compare(&input(base), &input(head), &policy(base)).unwrap()
}

fn row<'a>(document: &'a VerdictDocument, name: &str) -> &'a Row {
    let found = document.rows.iter().find(|row| row.case.benchmark.as_str() == name);
    found.unwrap_or_else(|| panic!("no {name} in {:#?}", document.rows))
}

/// A quiet suite of `count` cases, for company.
fn company(count: u32) -> Vec<Planned> {
    (0..count)
        .map(|index| timed(&format!("s/quiet{index}"), &differences(100 + index, 0.0, 0.002, 40)))
        .collect()
}

#[derive(serde::Deserialize)]
struct Golden {
    d: Vec<Vec<f64>>,
    /// By round: 1 where head ran second, -1 where it ran first.
    #[serde(default)]
    order: Vec<Vec<i8>>,
    #[serde(flatten)]
    by_rule: std::collections::BTreeMap<String, serde_json::Value>,
}

#[derive(serde::Deserialize)]
struct GoldenVerdicts {
    status: Vec<String>,
    rounds: Vec<u32>,
}

#[test]
fn n1_every_verdict_and_round_count_is_that_of_the_reference() {
    held_to_the_reference("seq_e_2", SequentialRuleName::SeqE2, "seq_e2");
}

#[test]
fn every_record_that_names_no_rule_is_judged_by_seq_e() {
    held_to_the_reference("seq_e", SequentialRuleName::SeqE, "eproc");
}

#[test]
fn r1_every_verdict_and_round_count_of_seq_e_3_is_that_of_the_reference() {
    held_to_the_reference("seq_e_3", SequentialRuleName::SeqE3, "seq_e3");
}

/// `decided`: where the file has the verdicts of the rule.
fn held_to_the_reference(file: &str, rule: SequentialRuleName, decided: &str) {
    let text = std::fs::read_to_string(fixture(&format!("statistics/{file}.json"))).unwrap();
    let suites: Vec<Golden> = serde_json::from_str(&text).unwrap();
    for suite in suites {
        let names: Vec<String> = (0..suite.d.len()).map(|index| format!("golden/b{index:03}")).collect();
        let plans: Vec<Planned> = names.iter().zip(&suite.d).map(|(name, d)| timed(name, d)).collect();
        let (mut base, mut head) = sides(&plans);
        let verdicts: GoldenVerdicts = serde_json::from_value(suite.by_rule[decided].clone()).unwrap();
        for (side, record) in [&mut base, &mut head].into_iter().enumerate() {
            record.comparison.as_mut().unwrap().rule.name = rule;
            for (case, orders) in record.cases.iter_mut().zip(&suite.order) {
                for (process, order) in case.processes.iter_mut().zip(orders) {
                    process.slot = Some(u8::from((*order > 0) == (side == 1)));
                }
            }
            // As a file has it: SEQ-E's name is not written.
            let text = serde_json::to_string(record).unwrap();
            let written = text.contains(&format!("\"name\":\"{}\"", rule.into_str()));
            assert_eq!(written, rule != SequentialRuleName::SeqE);
            *record = serde_json::from_str(&text).unwrap();
        }
        let document = judge(&base, &head);
        assert_eq!(document.method.rule, rule.into_str());
        for (index, name) in names.iter().enumerate() {
            let row = row(&document, name);
            let sequence = row.sequence.as_ref().unwrap();
            let found = (row.verdict.into_str(), sequence.rounds);
            let theirs = (verdicts.status[index].as_str(), verdicts.rounds[index]);
            assert_eq!(found, theirs, "{name} of {}: {row:?}", names.len());
        }
    }
}

#[test]
fn a_slower_case_is_red_and_says_by_how_much_at_least() {
    let mut plans = company(9);
    plans.push(timed("s/slow", &differences(1, 0.03, 0.005, 40)));
    let (base, head) = sides(&plans);
    let document = judge(&base, &head);
    assert_eq!((document.conclusion, document.exit_code), (Conclusion::Regressed, 1));
    let slow = row(&document, "s/slow");
    assert_eq!(slow.verdict, Verdict::Regressed);
    let (change, sequence) = (slow.change.as_ref().unwrap(), slow.sequence.as_ref().unwrap());
    assert!((change.slowdown - 0.03).abs() < 0.005, "{change:?}");
    let at_least = sequence.at_least.unwrap();
    assert!(at_least > sequence.min_effect && at_least < change.slowdown, "{sequence:?}");
    assert!(sequence.log10_worse >= sequence.log10_needed);
    assert!(slow.reason.contains("at least") && slow.reason.contains("99 % confidence"), "{}", slow.reason);
    let quiet = document.rows.iter().filter(|row| row.verdict == Verdict::Unchanged).count();
    assert_eq!(quiet, 9);
}

#[test]
fn the_figures_of_a_row_are_of_the_rounds_that_its_change_is_of() {
    let mut plans = company(5);
    // Decided before the rounds in which base and head lie elsewhere.
    let slow = [differences(1, 0.20, 0.005, 20), differences(2, 0.26, 0.005, 20)].concat();
    plans.push(timed("s/slow", &slow));
    plans.push(Planned { unit: "GB/s".into(), metric: "rate".into(), ..timed("s/rate", &slow) });
    let (mut base, mut head) = sides(&plans);
    for (side, record) in [&mut base, &mut head].into_iter().enumerate() {
        for case in &mut record.cases {
            for (at, process) in case.metrics[0].processes.iter_mut().enumerate() {
                // The median of a process is not where its middle half lies.
                let value = process.values[0];
                let skew = 1.0 + 0.02 * (1 + (at + side) % 3) as f64;
                process.values = vec![value, value * skew, value * skew * 1.001, value * 1.3, value * 0.98];
            }
        }
    }
    let document = judge(&base, &head);
    let slow = row(&document, "s/slow");
    assert!(slow.sequence.as_ref().unwrap().rounds < 20, "{slow:?}");
    for row in &document.rows {
        let [base, head] = row.centres().map(Option::unwrap);
        let change = row.change.as_ref().unwrap();
        // An unchanged row may show the estimate of ranks.
        let most = if row.verdict == Verdict::Unchanged { 0.02 } else { 1e-9 };
        assert!((head / base - change.ratio).abs() < most, "{} {base} {head} {change:?}", row.case);
    }
}

#[test]
fn up_is_worse_for_a_rate() {
    let mut plans = company(5);
    let rate = |name: &str, centre| Planned {
        metric: "rate".into(),
        unit: "GB/s".into(),
        usual: 900.0,
        ..timed(name, &differences(2, centre, 0.004, 40))
    };
    plans.extend([rate("s/more", 0.04), rate("s/less", -0.04)]);
    let (base, head) = sides(&plans);
    let document = judge(&base, &head);
    assert_eq!(row(&document, "s/more").verdict, Verdict::Improved);
    let less = row(&document, "s/less");
    assert_eq!(less.verdict, Verdict::Regressed);
    assert!(less.change.as_ref().unwrap().slowdown > 0.03);
}

#[test]
fn a_noisy_case_is_inconclusive_and_says_what_it_would_take() {
    let mut plans = company(5);
    plans.push(timed("s/noisy", &differences(3, 0.012, 0.06, 40)));
    let (base, head) = sides(&plans);
    let document = judge(&base, &head);
    let noisy = row(&document, "s/noisy");
    assert_eq!(noisy.verdict, Verdict::Inconclusive);
    assert!(noisy.change.as_ref().unwrap().detectable.unwrap() > 0.03);
    assert!(noisy.reason.contains("differs from the next by"), "{}", noisy.reason);
    assert!(!noisy.next.is_empty());
    assert_eq!(document.exit_code, 0);
    let mut strict = policy(&base);
    strict.inconclusive_fails = true;
    assert_eq!(compare(&input(&base), &input(&head), &strict).unwrap().exit_code, 3);
}

#[test]
fn an_absolute_margin_forgives_what_a_share_would_not() {
    let mut plans = company(5);
    // 4 % of 1 us are 40 ns.
    plans.push(Planned { usual: 1e-6, ..timed("s/tiny", &differences(4, 0.04, 0.004, 40)) });
    let (mut base, head) = sides(&plans);
    assert_eq!(row(&judge(&base, &head), "s/tiny").verdict, Verdict::Regressed);
    let tiny = base.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/tiny").unwrap();
    let margin = Some(Margin { value: 100.0, unit: "ns".into() });
    tiny.declared.insert("time".into(), MetricDeclaration { margin, ..Default::default() });
    let document = judge(&base, &head);
    assert_eq!(row(&document, "s/tiny").verdict, Verdict::Unchanged);
    assert!(
        (row(&document, "s/tiny").sequence.as_ref().unwrap().min_effect + (-0.1_f64).ln_1p()).abs() < 0.01
    );
}

#[test]
fn a_margin_counts_for_exact_figures_and_for_rates_alike() {
    let mut plans = company(5);
    plans.push(Planned {
        unit: "B".into(),
        metric: "size".into(),
        usual: 100.0,
        ..timed("s/size", &[0.0; 6])
    });
    plans.push(Planned { unit: "B".into(), metric: "size".into(), usual: 1.0, ..timed("s/none", &[0.0; 6]) });
    let rate = differences(31, (0.6_f64).ln(), 0.004, 40);
    plans.push(Planned {
        unit: "GB/s".into(),
        metric: "rate".into(),
        usual: 100.0,
        ..timed("s/rate", &rate)
    });
    let (mut base, mut head) = sides(&plans);
    let mut set = |name: &str, margin: f64, values: Option<[f64; 2]>| {
        for (record, at) in [(&mut base, 0), (&mut head, 1)] {
            let case = record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == name).unwrap();
            let metric = case.metrics[0].name.clone();
            let margin = Some(Margin { value: margin, unit: String::new() });
            case.declared.insert(metric, MetricDeclaration { margin, ..Default::default() });
            let Some(values) = values else { continue };
            case.metrics[0].processes.iter_mut().for_each(|samples| samples.values = vec![values[at]]);
        }
    };
    set("s/size", 64.0, Some([100.0, 160.0]));
    set("s/none", 64.0, Some([0.0, 16.0]));
    set("s/rate", 45.0, None);
    let document = judge(&base, &head);
    for name in ["s/size", "s/none", "s/rate"] {
        assert_eq!(row(&document, name).verdict, Verdict::Unchanged, "{name}: {:?}", row(&document, name));
    }
    let (mut base, mut head) = (base, head);
    for record in [&mut base, &mut head] {
        record.cases.iter_mut().for_each(|case| case.declared.clear());
    }
    let document = judge(&base, &head);
    for name in ["s/size", "s/none", "s/rate"] {
        assert_eq!(row(&document, name).verdict, Verdict::Regressed, "{name}: {:?}", row(&document, name));
    }
}

#[test]
fn a_value_that_is_not_above_zero_ends_what_ratios_can_say() {
    let mut plans = company(5);
    plans.push(timed("s/slow", &differences(1, 0.05, 0.004, 40)));
    let (mut base, mut head) = sides(&plans);
    let slow = head.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/slow").unwrap();
    slow.metrics[0].processes[20].values = vec![0.0];
    for record in [&mut base, &mut head] {
        let slow = record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/slow").unwrap();
        (slow.metrics[0].unit, slow.metrics[0].better) = ("points".into(), Some(Better::Lower));
    }
    let document = judge(&base, &head);
    assert_eq!(row(&document, "s/slow").verdict, Verdict::Inconclusive);
    assert!(row(&document, "s/slow").reason.contains("not above zero"));
    assert_eq!(document.counts[&Verdict::Unchanged], 5);
}

#[test]
fn a_declared_target_is_kept_and_a_threshold_of_the_file_is_one() {
    let mut plans = company(5);
    plans.push(timed("s/slow", &differences(5, 0.03, 0.004, 40)));
    let (mut base, head) = sides(&plans);
    let slow = base.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/slow").unwrap();
    slow.declared.insert("time".into(), MetricDeclaration { target: Some(0.06), ..Default::default() });
    let document = judge(&base, &head);
    assert_eq!(
        (row(&document, "s/slow").verdict, row(&document, "s/slow").threshold),
        (Verdict::Unchanged, 0.06)
    );

    let slow = base.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/slow").unwrap();
    slow.declared.clear();
    let of_file = Shown { value: 0.07.into(), origin: Origin::File("gbench.toml:3".into()) };
    slow.config.insert("threshold".into(), of_file);
    assert_eq!(row(&judge(&base, &head), "s/slow").threshold, 0.07);
}

#[test]
fn numbers_below_zero_are_compared_as_shares_of_the_base() {
    let mut plans = company(5);
    plans.push(timed("s/loss", &differences(6, 0.0, 0.002, 40)));
    let (mut base, mut head) = sides(&plans);
    for (record, shift) in [(&mut base, 0.0), (&mut head, 0.1)] {
        let case = record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/loss").unwrap();
        (case.metrics[0].unit, case.metrics[0].better) = ("points".into(), Some(Better::Lower));
        for samples in &mut case.metrics[0].processes {
            samples.values.iter_mut().for_each(|value| *value = -1.0 + shift + (*value - 1e-3) * 10.0);
        }
    }
    let document = judge(&base, &head);
    let loss = row(&document, "s/loss");
    assert_eq!(loss.verdict, Verdict::Regressed);
    assert!((loss.change.as_ref().unwrap().slowdown - 0.1).abs() < 0.01, "{:?}", loss.change);
}

#[test]
fn what_sticks_to_a_side_makes_no_red() {
    // Each case's differences wander slowly: no change, and nothing that a random order could have made.
    let wander = |seed: u32| {
        let mut at = 0.0;
        (0..40)
            .map(|round| {
                at += 0.012 * gbench_noise(seed, round);
                at
            })
            .collect::<Vec<f64>>()
    };
    let plans: Vec<Planned> = (0..30).map(|index| timed(&format!("s/w{index}"), &wander(index))).collect();
    let (base, head) = sides(&plans);
    let document = judge(&base, &head);
    assert_eq!(document.counts[&Verdict::Regressed], 0, "{:#?}", document.method);
    let correlation = document.method.rounds.as_ref().unwrap().serial_correlation.unwrap();
    assert!(correlation > 0.4, "{correlation}");
    let weakened = document.rows.iter().filter(|row| row.reason.contains("not independent")).count();
    assert!(weakened >= 1, "the raw rule must have called some of them red");
    assert!(document.warnings.iter().any(|warning| warning.contains("not independent")));
}

fn gbench_noise(seed: u32, round: u32) -> f64 {
    crate::support::records::noise([seed, round, 11, 11])
}

/// A quiet base, and a head of `of(round)` times the same with the same noise.
fn beside_a_quiet_base(rule: SequentialRuleName, of: impl Fn(usize) -> f64) -> (Row, VerdictDocument) {
    let mut plans = company(9);
    plans.push(timed("s/case", &[0.0; 40]));
    let (mut base, mut head) = sides(&plans);
    reworked([&mut base, &mut head], "s/case", "s", |round, side, _| {
        let noise = 1.0 + 0.005 * gbench_noise(21 + side as u32, round as u32);
        1e-3 * noise * if side == 0 { 1.0 } else { of(round) }
    });
    for record in [&mut base, &mut head] {
        record.comparison.as_mut().unwrap().rule.name = rule;
    }
    let document = judge(&base, &head);
    assert_eq!(check_consistency(&document), Ok(()));
    (row(&document, "s/case").clone(), document)
}

#[test]
fn a4_a_head_that_varies_far_more_than_base_is_not_passed_over() {
    // Up and down by the same, so that no mean shows it.
    let wild = |round: usize| {
        let sign = if round.is_multiple_of(2) { 1.0 } else { -1.0 };
        1.15 * (sign * (0.2 + (round / 2 * 7 % 20) as f64 * 0.09)).exp()
    };
    let (case, document) = beside_a_quiet_base(SequentialRuleName::SeqE4, wild);
    assert_eq!((case.verdict, document.exit_code), (Verdict::Inconclusive, 3), "{case:?}");
    let Some(Reason::HeadVariesMore { base, head, .. }) = case.why else { panic!("{case:?}") };
    assert!(base < 0.01 && head > 0.5, "{base} {head}");
    assert!(document.sentence.contains("aries far more than base: s/case"), "{}", document.sentence);
    // Records of the rule before keep their verdicts.
    let (case, document) = beside_a_quiet_base(SequentialRuleName::SeqE3, wild);
    assert_eq!((case.verdict, document.exit_code), (Verdict::Inconclusive, 0), "{case:?}");
}

#[test]
fn a16_a_head_that_is_slower_in_every_third_process_is_not_passed_over() {
    let mut told = 0;
    for slower in [1.6, 1.3] {
        for first in 0..3 {
            let third = |round: usize| if round % 3 == first { slower } else { 1.0 };
            let (case, document) = beside_a_quiet_base(SequentialRuleName::SeqE4, third);
            assert!([1, 3].contains(&document.exit_code), "{slower} {first}: {case:?}");
            told += u32::from(matches!(case.why, Some(Reason::HeadVariesMore { .. })));
        }
    }
    // The others are red.
    assert_eq!(told, 4);
}

#[test]
fn results_from_a_cache_are_no_measurement() {
    let mut plans = company(5);
    plans.extend([timed("s/cached", &differences(8, 0.05, 0.004, 40)), timed("s/rounded", &[0.0; 40])]);
    let (mut base, mut head) = sides(&plans);
    for record in [&mut base, &mut head] {
        let cached = record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/cached").unwrap();
        for (index, samples) in cached.metrics[0].processes.iter_mut().enumerate() {
            // Every third process finds what an earlier one has left.
            let draw =
                |sample: u32| samples.values[0] * (1.0 + 0.001 * gbench_noise(index as u32 % 3, sample));
            let values: Vec<f64> = (0..10).map(draw).collect();
            samples.values = values;
        }
        let first = cached.metrics[0].processes[0].values.clone();
        cached.metrics[0].processes[5].values = first;
        let rounded = record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/rounded").unwrap();
        rounded.metrics[0].processes.iter_mut().for_each(|samples| samples.values = vec![0.005]);
    }
    let document = judge(&base, &head);
    let cached = row(&document, "s/cached");
    assert_eq!(cached.verdict, Verdict::Inconclusive);
    assert!(
        cached.reason.contains("processes 0 and 5 of base gave the very same numbers"),
        "{}",
        cached.reason
    );
    let rounded = row(&document, "s/rounded");
    assert_eq!(rounded.verdict, Verdict::Inconclusive);
    assert!(rounded.reason.contains("steps of 0.001 s, 20 % of the smaller side"), "{}", rounded.reason);
    assert!(rounded.next.contains("about 100 launches"), "{}", rounded.next);
}

/// Every sample of a case, on both sides, through `of`: round, base or head, value.
fn reworked(records: [&mut RunRecord; 2], name: &str, unit: &str, of: impl Fn(usize, usize, f64) -> f64) {
    for (side, record) in records.into_iter().enumerate() {
        let case = record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == name).unwrap();
        case.metrics[0].unit = unit.into();
        case.metrics[0].better = Some(Better::Lower);
        for (round, samples) in case.metrics[0].processes.iter_mut().enumerate() {
            samples.values.iter_mut().for_each(|value| *value = of(round, side, *value));
        }
    }
}

/// One case of many rounds among quiet ones, its samples reworked.
fn judged_with(unit: &str, centre: f64, deviation: f64, of: impl Fn(usize, usize, f64) -> f64) -> Row {
    let mut plans = company(5);
    plans.push(timed("s/case", &differences(8, centre, deviation, 40)));
    let (mut base, mut head) = sides(&plans);
    reworked([&mut base, &mut head], "s/case", unit, of);
    row(&judge(&base, &head), "s/case").clone()
}

#[test]
fn n2_a_base_that_prints_one_rounded_figure_does_not_hide_a_slower_head() {
    let row = judged_with("ms", 0.0, 0.0, |round, side, _| match side {
        0 => 12.3,
        _ => ((15.0 + 0.3 * gbench_noise(1, round as u32)) * 10.0).round() / 10.0,
    });
    assert_eq!(row.verdict, Verdict::Regressed, "{row:?}");
    let least = row.sequence.unwrap().at_least.unwrap();
    assert!((0.05..0.25).contains(&least), "{least}");
}

#[test]
fn n2_constant_figures_are_judged_as_far_as_their_digits_go_and_equal_ones_doubted() {
    for unit in ["J", "points", "W"] {
        let constant =
            |head: f64| judged_with(unit, 0.0, 0.0, move |_, side, _| if side == 0 { 1234.5 } else { head });
        let apart = constant(1310.7);
        assert_eq!(apart.verdict, Verdict::Inconclusive, "{unit}: five digits do not explain it, a tick may");
        assert!(apart.next.contains("launches"), "{}", apart.next);
        let equal = constant(1234.5);
        assert_eq!(equal.verdict, Verdict::Inconclusive, "{unit}");
        assert!(
            equal.reason.contains("40 processes of base and 40 of head gave the same"),
            "{}",
            equal.reason
        );
    }
    let coarse = judged_with("J", 0.0, 0.0, |_, side, _| if side == 0 { 12.3 } else { 15.1 });
    assert_eq!(coarse.verdict, Verdict::Regressed, "a tenth does: {coarse:?}");
    for unit in ["B", "cycles", "instructions"] {
        let equal = judged_with(unit, 0.0, 0.0, |_, _, _| 1234.0);
        assert_eq!(
            equal.verdict,
            Verdict::Unchanged,
            "{unit}: a count that every process gives alike is known"
        );
        let varied = judged_with(unit, 0.0, 0.0, |round, side, _| 1234.0 + (side * (60 + round % 3)) as f64);
        assert_eq!(varied.verdict, Verdict::Regressed, "{unit}");
    }
}

#[test]
fn n2_a_tick_as_large_as_the_change_certifies_nothing_and_says_what_would_help() {
    // 6 % on 5 ms, by a clock of whole milliseconds.
    let row = judged_with("s", 0.06, 0.004, |_, _, value| (value * 5.0 / 1e-3).round() * 1e-3);
    assert_eq!(row.verdict, Verdict::Inconclusive, "{row:?}");
    assert!(row.reason.contains("steps of 0.001 s"), "{}", row.reason);
    assert!(row.next.contains("launches"), "{}", row.next);
    // 5 % on 12 us, in ticks of 1.024 us.
    for seed in 0..40 {
        let tick = 1.024e-6;
        let row = judged_with("s", 0.05, 0.01, |round, side, value| {
            let own = 1.0 + 0.01 * gbench_noise(seed, (2 * round + side) as u32);
            (value * 12e-3 * own / tick).round() * tick
        });
        assert_ne!(row.verdict, Verdict::Unchanged, "{seed}: {row:?}");
    }
}

#[test]
fn n2_a_tick_of_a_tenth_of_the_target_costs_next_to_nothing() {
    let red = (0..40).filter(|seed| {
        // 0.2 % of 1 ms.
        let row = judged_with("s", 0.05, 0.004, |round, side, value| {
            let own = 1.0 + 0.003 * gbench_noise(*seed, (2 * round + side) as u32);
            (value * own / 2e-6).round() * 2e-6
        });
        row.verdict == Verdict::Regressed
    });
    assert!(red.count() >= 36);
}

#[test]
fn n4_a_time_that_took_no_time_is_invalid_and_a_change_that_no_program_makes_is_not_celebrated() {
    for (value, side) in [(0.0, 0), (-1e-3, 1)] {
        let row =
            judged_with("s", 0.0, 0.003, |round, at, it| if (round, at) == (7, side) { value } else { it });
        assert_eq!(row.verdict, Verdict::Invalid, "{row:?}");
        assert!(row.reason.contains(["base", "head"][side]), "{}", row.reason);
    }
    let faster = |times: f64| {
        let mut plans = company(5);
        plans.push(timed("s/case", &differences(8, -times.ln(), 0.003, 40)));
        let (base, head) = sides(&plans);
        judge(&base, &head)
    };
    let document = faster(150.0);
    let case = row(&document, "s/case");
    assert_eq!((case.verdict, document.exit_code), (Verdict::Inconclusive, 3), "{case:?}");
    assert!(case.reason.contains("150 times better"), "{}", case.reason);
    assert_eq!((row(&faster(50.0), "s/case").verdict, faster(50.0).exit_code), (Verdict::Improved, 0));
    let slower = faster(1.0 / 150.0);
    assert_eq!((row(&slower, "s/case").verdict, slower.exit_code), (Verdict::Regressed, 1));
    assert!(row(&slower, "s/case").next.contains("same unit"), "{}", row(&slower, "s/case").next);
}

#[test]
fn n11_a_row_that_is_probably_worse_is_not_passed_over() {
    let mut plans = company(9);
    // 50 % worse under load, in too few rounds to prove it.
    plans.push(timed("s/loaded", &differences(4, 0.4, 0.05, 6)));
    let (base, head) = sides(&plans);
    let document = judge(&base, &head);
    let loaded = row(&document, "s/loaded");
    assert_eq!(loaded.verdict, Verdict::Inconclusive);
    assert!(loaded.change.as_ref().unwrap().low > 0.02, "{:?}", loaded.change);
    assert_eq!((document.conclusion, document.exit_code), (Conclusion::Inconclusive, 3));
    assert!(
        document.sentence.starts_with("Not proven, but probably worse: s/loaded"),
        "{}",
        document.sentence
    );
    assert_eq!(check_consistency(&document), Ok(()));
}

#[test]
fn b6_a_row_that_only_leans_to_the_worse_side_passes_and_is_not_called_probably_worse() {
    let mut plans = company(9);
    plans.push(timed("s/leans", &differences(4, 0.02, 0.004, 6)));
    let (base, head) = sides(&plans);
    let document = judge(&base, &head);
    let change = row(&document, "s/leans").change.clone().unwrap();
    assert!(change.low > 0.0 && change.low < 0.02, "{change:?}");
    assert_eq!(document.exit_code, 0);
    assert!(document.sentence.starts_with("Nothing regressed, but 1 of 10"), "{}", document.sentence);
}

/// A case of a row that comes along by itself and does not change.
fn beside(name: &str, metric: &str, unit: &str) -> Planned {
    Planned { metric: metric.into(), unit: unit.into(), usual: 4096.0, ..timed(name, &[0.0; 8]) }
}

#[test]
fn what_comes_along_by_itself_does_not_stand_for_a_time_that_was_not_decided() {
    let noisy = |name: &str| timed(name, &differences(3, 0.0, 0.06, 6));
    let memory = || beside("s/fn", "host_peak_bytes", "B");
    let judged = |plans: &[Planned]| {
        let (mut base, mut head) = sides(plans);
        for record in [&mut base, &mut head] {
            // The rows of one case.
            let with_own =
                |case: &CaseRecord| case.id.benchmark.as_str() == "s/fn" && case.metrics[0].name != "time";
            let own: Vec<Metric> = record
                .cases
                .iter()
                .filter(|case| with_own(case))
                .flat_map(|case| case.metrics.clone())
                .collect();
            record.cases.retain(|case| !with_own(case));
            let case = record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/fn").unwrap();
            for mut metric in own {
                metric.better = Some(Better::Lower);
                metric.processes.truncate(case.processes.len());
                case.metrics.push(metric);
            }
        }
        let document = judge(&base, &head);
        assert_eq!(check_consistency(&document), Ok(()));
        document
    };
    let errors = ["error.rmse", "error.max_error"].map(|metric| beside("s/fn", metric, ""));
    let document = judged(&[vec![noisy("s/fn"), memory()], errors.to_vec()].concat());
    let verdicts = [Verdict::Inconclusive, Verdict::Unchanged].map(|verdict| document.counts[&verdict]);
    assert_eq!((verdicts, document.rows.len()), ([1, 3], 4), "{:#?}", document.rows);
    assert_eq!((document.conclusion, document.exit_code), (Conclusion::Inconclusive, 3));
    assert_eq!(document.sentence, "No time was decided: 1 of 2 compared rows is inconclusive: s/fn time.");
    // A time or a rate that was decided, of whatever case, is an answer.
    let rate = Planned {
        metric: "rate".into(),
        unit: "GB/s".into(),
        ..timed("s/rate", &differences(8, 0.0, 0.003, 20))
    };
    for decided in [timed("s/other", &differences(7, 0.0, 0.003, 20)), rate] {
        let document = judged(&[noisy("s/fn"), memory(), decided]);
        assert_eq!(document.exit_code, 0, "{:#?}", document.rows);
    }
}

#[test]
fn n6_the_correlation_is_told_with_its_error_and_what_follows_from_it() {
    use gbench_ci::report::{Format, Options, Style, verdict};
    let mut plans = company(9);
    plans.push(timed("s/slow", &differences(1, 0.03, 0.005, 40)));
    let (base, head) = sides(&plans);
    let mut document = judge(&base, &head);
    let error = document.method.rounds.as_ref().unwrap().serial_correlation_error.unwrap();
    assert!((0.05..0.4).contains(&error), "{error}");
    let text = |document: &VerdictDocument| {
        let mut out = Vec::new();
        let options = Options { format: Format::Terminal, style: Style::PLAIN, all: false };
        verdict(document, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    document.method.rounds.as_mut().unwrap().serial_correlation = Some(0.42);
    document.method.rounds.as_mut().unwrap().serial_correlation_error = Some(0.27);
    let said = text(&document);
    assert!(said.contains("correlation 0.42, standard error 0.27; not clearly above 0.15"), "{said}");
    document.method.rounds.as_mut().unwrap().serial_correlation_error = Some(0.05);
    assert!(
        text(&document).contains("clearly above 0.15: processes of one side are not independent"),
        "{}",
        text(&document)
    );
}

#[test]
fn a_control_that_came_out_changed_takes_every_red_back() {
    let mut plans = company(9);
    plans.push(timed("s/slow", &differences(1, 0.03, 0.005, 40)));
    let (base, head) = sides(&plans);
    let with_control = |centre: f64| {
        let of_control = [timed("s/quiet3", &differences(9, centre, 0.003, 40))];
        let (_, mut control) = sides(&of_control);
        control.side = Some(Side::Control);
        // The differences are to be between this control and the base of the comparison.
        let base_case = base.cases.iter().find(|case| case.id.benchmark.as_str() == "s/quiet3").unwrap();
        for (index, samples) in control.cases[0].metrics[0].processes.iter_mut().enumerate() {
            samples.values = vec![
                base_case.metrics[0].processes[index].values[0] * of_control[0].differences[index].exp(),
            ];
        }
        compare_sides(&input(&base), &input(&head), Some(&input(&control)), &policy(&base)).unwrap()
    };
    let calm = with_control(0.0);
    assert_eq!(calm.method.rounds.as_ref().unwrap().controls, 1);
    assert_eq!(row(&calm, "s/slow").verdict, Verdict::Regressed);
    let flagged = with_control(0.05);
    assert_eq!(flagged.method.rounds.as_ref().unwrap().flagged_controls, ["s/quiet3"]);
    let slow = row(&flagged, "s/slow");
    assert_eq!(slow.verdict, Verdict::Inconclusive);
    assert!(
        slow.reason.contains("the base compared with itself came out changed (s/quiet3)"),
        "{}",
        slow.reason
    );
    assert_eq!(flagged.counts[&Verdict::Unchanged], 9, "only reds are taken back");
}

#[test]
fn a_red_that_rests_on_disturbed_rounds_is_none() {
    let mut plans = company(9);
    // Slow only while the machine was busy.
    let mut differences = differences(1, 0.0, 0.004, 40);
    differences.iter_mut().step_by(2).for_each(|difference| *difference += 0.1);
    plans.push(timed("s/slow", &differences));
    let (mut base, mut head) = sides(&plans);
    assert_eq!(row(&judge(&base, &head), "s/slow").verdict, Verdict::Regressed);
    let work_beside = |record: &mut RunRecord| {
        for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
            let busy = process.index % 2 == 0;
            process.conditions = Some(Conditions { busy, ..Default::default() });
        }
    };
    work_beside(&mut head);
    let document = judge(&base, &head);
    let slow = row(&document, "s/slow");
    assert_eq!(slow.verdict, Verdict::Inconclusive);
    assert!(
        slow.reason.contains("one side met a busy machine, or a throttled GPU, in 20 of 40 rounds"),
        "{}",
        slow.reason
    );
    // What both sides met is their common lot.
    work_beside(&mut base);
    assert_eq!(row(&judge(&base, &head), "s/slow").verdict, Verdict::Regressed);
}

#[test]
fn a_case_that_breaks_later_changes_no_other_verdict() {
    let mut plans = company(8);
    plans.extend(
        (0..6).map(|index| timed(&format!("s/doubt{index}"), &differences(20 + index, 0.015, 0.02, 40))),
    );
    let (base, head) = sides(&plans);
    let whole = judge(&base, &head);
    let mut broken = head.clone();
    let case = broken.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "s/doubt2").unwrap();
    case.processes.truncate(11);
    case.metrics[0].processes.truncate(11);
    case.metrics[0].processes[10].partial = true;
    case.outcome = Outcome::Failed {
        kind: FailureKind::Signal,
        cause: "it crashed".into(),
        advice: "read its log".into(),
    };
    let document = judge(&base, &broken);
    assert_eq!(row(&document, "s/doubt2").verdict, Verdict::Invalid);
    for then in whole.rows.iter().filter(|row| row.case.benchmark.as_str() != "s/doubt2") {
        let now = row(&document, then.case.benchmark.as_str());
        assert_eq!((now.verdict, &now.sequence, &now.change), (then.verdict, &then.sequence, &then.change));
    }
}

#[test]
fn what_stands_open_between_the_rounds_is_what_the_verdict_leaves_open() {
    let mut plans = company(6);
    plans.push(timed("s/slow", &differences(1, 0.03, 0.005, 9)));
    for plan in &mut plans {
        plan.differences.truncate(9);
    }
    let (base, head) = sides(&plans);
    let rule = SeqE::of(base.comparison.as_ref().unwrap());
    let standings = case_progress(&rule, &input(&base), &input(&head), &policy(&base)).unwrap();
    let open: Vec<String> =
        standings.iter().filter(|one| one.open).map(|one| one.case.benchmark.to_string()).collect();
    assert_eq!(open, ["s/slow"]);
    let slow = standings.iter().find(|one| one.open).unwrap();
    assert_eq!(slow.rounds, 9);
    assert!((1..=20).contains(&slow.more_rounds.unwrap()), "{slow:?}");
    let document = judge(&base, &head);
    assert_eq!(row(&document, "s/slow").verdict, Verdict::Inconclusive);
    assert!(row(&document, "s/slow").reason.starts_with("the rounds ended early"));
}

#[test]
fn n25_rounds_that_a_spent_budget_ended_are_said_to_be() {
    let mut plans = company(6);
    plans.push(timed("s/slow", &differences(1, 0.03, 0.005, 9)));
    // So noisy that no number of rounds is in sight that would decide it.
    plans.push(timed("s/wild", &[2.0, -2.0, 2.0, -2.0, 0.0, 2.0, -2.0, 2.0, -2.0]));
    for plan in &mut plans {
        plan.differences.truncate(9);
    }
    let (mut base, mut head) = sides(&plans);
    for record in [&mut base, &mut head] {
        record.state = RecordState::Complete;
        record.comparison.as_mut().unwrap().budget = Budget::from_seconds(5.0);
    }
    let document = judge(&base, &head);
    for name in ["s/slow", "s/wild"] {
        let row = row(&document, name);
        assert_eq!(row.verdict, Verdict::Inconclusive);
        assert!(row.reason.starts_with("the budget of 5s was spent: after 9 rounds"), "{}", row.reason);
    }
    let wild = row(&document, "s/wild");
    assert!(
        wild.next.starts_with("give it more time with `--budget`: there was some for 9 of"),
        "{}",
        wild.next
    );
    // Cut short by somebody, or judged by the rule whose words are kept: as before.
    let mut cut = head.clone();
    cut.state = RecordState::Interrupted;
    assert!(row(&judge(&base, &cut), "s/slow").reason.starts_with("the rounds ended early"));
}

#[test]
fn a_suite_that_moved_as_a_whole_is_said() {
    let plans: Vec<Planned> =
        (0..20).map(|index| timed(&format!("s/b{index}"), &differences(index, 0.008, 0.002, 40))).collect();
    let (base, head) = sides(&plans);
    let document = judge(&base, &head);
    assert!(document.warnings.iter().any(|warning| warning.starts_with("the suite as a whole moved")));
    assert!(document.method.rounds.unwrap().location_shift.unwrap() > 0.007);
}

#[test]
fn the_same_records_give_the_same_json() {
    let mut plans = company(6);
    plans.push(timed("s/slow", &differences(1, 0.03, 0.02, 40)));
    let (base, head) = sides(&plans);
    let json = |base: &RunRecord, head: &RunRecord| serde_json::to_string(&judge(base, head)).unwrap();
    let reread = |record: &RunRecord| {
        serde_json::from_str::<RunRecord>(&serde_json::to_string(record).unwrap()).unwrap()
    };
    assert_eq!(json(&base, &head), json(&reread(&base), &reread(&head)));
}

/// A row that has become invalid by a late zero shared the error rate and lent what it knew of noise while the others were
/// decided.
#[test]
fn n4_a_time_of_zero_in_a_late_round_changes_no_other_row() {
    let mut decided = 0;
    for seed in 0..20 {
        let plans: Vec<Planned> = [0.0, 0.03, 0.015, -0.02, 0.012, 0.012]
            .iter()
            .enumerate()
            .map(|(index, effect)| {
                let deviation = if index == 5 { 0.03 } else { 0.012 };
                timed(
                    &format!("late/c{index}"),
                    &differences(1000 * seed + index as u32, *effect, deviation, 40),
                )
            })
            .collect();
        let (base, mut head) = sides(&plans);
        let before = judge(&base, &head);
        *head.cases[5].metrics[0].processes[39].values.last_mut().unwrap() = 0.0;
        let after = judge(&base, &head);
        assert_eq!(row(&after, "late/c5").verdict, Verdict::Invalid);
        for index in 0..5 {
            let name = format!("late/c{index}");
            let [was, is] = [&before, &after].map(|document| row(document, &name));
            assert_eq!((is.verdict, &is.sequence), (was.verdict, &was.sequence), "{name} of seed {seed}");
            decided += u32::from(is.verdict != Verdict::Inconclusive);
        }
    }
    assert!(decided > 20, "{decided}");
}
