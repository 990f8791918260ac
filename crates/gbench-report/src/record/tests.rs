//! A run in every format: snapshots of some, and checks of all.

use quick_junit::Report;

use super::test_support::{all, named};
use super::*;
use crate::layout::terminal::Style;
use crate::layout::width::width;
use crate::test_support::{snapshot, without_formulas};
use gbench_model::{CaseId, CaseRecord, Ingested};

fn written(record: &RunRecord, format: Format, style: Style, all: bool) -> String {
    let mut out = Vec::new();
    super::record(record, &Options { format, style, all }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn runs_read_well() {
    let plain = |name, format, all| written(&named(name), format, Style::PLAIN, all);
    let terminal = |name, all| plain(name, Format::Terminal, all);
    let findings = |name| case_tests::answer("findings", name);
    for (name, text) in [
        ("mixed", terminal("mixed", false)),
        ("mixed_all", terminal("mixed", true)),
        ("quiet", terminal("quiet", false)),
        ("contested", terminal("contested", false)),
        ("wasteful", terminal("wasteful", true)),
        ("gpu", terminal("gpu", false)),
        ("gpu_all", terminal("gpu", true)),
        ("killed", terminal("killed", false)),
        // s0_50, s0_66, s0_67
        ("pairs", terminal("pairs", false)),
        // s1_50: precisions next to their errors.
        ("precisions", terminal("precisions", false)),
    ] {
        snapshot("record", "terminal", name, &text);
    }
    let narrow = Style { width: 60, ..Style::PLAIN };
    let text = written(&named("contested"), Format::Terminal, narrow, true);
    snapshot("record", "terminal", "contested_narrow", &text);
    for name in ["mixed", "contested", "wasteful", "killed", "hostile", "pairs", "precisions"] {
        snapshot("record", "markdown", name, &plain(name, Format::Markdown, false));
    }
    snapshot("record", "markdown", "gpu", &summary_page(&named("gpu")));
    snapshot("record", "csv", "mixed", &plain("mixed", Format::Csv, false));
    snapshot("record", "csv", "contested", &plain("contested", Format::Csv, false));
    snapshot("record", "junit", "mixed", &plain("mixed", Format::Junit, false));
    snapshot("record", "findings", "findings", &findings("mixed"));
    snapshot("record", "findings", "wasteful", &findings("wasteful"));
    let stated = "quiet\n\
                  set cases.0.metrics.0.processes.1.values []\n\
                  set cases.0.metrics.0.processes.1.stated {\"value\": 0.012, \"count\": 30}\n\
                  set cases.1.metrics.0.processes.4.partial true";
    let stated = written(&case_tests::run(stated), Format::Jsonl, Style::PLAIN, false);
    snapshot("record", "jsonl", "quiet", &stated);
}

#[test]
fn no_line_is_wider_than_the_terminal_and_ascii_stays_ascii() {
    for (name, record) in all() {
        for columns in [60, 80, 120] {
            let style = Style { width: columns, color: false, unicode: columns != 80 };
            let text = written(&record, Format::Terminal, style, true);
            assert!(!text.contains('\u{1b}'), "{name}");
            assert!(style.unicode || text.is_ascii(), "{name}: {text}");
            for line in text.lines() {
                assert!(width(line) <= usize::from(columns), "{name} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn every_sample_set_has_its_line_that_reads_back_and_no_cell_is_a_formula() {
    for (name, record) in all() {
        let sets = |case: &CaseRecord| case.metrics.iter().map(|m| m.processes.len()).sum::<usize>();
        let cells = without_formulas(&written(&record, Format::Csv, Style::PLAIN, false)).1;
        // Every case has at least one.
        assert_eq!(cells, record.cases.iter().map(|case| sets(case).max(1)).sum::<usize>(), "{name}");
        let text = written(&record, Format::Jsonl, Style::PLAIN, false);
        assert_eq!(text.lines().count(), record.cases.iter().map(sets).sum::<usize>(), "{name}");
        let metrics = record.cases.iter().flat_map(|case| &case.metrics);
        for (line, set) in text.lines().zip(metrics.flat_map(|metric| &metric.processes)) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["values"], serde_json::to_value(&set.values).unwrap(), "{name}");
            assert_eq!(line["partial"], set.partial, "{name}");
        }
    }
}

#[test]
fn a_run_of_nothing_is_not_green() {
    let text = written(&case_tests::run("quiet\nset cases []"), Format::Junit, Style::PLAIN, false);
    let report = Report::deserialize_from_str(&text).unwrap();
    assert_eq!((report.tests, report.errors), (1, 1));
}

#[test]
fn b19_figures_of_files_are_not_to_be_measured_with_more_processes() {
    let record = named("mixed");
    let files = Ingested { format: "nccl-tests".into(), files: Vec::new(), facts: Default::default() };
    let ingested = RunRecord { ingested: Some(Box::new(files)), ..record.clone() };
    let told = [record, ingested].map(|record| written(&record, Format::Markdown, Style::PLAIN, false));
    let [of_run, of_files] = told.each_ref().map(|page| page.contains("--processes"));
    assert!(of_run && !of_files && told[1].contains("give 5 files of it or more"), "{}", told[1]);
}

#[test]
fn b27_the_pages_of_a_run_of_many_cases_fit_into_a_comment_and_count_what_they_cut() {
    let mut record = named("quiet");
    let case = record.cases[0].clone();
    let long = "a_name_that_tells_what_is_measured_with_all_its_parameters".repeat(2);
    record.cases = (0..800)
        .map(|index| {
            let benchmark = format!("suite/{long}_{index}").parse().unwrap();
            let mut case = CaseRecord { id: CaseId { benchmark, ..case.id.clone() }, ..case.clone() };
            case.warnings = vec![format!("a warning of case {index} alone: {long}")];
            case
        })
        .collect();
    for page in [summary_page(&record), written(&record, Format::Markdown, Style::PLAIN, false)] {
        assert!(page.len() < 65_000, "{}", page.len());
        assert!(page.contains("metrics more, in the JSON document"), "{page}");
        assert!(page.contains("warnings more, in the JSON document"), "{page}");
    }
    assert!(written(&record, Format::Markdown, Style::PLAIN, true).len() > 65_000, "all is all");
    record.cases.truncate(30);
    assert!(!summary_page(&record).contains(" more, in the JSON document"), "all of it fits");
}

#[test]
fn u27_the_page_that_a_run_keeps_names_a_few_of_many_and_cuts_no_table() {
    let pairs = named("pairs");
    let page = summary_page(&pairs);
    assert!(page.contains(" more |"), "{page}");
    assert!(written(&pairs, Format::Markdown, Style::PLAIN, true).len() > page.len());
    let text = written(&pairs, Format::Terminal, Style::PLAIN, true);
    assert_eq!(text.matches("No module named").count(), 1, "35 files that fail of one thing say it once");
}
