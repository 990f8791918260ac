//! What is one series of a history: across a rename of its benchmark, and beside runs of other suites.

use std::path::Path;

use gbench_ci::history::HistoryEntry;
use gbench_ci::trend::{SeriesState, TrendsDocument, V1Series};

use crate::support::cli::ran;
use crate::support::git::Sandbox;
use crate::support::nightly::{append, night};

const RENAMED: &str = "[suite]\nname = 'kernels'\n[[benchmark]]\nid = 'gemm'\nrenamed_from = 'matmul'\n\
                       command = ['true']\n";

fn repository(nights: impl Iterator<Item = HistoryEntry>) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    append(&sandbox.root(), nights);
    sandbox
}

fn document(folder: &Path, arguments: &str) -> TrendsDocument {
    serde_json::from_str(&ran(folder, &format!("history --format json {arguments}")).exits(0).out).unwrap()
}

fn of<'d>(document: &'d TrendsDocument, benchmark: &str) -> Vec<&'d V1Series> {
    document.series.iter().filter(|series| series.case.benchmark.as_str() == benchmark).collect()
}

/// 60 nights. `gemm` is called `matmul` before the one `at`, from which on its time is `factor` of what it was.
fn renamed(at: u32, factor: f64) -> impl Iterator<Item = HistoryEntry> {
    (0..60).map(move |number| {
        let mut entry = night(number, &[("kernels/gemm", if number < at { 1.0 } else { factor })]);
        let case = entry.record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "kernels/gemm");
        if number < at {
            case.unwrap().id.benchmark = "kernels/matmul".parse().unwrap();
        }
        entry
    })
}

#[test]
fn b7_a_renamed_benchmark_goes_on_as_one_series_and_what_changed_there_is_found() {
    let sandbox = repository(renamed(44, 1.08));
    let root = sandbox.root();
    let apart = document(&root, "");
    assert_eq!([of(&apart, "kernels/gemm").len(), of(&apart, "kernels/matmul").len()], [1, 1]);

    std::fs::write(root.join("gbench.toml"), RENAMED).unwrap();
    // By either name.
    for arguments in ["", "gemm", "matmul"] {
        let document = document(&root, arguments);
        let [series] = of(&document, "kernels/gemm")[..] else { panic!("{arguments}: {document:#?}") };
        assert_eq!(of(&document, "kernels/matmul").len(), 0);
        assert_eq!((series.points.len(), series.state), (60, SeriesState::Searched), "{arguments}");
        let [change] = &series.changes[..] else { panic!("{:#?}", series.changes) };
        assert!((0.05..0.11).contains(&change.change) && (42..=46).contains(&change.at), "{change:?}");
    }

    // Ten nights are enough where the new level is far from all that the series has been.
    let sandbox = repository(renamed(50, 1.12));
    std::fs::write(sandbox.root().join("gbench.toml"), RENAMED).unwrap();
    let document = document(&sandbox.root(), "gemm");
    let [change] = &of(&document, "kernels/gemm")[0].changes[..] else { panic!("{:#?}", document.series) };
    assert_eq!((change.at, change.worse), (50, Some(true)), "{change:?}");
}

#[test]
fn b7_a_run_that_has_both_names_has_one_figure_of_the_series_by_the_new_one() {
    let sandbox = repository((0..4).map(|number| {
        let mut entry = night(number, &[]);
        let gemm = entry.record.cases[0].clone();
        let mut before = gemm.clone();
        before.id.benchmark = "kernels/matmul".parse().unwrap();
        for process in before.metrics.iter_mut().flat_map(|metric| &mut metric.processes) {
            process.values.iter_mut().for_each(|value| *value *= 2.0);
        }
        // In whatever order.
        entry.record.cases.insert(number as usize % 2, before);
        entry
    }));
    std::fs::write(sandbox.root().join("gbench.toml"), RENAMED).unwrap();
    let document = document(&sandbox.root(), "gemm");
    let [series] = of(&document, "kernels/gemm")[..] else { panic!("{document:#?}") };
    assert_eq!(series.points.len(), 4);
    assert!(series.points.iter().all(|point| point.value < 1.5e-3), "{:?}", series.points);
}

/// Nights that measure the suite `build` and nights that measure the suite `kernels`, by turns; the newest one is of `build`.
fn two_suites() -> impl Iterator<Item = HistoryEntry> {
    (0..60).map(|number| {
        let mut entry = night(number, &[]);
        let suite = if number % 2 == 0 { "kernels" } else { "build" };
        entry.record.cases.retain(|case| case.id.benchmark.suite() == suite);
        entry
    })
}

#[test]
fn b9_a_series_is_held_to_the_newest_run_of_its_own_suite() {
    let sandbox = repository(two_suites());
    let root = sandbox.root();
    let document = document(&root, "");
    assert_eq!(document.series.len(), 5);
    for series in &document.series {
        assert_eq!((series.points.len(), series.state), (30, SeriesState::Searched), "{}", series.case);
    }
    // One that its own suite has no more has ended.
    let ended = repository(two_suites().map(|mut entry| {
        if entry.record.run_id.as_str() > "20260220" {
            entry.record.cases.retain(|case| case.id.benchmark.as_str() != "kernels/gemm");
        }
        entry
    }));
    let document = self::document(&ended.root(), "");
    assert_eq!(of(&document, "kernels/gemm")[0].state, SeriesState::Ended);
    assert_eq!(of(&document, "kernels/norm")[0].state, SeriesState::Searched);
}

#[test]
fn b9_a_history_is_narrowed_by_suite_and_by_parameter() {
    let sandbox = repository((0..3).map(|number| night(number, &[])));
    let root = sandbox.root();
    assert_eq!(document(&root, "--suite build").series.len(), 1);
    assert_eq!(document(&root, "--suite build,kernels").series.len(), 5);
    assert_eq!(document(&root, "--param n=64").series.len(), 2);
    assert_eq!(document(&root, "--param n=64,1024 --suite kernels").series.len(), 3);
    ran(&root, "history --suite kernel").exits(2).says("no run has a suite").says("did you mean kernels?");
    ran(&root, "history --param n=7").exits(2).says("no case has these parameters").says("n=1024");
    ran(&root, "history --param n").exits(2).says("name=value");
    let mut empty = crate::support::cli::command(&root, "history --suite");
    empty.arg("");
    crate::support::cli::ended(empty).exits(2).says("this names nothing");
}
