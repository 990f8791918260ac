//! One whole comparison by the real binary, and what is kept of it: a line of JSON.

use std::error::Error;
use std::ffi::OsStr;
use std::process::Output;
use std::time::Instant;

use gbench_ci::compare::{Row, Verdict, VerdictDocument};
use gbench_ci::store::{latest_comparison, read_comparison};
use serde::{Deserialize, Serialize};

use crate::load::Load;
use crate::repository::{Commits, Part};
use crate::support::gbench;

/// Exit codes of a comparison that came to an end: passed, regressed, inconclusive.
const WHOLE: [i32; 3] = [0, 1, 3];

/// What came of one comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Came {
    /// Hash over program, suite, gate and its flags: lines of another are not added up with these.
    pub setup: String,
    pub seed: u64,
    pub part: Part,
    pub index: u32,
    pub coin: u64,
    pub exit: i32,
    /// Wall seconds from start to end, both builds included.
    pub wall: f64,
    /// Seconds in which a measured process was alive, both sides and controls.
    pub processes: f64,
    /// Seconds of them in which the load was busy.
    pub loaded: f64,
    pub rows: Vec<Kept>,
    pub warnings: Vec<String>,
}

/// What is kept of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    pub benchmark: String,
    pub verdict: Verdict,
    pub reason: String,
    pub rounds: u32,
    /// Standard deviation of the difference in one round.
    pub noise: f64,
    /// Seconds of the base.
    pub base: f64,
    pub slowdown: f64,
    pub low: f64,
    pub high: f64,
    pub detectable: Option<f64>,
}

impl Came {
    pub fn row(&self, benchmark: &str) -> Option<&Kept> {
        self.rows.iter().find(|row| row.benchmark == benchmark)
    }

    pub fn reds(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict == Verdict::Regressed).count()
    }
}

/// Runs one under load. `setup` and `seed` are kept as they are.
pub fn compare(
    commits: &Commits,
    (setup, seed): (&str, u64),
    (part, index): (Part, u32),
    gate: &[String],
) -> Result<Came, Box<dyn Error>> {
    let coin = coin(seed, part, index);
    let mut words = vec!["--order-seed".to_owned(), coin.to_string()];
    words.extend_from_slice(gate);
    let load = Load::start(coin);
    let begin = Instant::now();
    let compared = run(commits, part, &words);
    let wall = begin.elapsed().as_secs_f64();
    let loaded = load.stop().as_secs_f64();
    let (document, exit) = compared?;
    let folder = latest_comparison(&commits.root().join("artifacts")).ok_or("it left no records")?;
    let (base, head, control) = read_comparison(&folder).map_err(|fault| format!("{fault:?}"))?;
    let cases = [Some(base), Some(head), control].into_iter().flatten().flat_map(|record| record.cases);
    let processes = cases.flat_map(|case| case.processes).map(|process| process.seconds).sum();
    Ok(Came {
        setup: setup.to_owned(),
        seed,
        part,
        index,
        coin,
        exit,
        wall,
        processes,
        loaded,
        rows: document.rows.iter().map(kept).collect::<Result<_, _>>()?,
        warnings: document.warnings,
    })
}

/// The gate itself, with more words. Errors: it ended otherwise than with a verdict on measurements.
pub fn run<W: AsRef<OsStr>>(
    commits: &Commits,
    part: Part,
    words: &[W],
) -> Result<(VerdictDocument, i32), Box<dyn Error>> {
    let json = commits.root().join("artifacts/verdict.json");
    let mut command = gbench();
    command
        .current_dir(commits.root())
        .args(["compare", &commits.range(part), "--quiet", "--json"])
        .arg(&json);
    std::fs::create_dir_all(commits.root().join("artifacts"))?;
    let output = command.args(words).output()?;
    match output.status.code() {
        Some(code) if WHOLE.contains(&code) => Ok((serde_json::from_slice(&std::fs::read(&json)?)?, code)),
        _ => Err(told(&output).into()),
    }
}

fn told(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("gbench-ci ended with {}\n{out}{err}", output.status)
}

/// Of the gate and of the load, another one for every comparison.
fn coin(seed: u64, part: Part, index: u32) -> u64 {
    seed * 1_000_000 + u64::from(index) * 2 + u64::from(part == Part::Slower)
}

fn kept(row: &Row) -> Result<Kept, String> {
    let name = row.case.benchmark.as_str();
    let missing = || format!("{name} is {} without rounds: {}", row.verdict.into_str(), row.reason);
    let sequence = row.sequence.as_ref().ok_or_else(missing)?;
    let change = row.change.as_ref().ok_or_else(missing)?;
    Ok(Kept {
        benchmark: name.to_owned(),
        verdict: row.verdict,
        reason: row.reason.clone(),
        rounds: sequence.rounds,
        noise: sequence.noise,
        base: row.base.as_ref().and_then(|side| side.centre).ok_or_else(missing)?,
        slowdown: change.slowdown,
        low: change.low,
        high: change.high,
        detectable: change.detectable,
    })
}
