//! Details of real files that cost nobody a file: other lines around JSON, Go's format as other programs write it, rows that
//! runs append. What is not read of a file is said.

use std::path::Path;

use gbench_ci::compare::VerdictDocument;
use gbench_ci::model::{RunRecord, Unread, UnreadKind};
use gbench_ci::store::read_record;

use crate::support::cli::{Ran, ran};
use crate::support::fixture;

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn ingested(folder: &Path, words: &str) -> (RunRecord, Ran) {
    exiting(folder, words, 0)
}

fn exiting(folder: &Path, words: &str, code: i32) -> (RunRecord, Ran) {
    let told = ran(folder, &format!("ingest {words} -o record.json")).exits(code);
    (read_record(&folder.join("record.json")).unwrap(), told)
}

fn unread(record: &RunRecord) -> Unread {
    record.ingested.as_ref().unwrap().files[0].unread.clone()
}

/// Each case with its metrics, their units and values, without what a name is written as.
fn figures(record: &RunRecord) -> Vec<Vec<(String, String, Vec<f64>)>> {
    let of_metric = |metric: &gbench_ci::model::Metric| {
        let stated = |it: &gbench_ci::model::ProcessSamples| it.stated.as_ref().map(|stated| stated.value);
        let values = metric.processes.iter().flat_map(|it| it.values.iter().copied().chain(stated(it)));
        let scale = gbench_ci::model::convert(1.0, &metric.unit, "ns").filter(|_| metric.name == "time");
        let unit = if scale.is_some() { "ns" } else { &metric.unit };
        let value = |value: f64| (value * scale.unwrap_or(1.0) * 1e6).round() / 1e6;
        (metric.name.clone(), unit.to_owned(), values.map(value).collect())
    };
    record.cases.iter().map(|case| case.metrics.iter().map(of_metric).collect()).collect()
}

#[test]
fn json_within_the_log_of_a_build_is_read_and_the_other_lines_are_told() {
    let result = std::fs::read_to_string(fixture("adapters/gungraun/0.20.0/stdout")).unwrap();
    let log = format!(
        "   Compiling sums v0.1.0 (/src/sums)\n    Finished `bench` profile\n     Running benches/all.rs (target/release/deps/all)\n{result}\
         warning: 1 warning emitted\n"
    );
    let report = std::fs::read_to_string(fixture("adapters/hyperfine/1.20.0/out/hyperfine.json")).unwrap();
    let build = format!("[1/2] Building CXX object a.o\n[2/2] Linking CXX executable a\n{report}\nDone.\n");
    let folder = written(&[("plain.txt", &result), ("log.txt", &log), ("build.json", &build)]);
    // The name of the benchmark that failed is a line without JSON, too.
    let (plain, _) = exiting(folder.path(), "plain.txt", 4);
    let (record, told) = exiting(folder.path(), "log.txt", 4);
    assert_eq!((figures(&record), record.cases.len()), (figures(&plain), 5));
    assert_eq!((unread(&record).0[0].kind, unread(&record).0[0].count), (UnreadKind::Around, 4));
    assert!(unread(&plain).is_empty());
    told.says("To know before trusting these figures").says("log.txt: 4 lines around its JSON were not read");
    // Two of its commands failed.
    let (record, _) = exiting(folder.path(), "build.json", 4);
    assert!(!record.cases.is_empty() && unread(&record).0[0].count == 3);
    // A document that is cut off is not a smaller one.
    let cut = &build[..build.len() - 60];
    let lines = "start\n{\"impl\":\"x\"}\n{\"impl\":\"y\", \n";
    for (name, text) in [("cut.json", cut), ("lines.json", lines)] {
        std::fs::write(folder.path().join(name), text).unwrap();
        ran(folder.path(), &format!("ingest {name}")).exits(2);
    }
}

#[test]
fn a_result_that_was_not_read_is_in_the_record_the_report_and_the_comparison() {
    let go = |ns: u32| {
        format!(
            "goos: linux\npkg: p\nBenchmarkLoud-8 \t2026/11/27 warm\n     100\t 12345 ns/op\nBenchmarkQuiet-8 \t 100\t {ns} ns/op\nPASS\n"
        )
    };
    let folder = written(&[("base.txt", &go(100)), ("head.txt", &go(101))]);
    let (record, told) = ingested(folder.path(), "base.txt");
    let parts = &unread(&record).0[0];
    assert_eq!((parts.kind, parts.count, parts.line), (UnreadKind::Line, 2, Some(3)));
    let words = "base.txt: 2 lines that look like results were not read: the first is line 3";
    told.says("To know before trusting these figures").says(words);
    ran(folder.path(), "report record.json").exits(0).says(words);
    ran(folder.path(), "compare base.txt head.txt --json v.json");
    let verdict: VerdictDocument =
        serde_json::from_slice(&std::fs::read(folder.path().join("v.json")).unwrap()).unwrap();
    assert!(verdict.warnings.iter().any(|warning| warning.contains(words)), "{:?}", verdict.warnings);
}

#[test]
fn what_is_exported_for_benchstat_is_read_again_with_the_same_figures() {
    let go = "goos: linux\npkg: p\nBenchmarkA/n=8-4 \t 100\t 1500 ns/op\t 12.5 MB/s\t 64 B/op\t 2 allocs/op\t 640 p99-ns\n\
              BenchmarkB-64 \t 100\t 2500 ns/op\nPASS\n";
    let rows = "op,t,q\na-128,1.5,0.25\nb,2.5,0.5\n";
    let folder = written(&[("go.txt", go), ("rows.csv", rows)]);
    let words =
        "rows.csv --parameters op --metric time=t:ms --metric quality=q:%:higher --metric left=q:MiB:lower";
    for words in ["go.txt", words] {
        let (before, _) = ingested(folder.path(), words);
        let text = ran(folder.path(), "export record.json --to benchfmt").exits(0).out;
        assert!(!text.contains("B/op-") && !text.contains("MB/s-"), "{text}");
        std::fs::write(folder.path().join("export.txt"), &text).unwrap();
        let (after, _) = ingested(folder.path(), "export.txt");
        assert_eq!(figures(&after), figures(&before), "{text}");
        assert!(unread(&after).is_empty(), "{:?}", unread(&after));
        let (cut, _) = text.trim_end().rsplit_once('\n').unwrap();
        std::fs::write(folder.path().join("cut.txt"), cut).unwrap();
        ran(folder.path(), "ingest cut.txt").exits(2);
    }
}

#[test]
fn rows_of_a_tool_that_appends_are_refused_with_the_flag_that_reads_them() {
    let run = std::fs::read_to_string(fixture("formats/llama-bench/by-hand-jsonl/bench.jsonl")).unwrap();
    // The rows of one commit.
    let run: String = run.split_inclusive('\n').take(2).collect();
    let folder = written(&[("runs.jsonl", &run.repeat(3))]);
    let refused = ran(folder.path(), "ingest runs.jsonl").exits(2);
    refused.says("--repeats samples").says("--repeats processes");
    let (record, _) = ingested(folder.path(), "runs.jsonl --repeats processes");
    assert!(record.cases.iter().all(|case| case.processes.len() == 3));
    let (record, _) = ingested(folder.path(), "runs.jsonl --repeats samples");
    assert!(record.cases.iter().all(|case| case.processes.len() == 1));
}
