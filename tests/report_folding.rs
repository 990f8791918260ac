//! What holds for many is said once, in every report; and no two rows look alike.

use gbench_ci::compare::{Merged, Policy, SideInput, Verdict, VerdictDocument, compare};
use gbench_ci::model::{FailureKind, Outcome, ParamValue, RunRecord};
use gbench_ci::report::github::{self as render, PublishContext};
use gbench_ci::report::{self, Format, Options, Style};

use crate::support::cli::{ran, runs};
use crate::support::folder_with;
use crate::support::records::standard;

/// Points of one benchmark, each of which comes to one of two ends.
fn sized(points: i64, failing: impl Fn(i64) -> Option<&'static str>) -> RunRecord {
    let mut record = standard(1);
    let gemm = record.cases.iter().find(|case| case.id.benchmark.as_str() == "kernels/gemm").unwrap().clone();
    record.cases = (0..points)
        .map(|n| {
            let mut case = gemm.clone();
            case.id.params.insert("n".into(), ParamValue::Int(n));
            if let Some(cause) = failing(n) {
                let (cause, advice) = (cause.to_owned(), "set `CUDA_HOME`".to_owned());
                case.outcome = Outcome::Failed { kind: FailureKind::Error, cause, advice };
            }
            case
        })
        .collect();
    record
}

const MANY: &str = "the library libfast.so.3 was not found";
const FEW: &str = "the answer was 41";

fn verdict() -> VerdictDocument {
    let cause = |n: i64| match n {
        0..35 => Some(MANY),
        35..38 => Some(FEW),
        _ => None,
    };
    let (base, mut head) = (sized(40, |_| None), sized(40, cause));
    head.run_id = standard(2).run_id;
    let side = |record, name: &str| SideInput { record, name: name.into() };
    let policy = Policy { sessions: 0, ..Policy::default() };
    compare(&side(&base, "base"), &side(&head, "head"), &policy).unwrap()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn says_once(text: &str, words: &str) {
    assert_eq!(flat(text).to_lowercase().matches(words).count(), 1, "`{words}` in\n{text}");
}

fn rendered(format: Format, all: bool, render: impl Fn(&Options, &mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    render(&Options { format, style: Style::PLAIN, all }, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn n21_equal_causes_of_a_verdict_are_said_once() {
    let document = verdict();
    assert_eq!(document.counts[&Verdict::Invalid], 38);
    let merged = Merged::single("", document.clone());
    let facts = PublishContext::default();
    for (name, text) in [
        (
            "terminal",
            rendered(Format::Terminal, false, |options, out| {
                report::verdict(&document, options, out).unwrap()
            }),
        ),
        (
            "whole",
            rendered(Format::Terminal, true, |options, out| {
                report::verdict(&document, options, out).unwrap()
            }),
        ),
        (
            "markdown",
            rendered(Format::Markdown, false, |options, out| {
                report::verdict(&document, options, out).unwrap()
            }),
        ),
        ("comment", render::comment(&merged, &facts, "<!-- marker -->")),
        ("summary", render::step_summary(&merged, &facts)),
        ("check", render::check(&merged, &facts).summary),
        ("issue", render::issue(&merged, &facts, None).1),
    ] {
        let plain = text.replace("&#8203;", "");
        says_once(&plain, MANY);
        says_once(&plain, FEW);
        // Every row still stands there, and so does which of them each cause holds for.
        for n in 0..38 {
            assert!(plain.contains(&format!("n={n}]")), "{name} lacks n={n}:\n{plain}");
        }
        if !["whole", "terminal"].contains(&name) {
            assert!(plain.contains("That holds for 35 rows: "), "{name}:\n{plain}");
            assert!(
                plain.contains("and 25 more.") && plain.contains("That holds for 3 rows: "),
                "{name}:\n{plain}"
            );
        }
    }
    let annotation = &render::annotations_of_log(&merged, &facts)[0].message;
    says_once(annotation, MANY);
    // Where each row is an entry of its own, each says its own cause.
    let junit =
        rendered(Format::Junit, false, |options, out| report::verdict(&document, options, out).unwrap());
    assert_eq!(junit.matches(MANY).count(), 35);
}

#[test]
fn n21_equal_causes_of_a_run_are_said_once() {
    let folder = folder_with(
        "[suite]\nname = 's'\n[defaults]\nprocesses = 1\n[[benchmark]]\nid = 'good'\ncommand = ['true']\n\
         [[benchmark]]\nid = 'many'\ncommand = ['sh', '-c', 'echo no libfast here >&2; exit 3', '{n}']\n\
         [benchmark.matrix]\nn = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n",
    );
    let told = ran(folder.path(), "run --quiet").exits(4).out;
    says_once(&told, "no libfast here");
    assert!(flat(&told).contains("9 cases - failed"), "{told}");
    assert!(flat(&told).contains("s/many[n=5] and 4 more"), "{told}");
    let run = runs(folder.path()).pop().unwrap();
    let all = ran(folder.path(), &format!("report {} --all", run.display())).exits(0).out;
    says_once(&all, "no libfast here");
    assert!(all.contains("s/many[n=9]"), "{all}");
    let summary = std::fs::read_to_string(run.join("reports/summary.md")).unwrap();
    says_once(&summary, "no libfast here");
    assert!(summary.contains("| 9 cases: `s/many[n=1]`, ") && summary.contains("`s/many[n=9]`"), "{summary}");
    let junit = ran(folder.path(), &format!("report {} --format junit", run.display())).exits(0).out;
    assert_eq!(junit.matches("no libfast here").count(), 9);
}

#[test]
fn n21_equal_warnings_of_cases_are_said_once() {
    let mut record = sized(35, |_| None);
    record.cases.iter_mut().for_each(|case| case.warnings.push("the clocks are not locked".into()));
    for format in [Format::Terminal, Format::Markdown] {
        let text = rendered(format, false, |options, out| report::record(&record, options, out).unwrap());
        says_once(&text, "the clocks are not locked");
        assert!(flat(&text).contains("35 cases: the clocks are not locked"), "{text}");
        assert!(flat(&text).contains("and 30 more"), "{text}");
    }
}

#[test]
fn n21_equal_warnings_of_a_sides_cases_are_one_warning_of_the_verdict() {
    let (base, mut head) = (sized(35, |_| None), sized(35, |_| None));
    head.run_id = standard(2).run_id;
    head.cases.iter_mut().for_each(|case| case.warnings.push("the clocks are not locked".into()));
    head.cases[3].warnings.push("something of its own".into());
    let side = |record, name: &str| SideInput { record, name: name.into() };
    let policy = Policy { sessions: 0, ..Policy::default() };
    let document = compare(&side(&base, "base"), &side(&head, "head"), &policy).unwrap();
    let of_clocks: Vec<_> = document.warnings.iter().filter(|text| text.contains("clocks")).collect();
    assert_eq!(of_clocks.len(), 1, "{of_clocks:?}");
    assert!(
        of_clocks[0].starts_with("head: 35 cases: the clocks are not locked: kernels/gemm[n=0]"),
        "{of_clocks:?}"
    );
    assert!(
        document.warnings.iter().any(|text| text.contains("[n=3]") && text.ends_with("something of its own"))
    );
}

#[test]
fn n21_rows_never_look_alike_however_long_their_names_are() {
    let mut record = sized(35, |n| (n >= 30).then_some(FEW));
    // What differs stands in the middle, between ends that are longer than any table's column.
    for (n, case) in record.cases.iter_mut().enumerate() {
        let benchmark =
            format!("kernels/{}_tile{n}_{}", "very_long_beginning_".repeat(4), "long_end_".repeat(8));
        case.id.benchmark = benchmark.parse().unwrap();
        case.id.params.clear();
    }
    let mut other = standard(2);
    other.cases = sized(35, |_| None).cases;
    for (case, named) in other.cases.iter_mut().zip(&record.cases) {
        case.id = named.id.clone();
    }
    let side = |record, name: &str| SideInput { record, name: name.into() };
    let policy = Policy { sessions: 0, ..Policy::default() };
    let document = compare(&side(&other, "base"), &side(&record, "head"), &policy).unwrap();
    for width in [60, 80, 120] {
        let style = Style { width, ..Style::PLAIN };
        let options = Options { format: Format::Terminal, style, all: true };
        let mut texts = [Vec::new(), Vec::new()];
        report::verdict(&document, &options, &mut texts[0]).unwrap();
        report::record(&record, &options, &mut texts[1]).unwrap();
        for text in texts.map(|text| String::from_utf8(text).unwrap()) {
            for n in 0..35 {
                assert!(text.contains(&format!("ile{n}_")), "tile{n} at {width}:\n{text}");
            }
        }
    }
    let comment =
        render::comment(&Merged::single("", document), &PublishContext::default(), "<!-- marker -->");
    let mut names: Vec<&str> =
        comment.lines().filter_map(|line| line.strip_prefix("| ")?.split("<br>").next()).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "{names:#?}");
}
