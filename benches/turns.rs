//! What lock-step costs and what it gains: the same pair of identical programs, one process after the other and in turns,
//! interleaved in one run. The spread of the difference between two equal sides is what a verdict has to see through.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod support;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gbench_ci::model::line::{Event, Order, PROTOCOL, Request};
use gbench_ci::model::{Settings, Stage};
use gbench_ci::run::{Execution, Executor, Launch, StagePlan, Supervised, Turns};
use gbench_ci::stats::ln_midmean;
use rand::{RngExt, SeedableRng};
use support::this_bench;

const ROUNDS: usize = 40;
const ITERATIONS: u32 = 30;
const WARMUP: u32 = 10;
const SEED: u64 = 1;
/// Wanted seconds of an iteration.
const WORKLOADS: [f64; 3] = [50e-6, 1e-3, 20e-3];
/// First argument of the role that measures.
const CHILD: &str = "child";
/// Larger than a first-level cache: what a switch costs includes finding it cold.
const BUFFER: usize = 1 << 15;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).map(String::as_str) == Some(CHILD) {
        return child(arguments[2].parse().expect("a number of passes"));
    }
    let passes = calibrate();
    let mut executor = Supervised::new(PathBuf::from(env!("CARGO_BIN_EXE_gbench-ci")), None, false)
        .expect("a temporary folder");
    let mut random = rand_pcg::Pcg64::seed_from_u64(SEED);
    let mut tables = WORKLOADS.map(|_| [Way::default(), Way::default()]);
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned();
    println!(
        "turns: {ROUNDS} rounds each way, {ITERATIONS} iterations a process, seed {SEED}; load {}",
        load()
    );
    for _ in 0..ROUNDS {
        for (seconds, ways) in WORKLOADS.iter().zip(&mut tables) {
            let launches = [false, true].map(|turns| launch((passes * seconds).max(1.0) as u64, turns));
            let head_first: bool = random.random();
            let turns = Turns { first: usize::from(head_first), iterations: ITERATIONS, duration: 0.0 };
            // Which of the two modes goes first is drawn too.
            let lockstep_first: bool = random.random();
            for lockstep in [lockstep_first, !lockstep_first] {
                let launch = &launches[usize::from(lockstep)];
                let begin = Instant::now();
                let pair = match lockstep {
                    true => executor.execute_pair([launch, launch], &turns),
                    false => {
                        let first = executor.execute(launch);
                        let second = executor.execute(launch);
                        if head_first { [second, first] } else { [first, second] }
                    }
                };
                ways[usize::from(lockstep)].add(begin.elapsed(), &pair);
            }
        }
    }
    println!(
        "{:<12} {:<12} {:>9} {:>11} {:>12} {:>10} {:>10} {:>10}",
        "iteration", "way", "s/round", "turns/side", "switch", "mean d", "sd d", "sd d (IQR)"
    );
    for (seconds, ways) in WORKLOADS.iter().zip(&tables) {
        for (way, name) in ways.iter().zip(["alternating", "lock-step"]) {
            way.print(&format!("{:.2} ms", seconds * 1e3), name);
        }
    }
    println!("load {} at the end", load());
}

/// What came of the rounds of one way.
#[derive(Default)]
struct Way {
    walls: Vec<f64>,
    /// ln midmean(head) - ln midmean(base) of each round.
    differences: Vec<f64>,
    /// Seconds of a turn in which nothing was measured.
    switches: Vec<f64>,
    turns: usize,
}

impl Way {
    fn add(&mut self, wall: Duration, pair: &[Execution; 2]) {
        self.walls.push(wall.as_secs_f64());
        let [base, head] = [0, 1].map(|side| {
            let execution = &pair[side];
            let mut times = samples(execution);
            assert_eq!(times.len(), ITERATIONS as usize, "{execution:?}");
            let mut at = 0;
            for block in &execution.blocks {
                let end = at + block.iterations as usize;
                self.switches.push(block.seconds - times[at..end].iter().sum::<f64>());
                at = end;
            }
            self.turns += execution.blocks.len();
            ln_midmean(&mut times).expect("times above zero")
        });
        self.differences.push(head - base);
    }

    fn print(&self, iteration: &str, way: &str) {
        let rounds = self.walls.len() as f64;
        let mean = self.differences.iter().sum::<f64>() / rounds;
        let squares: f64 = self.differences.iter().map(|d| (d - mean).powi(2)).sum();
        let sd = (squares / (rounds - 1.0)).sqrt();
        let robust = (quantile(&self.differences, 0.75) - quantile(&self.differences, 0.25)) / 1.349;
        let switch = match self.switches.is_empty() {
            true => "-".to_owned(),
            false => format!("{:.1} us", quantile(&self.switches, 0.5) * 1e6),
        };
        println!(
            "{iteration:<12} {way:<12} {:>9.3} {:>11.1} {switch:>12} {:>9.3}% {:>9.3}% {:>9.3}%",
            quantile(&self.walls, 0.5),
            self.turns as f64 / rounds / 2.0,
            mean * 100.0,
            sd * 100.0,
            robust * 100.0
        );
    }
}

fn quantile(values: &[f64], at: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at).round() as usize]
}

fn samples(execution: &Execution) -> Vec<f64> {
    let values = execution.events.iter().filter_map(|event| match event {
        Event::Samples { values, .. } => Some(values),
        _ => None,
    });
    values.flatten().flatten().copied().collect()
}

fn launch(passes: u64, turns: bool) -> Launch {
    let settings = Settings::default();
    let request = Request {
        protocol: PROTOCOL,
        benchmark: "bench/turns".into(),
        iterations: ITERATIONS,
        warmup: WARMUP,
        seed: SEED,
        turns,
        ..Request::default()
    };
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let request = serde_json::to_string(&request).expect("plain data");
    env.push(("GBENCH_REQUEST".into(), request.into()));
    let program = this_bench().into_os_string().into_string().expect("a path in UTF-8");
    Launch {
        sandbox: None,
        container: None,
        argv: vec![program, CHILD.into(), passes.to_string()],
        dir: std::env::temp_dir(),
        env,
        stages: StagePlan {
            follows_events: true,
            first: Stage::Start,
            deadlines: settings.deadlines,
            multiplier: 1.0,
        },
        memory_limit: 0,
        stdout_limit: 1 << 16,
        stderr_limit: 1 << 16,
        until: None,
    }
}

/// Passes that take a second here.
fn calibrate() -> f64 {
    let mut buffer = vec![1u64; BUFFER];
    let quickest = (0..20).map(|_| {
        let begin = Instant::now();
        work(&mut buffer, 20);
        begin.elapsed().as_secs_f64()
    });
    20.0 / quickest.fold(f64::MAX, f64::min)
}

/// An amount of work, not of time.
fn work(buffer: &mut [u64], passes: u64) {
    for _ in 0..passes {
        let mut sum = 0u64;
        for value in buffer.iter_mut() {
            sum = sum.wrapping_mul(6364136223846793005).wrapping_add(*value);
        }
        buffer[0] = black_box(sum);
    }
}

fn child(passes: u64) {
    let variable = |name: &str| std::env::var(name).expect("a gate");
    let request: Request = serde_json::from_str(&variable("GBENCH_REQUEST")).expect("a request");
    let mut channel = OpenOptions::new().append(true).open(variable("GBENCH_EVENTS")).expect("a channel");
    let mut say =
        |text: &str| channel.write_all(format!("{text}\n").as_bytes()).expect("a gate that listens");
    let mut buffer = vec![1u64; BUFFER];
    let mut times = Vec::with_capacity(request.iterations as usize);
    for _ in 0..request.warmup {
        work(&mut buffer, passes);
    }
    let mut measure = |iterations: u32| {
        for _ in 0..iterations {
            let begin = Instant::now();
            work(&mut buffer, passes);
            times.push(begin.elapsed().as_secs_f64());
        }
    };
    say(r#"{"event":"stage","stage":"measure"}"#);
    if request.turns {
        let gate = BufReader::new(File::open(variable("GBENCH_TURNS")).expect("turns"));
        say(r#"{"event":"yield"}"#);
        for line in gate.lines() {
            let Order::Turn { iterations } = serde_json::from_str(&line.expect("a line")).expect("a turn");
            measure(iterations);
            say(r#"{"event":"yield"}"#);
        }
    } else {
        measure(request.iterations);
    }
    let values: Vec<String> = times.iter().map(f64::to_string).collect();
    say(&format!(r#"{{"event":"samples","values":[{}]}}"#, values.join(",")));
}
