//! `gbench-ci history`: cases over commits, through the binary, on branches of real repositories.

use std::path::Path;

use gbench_ci::history::HistoryEntry;
use gbench_ci::model::{MetricDeclaration, Probe, sha256_hex};
use gbench_ci::stats::TQuantiles;
use gbench_ci::trend::{
    CACHE_VERSION, Dictionary, RunPoints, SCHEMA_TRENDS, SeriesState, TrendRun, TrendsDocument, V1Series,
};

use crate::support::cli::ran;
use crate::support::git::Sandbox;
use crate::support::nightly::{append, commit, night};

/// A repository whose history has these nights.
fn repository(nights: impl Iterator<Item = HistoryEntry>) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    append(&sandbox.root(), nights);
    sandbox
}

#[test]
fn a_case_of_other_runs_is_told_where_it_was_last_measured() {
    let nights = (0..12).map(|number| {
        let mut entry = night(number, &[]);
        entry.record.cases.retain(|case| (number < 4) == (case.id.benchmark.as_str() == "kernels/gemm"));
        entry
    });
    let sandbox = repository(nights);
    ran(&sandbox.root(), "history gemm --runs 5")
        .exits(2)
        .says("it has no figure in these runs; the last one is of 2026-01-04 on main")
        .says("--runs 0");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_format_that_is_not_built_in_is_refused_with_what_to_do() {
    let sandbox = repository((0..3).map(|number| night(number, &[])));
    ran(&sandbox.root(), "history --format parquet --output x.parquet")
        .exits(2)
        .says("--format parquet: this gbench-ci was built without it")
        .says("--features parquet");
}

fn document(folder: &Path, arguments: &str) -> TrendsDocument {
    let text = ran(folder, &format!("history --format json {arguments}")).exits(0).out;
    serde_json::from_str(&text).unwrap()
}

fn series<'d>(document: &'d TrendsDocument, benchmark: &str) -> &'d V1Series {
    document.series.iter().find(|series| series.case.benchmark.as_str() == benchmark).unwrap()
}

/// 60 nights; from the 40th on gemm is 6 % slower.
fn stepped() -> impl Iterator<Item = HistoryEntry> {
    (0..60).map(|number| night(number, &[("kernels/gemm", if number < 40 { 1.0 } else { 1.06 })]))
}

#[test]
fn a_step_is_found_with_its_commits_and_the_rest_is_steady() {
    let sandbox = repository(stepped());
    let root = sandbox.root();
    let document = document(&root, "");
    assert_eq!((document.schema.as_str(), document.runs.len()), (SCHEMA_TRENDS, 60));
    assert_eq!(document.store, "git:gbench-history");
    let gemm = series(&document, "kernels/gemm");
    let [change] = gemm.changes.as_slice() else { panic!("{:?}", gemm.changes) };
    assert!((38..=42).contains(&change.at) && change.from <= 40 && 40 <= change.to, "{change:?}");
    assert!((0.04..0.08).contains(&change.change) && change.low < 0.06 && 0.06 < change.high, "{change:?}");
    assert_eq!(change.worse, Some(true));
    assert_eq!(change.good, change.from.checked_sub(1).map(commit));
    assert_eq!(change.bad, Some(commit(change.to)));
    for steady in ["kernels/softmax", "kernels/norm", "kernels/scan", "build/module"] {
        assert_eq!(series(&document, steady).changes, [], "{steady}");
    }
    ran(&root, "history")
        .exits(0)
        .says("WORSE")
        .says("1 lastingly worse")
        .says("Worse, and staying so")
        .says("Steady");
    ran(&root, "history gemm").exits(0).says("What happened").says("worse, since").says("Newest runs");
}

#[test]
fn e6_a_step_that_all_cases_take_in_one_night_is_told_once() {
    let nights = (0..60).map(|number| {
        let worse: f64 = if number < 40 { 1.0 } else { 1.06 };
        let times = ["kernels/gemm", "kernels/norm", "kernels/scan"].map(|case| (case, worse));
        // A rate.
        night(number, &[&times[..], &[("kernels/softmax", 1.0 / worse)]].concat())
    });
    let sandbox = repository(nights);
    let told = ran(&sandbox.root(), "history").exits(0);
    let told =
        told.says("4 lastingly worse").says("At once in most cases").says("4 of 5 cases became worse by 5.");
    assert!(!told.out.contains("Worse, and staying so"), "{}", told.out);
    ran(&sandbox.root(), "history --all").says("At once in most cases").says("Worse, and staying so");
}

#[test]
fn a_new_driver_is_a_break_and_no_change() {
    let nights = (0..60).map(|number| {
        let mut entry = night(number, &[("kernels/gemm", if number < 30 { 1.0 } else { 1.2 })]);
        if let (30.., Probe::Known(gpu)) = (number, &mut entry.record.manifest.gpu) {
            gpu.driver = Probe::Known("590.11".into());
        }
        entry
    });
    let sandbox = repository(nights);
    let document = document(&sandbox.root(), "");
    for series in &document.series {
        assert_eq!(series.changes, [], "{}", series.case);
        let [broken] = series.breaks.as_slice() else { panic!("{:?}", series.breaks) };
        assert_eq!((broken.at, broken.fields[0].field.as_str()), (30, "driver"));
        assert_eq!(broken.fields[0].after, "590.11");
    }
    ran(&sandbox.root(), "history").exits(0).says("STEADY").says("driver 570.86.15 -> 590.11 (all series)");
}

/// Nights on two hosts of one model by turns, of which the second is 10 % slower in everything. `gemm`: its time, by night.
fn alternating(gemm: impl Fn(u32) -> f64) -> impl Iterator<Item = HistoryEntry> {
    (0..80).map(move |number| {
        let host = number % 2;
        let slower = 1.0 + 0.1 * f64::from(host);
        let others = ["kernels/softmax", "kernels/norm", "kernels/scan"].map(|case| (case, slower));
        let mut entry = night(number, &[&others[..], &[("kernels/gemm", slower * gemm(number))]].concat());
        let Probe::Known(gpu) = &mut entry.record.manifest.gpu else { panic!("a card") };
        gpu.devices[0].uuid = Probe::Known(format!("GPU-{host}"));
        entry
    })
}

#[test]
fn b2_hosts_of_one_model_have_series_of_their_own() {
    let sandbox = repository(alternating(|_| 1.0));
    let steady = document(&sandbox.root(), "");
    assert_eq!(steady.series.len(), 10, "five cases on two hosts");
    ran(&sandbox.root(), "history").exits(0).says("from 2 hosts").says("host = \"annotate\"");
    for series in &steady.series {
        assert_eq!(
            (&series.changes[..], &series.breaks[..]),
            (&[][..], &[][..]),
            "{} {}",
            series.case,
            series.label
        );
        assert_eq!(series.state, SeriesState::Searched);
    }

    // The second host really becomes slower.
    let sandbox = repository(alternating(|number| if number >= 40 && number % 2 == 1 { 1.05 } else { 1.0 }));
    let changed = document(&sandbox.root(), "");
    let found: Vec<&V1Series> = changed.series.iter().filter(|series| !series.changes.is_empty()).collect();
    let [found] = found.as_slice() else { panic!("{} series changed", found.len()) };
    assert_eq!((found.case.benchmark.as_str(), found.changes.len()), ("kernels/gemm", 1));
    assert!((0.03..0.07).contains(&found.changes[0].change), "{:?}", found.changes);

    // As a declared pool they are one series.
    let pool = "[suite]\nname = 's'\n[gate.match]\nhost = 'annotate'\n\
                [[benchmark]]\nid = 'a'\ncommand = ['true']\n";
    std::fs::write(sandbox.root().join("gbench.toml"), pool).unwrap();
    assert_eq!(document(&sandbox.root(), "").series.len(), 5);
}

#[test]
fn a_night_that_cannot_tell_a_fact_neither_breaks_a_series_nor_hides_a_break() {
    let with_driver = |number: u32, driver: Probe<String>| {
        let mut entry = night(number, &[("kernels/gemm", if number < 30 { 1.0 } else { 1.2 })]);
        let Probe::Known(gpu) = &mut entry.record.manifest.gpu else { panic!("a card") };
        gpu.driver = driver;
        entry
    };
    let known = |text: &str| Probe::Known(text.to_owned());
    let nights = (0..60).map(|number| match number {
        12 | 29 | 30 => with_driver(number, Probe::Failed("no answer".into())),
        0..30 => with_driver(number, known("570.1")),
        _ => with_driver(number, known("590.1")),
    });
    let sandbox = repository(nights);
    let document = document(&sandbox.root(), "");
    let gemm = series(&document, "kernels/gemm");
    let [broken] = gemm.breaks.as_slice() else { panic!("{:?}", gemm.breaks) };
    assert_eq!((broken.at, broken.fields[0].before.as_str()), (31, "570.1"), "the first run that tells it");
    assert_eq!(gemm.changes, []);
}

#[test]
fn what_the_newest_run_says_of_a_metric_counts() {
    let nights = (0..20).map(|number| {
        let mut entry = night(number, &[]);
        let gate = (number == 7).then_some(false);
        let declared = MetricDeclaration { gate, ..MetricDeclaration::default() };
        entry.record.cases[0].declared.insert("time".into(), declared);
        entry
    });
    let sandbox = repository(nights);
    let root = sandbox.root();
    assert_eq!(series(&document(&root, ""), "kernels/gemm").points.len(), 20);
    // Older runs that come to the cache last change nothing.
    std::fs::remove_dir_all(root.join(".gbench")).unwrap();
    document(&root, "--runs 1");
    assert_eq!(series(&document(&root, ""), "kernels/gemm").points.len(), 20);
}

#[test]
fn what_nobody_looked_at_is_not_called_steady() {
    let nights = (0..40).map(|number| {
        let mut entry = night(number, &[("kernels/gemm", if number < 15 { 1.0 } else { 1.2 })]);
        if number >= 30 {
            entry.record.cases.retain(|case| case.id.benchmark.as_str() != "kernels/gemm");
        }
        if number == 5 {
            let zero =
                entry.record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == "kernels/scan");
            let processes = zero.unwrap().metrics.iter_mut().flat_map(|metric| &mut metric.processes);
            processes.flat_map(|process| &mut process.values).for_each(|value| *value = 0.0);
        }
        entry
    });
    let sandbox = repository(nights);
    let root = sandbox.root();
    let document = document(&root, "");
    let gemm = series(&document, "kernels/gemm");
    assert_eq!(gemm.state, SeriesState::Ended);
    assert!(gemm.changes.iter().all(|change| !change.new) && !gemm.changes.is_empty(), "{:?}", gemm.changes);
    assert_eq!(series(&document, "kernels/scan").state, SeriesState::NotPositive);
    assert_eq!(series(&document, "kernels/norm").state, SeriesState::Searched);
    let page = ran(&root, "history").exits(0).says("STEADY").says("2 not judged").says("Not judged");
    page.says("no figure since 2026-01-30").says("a figure of zero or less");
    ran(&root, "history --runs 3")
        .exits(0)
        .says("NOT JUDGED")
        .says("3 runs, and 24 are needed")
        .says("37 older runs left out");
}

#[test]
fn a_series_too_short_for_any_step_is_not_called_steady() {
    for (runs, words) in [(23, "NOT JUDGED"), (24, "WORSE")] {
        let factor = |number| if number < 12 { 1.0 } else { 2.0 };
        let sandbox = repository((0..runs).map(|number| night(number, &[("kernels/gemm", factor(number))])));
        let page = ran(&sandbox.root(), "history gemm").exits(0).says(words);
        assert_eq!(page.out.contains("23 runs, and 24 are needed"), runs == 23, "{}", page.out);
        assert!(!page.out.contains("STEADY"), "{}", page.out);
    }
}

#[test]
fn a_shift_while_the_code_stayed_the_same_is_no_fault_of_the_code() {
    let nights = (0..40).map(|number| {
        let mut entry = night(number, &[("kernels/gemm", if number < 20 { 1.0 } else { 1.2 })]);
        entry.commit = commit(1);
        entry
    });
    let sandbox = repository(nights);
    ran(&sandbox.root(), "history")
        .exits(0)
        .says("STEADY")
        .says("Shifted while the code stayed the same")
        .says("on both sides 00000000");
}

#[test]
fn the_figures_of_a_run_have_this_form_and_meaning_in_this_version_of_the_cache() {
    let entry = night(3, &[]);
    let run = TrendRun {
        run_id: entry.run_id,
        started: entry.record.started.clone(),
        commit: entry.commit,
        branch: entry.branch,
        label: entry.label,
        event: entry.event,
        conclusion: entry.conclusion,
    };
    let points = RunPoints::of(run, &entry.record, &mut TQuantiles::default());
    let (bytes, _) = Dictionary::default().encode(&points).unwrap();
    let digest = sha256_hex(&bytes);
    assert_eq!(
        (CACHE_VERSION, &digest[..16]),
        ("gbench-ci 0.1.0 trend cache 2", "e47234de14647f97"),
        "another form or meaning of the figures needs another CACHE_VERSION: figures of old runs would stay as they were"
    );
}

#[test]
fn r6_a_drift_of_a_tenth_of_a_percent_a_night_is_told_before_its_sum_is_4_percent() {
    // 40 quiet nights, then 38 of drift: a sum of 3.8 %.
    let drifting = |number: u32| 1.001_f64.powi(number.saturating_sub(39) as i32);
    let nights = (0..78).map(|number| night(number, &[("kernels/norm", drifting(number))]));
    let sandbox = repository(nights);
    let document = document(&sandbox.root(), "");
    let norm = series(&document, "kernels/norm");
    let drift = norm.drift.as_ref().unwrap_or_else(|| panic!("{norm:?}"));
    assert!(drift.worse == Some(true) && (0.02..0.06).contains(&drift.total), "{drift:?}");
    assert!((20..60).contains(&drift.from), "{drift:?}");
    assert_eq!(norm.changes, [], "a slope is no step");
    assert!(document.series.iter().filter(|other| other.drift.is_some()).count() == 1);
    ran(&sandbox.root(), "history").exits(0).says("DRIFTING").says("1 drifting for the worse");
}

#[test]
fn figures_of_other_settings_are_another_piece() {
    let nights = (0..20).map(|number| {
        let mut entry = night(number, &[]);
        if number >= 10 {
            let shown = entry.record.cases[0].config.get_mut("iterations").unwrap();
            shown.value = 50.into();
        }
        entry
    });
    let sandbox = repository(nights);
    let document = document(&sandbox.root(), "");
    let gemm = series(&document, "kernels/gemm");
    assert_eq!((gemm.breaks.len(), gemm.breaks[0].fields[0].field.as_str()), (1, "settings"));
    assert!(gemm.breaks[0].fields[0].after.contains("iterations=50"), "{:?}", gemm.breaks);
    assert_eq!(series(&document, "kernels/norm").breaks, []);
}

#[test]
fn machines_and_branches_are_series_of_their_own() {
    let nights = (0..24).map(|number| {
        let mut entry = night(number, &[]);
        entry.label = ["a100", "h100"][number as usize % 2].into();
        entry.branch = if number < 20 { "main".into() } else { "release".into() };
        entry
    });
    let sandbox = repository(nights);
    let root = sandbox.root();
    let all = document(&root, "gemm");
    let count =
        |document: &TrendsDocument| document.series.iter().map(|it| it.points.len()).collect::<Vec<_>>();
    assert_eq!(count(&all), [10, 10, 2, 2]);
    assert_eq!(count(&document(&root, "gemm --label h100 --branch main")), [10]);
    assert_eq!(count(&document(&root, "gemm --label h100 --branch main --runs 8")), [8]);
    assert_eq!(count(&document(&root, "gemm --since 2026-01-21 --label a100")), [2]);
    ran(&root, "history gemm --branch nowhere")
        .exits(2)
        .says("no run is of this time, branch and label")
        .says("main on a100, main on h100");
}

#[test]
fn the_cache_is_never_the_truth() {
    let sandbox = repository((0..12).map(|number| night(number, &[])));
    let root = sandbox.root();
    let first = document(&root, "");
    let cache = std::fs::read_dir(root.join(".gbench/cache")).unwrap();
    let cache = cache.map(|file| file.unwrap().path()).find(|path| path.extension().is_some()).unwrap();
    assert_eq!(document(&root, ""), first, "out of the cache");
    let bytes = std::fs::read(&cache).unwrap();
    let zeros = [&bytes[..bytes.len() / 2], &[0; 4096]].concat();
    for spoilt in [&bytes[..bytes.len() / 2], b"nonsense", b"", &zeros] {
        std::fs::write(&cache, spoilt).unwrap();
        assert_eq!(document(&root, ""), first);
    }
    assert_eq!(std::fs::read(&cache).unwrap().len(), bytes.len(), "it is made anew");
    append(&root, (12..14).map(|number| night(number, &[])));
    assert_eq!(document(&root, "").runs.len(), 14, "what is new is read");
    std::fs::remove_dir_all(root.join(".gbench")).unwrap();
    std::fs::write(root.join(".gbench"), "in the way").unwrap();
    let document = document(&root, "");
    assert_eq!(document.runs.len(), 14);
    assert!(document.warnings[0].contains("cannot be used"), "{:?}", document.warnings);
}

#[test]
fn a_run_that_is_none_is_passed_over_and_said() {
    let sandbox = repository((0..5).map(|number| night(number, &[])));
    let repository = &sandbox.repository;
    let tip = repository.find_reference("refs/heads/gbench-history").unwrap().peel_to_commit().unwrap();
    let mut update = git2::build::TreeUpdateBuilder::new();
    let blob = repository.blob(b"no gzip").unwrap();
    update.upsert("history/2026-01/20260109T000000.000Z-bad000.json.gz", blob, git2::FileMode::Blob);
    let tree =
        repository.find_tree(update.create_updated(repository, &tip.tree().unwrap()).unwrap()).unwrap();
    let who = crate::support::git::signature();
    repository.commit(Some("refs/heads/gbench-history"), &who, &who, "by hand", &tree, &[&tip]).unwrap();
    let document = document(&sandbox.root(), "");
    assert_eq!(document.runs.len(), 5);
    assert!(document.warnings[0].contains("is passed over"), "{:?}", document.warnings);
}

#[test]
fn wrong_names_are_told_what_there_is() {
    let sandbox = repository((0..3).map(|number| night(number, &[])));
    let root = sandbox.root();
    ran(&root, "history gem")
        .exits(2)
        .says("no run has a case of this name")
        .says("did you mean kernels/gemm?");
    ran(&root, "history --metric tim")
        .exits(2)
        .says("no run has a metric of this name")
        .says("did you mean time?");
    ran(&root, "history kernels/gemm[n=1024]").exits(0);
    ran(&root, "history gemm[n=1024]").exits(0);
    ran(&root, "history gemm[n=102]").exits(2).says("did you mean kernels/gemm[n=1024]?");
    ran(&root, "history gemm[m=7]").exits(2).says("there are kernels/gemm[n=1024]");
    ran(&root, "history --store dir:nowhere").exits(2).says("there is no such folder");
    let mut empty = crate::support::cli::command(&root, "history");
    empty.arg("");
    crate::support::cli::ended(empty).exits(2).says("it is empty");
    ran(&root, "history --since 100y").exits(0);
    ran(&root, "history --since yesterday").exits(2).says("neither a date nor a time span");
    ran(&root, "history --store git:nowhere").exits(2).says("there is no such branch");
    ran(&root, "history --store nowhere").exits(2).says("is not an address of a store");
    let empty = crate::support::tempdir().unwrap();
    ran(empty.path(), "history").exits(2).says("no run is kept here").says("baseline save");
}

#[test]
fn a_folder_of_baselines_is_a_history_too() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    for number in 0..4 {
        crate::support::cli::write(&root, "record.json", &night(number, &[]).record);
        ran(&root, "baseline save nightly record.json").exits(0);
    }
    let document = document(&root, "");
    assert_eq!(document.runs.len(), 4);
    assert!(document.warnings.is_empty(), "{:?}", document.warnings);
    assert_eq!(series(&document, "kernels/gemm").branch, "nightly");
}

#[test]
fn a_folder_that_drops_older_records_says_so() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    let save = |number| {
        crate::support::cli::write(&root, "record.json", &night(number, &[]).record);
        ran(&root, "baseline save nightly record.json").exits(0);
    };
    (0..12).for_each(save);
    let document = document(&root, "");
    assert_eq!(document.runs.len(), 10);
    assert!(document.warnings[0].contains("`nightly` keeps its newest 10 runs"), "{:?}", document.warnings);
    ran(&root, "history").exits(0).says("Warnings").says("keep = 400");
}

#[test]
fn programs_get_a_line_a_figure_and_openmetrics() {
    let sandbox = repository((0..3).map(|number| night(number, &[])));
    let root = sandbox.root();
    let csv = ran(&root, "history --format csv").exits(0).out;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().nth(8), Some("metric"));
    assert_eq!(reader.records().count(), 15);
    let text = ran(&root, "history gemm --format openmetrics").exits(0).out;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len(), lines[lines.len() - 1]), ("# TYPE gbench_value gauge", 11, "# EOF"));
    assert!(
        lines[2].starts_with("gbench_value{case=\"kernels/gemm[n=1024]\",suite=\"kernels\""),
        "{}",
        lines[2]
    );
    assert!(lines[2].ends_with(" 1767225600.000"), "{}", lines[2]);
    ran(&root, "history --format csv --output out.csv").exits(0);
    assert_eq!(std::fs::read_to_string(root.join("out.csv")).unwrap(), csv);
}
