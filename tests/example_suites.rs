//! The suites of `docs/examples/suites`, as their pages have them run: with the real tools where those are installed, with
//! stand-ins for what a tool would say, and without any of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::model::{CaseRecord, Outcome, RunRecord};
use tempfile::TempDir;

use crate::support::cli::{Ran, command, ended, newest, ran, stdout_of};

const SUITES: [&str; 9] =
    ["biobench", "decode", "kernel", "linpack", "mlperf", "operators", "pair", "pepbench", "sdpa"];

fn suites() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/suites")
}

/// A suite's folder by itself, as someone copies it; without what runs left behind.
fn copied(suite: &str) -> TempDir {
    let folder = crate::support::tempdir().unwrap();
    copy(&suites().join(suite), folder.path());
    folder
}

const LEFT_BEHIND: [&str; 4] = ["artifacts", ".gbench", "data", "__pycache__"];

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), target).unwrap();
        } else if LEFT_BEHIND.iter().all(|name| entry.file_name() != *name) {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        }
    }
}

/// A folder for the PATH with what every Unix has, and nothing that measures.
struct Programs(TempDir);

impl Programs {
    fn basic() -> Programs {
        let folder = crate::support::tempdir().unwrap();
        for name in ["sh", "cat", "sed", "grep", "mktemp", "rm"] {
            let program = on_path(name).unwrap_or_else(|| panic!("no {name} on the PATH"));
            symlink(program, folder.path().join(name)).unwrap();
        }
        Programs(folder)
    }

    /// With Python and its standard library, without any module that was installed.
    fn with_bare_python() -> Option<Programs> {
        let Some(python) = python() else {
            skipped("python3");
            return None;
        };
        let programs = Programs::basic();
        programs.add("python3", &format!("exec '{}' -E -S -s \"$@\"", python.display()));
        Some(programs)
    }

    /// A shell script by this name.
    fn add(&self, name: &str, script: &str) {
        let path = self.0.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `gbench-ci LINE` with no other programs than these.
    fn ran(&self, folder: &Path, line: &str) -> Ran {
        let mut command = command(folder, line);
        command.env("PATH", self.0.path());
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            command.env_remove(name);
        }
        ended(command)
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// The interpreter itself, not a script of a version manager that would look for its own tools.
fn python() -> Option<PathBuf> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    path.is_file().then_some(path)
}

/// Not by `eprintln!`, which the test runner keeps to itself when the test passes.
fn skipped(name: &str) {
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "SKIPPED {}: {name} is not installed", thread.name().unwrap_or("?"));
}

fn names(record: &RunRecord) -> Vec<String> {
    record.cases.iter().map(|case| case.id.to_string()).collect()
}

fn metric(case: &CaseRecord, name: &str) -> Vec<f64> {
    let found = case.metrics.iter().find(|metric| metric.name == name);
    let metric = found.unwrap_or_else(|| panic!("{} has no {name}", case.id));
    metric.processes.iter().flat_map(|process| process.values.iter().copied()).collect()
}

#[test]
fn each_example_suite_has_a_page_and_can_be_listed() {
    let folders = fs::read_dir(suites()).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.file_type().unwrap().is_dir());
    let there: BTreeSet<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(there, SUITES.map(str::to_owned).into());
    let overview = fs::read_to_string(suites().join("README.md")).unwrap();
    for suite in SUITES {
        assert!(overview.contains(&format!("| [{suite}]({suite}/README.md) |")), "{suite} is not told of");
        let page = fs::read_to_string(suites().join(suite).join("README.md")).unwrap();
        let line = format!("\ngbench-ci run --config docs/examples/suites/{suite}/gbench.toml\n");
        assert!(page.contains(&line), "{suite}: its page does not say how to run it");
        ran(copied(suite).path(), "list").exits(0).says(&format!("{suite}/"));
    }
}

const NUMPY: &str = "install it with `python3 -m pip install numpy`";

#[test]
fn a_suite_without_its_tool_skips_with_what_to_install() {
    let Some(bare) = Programs::with_bare_python() else { return };
    let mlperf = "install it with `python3 -m pip install mlcommons-loadgen numpy`";
    for (suite, programs, cases, words) in [
        ("linpack", &bare, 1, vec!["install `hpcc`"]),
        ("biobench", &bare, 2, vec!["install `minimap2`", "install `bwa`"]),
        ("mlperf", &bare, 3, vec!["has no module `mlperf_loadgen`", mlperf]),
        ("pepbench", &Programs::basic(), 3, vec!["install `python3`"]),
        ("pair", &Programs::basic(), 2, vec!["install `python3`"]),
        ("decode", &Programs::basic(), 2, vec!["install `python3`"]),
        ("kernel", &bare, 3, vec!["has no module `numpy`", NUMPY]),
        ("operators", &bare, 172, vec!["has no module `numpy`", NUMPY]),
        ("sdpa", &bare, 18, vec!["has no module `numpy`", NUMPY]),
    ] {
        let folder = copied(suite);
        // Nothing is left to measure.
        let ran = programs.ran(folder.path(), "run --quiet --processes 1").exits(4);
        words.into_iter().fold(ran, Ran::says);
        let record = newest(folder.path());
        let skipped = record.cases.iter().filter(|case| matches!(case.outcome, Outcome::Skipped { .. }));
        assert_eq!((record.cases.len(), skipped.count()), (cases, cases), "{suite}");
    }
}

#[test]
fn pepbench_needs_no_more_than_the_standard_library() {
    let Some(bare) = Programs::with_bare_python() else { return };
    let folder = copied("pepbench");
    bare.ran(folder.path(), "run --quiet --processes 2 --iterations 2").exits(0);
    let record = newest(folder.path());
    let decode = |batch| format!("pepbench/decode[batch={batch},prompt=24,tokens=24]");
    assert_eq!(names(&record), ["pepbench/tokenise[words=5000]".into(), decode(1), decode(4)]);
    assert!(metric(&record.cases[0], "tokens_rate").iter().all(|rate| *rate > 0.0));
    for case in &record.cases[1..] {
        let (first, each) = (metric(case, "ttft"), metric(case, "tpot"));
        assert_eq!((first.len(), each.len()), (4, 4));
        // A prompt of 24 tokens is read before the first one is written.
        assert!(first.iter().zip(&each).all(|(first, each)| first > each), "{first:?} {each:?}");
    }
}

#[test]
fn both_sides_of_the_pair_are_measured_and_a_wrong_answer_is_invalid() {
    let Some(bare) = Programs::with_bare_python() else { return };
    let folder = copied("pair");
    bare.ran(folder.path(), "run --quiet --processes 1 --preset quick").exits(0);
    let record = newest(folder.path());
    let case = |variant| format!("pair/pairs[case=frequent_words,variant={variant}]");
    assert_eq!(names(&record), [case("baseline"), case("optimized")]);
    for case in &record.cases {
        assert_eq!(metric(case, "time").len(), 10, "{}", case.id);
    }
    let optimized = folder.path().join("optimized_frequent_words.py");
    let text = fs::read_to_string(&optimized).unwrap();
    fs::write(&optimized, text.replace("(-entry[1], entry[0])", "entry[0]")).unwrap();
    let wrong = bare.ran(folder.path(), "run --quiet --processes 1 --preset quick").exits(4);
    wrong.says("the most frequent words are");
    assert!(matches!(newest(folder.path()).cases[1].outcome, Outcome::Invalid { .. }));
}

#[test]
fn decode_gives_the_time_to_the_first_token_and_to_each_other() {
    let Some(bare) = Programs::with_bare_python() else { return };
    let folder = copied("decode");
    bare.ran(folder.path(), "run --quiet --processes 2 --iterations 2").exits(0);
    let record = newest(folder.path());
    let case = |prompt| format!("decode/decode[prompt={prompt},tokens=16]");
    assert_eq!(names(&record), [case(16), case(64)]);
    for case in &record.cases {
        let (first, each) = (metric(case, "ttft"), metric(case, "tpot"));
        assert_eq!((first.len(), each.len(), metric(case, "time").len()), (4, 4, 4));
        // A prompt of sixteen tokens is read before the first one is written.
        assert!(first.iter().zip(&each).all(|(first, each)| first > each), "{first:?} {each:?}");
    }
}

/// Runs a suite with the `python3` of the PATH, once for each case; `None` where that has no numpy.
fn ran_with_numpy(suite: &str, more: &str) -> Option<RunRecord> {
    let has = Command::new("python3").args(["-c", "import numpy"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        skipped("numpy");
        return None;
    }
    let folder = copied(suite);
    let line = format!("run --quiet --processes 1 --iterations 2 --warmup 1 {more}");
    ran(folder.path(), line.trim_end()).exits(0);
    Some(newest(folder.path()))
}

fn measured(record: &RunRecord) -> usize {
    record.cases.iter().filter(|case| case.outcome == Outcome::Measured).count()
}

#[test]
fn kernel_holds_each_precision_against_the_reference() {
    let Some(record) = ran_with_numpy("kernel", "") else { return };
    let errors: Vec<f64> = record.cases.iter().map(|case| metric(case, "error.max_error")[0]).collect();
    assert_eq!(errors.len(), 3);
    assert!(errors[0] < errors[1] && errors[1] < errors[2], "{errors:?}");
}

#[test]
fn s2_4_operators_are_measured_by_what_is_installed() {
    let Some(record) = ran_with_numpy("operators", "--benchmark operators/operators") else { return };
    assert_eq!(record.cases.len(), 100);
    // Two implementations need numpy alone.
    assert!(measured(&record) >= 40);
    let skipped = record.cases.iter().filter(|case| matches!(case.outcome, Outcome::Skipped { .. })).count();
    assert_eq!(measured(&record) + skipped, 100);
}

#[test]
fn attention_in_tiles_gives_what_the_formula_gives() {
    let Some(record) = ran_with_numpy("sdpa", "--param S=128") else { return };
    assert_eq!(record.cases.len(), 6);
    assert!(measured(&record) >= 4);
}

/// An `hpcc` that writes one row of HPL's and this word on its residual, and an `mpirun` that starts one process.
fn stand_in(word: &str) -> Programs {
    let programs = Programs::basic();
    programs.add("mpirun", "shift 2\nexec \"$@\"");
    let row = "WR11C2R4        2000   128     1     1               0.14              3.850e+01";
    let rule = "-".repeat(80);
    let residual =
        format!("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0033034 ...... {word}");
    let text = format!("Begin of HPL section.\nT/V N NB P Q Time Gflops\n{rule}\n{row}\n{rule}\n{residual}");
    programs.add("hpcc", &format!("cat >hpccoutf.txt <<'END'\n{text}\nEnd of HPL section.\nEND"));
    programs
}

#[test]
fn linpack_takes_the_figure_of_a_row_that_passed_and_of_no_other() {
    let folder = copied("linpack");
    stand_in("PASSED").ran(folder.path(), "run --quiet --processes 2").exits(0).says("38.50 GFLOP/s");
    assert_eq!(metric(&newest(folder.path()).cases[0], "gflops"), [38.5, 38.5]);
    let wrong = stand_in("FAILED").ran(folder.path(), "run --quiet --processes 1").exits(4);
    wrong.says("HPL's residual check failed");
    let none = Programs::basic();
    none.add("mpirun", "exit 139");
    none.add("hpcc", "exit 0");
    none.ran(folder.path(), "run --quiet --processes 1").exits(4).says("hpcc ended with exit code 139");
}

#[test]
fn linpack_stands_beside_hpls_own_words() {
    if on_path("hpcc").is_none() {
        return skipped("hpcc");
    }
    let folder = copied("linpack");
    // The least of it: the other tests of hpcc take their size from this one.
    let suite = fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    fs::write(folder.path().join("gbench.toml"), suite.replace("n = [2000]", "n = [1000]")).unwrap();
    ran(folder.path(), "run --quiet --processes 1").exits(0);
    let said = stdout_of(folder.path(), 0, 0);
    let row = said.lines().find(|line| line.starts_with("WR")).expect("HPL prints its row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..5], ["1000", "128", "1", "1"]);
    assert_eq!(metric(&newest(folder.path()).cases[0], "gflops"), [cells[6].parse::<f64>().unwrap()]);
}

#[test]
fn biobench_finds_the_reads_again() {
    if on_path("minimap2").is_none() || python().is_none() {
        return skipped("minimap2");
    }
    let folder = copied("biobench");
    let line = "run --quiet --processes 1 --iterations 2 --warmup 0 --benchmark biobench/minimap2";
    ran(folder.path(), line).exits(0);
    let record = newest(folder.path());
    assert_eq!(names(&record), ["biobench/minimap2"]);
    assert_eq!(metric(&record.cases[0], "reads_rate").len(), 2);
    assert!(metric(&record.cases[0], "error.misplaced_share")[0] < 0.05);
}

#[test]
fn an_aligner_that_loses_its_reads_is_no_fast_one() {
    let Some(bare) = Programs::with_bare_python() else { return };
    bare.add("minimap2", "exit 0");
    let folder = copied("biobench");
    let ran = bare.ran(folder.path(), "run --quiet --processes 1 --benchmark biobench/minimap2");
    ran.exits(4).says("0 of 20000 reads aligned");
    assert!(matches!(newest(folder.path()).cases[0].outcome, Outcome::Invalid { .. }));
}

#[test]
fn mlperf_gives_the_figures_of_loadgens_summary() {
    let has = Command::new("python3").args(["-c", "import mlperf_loadgen, numpy"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        return skipped("mlcommons-loadgen");
    }
    let folder = copied("mlperf");
    let line = "run --quiet --processes 1 --duration 500ms --benchmark mlperf/offline";
    ran(folder.path(), line).exits(0);
    let said = stdout_of(folder.path(), 0, 0);
    assert!(said.contains("Result is : VALID"), "{said}");
    let own = said.lines().find_map(|line| line.strip_prefix("Samples per second: ")).expect("its summary");
    assert_eq!(metric(&newest(folder.path()).cases[0], "samples_rate"), [own.parse::<f64>().unwrap()]);
}
