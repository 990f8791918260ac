//! What the runner costs: time for every child that it starts, beside what `hyperfine -N` takes for the same command, and its own
//! work while a child measures, which would be noise in the measurement.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod support;

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use support::{Goals, Spread, gbench, milliseconds, run, this_bench};

const CHILDREN: u32 = 200;
const ROUNDS: usize = 5;
/// Processes of the comparison with hyperfine: enough for what a run costs once to be little.
const MANY: u32 = 1000;
/// The goal for a process, with its share of what the whole run costs, as a multiple of hyperfine's.
const TIMES_HYPERFINE: f64 = 2.0;

/// First argument of the role that measures: a child of the gate that watches its own gate.
const SAMPLE: &str = "sample";
/// Where that child leaves what it saw.
const SEEN: &str = "seen.txt";
const SAMPLES: u32 = 5000;
const EVERY: Duration = Duration::from_millis(1);

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(SAMPLE) {
        sample();
        return ExitCode::SUCCESS;
    }
    let mut goals = Goals::default();
    overhead();
    beside_hyperfine(&mut goals);
    quiet(&mut goals);
    goals.conclude()
}

/// Time for each child, beyond what its start and end cost anybody.
fn overhead() {
    let [mut plain, mut gated] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..CHILDREN {
            assert!(run(Command::new("true").stdin(Stdio::null())).status.success());
        }
        plain.push(begin.elapsed() / CHILDREN);
        // The difference leaves out what a run costs once: its manifest, its record, its report.
        let [one, many] = [1, 1 + CHILDREN].map(run_true);
        gated.push(many.saturating_sub(one) / CHILDREN);
    }
    let [plain, gated] = [plain, gated].map(Spread::of);
    println!("runner: {CHILDREN} processes of `true`, {ROUNDS} rounds\n");
    println!("{:<46} {:>10} {:>10} {:>10}", "time for each child", "min", "median", "max");
    for (name, spread) in [("plain spawn and wait", &plain), ("gbench-ci run", &gated)] {
        let Spread { min, median, max } = spread;
        println!(
            "{name:<46} {:>10} {:>10} {:>10}",
            milliseconds(*min),
            milliseconds(*median),
            milliseconds(*max)
        );
    }
    let difference = gated.median.saturating_sub(plain.median);
    println!("{:<46} {:>10} {:>10}", "overhead of the gate", "", milliseconds(difference));
}

/// Whole runs of both, in turns, so that a slow moment of the machine meets both.
fn beside_hyperfine(goals: &mut Goals) {
    println!("\n{MANY} processes of `true`, wall time of the whole run:\n");
    let there = Command::new("hyperfine").arg("--version").stdout(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        println!("skipped: hyperfine is not installed");
        return;
    }
    const WARMUP: u32 = 5;
    let (runs, warmup) = (MANY.to_string(), WARMUP.to_string());
    let [mut theirs, mut ours] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let mut hyperfine = Command::new("hyperfine");
        hyperfine.args(["-N", "--style", "none", "--runs", &runs, "--warmup", &warmup, "true"]);
        let ended = run(hyperfine.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        assert!(ended.status.success(), "hyperfine: {}", ended.status);
        theirs.push(ended.wall / (MANY + WARMUP));
        ours.push(run_true(MANY) / MANY);
    }
    let [theirs, ours] = [theirs, ours].map(Spread::of);
    for (name, Spread { min, median, max }) in [("hyperfine -N", &theirs), ("gbench-ci run", &ours)] {
        println!(
            "{name:<46} {:>10} {:>10} {:>10}",
            milliseconds(*min),
            milliseconds(*median),
            milliseconds(*max)
        );
    }
    let times = ours.median.as_secs_f64() / theirs.median.as_secs_f64();
    let met = times <= TIMES_HYPERFINE;
    goals.check("a process beside hyperfine's", format!("{times:.2} times"), "<= 2 times", met);
}

/// Wall time of a run with so many processes.
fn run_true(processes: u32) -> Duration {
    let suite = format!(
        "[suite]\nname = \"overhead\"\n\n[[benchmark]]\nid = \"true\"\ncommand = [\"true\"]\nprocesses = {processes}\n"
    );
    let folder = folder_with(&suite);
    run_gate(folder.path())
}

fn folder_with(suite: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("gbench.toml"), suite).expect("a suite file");
    folder
}

fn run_gate(folder: &Path) -> Duration {
    let mut command = gbench();
    command.arg("run").current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = run(&mut command);
    assert!(ended.status.success(), "gbench-ci run: {}", ended.status);
    ended.wall
}

/// The gate's own work while a child sends a sample every millisecond.
fn quiet(goals: &mut Goals) {
    let program = this_bench();
    let program = program.to_str().expect("a path in UTF-8");
    let suite = format!(
        "[suite]\nname = \"quiet\"\n\n[[benchmark]]\nid = \"sample\"\ntiming = \"protocol\"\n\
         command = ['{program}', \"{SAMPLE}\"]\nprocesses = 1\n"
    );
    let folder = folder_with(&suite);
    run_gate(folder.path());
    let seen = std::fs::read_to_string(folder.path().join(SEEN)).expect("what the child saw");
    let seen: Vec<f64> = seen.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let [wall, gate_cpu, supervisor_cpu, disk, anything, wakes] = seen[..] else {
        panic!("six numbers: {seen:?}")
    };

    println!("\nwhile a child sends {SAMPLES} samples in {wall:.2} s:\n");
    let share = gate_cpu / wall;
    println!("{:<46} {:>10.3} %", "processor time of the gate, of one core", share * 100.0);
    println!("{:<46} {:>10.3} %", "processor time of the supervisor", supervisor_cpu / wall * 100.0);
    println!("{:<46} {:>10.1} /s", "times that the gate woke", wakes / wall);
    println!("{:<46} {:>10} B", "written by the gate to anything", anything);
    println!("{:<46} {:>10} B", "written by the gate to a disk", disk);
    goals.check(
        "processor time while a child measures",
        format!("{:.3} %", share * 100.0),
        "< 1 %",
        share < 0.01,
    );
    goals.check("written to disk while a child measures", format!("{disk} B"), "0 B", disk == 0.0);
}

/// The child: samples through the protocol, and a look at the two processes above it before and after.
fn sample() {
    let number = std::env::var("GBENCH_FD").expect("a channel").parse().expect("a descriptor's number");
    // SAFETY: the gate opened this descriptor for us alone, and nothing else in this process uses it.
    let mut channel = unsafe { File::from_raw_fd(number) };
    let supervisor = Process(PathBuf::from(format!("/proc/{}", std::os::unix::process::parent_id())));
    let gate = Process(PathBuf::from(format!("/proc/{}", supervisor.parent())));
    channel.write_all(b"{\"event\": \"stage\", \"stage\": \"measure\"}\n").expect("a gate that listens");
    // Whatever the event made the gate do is over after this.
    std::thread::sleep(Duration::from_millis(200));

    let look = || {
        let [disk, anything] = ["write_bytes", "wchar"].map(|name| gate.number("io", name));
        [gate.cpu_seconds(), supervisor.cpu_seconds(), disk, anything, gate.wakes()]
    };
    let (before, begin) = (look(), Instant::now());
    for index in 1..=SAMPLES {
        std::thread::sleep((EVERY * index).saturating_sub(begin.elapsed()));
        channel
            .write_all(b"{\"event\": \"sample\", \"value\": 0.00123456789}\n")
            .expect("a gate that listens");
    }
    let (after, wall) = (look(), begin.elapsed().as_secs_f64());
    let differences = before.iter().zip(after).map(|(before, after)| format!(" {}", after - before));
    std::fs::write(SEEN, format!("{wall}{}", differences.collect::<String>())).expect("a folder to write in");
}

/// A folder of /proc.
struct Process(PathBuf);

impl Process {
    fn text(&self, name: &str) -> String {
        let path = self.0.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The number behind a name in one of the files that hold one a line.
    fn number(&self, file: &str, name: &str) -> f64 {
        let text = self.text(file);
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {file}"))
    }

    fn parent(&self) -> u32 {
        self.number("status", "PPid") as u32
    }

    /// User and system time of all threads. From the scheduler, in nanoseconds: the ticks of `stat` are 10 ms, and
    /// the goal is 50.
    fn cpu_seconds(&self) -> f64 {
        let threads = std::fs::read_dir(self.0.join("task")).expect("a process").flatten();
        let nanoseconds = threads.map(|thread| {
            let text =
                std::fs::read_to_string(thread.path().join("schedstat")).expect("a kernel with schedstat");
            let first = text.split_whitespace().next();
            first.and_then(|first| first.parse::<f64>().ok()).expect("a number")
        });
        nanoseconds.sum::<f64>() * 1e-9
    }

    /// How often its main thread has gone to sleep, and so has woken.
    fn wakes(&self) -> f64 {
        self.number("status", "voluntary_ctxt_switches")
    }
}
