//! How long a command takes before it does anything: a gate that is called from hooks and completions must not be felt.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod support;

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use support::{Goals, Spread, gbench, milliseconds, run};

const ROUNDS: usize = 50;
const GOAL: Duration = Duration::from_millis(10);

/// A suite of the size that people write by hand.
fn suite() -> String {
    let benchmark =
        |n| format!("[[benchmark]]\nid = \"b{n}\"\ncommand = [\"true\"]\nmatrix.n = [1, 2, 3, 4, 5]\n\n");
    format!("[suite]\nname = \"startup\"\n\n{}", (0..20).map(benchmark).collect::<String>())
}

fn main() -> ExitCode {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let with_suite = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(with_suite.path().join("gbench.toml"), suite()).expect("a suite file");

    let ours = |arguments: &[&str], folder: &tempfile::TempDir| {
        let mut command = gbench();
        command.args(arguments).current_dir(folder.path());
        command
    };
    let mut commands = [
        ("true (for scale)", Command::new("true")),
        ("gbench-ci --version", ours(&["--version"], &empty)),
        ("gbench-ci --help", ours(&["--help"], &empty)),
        ("gbench-ci list (built-in suite)", ours(&["list"], &empty)),
        ("gbench-ci list (20 benchmarks, 100 cases)", ours(&["list"], &with_suite)),
        ("gbench-ci run --dry-run (the same)", ours(&["run", "--dry-run"], &with_suite)),
    ];
    let mut walls = vec![Vec::new(); commands.len()];
    // In turns, so that a slow moment of the machine meets all of them.
    for _ in 0..ROUNDS {
        for ((name, command), walls) in commands.iter_mut().zip(&mut walls) {
            let ended = run(command.stdin(Stdio::null()).stdout(Stdio::null()));
            assert!(ended.status.success(), "{name}: {}", ended.status);
            walls.push(ended.wall);
        }
    }

    println!("start-up: wall time of whole processes, {ROUNDS} rounds\n");
    println!("{:<46} {:>10} {:>10} {:>10}", "command", "min", "median", "max");
    let mut goals = Goals::default();
    for ((name, _), walls) in commands.iter().zip(walls) {
        let Spread { min, median, max } = Spread::of(walls);
        println!(
            "{name:<46} {:>10} {:>10} {:>10}",
            milliseconds(min),
            milliseconds(median),
            milliseconds(max)
        );
        if name.ends_with("--help") {
            goals.check(&format!("{name}, median"), milliseconds(median), "< 10 ms", median < GOAL);
        }
    }
    goals.conclude()
}
