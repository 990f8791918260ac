//! Gates on one machine take turns: through the binary, with a folder of locks for each test, and stand-in cards.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use gbench_ci::model::{GpuPlace, Params, RunRecord};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::fake_nvml;
use crate::support::cli::{command, ended, newest, runs};
use crate::support::git;
use crate::support::wait::wait_until;

/// A machine: a folder for its locks and one for each of its suites.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        Self(crate::support::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A folder with a suite of its name, whose one case runs a shell's line.
    fn suite(&self, name: &str, more: &str, line: &str) -> PathBuf {
        let folder = self.at(name);
        std::fs::create_dir(&folder).unwrap();
        let suite = format!(
            "[suite]\nname = \"{name}\"\n[[benchmark]]\nid = \"a\"\nprocesses = 1\n{more}\nshell = '''{line}'''\n"
        );
        std::fs::write(folder.join("gbench.toml"), suite).unwrap();
        folder
    }

    /// A suite that measures until there is a file `go` beside its folder, and is measuring when this returns.
    fn holder(&self) -> Child {
        let folder = self.suite("holder", "", "touch ../begun; while [ ! -e ../go ]; do sleep 0.02; done");
        let mut gate = self.gate(&folder, "run");
        let said = std::fs::File::create(self.at("holder.said")).unwrap();
        let gate = gate.stdout(Stdio::null()).stderr(said).spawn().unwrap();
        wait_until("it measures", || self.at("begun").exists());
        gate
    }

    fn gate(&self, folder: &Path, line: &str) -> Command {
        let mut gate = command(folder, line);
        gate.env("GBENCH_LOCKS", self.at("locks"));
        gate.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", "count=2");
        gate.env_remove("CUDA_VISIBLE_DEVICES");
        gate
    }

    fn go(&self) {
        std::fs::write(self.at("go"), "").unwrap();
    }
}

/// The words of a gate up to a line that holds some.
fn read_until(lines: &mut impl BufRead, words: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended without `{words}`");
        if line.contains(words) {
            return line;
        }
    }
}

fn time(text: &str) -> SystemTime {
    humantime::parse_rfc3339(text).unwrap()
}

/// When the one process of a run began and ended.
fn span(record: &RunRecord) -> (SystemTime, SystemTime) {
    let process = &record.cases[0].processes[0];
    let began = time(&process.started);
    (began, began + Duration::from_secs_f64(process.seconds))
}

#[test]
fn a_second_gate_waits_says_for_whom_and_measures_when_the_first_has_ended() {
    let machine = Machine::new();
    let mut first = machine.holder();
    let folder = machine.suite("second", "", "true");
    let mut second =
        machine.gate(&folder, "run").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(second.stderr.take().unwrap());
    let line = read_until(&mut said, "waiting for the measuring lock: ");
    let holder = format!("held by pid {} (", first.id());
    assert!(line.contains(&holder) && line.contains("), gbench-ci run, suite holder, since 2"), "{line}");
    assert!(runs_of(&folder).is_empty(), "nothing is begun while it waits");
    machine.go();
    assert!(first.wait().unwrap().success());
    read_until(&mut said, "it is free after ");
    said.read_to_string(&mut String::new()).unwrap();
    assert!(second.wait().unwrap().success());
    let (first, second) = (newest(&machine.at("holder")), newest(&folder));
    assert!(span(&second).0 >= span(&first).1, "they measured at once");
    let waited = second.exclusive.unwrap();
    assert!(waited.waited_seconds > 0.0 && waited.gpus.is_empty(), "{waited:?}");
    let said = std::fs::read_to_string(machine.at("holder.said")).unwrap();
    assert!(first.exclusive.is_some() && !said.contains("waiting for"), "{said}");
}

fn runs_of(folder: &Path) -> Vec<PathBuf> {
    if folder.join("artifacts").exists() { runs(folder) } else { Vec::new() }
}

#[test]
fn the_lock_of_a_gate_that_was_killed_is_free_at_once() {
    let machine = Machine::new();
    let mut first = machine.holder();
    let folder = machine.suite("second", "", "true");
    let mut second =
        machine.gate(&folder, "run").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(second.stderr.take().unwrap());
    read_until(&mut said, "waiting for the measuring lock: ");
    // Nobody says `go`: only its death ends it.
    first.kill().unwrap();
    first.wait().unwrap();
    said.read_to_string(&mut String::new()).unwrap();
    assert!(second.wait().unwrap().success());
    assert!(newest(&folder).cases[0].outcome.is_measured());
    // What it wrote into the lock is still there, and believed by nobody.
    let third = machine.suite("third", "", "true");
    ended(machine.gate(&third, "run --lock-wait 0 --quiet")).exits(0);
}

#[test]
fn who_does_not_wait_ends_with_code_5_and_the_holder_s_name() {
    let machine = Machine::new();
    let mut first = machine.holder();
    let folder = machine.suite("second", "", "true");
    let held = format!("held by pid {} (", first.id());
    ended(machine.gate(&folder, "run --lock-wait 0"))
        .exits(5)
        .says(&held)
        .says("suite holder")
        .says("--no-lock");
    let mut by_variable = machine.gate(&folder, "run");
    by_variable.env("GBENCH_RUN_LOCK_WAIT", "0");
    ended(by_variable).exits(5).says(&held);
    assert!(runs_of(&folder).is_empty());
    ended(machine.gate(&folder, "doctor")).says(&held);
    ended(machine.gate(&folder, "run --no-lock")).exits(0);
    assert!(newest(&folder).exclusive.is_none());
    machine.go();
    first.wait().unwrap();
    ended(machine.gate(&folder, "run --lock-wait 0")).exits(0);
    let doctor = ended(machine.gate(&folder, "doctor"));
    assert!(doctor.out.contains("free, in ") && !doctor.out.contains("held by pid"), "{}", doctor.out);
}

#[test]
fn who_waits_can_be_interrupted() {
    let machine = Machine::new();
    let mut first = machine.holder();
    let folder = machine.suite("second", "", "true");
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let mut gate = machine.gate(&folder, "run");
        let mut second = gate.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(second.stderr.take().unwrap());
        read_until(&mut said, "waiting for the measuring lock: ");
        kill(Pid::from_raw(second.id() as i32), signal).unwrap();
        said.read_to_string(&mut String::new()).unwrap();
        assert_eq!(second.wait().unwrap().code(), Some(code));
    }
    assert!(runs_of(&folder).is_empty());
    machine.go();
    first.wait().unwrap();
}

#[test]
fn two_gpus_are_measured_on_at_once() {
    let machine = Machine::new();
    // Each ends only while the other runs, so that both end only where they do so at once.
    let meet = |me: &str, other: &str| {
        format!("touch ../{me}.on; while [ ! -e ../{other}.on ]; do sleep 0.02; done")
    };
    let folders = [
        machine.suite("one", "device = \"0\"", &meet("one", "two")),
        machine.suite("two", "device = \"GPU-0000-2\"", &meet("two", "one")),
    ];
    let gates = folders.each_ref().map(|folder| machine.gate(folder, "run --quiet").spawn().unwrap());
    for mut gate in gates {
        assert!(gate.wait().unwrap().success());
    }
    let [one, two] = folders.map(|folder| newest(&folder));
    for (index, record) in (0..).zip([one, two]) {
        let uuid = format!("GPU-0000-{}", index + 1);
        assert_eq!(record.exclusive.unwrap().gpus, std::slice::from_ref(&uuid));
        assert_eq!(record.cases[0].processes[0].gpus, [GpuPlace { index, uuid }]);
    }
}

#[test]
fn one_gpu_is_never_measured_on_by_two_nor_beside_work_for_the_processor() {
    let machine = Machine::new();
    let folders: Vec<PathBuf> = ["device = \"0\"", "device = \"GPU-0000-1\"", "", "device = \"0,1\""]
        .iter()
        .enumerate()
        .map(|(at, device)| machine.suite(&format!("s{at}"), device, "sleep 0.1"))
        .collect();
    let start = |folder: &PathBuf| machine.gate(folder, "run --quiet").spawn().unwrap();
    for mut gate in folders.iter().map(start).collect::<Vec<_>>() {
        assert!(gate.wait().unwrap().success());
    }
    let mut spans: Vec<_> = folders.iter().map(|folder| span(&newest(folder))).collect();
    spans.sort();
    assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
}

#[test]
fn a_gate_that_a_benchmark_starts_does_not_wait_for_the_one_that_measures_it() {
    let machine = Machine::new();
    let gate = crate::support::gbench();
    let line = format!("cd inner && exec {} run --quiet --lock-wait 0", gate.display());
    let folder = machine.suite("outer", "", &line);
    std::fs::create_dir(folder.join("inner")).unwrap();
    let inner = "[suite]\nname = \"inner\"\n[[benchmark]]\nid = \"a\"\nprocesses = 1\nshell = \"true\"\n";
    std::fs::write(folder.join("inner/gbench.toml"), inner).unwrap();
    ended(machine.gate(&folder, "run")).exits(0);
    assert!(newest(&folder).exclusive.is_some());
    assert!(newest(&folder.join("inner")).exclusive.is_none());
}

#[test]
fn where_no_lock_can_be_had_it_is_measured_all_the_same_and_said() {
    let machine = Machine::new();
    let folder = machine.suite("s", "", "true");
    let mut gate = machine.gate(&folder, "run");
    gate.env("GBENCH_LOCKS", "/proc/nowhere");
    ended(gate)
        .exits(0)
        .says("warning: other gates may measure meanwhile: no lock can be had: /proc/nowhere");
    let record = newest(&folder);
    assert!(record.exclusive.is_none() && record.warnings[0].contains("no lock can be had"));
    let mut doctor = machine.gate(&folder, "doctor");
    doctor.env("GBENCH_LOCKS", "/proc/nowhere");
    ended(doctor).says("gates cannot take turns here: ");
}

#[test]
fn a_link_that_another_user_laid_is_not_followed() {
    let machine = Machine::new();
    let folder = machine.suite("s", "", "true");
    std::fs::create_dir(machine.at("locks")).unwrap();
    std::fs::write(machine.at("precious"), "mine").unwrap();
    for name in ["queue", "machine"] {
        let lock = machine.at("locks").join(format!("gbench-ci.{name}.lock"));
        std::os::unix::fs::symlink(machine.at("precious"), &lock).unwrap();
        ended(machine.gate(&folder, "run")).exits(0).says("is a link, which is not followed");
        assert_eq!(std::fs::read_to_string(machine.at("precious")).unwrap(), "mine");
        std::fs::remove_file(lock).unwrap();
    }
}

#[test]
fn both_sides_of_a_comparison_are_measured_in_one_turn() {
    let machine = Machine::new();
    let folder = machine.suite("s", "", "sleep 0.01");
    let repository = git::init(&folder);
    git::commit_all(&repository);
    git::write(&folder.join("note"), "so that there is a change\n");
    git::commit_all(&repository);
    ended(machine.gate(&folder, "compare HEAD~1..HEAD --rounds 4 --quiet"));
    let comparison = runs(&folder).pop().unwrap();
    for side in ["base", "head"] {
        let text = std::fs::read_to_string(comparison.join(side).join("results/record.json")).unwrap();
        let record: RunRecord = serde_json::from_str(&text).unwrap();
        assert!(record.exclusive.is_some(), "{side}");
    }
}

#[test]
fn a_benchmark_on_each_gpu_is_a_case_a_gpu_and_each_process_sees_its_own() {
    let machine = Machine::new();
    let folder =
        machine.suite("s", "device = \"each\"", "echo sees $CUDA_VISIBLE_DEVICES as $GBENCH_PARAM_GPU");
    ended(machine.gate(&folder, "run")).exits(0);
    let record = newest(&folder);
    let indices: Vec<&Params> = record.cases.iter().map(|case| &case.id.params).collect();
    assert_eq!(indices.len(), 2);
    for (index, case) in (0..).zip(&record.cases) {
        assert_eq!(case.id.params["gpu"].to_string(), index.to_string());
        let uuid = format!("GPU-0000-{}", index + 1);
        assert_eq!(case.processes[0].gpus, [GpuPlace { index, uuid }]);
        let said = crate::support::cli::stdout_of(&folder, index as usize, 0);
        assert_eq!(said, format!("sees {index} as {index}\n"));
    }
    assert_eq!(record.exclusive.unwrap().gpus, ["GPU-0000-1", "GPU-0000-2"]);
    let mut without = machine.gate(&folder, "run");
    without.env("FAKE_NVML", "count=0");
    ended(without).exits(5).says("`device` asks for each GPU, and this machine has no GPU");
}
