//! What the benches share: processes timed from outside, and figures printed beside their goals.
//!
//! Plain programs instead of a framework: what is measured here are whole processes of milliseconds to seconds, and a
//! goal that is missed must be an exit code.

#![allow(dead_code, reason = "each bench uses its part")]

use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// The binary that the goals are about, built with the bench's own profile.
pub fn gbench() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gbench-ci"))
}

/// The bench itself in another role: what needs much memory, or has to be a child of the gate.
pub fn this_bench() -> PathBuf {
    std::env::current_exe().expect("a running program has a path")
}

/// How a process went.
pub struct Ended {
    pub status: ExitStatus,
    pub wall: Duration,
    /// User and system time: what the wall time would be on an idle machine, for one thread.
    pub cpu: Duration,
    /// Its largest resident set in bytes; that of its own children does not count.
    pub peak_bytes: u64,
}

/// Runs a process to its end.
///
/// Until a program is executed its process counts as large as the one that it was forked from. A bench must therefore
/// stay small itself as long as it measures memory.
#[allow(clippy::zombie_processes, reason = "wait4 below waits, and tells what was used")]
pub fn run(command: &mut Command) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    let begin = Instant::now();
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let mut status = 0;
    // SAFETY: all zeroes is a valid `rusage`, which is plain numbers.
    let mut usage: nix::libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the right types. The child is ours, and nobody else waits for it:
    // `child` is dropped without a wait of its own.
    while unsafe { nix::libc::wait4(child.id() as i32, &mut status, 0, &mut usage) } == -1 {
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}");
    }
    let wall = begin.elapsed();
    let cpu = [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|time| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000))
        .sum();
    // Linux counts in KiB.
    let peak_bytes = usage.ru_maxrss as u64 * 1024;
    Ended { status: ExitStatus::from_raw(status), wall, cpu, peak_bytes }
}

/// Least, middle and largest of some durations.
pub struct Spread {
    pub min: Duration,
    pub median: Duration,
    pub max: Duration,
}

impl Spread {
    /// Of at least one.
    pub fn of(mut values: Vec<Duration>) -> Self {
        values.sort_unstable();
        Self { min: values[0], median: values[values.len() / 2], max: values[values.len() - 1] }
    }

    /// Of a function's calls.
    pub fn of_calls<T>(times: usize, mut call: impl FnMut() -> T) -> Self {
        Self::of(
            (0..times)
                .map(|_| {
                    let begin = Instant::now();
                    let result = call();
                    let wall = begin.elapsed();
                    drop(std::hint::black_box(result));
                    wall
                })
                .collect(),
        )
    }
}

pub fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

/// Millions of bytes, as disks and goals count them.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Goals with what came of them.
#[derive(Default)]
pub struct Goals(Vec<(String, String, String, bool)>);

impl Goals {
    pub fn check(&mut self, what: &str, measured: String, goal: &str, met: bool) {
        self.0.push((what.to_owned(), measured, goal.to_owned(), met));
    }

    /// Prints them; the exit code is 1 if one was missed.
    pub fn conclude(self) -> ExitCode {
        println!("\n{:<46} {:>12}   {:<12}", "goal", "measured", "goal");
        for (what, measured, goal, met) in &self.0 {
            println!("{what:<46} {measured:>12}   {goal:<12} {}", if *met { "ok" } else { "MISSED" });
        }
        match self.0.iter().all(|(.., met)| *met) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}
