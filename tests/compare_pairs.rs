//! Baselines with their optimized variants, compared: the speedup is a row of its own.

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::cli::{ran, write};
use crate::support::records::{self, noise};
use crate::support::rounds::{Planned, differences, sides, timed};

/// Records of pairs in rounds: of each pair the differences of its baseline and of its optimized case; the names are `s/p0`, `s/p1`.
fn pairs_of(pairs: &[[Vec<f64>; 2]]) -> (RunRecord, RunRecord) {
    let plans: Vec<Planned> =
        pairs.iter().flatten().map(|differences| timed("s/pairs", differences)).collect();
    let (mut base, mut head) = sides(&plans);
    for record in [&mut base, &mut head] {
        record.comparison.as_mut().unwrap().pairs = true;
        for (at, case) in record.cases.iter_mut().enumerate() {
            let variant = ["baseline", "optimized"][at % 2];
            let params = [("case", format!("p{}", at / 2)), ("variant", variant.to_owned())];
            case.id.params = params.map(|(name, text)| (name.to_owned(), ParamValue::Text(text))).into();
        }
    }
    (base, head)
}

fn quiet(seed: u32, centre: f64) -> Vec<f64> {
    differences(seed, centre, 0.002, 40)
}

/// Six pairs that nothing happened to, behind the one in question.
fn with_company(pair: [Vec<f64>; 2]) -> (RunRecord, RunRecord) {
    let company = (0..6).map(|at| [quiet(200 + at, 0.0), quiet(300 + at, 0.0)]);
    pairs_of(&std::iter::once(pair).chain(company).collect::<Vec<_>>())
}

fn input(record: &RunRecord) -> SideInput<'_> {
    SideInput { record, name: record.side.map_or("", |side| side.into_str()).into() }
}

fn judge(base: &RunRecord, head: &RunRecord) -> VerdictDocument {
    let policy =
        base.comparison.as_ref().map_or(Policy { sessions: 0, ..Policy::default() }, |it| Policy::of(it));
    compare(&input(base), &input(head), &policy).unwrap()
}

fn speedups(document: &VerdictDocument) -> Vec<&Row> {
    document.rows.iter().filter(|row| row.metric == SPEEDUP).collect()
}

fn of_pair<'a>(document: &'a VerdictDocument, metric: &str, variant: &str) -> &'a Row {
    let is = |row: &&Row| {
        let text = |name: &str| row.case.params[name].to_string();
        row.metric == metric && text("case") == "p0" && text("variant") == variant
    };
    document.rows.iter().find(is).unwrap_or_else(|| panic!("no {metric} of {variant}: {:#?}", document.rows))
}

#[test]
fn s0_50_a_gain_that_shrinks_is_red_although_neither_time_regressed() {
    // The baseline got 1.4 % faster and the optimized one 1.4 % slower: each within the target of 2 %.
    let (base, head) = with_company([quiet(1, -0.014), quiet(2, 0.014)]);
    let document = judge(&base, &head);
    for variant in ["baseline", "optimized"] {
        assert_eq!(of_pair(&document, "time", variant).verdict, Verdict::Unchanged, "{variant}");
    }
    let row = of_pair(&document, SPEEDUP, "optimized");
    assert_eq!((row.verdict, row.unit.as_str(), row.better), (Verdict::Regressed, "x", Some(Better::Higher)));
    let change = row.change.as_ref().unwrap();
    assert!((change.slowdown - 0.028).abs() < 0.003, "{change:?}");
    assert!(row.sequence.as_ref().unwrap().at_least.unwrap() > 0.0025);
    assert_eq!((document.conclusion, document.exit_code), (Conclusion::Regressed, 1));
    assert_eq!(speedups(&document).len(), 7, "one row a pair, and none of a baseline");
}

#[test]
fn s0_50_a_gain_that_grows_is_improved_and_one_that_stays_is_unchanged() {
    let (base, head) = with_company([quiet(1, 0.0), quiet(2, -0.05)]);
    let document = judge(&base, &head);
    assert_eq!(of_pair(&document, SPEEDUP, "optimized").verdict, Verdict::Improved);
    // Both got 5 % slower: the pair is what it was.
    let (base, head) = with_company([quiet(1, 0.05), quiet(2, 0.05)]);
    let document = judge(&base, &head);
    assert_eq!(of_pair(&document, "time", "optimized").verdict, Verdict::Regressed);
    assert_eq!(of_pair(&document, SPEEDUP, "optimized").verdict, Verdict::Unchanged);
}

#[test]
fn a_speedup_that_changed_says_which_member_did_and_what_to_do() {
    let of = |pair| {
        let (base, head) = with_company(pair);
        of_pair(&judge(&base, &head), SPEEDUP, "optimized").clone()
    };
    // Only the baseline moved: twice as fast, then half as fast.
    let faster = of([quiet(1, -(2_f64.ln())), quiet(2, 0.0)]);
    assert_eq!(faster.verdict, Verdict::Regressed);
    assert!(
        faster.reason.contains("; the baseline became 50 % faster, the optimized variant "),
        "{}",
        faster.reason
    );
    assert!(faster.next.contains("`gate = false` under `[metrics.speedup]`"), "{}", faster.next);
    assert_eq!(faster.advice, Some(Advice::AcceptFasterBaseline {}));
    let pair = faster.pair.unwrap();
    assert_eq!((pair.baseline.verdict, pair.optimized.verdict), (Verdict::Improved, Verdict::Unchanged));
    let slower = of([quiet(1, 0.5_f64.ln_1p()), quiet(2, 0.0)]);
    assert_eq!(slower.verdict, Verdict::Improved);
    assert!(slower.reason.contains("; the baseline became 49.9 % slower, "), "{}", slower.reason);
    assert_eq!(slower.advice, Some(Advice::LookAtSlowerBaseline {}));
    // What the optimized member did is looked for as ever.
    let own = of([quiet(1, 0.0), quiet(2, 0.5_f64.ln_1p())]);
    assert!(
        own.reason.contains("the optimized variant became 50") && own.reason.ends_with(" % slower"),
        "{}",
        own.reason
    );
    assert!(!matches!(own.advice, Some(Advice::AcceptFasterBaseline {})), "{own:?}");
    // An unchanged one needs no word.
    let unchanged = of([quiet(1, 0.0), quiet(2, 0.0)]);
    assert_eq!((unchanged.pair, unchanged.reason.as_str()), (None, ""));
}

#[test]
fn s0_50_both_members_are_measured_until_their_speedup_is_decided() {
    let (base, head) = with_company([quiet(1, -0.014)[..8].to_vec(), quiet(2, 0.014)[..8].to_vec()]);
    let progress = |base: &RunRecord, head: &RunRecord| {
        let comparison = base.comparison.as_ref().unwrap();
        let rule = SeqE::of(comparison);
        let progress = case_progress(&rule, &input(base), &input(head), &Policy::of(comparison)).unwrap();
        let of_pair = progress.into_iter().filter(|it| it.case.params["case"].to_string() == "p0");
        of_pair.map(|it| (it.open, it.more_rounds.is_some())).collect::<Vec<_>>()
    };
    let document = judge(&base, &head);
    assert_eq!(of_pair(&document, "time", "baseline").verdict, Verdict::Unchanged);
    assert_eq!(of_pair(&document, SPEEDUP, "optimized").verdict, Verdict::Inconclusive);
    assert_eq!(progress(&base, &head), [(true, true), (true, true)]);
    let (base, head) = with_company([quiet(1, -0.014), quiet(2, 0.014)]);
    assert_eq!(progress(&base, &head), [(false, false), (false, false)]);
}

#[test]
fn s0_50_a_pair_of_one_side_alone_is_no_missing_metric() {
    let whole = || with_company([quiet(1, 0.0), quiet(2, 0.0)]);
    let gone = |at: usize| {
        let (base, mut head) = whole();
        head.cases.remove(at);
        (judge(&base, &head), judge(&head, &base))
    };
    for at in [0, 1] {
        let (missing, new) = gone(at);
        for document in [&missing, &new] {
            assert_eq!(speedups(document).len(), 6);
            assert!(
                document.warnings.iter().all(|warning| !warning.contains("optional")),
                "{:?}",
                document.warnings
            );
        }
        assert_eq!(missing.counts[&Verdict::Missing], 1);
        assert_eq!((new.counts[&Verdict::New], new.counts[&Verdict::Missing]), (1, 0));
    }
    // A member that failed is one invalid row, and its pair has none.
    let (base, mut head) = whole();
    head.cases[0].outcome =
        Outcome::Failed { kind: FailureKind::Signal, cause: "it crashed".into(), advice: "mend it".into() };
    let document = judge(&base, &head);
    assert_eq!((document.counts[&Verdict::Invalid], speedups(&document).len()), (1, 6));
}

#[test]
fn s0_50_comparisons_of_earlier_versions_get_the_rows_that_they_had() {
    let (mut base, mut head) = with_company([quiet(1, -0.014), quiet(2, 0.014)]);
    for record in [&mut base, &mut head] {
        record.comparison.as_mut().unwrap().pairs = false;
    }
    assert!(!serde_json::to_string(&base).unwrap().contains("\"pairs\""));
    let document = judge(&base, &head);
    assert!(speedups(&document).is_empty());
    assert_eq!(document.exit_code, 0);
}

#[test]
fn s0_50_a_suite_may_set_the_target_of_speedups_or_judge_none() {
    let declared = |said: MetricDeclaration| {
        let (mut base, mut head) = with_company([quiet(1, -0.014), quiet(2, 0.014)]);
        for case in base.cases.iter_mut().chain(&mut head.cases) {
            case.declared.insert(SPEEDUP.into(), said.clone());
        }
        judge(&base, &head)
    };
    let wide = declared(MetricDeclaration { target: Some(0.05), ..MetricDeclaration::default() });
    assert_eq!(of_pair(&wide, SPEEDUP, "optimized").verdict, Verdict::Unchanged);
    let shown = declared(MetricDeclaration { gate: Some(false), ..MetricDeclaration::default() });
    assert!(speedups(&shown).is_empty());
}

#[test]
fn s0_50_stored_records_have_the_row_too_and_their_history_knows_it() {
    let apart = |pair| {
        let (mut base, mut head) = with_company(pair);
        for record in [&mut base, &mut head] {
            (record.comparison, record.side) = (None, None);
            for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
                (process.round, process.slot) = (None, None);
            }
        }
        (base, head)
    };
    let (base, head) = apart([quiet(1, 0.0), quiet(2, 0.3)]);
    let document = judge(&base, &head);
    assert_eq!(of_pair(&document, SPEEDUP, "optimized").verdict, Verdict::Regressed);
    assert_eq!(speedups(&document).len(), 7);
    let mut history = History::default();
    let mut stored = base.clone();
    stored.run_id = "20261101T000000.000Z-aaaaaa".parse().unwrap();
    history.add("nightly", &stored, (&base, &head), &Default::default());
    assert_eq!(history.pasts.iter().filter(|past| past.metric == SPEEDUP).count(), 7);
}

#[test]
fn s0_50_suites_of_pairs_without_a_change_are_not_red() {
    // The second slot is 2 % slower, and each case has a coin of its own.
    let by_coin = |suite: u32, case: u32| -> Vec<f64> {
        let slot = |round| if noise([suite, case, round, 11]) > 0.0 { 0.02 } else { -0.02 };
        (0..40).map(|round| slot(round) + 0.004 * noise([suite, case, round, 13])).collect()
    };
    let is_red = |suite: &u32| {
        let pairs: Vec<[Vec<f64>; 2]> =
            (0..5).map(|pair| [by_coin(*suite, 2 * pair), by_coin(*suite, 2 * pair + 1)]).collect();
        let (base, head) = pairs_of(&pairs);
        judge(&base, &head).counts[&Verdict::Regressed] > 0
    };
    let red = (0..60).filter(is_red).count();
    assert!(red <= 2, "{red} of 60 suites, of which 1 % are allowed");
}

/// A baseline and its optimized variant, which the same processes measured: of each process the time of both.
fn of_processes(times: &[(f64, f64)]) -> RunRecord {
    let member = || records::plan("s/p", 0, "host", "time", "s", 1.0, 0.0);
    let mut record = records::build_sized(1, &[member(), member()], times.len() as u32, 2);
    for (case, variant) in record.cases.iter_mut().zip([Variant::Baseline, Variant::Optimized]) {
        case.id.variant = Some(variant);
        for (process, (baseline, optimized)) in case.metrics[0].processes.iter_mut().zip(times) {
            process.values.fill(if variant == Variant::Baseline { *baseline } else { *optimized });
        }
        for (round, process) in case.processes.iter_mut().enumerate() {
            process.round = Some(round as u32);
        }
    }
    record
}

#[test]
fn b30_a_pair_has_one_answer_in_the_table_of_pairs_and_in_a_sweep() {
    let folder = crate::support::tempdir().unwrap();
    // The slower a process is for the baseline, the faster it is for the other: each side alone is steady, the ratio is not.
    let by_turns = [(1.0, 1.5), (1.2, 1.26), (1.0, 1.5), (1.2, 1.26)];
    let alike = [(1.0, 1.5), (1.2, 1.8), (1.0, 1.5), (1.2, 1.8)];
    for (times, in_pairs, factor, against_noise) in
        [(by_turns, "0.80x (noise)", "1.25x", "may be chance"), (alike, "0.67x slower", "1.50x", "clear")]
    {
        write(folder.path(), "record.json", &of_processes(&times));
        ran(folder.path(), "report record.json").exits(0).says(in_pairs);
        ran(folder.path(), "report record.json --group-by variant").exits(0).says(factor).says(against_noise);
    }
}
