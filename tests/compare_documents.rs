//! Every pair of records under `fixtures/comparisons` gets the verdict that a reader would give it.
//!
//! The records are built by `support::records`; `UPDATE_FIXTURES=1` writes them anew, and a test holds the
//! checked-in files to the builder.

use std::collections::BTreeMap;

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::records::*;
use crate::support::{fixture, json};

/// One pair of records and what must come of it.
struct Expected {
    name: &'static str,
    records: fn() -> (RunRecord, RunRecord),
    policy: fn(&mut Policy),
    /// Regressed, invalid, missing, inconclusive, improved, new, unchanged: in the order of `Verdict`.
    counts: [u32; 7],
    conclusion: Conclusion,
    exit: Exit,
}

fn as_usual(_: &mut Policy) {}

fn pair(change: impl Fn(&mut RunRecord, &mut RunRecord)) -> (RunRecord, RunRecord) {
    let (mut base, mut head) = (standard(1), standard(2));
    change(&mut base, &mut head);
    (base, head)
}

fn head(change: impl Fn(&mut RunRecord)) -> (RunRecord, RunRecord) {
    pair(|_, head| change(head))
}

fn gpu_of(record: &mut RunRecord) -> &mut GpuFacts {
    match &mut record.manifest.gpu {
        Probe::Known(gpu) => gpu,
        _ => unreachable!("the standard machine has a GPU"),
    }
}

const EXPECTED: [Expected; 25] = [
    Expected {
        name: "same",
        records: || (standard(1), standard(1)),
        policy: as_usual,
        counts: [0, 0, 0, 0, 0, 0, 4],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "second_run",
        records: || pair(|_, _| {}),
        policy: as_usual,
        counts: [0, 0, 0, 0, 0, 0, 4],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "copy_slower20",
        records: || {
            let mut copy = standard(1);
            scale(&mut copy, "kernels/gemm", 1.2);
            (standard(1), copy)
        },
        policy: as_usual,
        counts: [1, 0, 0, 0, 0, 0, 3],
        conclusion: Conclusion::Regressed,
        exit: Exit::Regression,
    },
    Expected {
        name: "slower20",
        records: || head(|head| scale(head, "kernels/gemm", 1.2)),
        policy: as_usual,
        counts: [1, 0, 0, 0, 0, 0, 3],
        conclusion: Conclusion::Regressed,
        exit: Exit::Regression,
    },
    Expected {
        name: "faster20",
        records: || head(|head| scale(head, "kernels/gemm", 0.8)),
        policy: as_usual,
        counts: [0, 0, 0, 0, 1, 0, 3],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "rate_down",
        records: || head(|head| scale(head, "kernels/softmax", 0.85)),
        policy: as_usual,
        counts: [1, 0, 0, 0, 0, 0, 3],
        conclusion: Conclusion::Regressed,
        exit: Exit::Regression,
    },
    Expected {
        name: "rate_up",
        records: || head(|head| scale(head, "kernels/softmax", 1.15)),
        policy: as_usual,
        counts: [0, 0, 0, 0, 1, 0, 3],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "size_up",
        records: || head(|head| scale(head, "build/module", 1.125)),
        policy: as_usual,
        counts: [1, 0, 0, 0, 0, 0, 3],
        conclusion: Conclusion::Regressed,
        exit: Exit::Regression,
    },
    Expected {
        name: "removed",
        records: || head(|head| drop(head.cases.remove(0))),
        policy: as_usual,
        counts: [0, 0, 1, 0, 0, 0, 3],
        conclusion: Conclusion::Failed,
        exit: Exit::Failed,
    },
    Expected {
        name: "removed_metric",
        records: || {
            pair(|base, _| {
                let mut second = case_of(base, "kernels/gemm").metrics[0].clone();
                second.name = "time_backward".into();
                case_of(base, "kernels/gemm").metrics.push(second);
            })
        },
        policy: |policy| policy.failed_fails = false,
        counts: [0, 0, 1, 0, 0, 0, 4],
        conclusion: Conclusion::Failed,
        exit: Exit::Pass,
    },
    Expected {
        name: "added",
        records: || pair(|base, _| drop(base.cases.remove(0))),
        policy: as_usual,
        counts: [0, 0, 0, 0, 0, 1, 3],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "other_gpu",
        records: || head(|head| gpu_of(head).devices[0].model = Probe::Known("NVIDIA A100-SXM4-80GB".into())),
        policy: as_usual,
        counts: [0; 7],
        conclusion: Conclusion::Incomparable,
        exit: Exit::Machine,
    },
    Expected {
        name: "other_driver",
        records: || head(|head| gpu_of(head).driver = Probe::Known("580.10.02".into())),
        policy: |policy| policy.match_key = BTreeMap::from([("driver".into(), Strictness::Annotate)]),
        counts: [0, 0, 0, 0, 0, 0, 4],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "failed_head",
        records: || head(|head| crash(head, "kernels/gemm")),
        policy: as_usual,
        counts: [0, 1, 0, 0, 0, 0, 3],
        conclusion: Conclusion::Failed,
        exit: Exit::Failed,
    },
    Expected {
        name: "failed_base",
        records: || pair(|base, _| crash(base, "kernels/gemm")),
        policy: as_usual,
        counts: [0, 0, 0, 0, 0, 1, 3],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "skipped_head",
        records: || head(|head| skip(head, "kernels/softmax")),
        policy: as_usual,
        counts: [0, 0, 1, 0, 0, 0, 3],
        conclusion: Conclusion::Failed,
        exit: Exit::Failed,
    },
    Expected {
        name: "skipped_both",
        records: || {
            pair(|base, head| {
                skip(base, "kernels/softmax");
                skip(head, "kernels/softmax");
            })
        },
        policy: as_usual,
        counts: [0, 0, 0, 0, 0, 0, 3],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "unit_changed",
        records: || {
            head(|head| {
                scale(head, "kernels/gemm", 1e3);
                case_of(head, "kernels/gemm").metrics[0].unit = "ms".into();
            })
        },
        policy: as_usual,
        counts: [0, 0, 0, 0, 0, 0, 4],
        conclusion: Conclusion::Pass,
        exit: Exit::Pass,
    },
    Expected {
        name: "unit_of_another_kind",
        records: || head(|head| case_of(head, "kernels/gemm").metrics[0].unit = "B".into()),
        policy: as_usual,
        counts: [0, 1, 0, 0, 0, 0, 3],
        conclusion: Conclusion::Failed,
        exit: Exit::Failed,
    },
    Expected {
        name: "no_direction",
        records: || {
            pair(|base, head| {
                for record in [base, head] {
                    case_of(record, "kernels/gemm").metrics[0].unit = "points".into();
                    case_of(record, "io/read").metrics[0].unit = "points".into();
                    let declared = MetricDeclaration { gate: Some(false), ..Default::default() };
                    case_of(record, "io/read").declared = BTreeMap::from([("bandwidth".into(), declared)]);
                }
            })
        },
        policy: as_usual,
        counts: [0, 1, 0, 0, 0, 0, 2],
        conclusion: Conclusion::Failed,
        exit: Exit::Failed,
    },
    Expected {
        name: "one_process",
        records: || (build_sized(1, &STANDARD, 1, 5), build_sized(2, &STANDARD, 1, 5)),
        policy: as_usual,
        counts: [0, 0, 0, 3, 0, 0, 1],
        conclusion: Conclusion::Inconclusive,
        exit: Exit::Inconclusive,
    },
    Expected {
        name: "noisy",
        records: || {
            let noisy = STANDARD.map(|plan| Planned { spread: 0.15, ..plan });
            (build(1, &noisy), build(2, &noisy))
        },
        policy: as_usual,
        counts: [0, 0, 0, 4, 0, 0, 0],
        conclusion: Conclusion::Inconclusive,
        exit: Exit::Inconclusive,
    },
    Expected {
        name: "zero_values",
        records: || {
            let plans = ["errors/none", "errors/new", "errors/fixed"]
                .map(|benchmark| plan(benchmark, 1, "host", "leaked", "B", 4096.0, 0.0));
            let (mut base, mut head) = (build(1, &plans), build(2, &plans));
            scale(&mut base, "errors/none", 0.0);
            scale(&mut head, "errors/none", 0.0);
            scale(&mut base, "errors/new", 0.0);
            scale(&mut head, "errors/fixed", 0.0);
            (base, head)
        },
        policy: as_usual,
        counts: [1, 0, 0, 0, 1, 0, 1],
        conclusion: Conclusion::Regressed,
        exit: Exit::Regression,
    },
    Expected {
        name: "all_failed",
        records: || head(|head| STANDARD.iter().for_each(|plan| crash(head, plan.benchmark))),
        policy: |policy| policy.failed_fails = false,
        counts: [0, 4, 0, 0, 0, 0, 0],
        conclusion: Conclusion::Failed,
        exit: Exit::Failed,
    },
    Expected {
        name: "empty",
        records: || (build(1, &[]), build(2, &[])),
        policy: as_usual,
        counts: [0; 7],
        conclusion: Conclusion::Failed,
        exit: Exit::Failed,
    },
];

fn path(name: &str, side: Side) -> std::path::PathBuf {
    fixture(&format!("comparisons/{name}/{}.json", side.into_str()))
}

fn read(name: &str, side: Side) -> RunRecord {
    serde_json::from_str(&std::fs::read_to_string(path(name, side)).unwrap()).unwrap()
}

/// The verdict on a checked-in pair.
fn verdict(expected: &Expected) -> VerdictDocument {
    let (base, head) = (read(expected.name, Side::Base), read(expected.name, Side::Head));
    let reproduce = Reproduce::Command("gbench-ci compare base.json head.json".to_owned());
    // What sessions add stands in compare_sessions.rs.
    let mut policy = Policy { reproduce, sessions: 0, ..Default::default() };
    (expected.policy)(&mut policy);
    let side = |record, name: &str| SideInput { record, name: name.to_owned() };
    compare(&side(&base, "base.json"), &side(&head, "head.json"), &policy).unwrap()
}

#[test]
fn the_checked_in_records_are_those_that_the_builder_makes() {
    for expected in &EXPECTED {
        let (base, head) = (expected.records)();
        for (side, record) in [(Side::Base, base), (Side::Head, head)] {
            let path = path(expected.name, side);
            let text = json::readable(&record);
            if std::env::var_os("UPDATE_FIXTURES").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let found = std::fs::read_to_string(&path).unwrap();
            assert!(found == text, "{} differs: run with UPDATE_FIXTURES=1", path.display());
        }
    }
    let folders = std::fs::read_dir(fixture("comparisons")).unwrap().count();
    assert_eq!(folders, EXPECTED.len(), "a folder under fixtures/comparisons that no test expects");
}

#[test]
fn every_pair_of_records_gets_its_verdict_and_exit_code() {
    for expected in &EXPECTED {
        let document = verdict(expected);
        let counts: Vec<u32> = document.counts.values().copied().collect();
        assert_eq!(counts, expected.counts, "{}: {:#?}", expected.name, document.rows);
        assert_eq!(document.conclusion, expected.conclusion, "{}", expected.name);
        assert_eq!(document.exit_code, expected.exit.code(), "{}: {}", expected.name, document.sentence);
    }
}

#[test]
fn every_verdict_survives_its_json() {
    for expected in &EXPECTED {
        let document = verdict(expected);
        let text = serde_json::to_string(&document).unwrap();
        assert_eq!(serde_json::from_str::<VerdictDocument>(&text).unwrap(), document, "{}", expected.name);
    }
}

#[test]
fn interval_and_verdict_agree_in_every_row() {
    for row in EXPECTED.iter().flat_map(|expected| verdict(expected).rows) {
        let Some(change) = &row.change else { continue };
        let (fast, slow) = (1.0 / (1.0 + row.threshold) - 1.0, row.threshold);
        match row.verdict {
            Verdict::Regressed => assert!(change.low > slow, "{row:?}"),
            Verdict::Improved => assert!(change.high < fast, "{row:?}"),
            Verdict::Unchanged => assert!(change.low >= fast && change.high <= slow, "{row:?}"),
            _ => assert!(change.low <= slow && change.high >= fast, "{row:?}"),
        }
        assert!(change.low <= change.slowdown && change.slowdown <= change.high, "{row:?}");
    }
}

/// What a reader reads of each pair: sentence, reasons, advice, warnings.
#[test]
fn the_words_of_every_verdict_are_as_reviewed() {
    let mut text = String::new();
    for expected in &EXPECTED {
        let document = verdict(expected);
        text += &format!("## {} (exit {})\n{}\n", expected.name, document.exit_code, document.sentence);
        for row in document.rows.iter().filter(|row| !row.reason.is_empty()) {
            let change = row.change.as_ref().map(|change| format!(" {:+.4}", change.slowdown));
            let metric = format!("{} {}{}", row.case, row.metric, change.unwrap_or_default());
            text += &format!("- {} {}\n  {}\n", row.verdict.into_str(), metric.trim_end(), row.reason);
            text += &if row.next.is_empty() { String::new() } else { format!("  next: {}\n", row.next) };
        }
        for difference in &document.differences {
            let strict = if difference.strict { "strict" } else { "noted" };
            text += &format!("~ {strict} {}: {} / {}\n", difference.field, difference.base, difference.head);
        }
        for warning in &document.warnings {
            text += &format!("! {warning}\n");
        }
        text += "\n";
    }
    insta::assert_snapshot!(text);
}

/// Two runs of a time that scatters by `spread`, with further figures of the same case: name, value and how each is declared.
fn with_figures(spread: f64, figures: &[(&str, f64, MetricDeclaration)]) -> VerdictDocument {
    let side = |seed: u32| {
        let mut record = build(seed, &[Planned { spread, ..STANDARD[0] }]);
        let case = &mut record.cases[0];
        case.command = vec!["builtin".into(), "gpu_bandwidth".into()];
        case.device_code = Some(DeviceCode::default());
        for (name, value, declared) in figures {
            let mut metric = case.metrics[0].clone();
            (metric.name, metric.unit, metric.better) = ((*name).into(), String::new(), Some(Better::Lower));
            metric.processes.iter_mut().for_each(|process| process.values = vec![*value]);
            case.metrics.push(metric);
            case.declared.insert((*name).into(), declared.clone());
        }
        case.metrics.sort_by(|a, b| a.name.cmp(&b.name));
        record
    };
    let (base, head) = (side(1), side(2));
    let input = |record| SideInput { record, name: "x".into() };
    compare(&input(&base), &input(&head), &Policy { sessions: 0, ..Policy::default() }).unwrap()
}

#[test]
fn u23_what_the_gate_itself_does_not_judge_is_no_warning_and_what_somebody_asked_for_is() {
    let shown = MetricDeclaration { gate: Some(false), ..Default::default() };
    let own = ["bytes_rate", "code.registers", "cycles", "sm_clock", "throttled_time"];
    let own = own.map(|name| (name, 1.0, shown.clone()));
    let warned = |document: &VerdictDocument| {
        document.warnings.iter().filter(|text| text.contains("not judged")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(warned(&with_figures(0.004, &own)), [""; 0]);
    let asked = [own.as_slice(), &[("mine", 1.0, shown.clone())]].concat();
    let warnings = warned(&with_figures(0.004, &asked));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("1 shown and not judged (`gate = false`): "), "{}", warnings[0]);
    assert!(warnings[0].ends_with(" mine"), "{}", warnings[0]);
}

#[test]
fn u22_that_the_errors_are_as_they_were_is_no_part_of_what_is_said_of_times() {
    let known = MetricDeclaration {
        exact: Some(true),
        absolute: Some(true),
        margin: Some(Margin { value: 1e-3, unit: String::new() }),
        ..Default::default()
    };
    let document = with_figures(0.15, &[("error.max_abs_error", 0.0, known)]);
    let verdicts: Vec<_> = document.rows.iter().map(|row| (row.metric.as_str(), row.verdict)).collect();
    assert_eq!(verdicts, [("time", Verdict::Inconclusive), ("error.max_abs_error", Verdict::Unchanged)]);
    let sentence = &document.sentence;
    assert!(sentence.starts_with("No time was decided: 1 compared row is inconclusive: "), "{sentence}");
    let options = gbench_ci::report::Options {
        format: gbench_ci::report::Format::Terminal,
        style: gbench_ci::report::Style::PLAIN,
        all: false,
    };
    let mut text = Vec::new();
    gbench_ci::report::verdict(&document, &options, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("1 row: 1 inconclusive; 1 row of accuracy: 1 unchanged"), "{text}");
    assert_eq!(document.counts[&Verdict::Unchanged], 1, "the document counts every row");
}
