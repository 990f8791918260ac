//! Which cases belong together, which machines may be compared, and what the policy makes of it.

use std::collections::BTreeMap;

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::fixture;
use crate::support::records::*;

fn side<'a>(record: &'a RunRecord, name: &str) -> SideInput<'a> {
    SideInput { record, name: name.into() }
}

/// What sessions add is no matter of this file.
fn by_processes() -> Policy {
    Policy { sessions: 0, ..Default::default() }
}

fn compared(base: &RunRecord, head: &RunRecord, policy: &Policy) -> VerdictDocument {
    compare(&side(base, "base.json"), &side(head, "head.json"), policy).unwrap()
}

fn row<'a>(document: &'a VerdictDocument, benchmark: &str) -> &'a Row {
    let mut rows = document.rows.iter().filter(|row| row.case.benchmark.as_str() == benchmark);
    let row = rows.next().unwrap();
    assert!(rows.next().is_none(), "{benchmark} has more than one row");
    row
}

#[test]
fn a_crash_before_the_device_is_known_is_one_invalid_row_and_not_a_case_gone_and_one_come() {
    let (base, mut head) = (standard(1), standard(2));
    crash(&mut head, "kernels/gemm");
    let forth = compared(&base, &head, &by_processes());
    assert_eq!(row(&forth, "kernels/gemm").verdict, Verdict::Invalid);
    assert!(row(&forth, "kernels/gemm").case.device.starts_with("cuda:"));
    let back = compared(&head, &base, &by_processes());
    assert_eq!(row(&back, "kernels/gemm").verdict, Verdict::New);
}

#[test]
fn a_crash_that_could_belong_to_two_devices_is_given_to_neither() {
    let (mut base, mut head) = (standard(1), standard(2));
    let mut second = base.cases[0].clone();
    second.id.device = "cuda:NVIDIA L4".into();
    base.cases.push(second);
    crash(&mut head, "kernels/gemm");
    let document = compared(&base, &head, &by_processes());
    assert_eq!((document.counts[&Verdict::Missing], document.counts[&Verdict::Invalid]), (2, 1));
}

#[test]
fn b8_records_that_have_the_repeats_of_google_benchmark_as_a_parameter_are_compared_with_later_ones() {
    let (mut base, mut head) = (standard(1), standard(2));
    for record in [&mut base, &mut head] {
        case_of(record, "kernels/gemm").id.timing = Timing::Harness;
    }
    let repeats = |count| [("repeats".to_owned(), ParamValue::Int(count))];
    case_of(&mut base, "kernels/gemm").id.params.extend(repeats(5));
    let plain =
        head.cases.iter().find(|case| case.id.benchmark.as_str() == "kernels/gemm").unwrap().id.clone();
    let document = compared(&base, &head, &by_processes());
    assert_eq!(row(&document, "kernels/gemm").case, plain);
    let back = compared(&head, &base, &by_processes());
    assert_eq!(row(&back, "kernels/gemm").case, plain);
    // Its unit may have become another one in the same version.
    let mut in_other_unit = head.clone();
    for metric in &mut case_of(&mut in_other_unit, "kernels/gemm").metrics {
        let smaller = match metric.unit.as_str() {
            "s" => "ms",
            "ms" => "us",
            "us" => "ns",
            other => panic!("no smaller unit than {other}"),
        };
        metric.unit = smaller.to_owned();
        let values = metric.processes.iter_mut().flat_map(|process| &mut process.values);
        values.for_each(|value| *value *= 1000.0);
    }
    let of_units = row(&compared(&base, &in_other_unit, &by_processes()), "kernels/gemm").clone();
    assert_eq!(of_units.verdict, row(&document, "kernels/gemm").verdict, "{}", of_units.reason);
    // It may be a parameter of its own.
    case_of(&mut head, "kernels/gemm").id.params.extend(repeats(10));
    let document = compared(&base, &head, &by_processes());
    assert_eq!((document.counts[&Verdict::Missing], document.counts[&Verdict::New]), (1, 1));
}

#[test]
fn q4_a_head_that_computes_something_else_is_invalid_and_what_varies_on_base_shows_nothing() {
    let verdict = |change: fn(&mut AnswerValues, &mut AnswerValues)| {
        let (mut base, mut head) = (standard(1), standard(2));
        let values = AnswerValues { values: vec![Some(1.0), None], tolerance: 0.01, varies: false };
        let (mut of_base, mut of_head) = (values.clone(), values);
        change(&mut of_base, &mut of_head);
        for (record, values) in [(&mut base, of_base), (&mut head, of_head)] {
            case_of(record, "kernels/gemm").answer.insert("c".into(), values);
        }
        let document = compared(&base, &head, &by_processes());
        let row =
            document.rows.into_iter().find(|row| row.case.benchmark.as_str() == "kernels/gemm").unwrap();
        (row.verdict == Verdict::Invalid).then_some(row.reason)
    };
    assert_eq!(verdict(|_, head| head.values[0] = Some(1.005)), None);
    let differs = verdict(|_, head| head.values[0] = Some(0.5)).unwrap();
    assert!(differs.contains("`c` differs by 50 %"), "{differs}");
    // A head cannot be generous to itself.
    assert!(verdict(|_, head| (head.values[0], head.tolerance) = (Some(0.5), 1.0)).is_some());
    assert!(verdict(|_, head| head.values[1] = Some(1.0)).unwrap().contains("a number on one side only"));
    let varies = verdict(|_, head| head.varies = true).unwrap();
    assert!(varies.contains("head's processes compute different values"), "{varies}");
    assert_eq!(verdict(|base, head| (base.varies, head.values[0]) = (true, Some(0.5))), None);
    // Records of other versions may lack it.
    let (base, mut head) = (standard(1), standard(2));
    let values = AnswerValues { values: vec![Some(1.0)], tolerance: 0.0, varies: false };
    case_of(&mut head, "kernels/gemm").answer.insert("c".into(), values);
    for (base, head) in [(&base, &head), (&head, &base)] {
        assert_ne!(row(&compared(base, head, &by_processes()), "kernels/gemm").verdict, Verdict::Invalid);
    }
}

#[test]
fn a_run_that_fell_back_to_the_cpu_is_another_case_and_the_reason_says_so() {
    let (base, mut head) = (standard(1), standard(2));
    case_of(&mut head, "kernels/gemm").id.device = "host".into();
    let document = compared(&base, &head, &by_processes());
    let missing = document.rows.iter().find(|row| row.verdict == Verdict::Missing).unwrap();
    assert!(missing.reason.contains("on host instead of cuda:"), "{}", missing.reason);
    let new = document.rows.iter().find(|row| row.verdict == Verdict::New).unwrap();
    assert!(new.reason.contains("instead of host"), "{}", new.reason);
}

#[test]
fn another_parameter_or_a_cold_start_is_another_case() {
    let changes: [fn(&mut CaseId); 4] = [
        |id| drop(id.params.insert("n".into(), ParamValue::Int(2048))),
        |id| id.thermal = Thermal::Cold,
        |id| id.timing = Timing::Process,
        |id| id.variant = Some(Variant::Optimized),
    ];
    for change in changes {
        let (base, mut head) = (standard(1), standard(2));
        change(&mut case_of(&mut head, "kernels/gemm").id);
        let document = compared(&base, &head, &by_processes());
        assert_eq!((document.counts[&Verdict::Missing], document.counts[&Verdict::New]), (1, 1));
        assert_eq!(document.exit_code, Exit::Failed.code());
    }
}

#[test]
fn a_case_or_metric_that_appears_twice_is_a_fault_of_its_record() {
    for name in ["duplicate_case.json", "duplicate_metric.json"] {
        let text = std::fs::read_to_string(fixture("errors_records").join(name)).unwrap();
        let bad: RunRecord = serde_json::from_str(&text).unwrap();
        let good = standard(1);
        for (base, head) in [(&bad, &good), (&good, &bad)] {
            let fault = compare(&side(base, "a.json"), &side(head, "b.json"), &by_processes()).unwrap_err();
            assert_eq!(fault.exit, Exit::Usage);
            assert!(fault.what.contains("twice"), "{fault}");
        }
    }
}

#[test]
fn every_bad_record_is_refused_by_its_types_its_schema_name_or_the_comparison() {
    let mut seen = 0;
    for entry in std::fs::read_dir(fixture("errors_records")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            continue;
        }
        seen += 1;
        let Ok(record) = serde_json::from_slice::<RunRecord>(&std::fs::read(&path).unwrap()) else {
            continue;
        };
        let good = standard(1);
        let compares = compare(&side(&good, "base"), &side(&record, "head"), &by_processes()).is_ok();
        assert!(!compares || record.schema != SCHEMA_RECORD, "{} passes", path.display());
    }
    assert_eq!(seen, 20);
}

#[test]
fn partial_samples_are_never_compared() {
    let (base, mut head) = (standard(1), standard(2));
    let metric = &mut case_of(&mut head, "kernels/gemm").metrics[0];
    metric.processes[5].values = vec![9.0; 5];
    metric.processes[5].partial = true;
    let document = compared(&base, &head, &by_processes());
    let row = row(&document, "kernels/gemm");
    assert_eq!((row.verdict, row.head.as_ref().unwrap().processes), (Verdict::Unchanged, 5));

    for process in &mut case_of(&mut head, "kernels/gemm").metrics[0].processes {
        process.partial = true;
    }
    assert_eq!(compared(&base, &head, &by_processes()).counts[&Verdict::Invalid], 1);
}

#[test]
fn processes_that_state_a_summary_only_are_compared_by_it() {
    let stated = |seed| {
        let mut record = standard(seed);
        for process in &mut case_of(&mut record, "kernels/gemm").metrics[0].processes {
            let value = process.values[0];
            process.values.clear();
            process.stated = Some(Stated { value, stddev: None, count: Some(30) });
        }
        record
    };
    let document = compared(&stated(1), &stated(2), &by_processes());
    let row = row(&document, "kernels/gemm");
    assert_eq!(row.verdict, Verdict::Unchanged);
    let head = row.head.as_ref().unwrap();
    assert_eq!((head.processes, head.samples), (6, 0));
}

#[test]
fn a_fact_unknown_on_one_side_differs_and_unknown_on_both_does_not() {
    let (mut base, mut head) = (standard(1), standard(2));
    head.manifest.host.cpu_model = Probe::Failed("no /proc".into());
    let one = compared(&base, &head, &by_processes());
    assert_eq!(one.conclusion, Conclusion::Incomparable);
    assert_eq!(one.differences[0].field, "cpu_model");
    assert!(one.rows.is_empty() && one.sentence.contains("cpu_model = \"annotate\""), "{}", one.sentence);

    base.manifest.host.cpu_model = Probe::Failed("permission denied".into());
    assert_eq!(compared(&base, &head, &by_processes()).conclusion, Conclusion::Pass);
}

#[test]
fn the_match_key_decides_what_a_difference_means() {
    let (base, mut head) = (standard(1), standard(2));
    head.manifest.tools.insert("nvcc".into(), Probe::Known("release 13.0".into()));
    let with = |field: &str, strictness| {
        let match_key = BTreeMap::from([(field.to_owned(), strictness)]);
        compared(&base, &head, &Policy { match_key, ..by_processes() })
    };
    let noted = compared(&base, &head, &by_processes());
    assert_eq!((noted.differences[0].field.as_str(), noted.differences[0].strict), ("tools.nvcc", false));
    assert!(with("tools", Strictness::Ignore).differences.is_empty());
    assert_eq!(with("tools.nvcc", Strictness::Strict).exit_code, Exit::Machine.code());
}

#[test]
fn the_nearest_threshold_counts_command_line_then_declaration_then_setting() {
    let (base, mut head) = (standard(1), standard(2));
    scale(&mut head, "kernels/gemm", 1.2);
    let verdict = |head: &RunRecord, threshold| {
        let policy = Policy { threshold, ..by_processes() };
        let document = compared(&base, head, &policy);
        (row(&document, "kernels/gemm").verdict, row(&document, "kernels/gemm").threshold)
    };
    assert_eq!(verdict(&head, None), (Verdict::Regressed, 0.05));
    let declared = MetricDeclaration { threshold: Some(0.3), ..Default::default() };
    case_of(&mut head, "kernels/gemm").declared.insert("time".into(), declared);
    assert_eq!(verdict(&head, None), (Verdict::Unchanged, 0.3));
    assert_eq!(verdict(&head, Some(0.1)), (Verdict::Regressed, 0.1));
}

/// Every sample of every side's every process is this; `head` is `more` of it.
fn planted(base: &[f64], more: f64, margin: Option<Margin>, unit: &str) -> [RunRecord; 2] {
    [(1, 0.0), (2, more)].map(|(seed, more)| {
        let mut record = standard(seed);
        record.cases.retain(|case| case.id.benchmark.as_str() == "kernels/gemm");
        let case = &mut record.cases[0];
        let metric = &mut case.metrics[0];
        metric.unit = unit.into();
        for (samples, at) in metric.processes.iter_mut().zip(base.iter().cycle()) {
            samples.values = vec![at + more];
        }
        let declared =
            MetricDeclaration { margin: margin.clone(), better: Some(Better::Lower), ..Default::default() };
        case.declared.insert(metric.name.clone(), declared);
        record
    })
}

#[test]
fn n22_an_absolute_margin_counts_between_stored_records_too() {
    let margin = |value, unit: &str| Some(Margin { value, unit: unit.into() });
    let microseconds = [1.00e-6, 1.01e-6, 0.99e-6, 1.005e-6, 0.995e-6];
    let around_zero = [-1.0, 1.0, 0.5, -0.5, 0.1];
    for (base, more, unit, enough, too_little) in [
        (&microseconds[..], 100e-9, "s", margin(300.0, "ns"), margin(20.0, "ns")),
        (&around_zero[..], 30.0, "W", margin(64.0, ""), margin(0.5, "")),
        // Exact figures: sizes that every process gives alike, from something and from nothing.
        (&[100.0][..], 60.0, "B", margin(64.0, "B"), margin(32.0, "B")),
        (&[0.0][..], 16.0, "B", margin(64.0, "B"), margin(8.0, "B")),
    ] {
        let verdict = |more: f64, margin: Option<Margin>| {
            let [base, head] = planted(base, more, margin, unit);
            let row = compared(&base, &head, &by_processes()).rows.remove(0);
            assert!(row.threshold.is_finite());
            row.verdict
        };
        assert_eq!(verdict(more, None), Verdict::Regressed, "{unit} without a margin");
        assert_eq!(verdict(more, too_little), Verdict::Regressed, "{unit} beyond its margin");
        assert_eq!(verdict(more, enough.clone()), Verdict::Unchanged, "{unit} within its margin");
    }
    // By the rule that knows of sessions, too: what was red for its share is no longer.
    let across = |margin| {
        let [base, head] = planted(&microseconds, 200e-9, margin, "s");
        compared(&base, &head, &Policy::default()).rows.remove(0).verdict
    };
    assert_eq!(across(None), Verdict::Regressed);
    assert_ne!(across(margin(500.0, "ns")), Verdict::Regressed);
}

#[test]
fn n22_a_row_shows_the_margin_as_the_share_that_it_is_held_against() {
    let microseconds = [1.00e-6, 1.01e-6, 0.99e-6, 1.005e-6, 0.995e-6];
    let [base, head] = planted(&microseconds, 0.0, Some(Margin { value: 300.0, unit: "ns".into() }), "s");
    let threshold = compared(&base, &head, &by_processes()).rows[0].threshold;
    assert!((threshold - 0.3).abs() < 0.01, "{threshold}");
}

#[test]
fn a_declared_direction_stands_above_that_of_the_unit() {
    let (mut base, mut head) = (standard(1), standard(2));
    scale(&mut head, "kernels/gemm", 1.2);
    let declared = MetricDeclaration { better: Some(Better::Higher), ..Default::default() };
    case_of(&mut base, "kernels/gemm").declared.insert("time".into(), declared.clone());
    case_of(&mut head, "kernels/gemm").declared.insert("time".into(), declared);
    assert_eq!(row(&compared(&base, &head, &by_processes()), "kernels/gemm").verdict, Verdict::Improved);
    // Base alone: it counts, and head does not agree.
    case_of(&mut head, "kernels/gemm").declared.clear();
    assert_eq!(row(&compared(&base, &head, &by_processes()), "kernels/gemm").verdict, Verdict::Invalid);
}

#[test]
fn n3_a_record_whose_suite_file_turns_the_direction_is_invalid() {
    let (base, mut head) = (standard(1), standard(2));
    scale(&mut head, "kernels/gemm", 1.3);
    let declared = MetricDeclaration { better: Some(Better::Higher), ..Default::default() };
    case_of(&mut head, "kernels/gemm").declared.insert("time".into(), declared);
    let document = compared(&base, &head, &by_processes());
    let gemm = row(&document, "kernels/gemm");
    assert_eq!((gemm.verdict, gemm.better), (Verdict::Invalid, Some(Better::Lower)));
    assert_eq!(document.exit_code, Exit::Failed.code());
}

#[test]
fn policies_that_cannot_be_followed_are_refused() {
    let record = standard(1);
    let bad = [
        Policy { alpha: 0.0, ..by_processes() },
        Policy { alpha: f64::NAN, ..by_processes() },
        Policy { threshold: Some(-0.1), ..by_processes() },
        Policy { threshold: Some(f64::INFINITY), ..by_processes() },
    ];
    for policy in bad {
        let fault = compare(&side(&record, "a"), &side(&record, "b"), &policy).unwrap_err();
        assert_eq!(fault.exit, Exit::Usage, "{fault}");
    }
}

#[test]
fn a_regression_outweighs_a_failure_and_a_failure_outweighs_doubt() {
    let base = standard(1);
    let mut head = standard(2);
    let strict = Policy { inconclusive_fails: true, ..by_processes() };
    for process in &mut case_of(&mut head, "io/read").metrics[0].processes[1..] {
        process.partial = true;
    }
    let doubtful = compared(&base, &head, &strict);
    assert_eq!((doubtful.conclusion, doubtful.exit_code), (Conclusion::Inconclusive, 3));
    assert_eq!(compared(&base, &head, &by_processes()).exit_code, 0);
    crash(&mut head, "kernels/softmax");
    assert_eq!(compared(&base, &head, &strict).exit_code, 4);
    let lenient = Policy { failed_fails: false, ..strict.clone() };
    assert_eq!(compared(&base, &head, &lenient).exit_code, 3);
    scale(&mut head, "kernels/gemm", 1.2);
    let regressed = compared(&base, &head, &strict);
    assert_eq!((regressed.conclusion, regressed.exit_code), (Conclusion::Regressed, 1));
    assert!(regressed.sentence.contains("1 is invalid") && regressed.sentence.contains("1 is inconclusive"));
}

#[test]
fn rows_stand_by_verdict_and_then_by_the_size_of_the_change() {
    let base = standard(1);
    let mut head = standard(2);
    scale(&mut head, "kernels/gemm", 1.2);
    scale(&mut head, "kernels/softmax", 0.6);
    scale(&mut head, "io/read", 1.5);
    let document = compared(&base, &head, &by_processes());
    let order: Vec<&str> = document.rows.iter().map(|row| row.case.benchmark.name()).collect();
    assert_eq!(order, ["softmax", "gemm", "read", "module"]);
    assert!(
        document.sentence.starts_with("2 of 4 cases regressed: kernels/softmax"),
        "{}",
        document.sentence
    );
}

/// The seam holds for a rule that knows nothing of ours.
#[test]
fn another_rule_decides_behind_the_same_seam() {
    struct Larger;
    impl Rule for Larger {
        fn name(&self) -> &str {
            "larger"
        }
        fn alpha(&self) -> f64 {
            0.5
        }
        fn decide(&self, evidence: &[Evidence]) -> Vec<RowDecision> {
            let verdict = |row: &Evidence| match row.head.centres[0] > row.base.centres[0] {
                true => Verdict::Regressed,
                false => Verdict::Improved,
            };
            let decision = |row| RowDecision {
                verdict: verdict(row),
                reason: None,
                next: None,
                change: None,
                centres: None,
                sequence: None,
                tested: true,
                open: false,
                wants_rounds: None,
            };
            evidence.iter().map(decision).collect()
        }
    }
    let (base, mut head) = (standard(1), standard(2));
    scale(&mut head, "kernels/gemm", 1.2);
    let document = compare_by(&Larger, &side(&base, "a"), &side(&head, "b"), &by_processes()).unwrap();
    assert_eq!((document.method.rule.as_str(), document.method.tested), ("larger", 4));
    assert_eq!(row(&document, "kernels/gemm").verdict, Verdict::Regressed);
}

#[test]
fn what_the_records_say_of_themselves_reaches_the_verdict() {
    let (base, mut head) = (standard(1), standard(2));
    head.state = RecordState::Interrupted;
    head.warnings.push("the load was 3.5 at the start".into());
    case_of(&mut head, "io/read").warnings.push("the governor is powersave".into());
    case_of(&mut head, "io/read")
        .config
        .insert("iterations".into(), Shown { value: 30.into(), origin: Origin::Default });
    let warnings = compared(&base, &head, &by_processes()).warnings.join("\n");
    for part in [
        "head was interrupted",
        "head: the load was 3.5",
        "head: io/read[n=64]: the governor",
        "`iterations` is 5 on base and 30 on head",
    ] {
        assert!(warnings.contains(part), "{part} is not in {warnings}");
    }
}
