//! Clocks that the gate locks: the order of calls, what the record says, and that they are given back whatever ends the gate.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use gbench_ci::compare::{Policy, SideInput, Verdict, VerdictDocument, compare, compare_sides};
use gbench_ci::model::*;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::fake_nvml;
use crate::support::cli::{Ran, command, ended, newest};
use crate::support::repository::{Repository, row};
use crate::support::rounds::{differences, sides, timed};
use crate::support::wait::wait_for;
use crate::support::{folder_with, records};

/// A folder with a suite and the stand-in's card.
struct Machine {
    folder: TempDir,
    driver: &'static str,
}

impl Machine {
    /// One benchmark of two processes. `gate`: lines of `[gate]`.
    fn new(gate: &str, shell: &str) -> Self {
        let suite = format!(
            "[suite]\nname = 's'\n[gate]\n{gate}\n[defaults]\nprocesses = 2\n[[benchmark]]\nid = 'a'\n\
             shell = '{shell}'\n"
        );
        Self { folder: folder_with(&suite), driver: "" }
    }

    /// Both clocks are locked.
    fn locking(shell: &str) -> Self {
        Self::new("lock_sm_clock = 1410\nlock_memory_clock = 'max'", shell)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, line: &str, settings: &str) -> Command {
        let mut command = command(self.folder.path(), line);
        command.env("GBENCH_NVML_LIBRARY", fake_nvml::library(self.driver));
        command.env("FAKE_NVML", format!("count=1 {settings}")).env("FAKE_NVML_CLOCKS", self.path("clocks"));
        command.env_remove("CUDA_VISIBLE_DEVICES");
        command
    }

    fn run(&self, line: &str, settings: &str) -> Ran {
        ended(self.command(line, settings))
    }

    /// A gate in a group of its own.
    fn start(&self) -> Child {
        let mut command = self.command("run --quiet", "");
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("clocks.log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// What was set, reset and read in between, in order.
    fn calls(&self) -> Vec<String> {
        let mut calls: Vec<String> = self.log();
        calls.retain(|line| !line.starts_with('>') && !line.starts_with("init "));
        calls.dedup();
        calls
    }

    /// What was set and reset.
    fn changes(&self) -> Vec<String> {
        self.calls().into_iter().filter(|line| !line.starts_with("read_")).collect()
    }

    /// Locks that are there.
    fn locks(&self) -> String {
        std::fs::read_to_string(self.path("clocks")).unwrap_or_default()
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let missing = || format!("{what}: {:?}, locks `{}`", self.log(), self.locks());
        wait_for(|| if is_so() { Ok(()) } else { Err(missing()) });
    }

    #[track_caller]
    fn wait_for(&self, line: &str) {
        self.wait_until(line, || self.log().iter().any(|known| known == line));
    }

    #[track_caller]
    fn wait_for_benchmark(&self) {
        self.wait_until("the benchmark", || self.path("began").exists());
    }

    /// The process that the library was started in and that is a guard.
    fn guard(&self) -> Pid {
        let is_guard = |pid: &i32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == b"__clocks")
        };
        let mut starts = self.log().into_iter().filter_map(|line| line.strip_prefix("init ")?.parse().ok());
        Pid::from_raw(starts.find(is_guard).expect("there is a guard"))
    }

    fn control(&self) -> ClockControl {
        *newest(self.folder.path()).clocks.expect("the record tells of the clocks")
    }
}

/// Also a zombie that nobody reaps, as in a container without an init.
fn is_over(pid: Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

/// Ends once the machine was sampled a few times.
const SAMPLED: &str =
    "seen() { wc -l < timeline.json; }; n=$(seen); until [ $(seen) -ge $((n + 3)) ]; do sleep 0.02; done";
const SLEEPING: &str = "touch began; sleep 1000";

#[test]
fn s3_8_clocks_are_locked_read_back_recorded_and_given_back_in_reverse() {
    let machine = Machine::locking(SAMPLED);
    let ran = machine.run("run --monitor-output timeline.json", "").exits(0);
    ran.says("clocks: locked: GPU 0 sm 1410 MHz (reads 1410 MHz), memory 2619 MHz (reads 2619 MHz)");
    let calls = machine.calls();
    let begin =
        ["set_sm.0 1410 1410 = 0", "read_sm.0 = 1410", "set_memory.0 2619 2619 = 0", "read_memory.0 = 2619"];
    assert_eq!(calls[..4], begin, "{calls:?}");
    assert_eq!(calls[calls.len() - 2..], ["reset_memory.0 = 0", "reset_sm.0 = 0"], "{calls:?}");
    // A guard with nothing to do does nothing.
    assert_eq!(machine.changes().len(), 4, "{calls:?}");
    assert_eq!(machine.locks(), "");
    let control = machine.control();
    assert_eq!(control.state, ClocksState::Locked);
    assert_eq!((control.sm.as_deref(), control.memory.as_deref()), (Some("1410"), Some("max")));
    let gpu = &control.gpus[0];
    assert_eq!((gpu.index, gpu.uuid.as_str()), (0, "GPU-0000-1"));
    assert_eq!((&gpu.before.sm_clock, &gpu.before.held), (&Probe::Known(345), &Probe::Known(false)));
    assert_eq!(gpu.sm.as_ref().unwrap().reads_mhz, Some(1410));
    let record = newest(machine.folder.path());
    assert_eq!(record.manifest.gpu.known().unwrap().devices[0].clocks_locked, Probe::Known(true));
    // The card is sampled while each process runs, and was held there.
    let conditions = record.cases[0].processes[0].conditions.as_ref().unwrap();
    assert_eq!(conditions.sm_clock_mhz, Some(1410));
    assert_eq!(record.config["gate.lock_sm_clock"].value, "1410");
}

#[test]
fn clocks_are_left_alone_unless_somebody_asks_and_a_flag_has_the_last_word() {
    let machine = Machine::new("", "true");
    machine.run("run", "").exits(0);
    assert_eq!(machine.changes(), [""; 0]);
    assert!(newest(machine.folder.path()).clocks.is_none());
    // Three quarters are the stand-in's base clock.
    machine.run("run --lock-sm-clock base", "").exits(0).says("sm base (reads 1485 MHz)");
    assert_eq!(machine.changes(), ["set_sm.0 4294967041 4294967041 = 0", "reset_sm.0 = 0"]);

    let machine = Machine::locking("true");
    machine.run("run --lock-sm-clock off --lock-memory-clock off", "").exits(0);
    assert_eq!(machine.changes(), [""; 0]);
    machine.run("run --lock-memory-clock base", "").exits(2).says("`base` is a clock of the multiprocessors");
    machine.run("run --lock-sm-clock fast", "").exits(2).says("`fast` is not a valid clock");
    let mut by_environment = machine.command("run", "");
    by_environment.env("GBENCH_GATE_LOCK_SM_CLOCK", "base");
    ended(by_environment).exits(2).says("`--lock-sm-clock`");
    let wrong = Machine::new("lock_memory_clock = 'base'", "true");
    wrong.run("run", "").exits(2).says("gbench.toml:4").says("`base` is a clock of the multiprocessors");
}

#[test]
fn only_gpus_that_the_benchmarks_may_see_are_locked() {
    let machine = Machine::new("lock_sm_clock = 'max'", "true");
    let mut run = machine.command("run", "");
    run.env("FAKE_NVML", "count=3").env("CUDA_VISIBLE_DEVICES", "2,GPU-0000-1");
    ended(run).exits(0);
    let expected = ["set_sm.0 1980 1980 = 0", "set_sm.2 1980 1980 = 0", "reset_sm.2 = 0", "reset_sm.0 = 0"];
    assert_eq!(machine.changes(), expected);
}

#[test]
fn clocks_are_given_back_where_a_benchmark_fails_and_where_the_run_cannot_begin() {
    let machine = Machine::locking("exit 3");
    machine.run("run", "").exits(4);
    assert_eq!((machine.changes().len(), machine.locks()), (4, String::new()));
    // The folder of artifacts is a file.
    let machine = Machine::locking("true");
    std::fs::write(machine.path("artifacts"), "").unwrap();
    let ran = machine.run("run", "");
    assert_ne!(ran.code, 0, "{ran:?}");
    assert_eq!((machine.changes().len(), machine.locks()), (4, String::new()));
}

#[test]
fn clocks_are_given_back_after_an_interrupt() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
        let machine = Machine::locking(SLEEPING);
        let mut gate = machine.start();
        machine.wait_for_benchmark();
        assert_eq!(machine.locks().lines().count(), 2);
        // As a terminal sends it: to the whole group.
        killpg(Pid::from_raw(gate.id() as i32), signal).unwrap();
        assert_eq!(gate.wait().unwrap().code(), Some(code));
        assert_eq!(machine.locks(), "", "{signal}");
        assert_eq!(machine.changes().len(), 4, "{signal}: {:?}", machine.changes());
    }
}

#[test]
fn e2_a_gate_that_is_killed_leaves_no_lock_wherever_it_was() {
    // The call in which it is killed, and the locks that there are then; none: while it measures.
    for (call, locks) in [("set_sm", 0), ("set_memory", 1), ("", 2), ("reset_memory", 2), ("reset_sm", 1)] {
        let machine = Machine::locking(if call.is_empty() { SLEEPING } else { "true" });
        std::fs::write(machine.path("clocks.hold"), call).unwrap();
        let mut gate = machine.start();
        match call {
            "" => machine.wait_for_benchmark(),
            "set_sm" => machine.wait_for("> set_sm.0 1410 1410"),
            "set_memory" => machine.wait_for("> set_memory.0 2619 2619"),
            reset => machine.wait_for(&format!("> {reset}.0")),
        }
        assert_eq!(machine.locks().lines().count(), locks, "{call}");
        let guard = machine.guard();
        killpg(Pid::from_raw(gate.id() as i32), Signal::SIGKILL).unwrap();
        gate.wait().unwrap();
        std::fs::remove_file(machine.path("clocks.hold")).unwrap();
        let is_done = || machine.log().iter().filter(|line| *line == "reset_sm.0 = 0").count() == 1;
        machine.wait_until(call, || is_done() && machine.locks().is_empty());
        machine.wait_until("the guard's end", || is_over(guard));
    }
}

#[test]
fn a_signal_to_the_guard_ends_it_only_when_all_is_given_back() {
    let machine = Machine::locking(SLEEPING);
    let mut gate = machine.start();
    machine.wait_for_benchmark();
    let guard = machine.guard();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        kill(guard, signal).unwrap();
    }
    // The four wait for their turn: the guard has blocked them, so that no moment comes in which they end it.
    let status = std::fs::read_to_string(format!("/proc/{guard}/status")).unwrap();
    let waiting = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap();
    assert_eq!(u64::from_str_radix(waiting.trim(), 16).unwrap().count_ones(), 4, "{status}");
    assert_eq!(machine.locks().lines().count(), 2);
    gate.kill().unwrap();
    gate.wait().unwrap();
    machine.wait_until("the guard", || machine.locks().is_empty());
}

#[test]
fn a_gate_whose_guard_is_killed_gives_the_clocks_back_itself_and_says_so() {
    let machine = Machine::locking("touch began; while [ ! -e go ]; do sleep 0.01; done");
    let mut command = machine.command("run", "");
    let gate = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    machine.wait_for_benchmark();
    kill(machine.guard(), Signal::SIGKILL).unwrap();
    std::fs::write(machine.path("go"), "").unwrap();
    let output = gate.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("something ended the guard of the locked clocks"), "{said}");
    assert_eq!((machine.changes().len(), machine.locks()), (4, String::new()));
}

#[test]
fn s3_8_without_permission_the_run_goes_on_unlocked_and_says_so() {
    let machine = Machine::locking("true");
    let ran = machine.run("run", "set_sm=!4 set_memory=!4").exits(0);
    ran.says("clocks: unlocked: GPU 0 sm not locked (no permission: only root may set clocks)");
    let control = machine.control();
    assert_eq!(control.state, ClocksState::Unlocked);
    assert_eq!(control.gpus[0].sm.as_ref().unwrap().outcome, ClockOutcome::NoPermission);
    let record = newest(machine.folder.path());
    assert!(
        record.warnings.iter().any(|warning| warning.starts_with("clocks: unlocked")),
        "{:?}",
        record.warnings
    );
    assert_eq!(record.manifest.gpu.known().unwrap().devices[0].clocks_locked, Probe::Known(false));
    assert_eq!(machine.locks(), "");

    // What can be locked is.
    let machine = Machine::locking("true");
    machine.run("run", "set_memory=!3").exits(0).says("clocks: partly: GPU 0 sm 1410 MHz");
    assert_eq!(machine.control().gpus[0].memory.as_ref().unwrap().outcome, ClockOutcome::NotSupported);
    assert_eq!(machine.locks(), "");

    let machine = Machine { driver: "old_driver", ..Machine::locking("true") };
    machine.run("run", "").exits(0).says("this driver's library lacks the function");
    assert_eq!(machine.control().state, ClocksState::Unlocked);

    let machine = Machine::locking("true");
    machine.run("run", "init=!9").exits(0).says("clocks: unlocked: the NVIDIA driver is not loaded");
    assert!(machine.control().gpus.is_empty());
}

#[test]
fn a_card_that_somebody_holds_is_left_as_it_is() {
    let machine = Machine::locking("true");
    machine.run("run", "reasons=0x2").exits(0).says("left as they are");
    assert_eq!((machine.changes(), machine.control().state), (Vec::<String>::new(), ClocksState::Unlocked));
    assert_eq!(machine.control().gpus[0].sm.as_ref().unwrap().outcome, ClockOutcome::Left);
    // A chosen application clock is no lock, and is there afterwards as before.
    machine.run("run", "reasons=0x2 application_clock=1200").exits(0);
    assert_eq!(machine.changes().len(), 4);
}

#[test]
fn what_the_driver_does_not_give_back_is_tried_again_by_the_guard_and_else_named_with_the_command() {
    // Each process counts its own calls.
    let machine = Machine::locking("true");
    let ran = machine.run("run", "reset_sm=!999@1,0@2").exits(0);
    assert_eq!((machine.locks(), ran.err.contains("still locked")), (String::new(), false), "{}", ran.err);
    let machine = Machine::locking("true");
    let ran = machine.run("run", "reset_sm=!999").exits(0);
    ran.says("the sm clock of GPU-0000-1 is still set").says("sudo nvidia-smi -i GPU-0000-1 -rgc");
    assert_eq!(machine.locks(), "sm.0 1410 1410");
}

#[test]
fn of_two_commits_the_base_says_whether_clocks_are_locked() {
    let suite = |gate: &str| crate::support::repository::suite(&format!("[gate]\nwatch = false\n{gate}"), "");
    let locked = suite("lock_sm_clock = 1410");
    let compared = |base: &str, head: &str| {
        let repository = Repository::new(&[("gbench.toml", base)], &[("gbench.toml", head)]);
        let clocks = repository.root().join("clocks");
        let mut compare = command(repository.root(), "compare HEAD~1..HEAD --rounds 4 --quiet");
        compare.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", "count=1");
        compare.env("FAKE_NVML_CLOCKS", &clocks).env_remove("CUDA_VISIBLE_DEVICES");
        let ran = ended(compare);
        assert!([0, 1, 3].contains(&ran.code), "{}\n{}", ran.out, ran.err);
        let log = std::fs::read_to_string(repository.root().join("clocks.log")).unwrap_or_default();
        log.lines().filter(|line| line.starts_with("set_") || line.starts_with("reset_")).count()
    };
    assert_eq!(compared(&suite(""), &locked), 0, "a change asks for nothing");
    assert_eq!(compared(&locked, &suite("")), 2, "once for all rounds");
}

#[test]
fn doctor_says_whether_clocks_can_be_locked_here() {
    let machine = Machine::new("", "true");
    machine.run("doctor", "").exits(0).says("clock control");
    let machine = Machine { driver: "old_driver", ..machine };
    machine.run("doctor", "").exits(0).says("this driver's library cannot lock clocks");
}

const H100: &str = "cuda:NVIDIA H100 80GB HBM3";

/// A kernel's time, and its cycles beside it, as a suite's own kernel is recorded. `slower`: shares by which head takes more.
fn kernel(seed: u32, [time, cycles]: [f64; 2], locked: bool) -> RunRecord {
    let plans = [
        records::plan("k/kernel", 1, H100, "time", "s", 1e-3 * (1.0 + time), 0.002),
        records::plan("k/kernel", 1, H100, "cycles", "cycles", 1.98e6 * (1.0 + cycles), 0.002),
    ];
    let mut record = records::build(seed, &plans);
    let of_cycles = record.cases.pop().unwrap();
    let case = &mut record.cases[0];
    case.command = vec!["cuda".into(), "kernel.cu".into()];
    case.metrics.extend(of_cycles.metrics);
    case.metrics.sort_by(|a, b| a.name.cmp(&b.name));
    let ungated = MetricDeclaration { gate: Some(false), ..MetricDeclaration::default() };
    case.declared.insert("cycles".into(), ungated);
    let Probe::Known(gpus) = &mut record.manifest.gpu else { panic!("a GPU") };
    gpus.devices[0].clocks_locked = Probe::Known(locked);
    record
}

fn judged(shares: [f64; 2], locked: bool) -> VerdictDocument {
    let (base, head) = (kernel(1, [0.0, 0.0], locked), kernel(2, shares, locked));
    let [base, head] = [&base, &head].map(|record| SideInput { record, name: String::new() });
    compare(&base, &head, &Policy { sessions: 0, ..Policy::default() }).unwrap()
}

#[test]
fn s3_8_a_red_at_free_clocks_says_what_its_cycles_say_and_stays_what_it_is() {
    let moved = judged([0.10, 0.0], false);
    let row = &moved.rows[0];
    assert_eq!((moved.rows.len(), row.metric.as_str(), row.verdict), (1, "time", Verdict::Regressed));
    assert_eq!(row.in_cycles.as_ref().unwrap().verdict, Verdict::Unchanged);
    assert!(
        row.reason.contains("in cycles: ") && row.reason.contains("the card's clock moved"),
        "{}",
        row.reason
    );
    let unlocked = "a GPU's clocks were not locked on base and head: a time may change with them";
    assert!(moved.warnings.iter().any(|warning| warning == unlocked), "{:?}", moved.warnings);

    let slower = judged([0.10, 0.10], false);
    let row = &slower.rows[0];
    assert_eq!(row.in_cycles.as_ref().unwrap().verdict, Verdict::Regressed);
    assert!(row.reason.contains("(regressed too)"), "{}", row.reason);

    // At locked clocks nothing of it is said, and the answer is the same.
    let locked = judged([0.10, 0.0], true);
    assert_eq!(locked.rows[0].in_cycles, None);
    assert!(!locked.warnings.iter().any(|warning| warning.contains("clocks")), "{:?}", locked.warnings);
    for free in [&moved, &slower] {
        assert_eq!((free.exit_code, &free.counts), (locked.exit_code, &locked.counts));
        assert_eq!(free.rows[0].change, locked.rows[0].change);
    }
    // A row that is neither red nor open needs no cycles.
    assert_eq!(judged([0.0, 0.10], false).rows[0].in_cycles, None);
}

/// Eight quiet kernels and one whose time grows by a tenth, over twenty rounds at free clocks. `follow`: the cycles of that one, too.
#[test]
fn in_rounds_the_cycles_are_judged_by_the_rule_of_the_rounds() {
    let judged = |follow: bool| {
        let quiet = |index: u32| timed(&format!("s/quiet{index}"), &differences(100 + index, 0.0, 0.003, 20));
        let mut plans: Vec<_> = (0..8).map(quiet).collect();
        plans.push(timed("s/slow", &differences(1, 0.1, 0.004, 20)));
        let (mut base, mut head) = sides(&plans);
        for (record, share) in [(&mut base, 1.0), (&mut head, if follow { 1.0 } else { (-0.1_f64).exp() })] {
            let Probe::Known(gpus) = &mut record.manifest.gpu else { panic!("a GPU") };
            gpus.devices[0].clocks_locked = Probe::Known(false);
            for case in &mut record.cases {
                let share = if case.id.benchmark.name() == "slow" { share } else { 1.0 };
                let mut cycles = case.metrics[0].clone();
                (cycles.name, cycles.unit) = ("cycles".into(), "cycles".into());
                let values = cycles.processes.iter_mut().flat_map(|process| &mut process.values);
                values.for_each(|value| *value *= 1.98e9 * share);
                case.metrics.insert(0, cycles);
                case.command = vec!["cuda".into(), "kernel.cu".into()];
                let ungated = MetricDeclaration { gate: Some(false), ..MetricDeclaration::default() };
                case.declared.insert("cycles".into(), ungated);
            }
        }
        let input = |record| SideInput { record, name: String::new() };
        let policy = Policy::of(base.comparison.as_ref().unwrap());
        compare_sides(&input(&base), &input(&head), None, &policy).unwrap()
    };
    let (moved, slower) = (judged(false), judged(true));
    for verdict in [&moved, &slower] {
        assert_eq!((verdict.exit_code, verdict.counts[&Verdict::Regressed]), (1, 1), "{:?}", verdict.counts);
        assert_eq!(verdict.rows.iter().filter(|row| row.in_cycles.is_some()).count(), 1);
    }
    let in_cycles =
        |verdict: &VerdictDocument| row(verdict, "slow", "time").in_cycles.clone().unwrap().verdict;
    assert_eq!((in_cycles(&moved), in_cycles(&slower)), (Verdict::Unchanged, Verdict::Regressed));
}

#[test]
fn b35_a_power_limit_is_set_only_when_asked_for_recorded_and_restored() {
    let machine = Machine::new("power_limit = 500", "true");
    let ran = machine.run("run", "").exits(0);
    ran.says("clocks: locked: GPU 0 power limit 500 W (before 700 W)");
    assert_eq!(machine.changes(), ["set_power.0 500000 = 0", "set_power.0 700000 = 0"]);
    let record = newest(machine.folder.path());
    assert_eq!(machine.control().power_limit, Some(500.0));
    // Runs under another limit are not compared.
    let limit = &record.manifest.gpu.known().unwrap().devices[0].power_limit;
    assert_eq!(limit, &Probe::Known(500.0));

    for (line, settings, said) in [
        ("run --power-limit 900", "", "power limit not set (this GPU takes 200 W to 700 W, and not 900 W)"),
        ("run", "set_power=!4", "power limit not set (no permission: only root may set power limits)"),
        ("run", "power_limit=!3", "power limit not set (not supported by this GPU)"),
    ] {
        let machine = Machine::new("power_limit = 500", "true");
        machine.run(line, settings).exits(0).says(said);
        assert_eq!(machine.control().state, ClocksState::Unlocked);
        assert!(machine.changes().iter().all(|change| change.ends_with("= 4")), "{:?}", machine.changes());
    }
    let machine = Machine::new("power_limit = 500", "true");
    machine.run("run --power-limit off", "").exits(0);
    assert_eq!(machine.changes(), [""; 0]);
    machine.run("run --power-limit lots", "").exits(2).says("`lots` is not a power limit");
    let wrong = Machine::new("power_limit = 0", "true");
    wrong.run("run", "").exits(2).says("gbench.toml:4").says("0 is not a power limit in watts");
}

#[test]
fn b35_a_gate_that_is_killed_leaves_no_power_limit_and_no_lock() {
    let machine = Machine::new("power_limit = 300\nlock_sm_clock = 1410", SLEEPING);
    let mut gate = machine.start();
    machine.wait_for_benchmark();
    assert!(machine.locks().contains("power.0 300000"), "{}", machine.locks());
    killpg(Pid::from_raw(gate.id() as i32), Signal::SIGKILL).unwrap();
    gate.wait().unwrap();
    machine.wait_until("the guard", || machine.locks() == "power.0 700000 700000");
    assert_eq!(machine.changes()[2..], ["set_power.0 700000 = 0", "reset_sm.0 = 0"]);
}
