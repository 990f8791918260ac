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

const SUITES: [&str; 4] = ["biobench", "linpack", "mlperf", "pepbench"];

fn suites() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/suites")
}

/// A suite's folder by itself, as someone copies it; without what runs left behind.
fn copied(suite: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(suites().join(suite)).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    folder
}

/// A folder for the PATH with what every Unix has, and nothing that measures.
struct Programs(TempDir);

impl Programs {
    fn basic() -> Programs {
        let folder = tempfile::tempdir().unwrap();
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

#[test]
fn a_suite_without_its_tool_skips_with_what_to_install() {
    let Some(bare) = Programs::with_bare_python() else { return };
    let mlperf = "install it with `python3 -m pip install mlcommons-loadgen numpy`";
    for (suite, programs, cases, words) in [
        ("linpack", &bare, 1, vec!["install `hpcc`"]),
        ("biobench", &bare, 2, vec!["install `minimap2`", "install `bwa`"]),
        ("mlperf", &bare, 3, vec!["has no module `mlperf_loadgen`", mlperf]),
        ("pepbench", &Programs::basic(), 3, vec!["install `python3`"]),
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
