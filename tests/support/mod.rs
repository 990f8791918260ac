//! What several test files need: the fixture program, folders with suites, runs without a command line.

pub mod act;
pub mod built;
pub mod cli;
pub mod emulator;
pub mod fake_forge;
pub mod fake_github;
#[cfg(feature = "bucket")]
pub mod fake_s3;
pub mod git;
pub mod github;
pub mod gpu;
pub mod history;
pub mod in_memory;
pub mod job;
pub mod json;
pub mod kernels;
pub mod merging;
pub mod nightly;
pub mod profilers;
pub mod records;
pub mod repository;
pub mod rest;
pub mod rounds;
pub mod scripted;
pub mod stories;
pub mod tools;
pub mod torn;
pub mod wait;
pub mod zips;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use gbench_ci::model::{
    CaseRecord, HostFacts, Manifest, Probe, RecordState, RunId, RunRecord, RunSource, SCHEMA_RECORD, ToolInfo,
};
use gbench_ci::run::{Executor, Finished, PlanSession, RunSession, Silent, Supervised};
use gbench_ci::suite::Suite;
use gbench_ci::suite::plan::Plan;

use built::built;
pub use in_memory::tempdir;

/// The binary under test.
pub fn gbench() -> PathBuf {
    env!("CARGO_BIN_EXE_gbench-ci").into()
}

/// The binary, which takes no turns with other tests.
pub fn gate() -> Command {
    let mut gate = Command::new(gbench());
    gate.env("GBENCH_LOCKS", "off").env("PATH", path()).env("TMPDIR", in_memory::place());
    gate
}

/// `PATH` with the interpreter and the compiler themselves in front. Every gate asks them for their versions: version managers (pyenv,
/// rustup) take a tenth of a second for an answer that is asked for once here.
pub fn path() -> &'static OsStr {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let given = std::env::var_os("PATH").unwrap_or_default();
        let folder = built("programs", &[], &given.to_string_lossy(), |folder| {
            let words = ["-c", "import sys; print(sys.executable)"];
            let python = Command::new("python3").args(words).output().ok();
            let python = python.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
            let rustc = std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
            let rustc = rustc.filter(|rustc| rustc.exists()).map(|rustc| rustc.display().to_string());
            for (name, program) in [("python3", python), ("rustc", rustc)] {
                if let Some(program) = program.filter(|program| !program.is_empty()) {
                    let said = Command::new(&program).arg("--version").output().unwrap().stdout;
                    let said = String::from_utf8_lossy(&said).trim().to_owned();
                    let script = format!(
                        "case \"$*\" in --version) echo '{said}' ;; *) exec '{program}' \"$@\" ;; esac\n"
                    );
                    write_program(&folder.join(name), &script);
                }
            }
        });
        let all = [folder].into_iter().chain(std::env::split_paths(&given));
        std::env::join_paths(all).unwrap()
    })
}

/// A shell script that can be started.
fn write_program(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A copy of a program that can be started at once. This process does not write it itself: a child that another thread forks
/// meanwhile would hold the file open for writing, and Linux starts no such file.
pub fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success(), "{} is copied", from.display());
}

/// A file or folder under `fixtures/`.
pub fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// `fixtures/programs/child.rs`, compiled once by the same `rustc` that built the tests.
pub fn child() -> &'static Path {
    static CHILD: OnceLock<PathBuf> = OnceLock::new();
    CHILD.get_or_init(|| compiled("child"))
}

/// Likewise `fixtures/programs/harness.rs`.
pub fn harness() -> &'static Path {
    static HARNESS: OnceLock<PathBuf> = OnceLock::new();
    HARNESS.get_or_init(|| compiled("harness"))
}

fn compiled(name: &str) -> PathBuf {
    let source = fixture(&format!("programs/{name}.rs"));
    let folder = built(name, &[&source], "", |folder| {
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let mut command = Command::new(rustc);
        command.args(["--edition", "2024", "-O", "-o"]).arg(folder.join(name)).arg(&source);
        assert!(command.status().expect("rustc starts").success(), "the fixture program does not compile");
    });
    folder.join(name)
}

/// A folder with these files.
pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// A temporary folder with a suite file and the fixture program as `./child`.
pub fn folder_with(suite: &str) -> tempfile::TempDir {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), suite).unwrap();
    copy_program(child(), &folder.path().join("child"));
    folder
}

/// A manifest that knows nothing, for runs whose machine does not matter.
pub fn blank_manifest() -> Manifest {
    fn none<T>() -> Probe<T> {
        Probe::Absent("a test".into())
    }
    Manifest {
        host: HostFacts {
            hostname: none(),
            os: none(),
            kernel: none(),
            architecture: "x86_64".into(),
            cpu_model: none(),
            cores: none(),
            last_level_cache: none(),
            governor: none(),
            memory_total: none(),
            memory_available: none(),
            load: none(),
            container: none(),
            virtualization: none(),
        },
        gpu: none(),
        git: none(),
        tools: Default::default(),
        environment: Default::default(),
    }
}

/// A record without cases, as a session wants it.
pub fn header() -> RunRecord {
    RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id: RunId::new(SystemTime::now(), std::process::id()),
        tool: ToolInfo { name: "gbench-ci".into(), version: "test".into() },
        state: RecordState::Interrupted,
        cut_short: None,
        exclusive: None,
        started: "2026-01-01T00:00:00.000Z".into(),
        finished: None,
        side: None,
        comparison: None,
        ingested: None,
        source: RunSource { suite: "test".into(), path: None, sha256: None },
        command: Vec::new(),
        config: Default::default(),
        manifest: blank_manifest(),
        clocks: None,
        cases: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Runs the suite of a folder through the library, with real processes.
pub fn run_suite(folder: &Path) -> Finished {
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    run_suite_with(folder, &mut executor)
}

pub fn run_suite_with(folder: &Path, executor: &mut dyn Executor) -> Finished {
    let suite = Suite::load(&folder.join("gbench.toml"), &[]).unwrap();
    let plan = Plan::single(&suite);
    let artifacts = folder.join("artifacts");
    let session = RunSession {
        executor,
        observer: &mut Silent,
        probe: None,
        binary: gbench(),
        deadline: suite.run.deadline.value,
        calm_wait: 0.0,
        after_timeout: (suite.run.after_timeout.value.clone(), folder.to_owned()),
    };
    PlanSession::one_by_one(&plan, session, &artifacts).run(header()).unwrap()
}

/// The case whose name, as reports print it, is `name`.
pub fn case<'a>(record: &'a RunRecord, name: &str) -> &'a CaseRecord {
    let found = record.cases.iter().find(|case| case.id.to_string() == name);
    found.unwrap_or_else(|| panic!("no case {name}"))
}
