//! What every format of result files puts where: two files that differ in one field of the workload, of the machine, of the settings, or
//! in one figure. The table of docs/identity.md is what comes of it; `UPDATE_SCHEMAS=1` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::SystemTime;

use gbench_ci::adapters::OutputFiles;
use gbench_ci::adapters::formats::{ResultFile, every, named, read};
use gbench_ci::compare::{Conclusion, Policy, SideInput, Verdict, VerdictDocument, compare};
use gbench_ci::ingest::{FileRun, RecordOptions, record};
use gbench_ci::model::{Result, RunRecord};

use crate::support::cli::ran;
use crate::support::fixture;

const BEGIN: &str = "<!-- table: the next lines are written by UPDATE_SCHEMAS=1 cargo test identity -->\n";
const END: &str = "<!-- end of the table -->\n";

/// A field, how a fixture has it, and how another file would.
type Edit = Option<(&'static str, &'static str, &'static str)>;

struct Format {
    name: &'static str,
    /// Below `fixtures/`.
    file: &'static str,
    /// The end of the run's id that earlier versions gave the file; `None` if they had not the format.
    run: Option<&'static str>,
    workload: Edit,
    machine: Edit,
    setting: Edit,
    figure: Edit,
}

mod table;
use table::FORMATS;

fn run_of(format: &Format, name: &str, text: &str, beside: &OutputFiles) -> FileRun {
    let file = ResultFile { name, bytes: text.as_bytes(), beside };
    let mut runs =
        read(named(format.name).unwrap(), &file).unwrap_or_else(|error| panic!("{}: {error}", format.name));
    FileRun {
        path: name.to_owned(),
        sha256: gbench_ci::model::sha256_hex(text.as_bytes()),
        bytes: text.len() as u64,
        modified: SystemTime::UNIX_EPOCH,
        run: runs.remove(0),
    }
}

/// The fixture, and the same with another name or other texts.
fn file(format: &Format, name: Option<&str>, edit: impl Fn(&str) -> String) -> FileRun {
    let path = fixture(format.file);
    let text = edit(&std::fs::read_to_string(&path).unwrap());
    let name = name.unwrap_or_else(|| path.file_name().unwrap().to_str().unwrap());
    let mut beside = beside(&path);
    for bytes in beside.0.values_mut() {
        if let Ok(text) = std::str::from_utf8(bytes) {
            *bytes = edit(text).into_bytes();
        }
    }
    let mut run = run_of(format, name, &text, &beside);
    // Some edits are of the files next to it.
    run.sha256 += &format!("{:?}", run.run);
    run
}

/// The file and the one that differs in a field.
fn both(format: &Format, (field, here, there): (&str, &str, &str)) -> [FileRun; 2] {
    let other = match there.strip_prefix("file:") {
        Some(name) => file(format, Some(name), |text| text.replace("23.8", "23.9")),
        None => file(format, None, |text| text.replace(here, there)),
    };
    let first = file(format, None, str::to_owned);
    assert_ne!(first.sha256, other.sha256, "{}: nothing depends on `{field}`", format.name);
    [first, other]
}

fn beside(path: &Path) -> OutputFiles {
    let folder = path.parent().unwrap();
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry != path {
                let name = entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, std::fs::read(entry).unwrap());
            }
        }
    }
    OutputFiles(files)
}

fn record_of(format: &Format, files: &[FileRun]) -> Result<RunRecord> {
    let options =
        RecordOptions { suite: "results".into(), format: format.name.to_owned(), ..RecordOptions::default() };
    record(files, &options)
}

/// What becomes of two files as two sides.
fn compared(format: &Format, files: &[FileRun; 2]) -> String {
    let [base, head] = files.each_ref().map(|file| record_of(format, std::slice::from_ref(file)).unwrap());
    let side = |name: &str, record| SideInput { record, name: name.to_owned() };
    let policy = Policy { sessions: 0, ..Policy::default() };
    let document: VerdictDocument = compare(&side("base", &base), &side("head", &head), &policy).unwrap();
    let apart = |verdict: &Verdict| matches!(verdict, Verdict::Missing | Verdict::New);
    if document.rows.iter().any(|row| apart(&row.verdict)) {
        return "other case".into();
    }
    let strict: Vec<_> = document.differences.iter().filter(|it| it.strict).collect();
    assert_eq!(document.conclusion == Conclusion::Incomparable, !strict.is_empty(), "{}", format.name);
    match document.differences.iter().max_by_key(|it| it.strict) {
        Some(difference) => {
            assert!(difference.field.starts_with("file."), "{}: {difference:?}", format.name);
            if difference.strict { "refused".into() } else { "told".into() }
        }
        None => "compared".into(),
    }
}

#[derive(Debug, PartialEq)]
enum OneSide {
    Refused,
    OtherCases,
    Processes { told: bool },
}

/// What becomes of two files of one side.
fn together(format: &Format, files: &[FileRun; 2]) -> OneSide {
    let Ok(record) = record_of(format, files) else { return OneSide::Refused };
    let told = record.warnings.iter().any(|text| text.contains("different settings"));
    let apart = record.cases.iter().filter(|case| case.processes.len() == 1).count();
    let [one, other] = files.each_ref().map(|file| file.run.readings.len());
    if apart == 0 && record.cases.len() == one && one == other {
        return OneSide::Processes { told };
    }
    assert!(
        record.cases.iter().filter(|case| case.processes.len() == 1).all(|case| !case.outcome.is_measured())
    );
    OneSide::OtherCases
}

type OfOneSide = fn(&OneSide) -> bool;

#[test]
fn l2_every_format_says_what_is_workload_machine_setting_and_figure() {
    let mut table =
        String::from("| format | workload | machine, software | setting | figure |\n|---|---|---|---|---|\n");
    let mut wrong = Vec::new();
    for format in FORMATS {
        // Two workloads are never processes of one case.
        let kinds: [(Edit, OfOneSide, &[&str]); 4] = [
            (
                format.workload,
                |it| !matches!(it, OneSide::Processes { .. }),
                &["other case", "told", "refused"],
            ),
            (format.machine, |it| *it == OneSide::Refused, &["told", "refused"]),
            (format.setting, |it| *it == OneSide::Processes { told: true }, &["told"]),
            (format.figure, |it| *it == OneSide::Processes { told: false }, &["compared"]),
        ];
        write!(table, "| `{}` |", format.name).unwrap();
        for (edit, fits, allowed) in kinds {
            let Some(edit) = edit else {
                table += " none |";
                continue;
            };
            let files = both(format, edit);
            let (one_side, two_sides) = (together(format, &files), compared(format, &files));
            if !fits(&one_side) || !allowed.contains(&two_sides.as_str()) {
                wrong.push(format!(
                    "{} `{}`: {one_side:?} of one side, {two_sides} as two",
                    format.name, edit.0
                ));
            }
            write!(table, " `{}`: {two_sides} |", edit.0).unwrap();
        }
        table.push('\n');
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let mut known: Vec<&str> = every().map(|format| format.name()).collect();
    known.sort_unstable();
    assert_eq!(names, known, "each format has a row, in order");

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/identity.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page has the mark before the table");
    let (found, after) = rest.split_once(END).expect("the page has the mark behind the table");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(page, format!("{before}{BEGIN}\n{table}\n{END}{after}")).unwrap();
        return;
    }
    assert!(found.trim() == table.trim(), "docs/identity.md: UPDATE_SCHEMAS=1 writes the table\n\n{table}");
}

#[test]
fn b3_a_run_keeps_the_id_that_it_has_in_a_history() {
    let id = |format: &Format| {
        let record = record_of(format, &[file(format, None, str::to_owned)]).unwrap();
        record.run_id.to_string()
    };
    let others: Vec<(&str, String)> = FORMATS
        .iter()
        .map(|format| (format, id(format)))
        .filter(|(format, id)| format.run.is_some_and(|before| !id.ends_with(before)))
        .map(|(format, id)| (format.name, id))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

/// A report of Google Benchmark of one benchmark with this many repetitions.
fn repeated(repetitions: u32, seed: u32) -> String {
    let entry = |index: u32| {
        let time = f64::from(1000 + (seed * 7 + index * 3) % 10) / 10.0;
        format!(
            "{{\"name\": \"BM/8/repeats:{repetitions}\", \"run_name\": \"BM/8/repeats:{repetitions}\", \"run_type\": \"iteration\", \
             \"repetitions\": {repetitions}, \"repetition_index\": {index}, \"threads\": 1, \"iterations\": 1000, \
             \"real_time\": {time}, \"cpu_time\": {time}, \"time_unit\": \"ns\"}}"
        )
    };
    let entries: Vec<String> = (0..repetitions).map(entry).collect();
    let context = "{\"date\": \"2026-11-01T00:00:00+00:00\", \"host_name\": \"h\", \"num_cpus\": 8, \"mhz_per_cpu\": 3000}";
    format!("{{\"context\": {context}, \"benchmarks\": [{}]}}", entries.join(", "))
}

#[test]
fn b8_how_often_google_benchmark_repeats_is_no_other_case() {
    let folder = crate::support::tempdir().unwrap();
    for run in 0..3 {
        for (side, repetitions) in [("base", 5), ("head", 10)] {
            let path = folder.path().join(side);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join(format!("{run}.json")), repeated(repetitions, run * 2 + repetitions))
                .unwrap();
        }
    }
    ran(folder.path(), "compare base head --sessions 0 --json v.json");
    let text = std::fs::read(folder.path().join("v.json")).unwrap();
    let document: VerdictDocument = serde_json::from_slice(&text).unwrap();
    assert_eq!(document.rows.len(), 1, "{:?}", document.rows);
    assert_eq!(document.rows[0].case.to_string(), "results/BM/8");
    assert!(document.differences.iter().any(|it| it.field == "file.repetitions" && !it.strict));
}

#[test]
fn b3_files_of_two_workloads_are_no_side_and_the_field_is_named() {
    let folder = crate::support::tempdir().unwrap();
    let text = std::fs::read_to_string(fixture("formats/babelstream/by-hand-5.0-text/out.txt")).unwrap();
    std::fs::write(folder.path().join("a.txt"), &text).unwrap();
    std::fs::write(folder.path().join("b.txt"), text.replace("Driver: 12040", "Driver: 13000")).unwrap();
    let refused = ran(folder.path(), "ingest a.txt b.txt").exits(2);
    refused.says("its `driver` is 13000, and that of a.txt is 12040").says("gbench-ci ingest --each");
}
