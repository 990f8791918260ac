//! Series with known changes: real noise with steps put in, and noise that is made up.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use rand::RngExt;
use rand_pcg::Pcg64;

use super::costs;
use super::draw::{Seed, normal};

pub const RUNS: usize = 200;
/// Shorter histories are left out.
const LEAST: usize = 40;
/// The project that constants and settings are chosen on, by what its file's name begins with.
const TUNING: &str = "cudajl";
/// Runs that stay together where the residuals of a real history are put in a new order.
pub const BLOCK: usize = 10;
/// Pieces of a real history are at least so long, when its own steps are taken off.
const PIECE: usize = 8;
pub const SIZES: [f64; 4] = [0.03, 0.05, 0.10, 0.20];
const APART: usize = 30;
const FROM_ENDS: usize = 20;

pub const KINDS: [&str; 6] = [
    "normal",
    "log-normal",
    "Student's t, 3",
    "normal, 5 % spikes",
    "autoregression 0.3",
    "autoregression 0.5",
];

/// One benchmark's history, in logarithms.
pub struct History {
    /// Whose it is: the name of the file up to the first `_`.
    pub project: String,
    pub values: Vec<f64>,
    /// Without its own steps.
    residuals: Vec<f64>,
}

/// Those that the candidates' settings are chosen on, and those that are reported: of other projects where there are any, else other
/// benchmarks of the same one.
pub struct Histories {
    pub tuning: Vec<History>,
    pub held_out: Vec<History>,
}

/// A series in logarithms, and the steps that were put in: place and logarithm.
pub struct Labelled {
    pub series: Vec<f64>,
    pub steps: Vec<(usize, f64)>,
}

impl Histories {
    pub fn read(folder: &Path) -> Result<Self, String> {
        let tell = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut projects: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(tell)? {
            let path = entry.map_err(tell)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.contains("history") && name.ends_with(".json.gz") {
                let project = name.split('_').next().unwrap_or_default().to_owned();
                projects.insert(project, benchmarks(&path)?);
            }
        }
        let others = projects.keys().any(|project| project != TUNING);
        let (mut tuning, mut held_out) = (Vec::new(), Vec::new());
        for (project, benchmarks) in projects {
            for (name, values) in benchmarks.into_iter().filter(|(_, values)| values.len() >= LEAST) {
                let tunes = project == TUNING && (others || hash(&name) & 0x80 == 0);
                let side = if tunes { &mut tuning } else { &mut held_out };
                side.push(History::new(project.clone(), values));
            }
        }
        if tuning.is_empty() || held_out.is_empty() {
            return Err(format!("{}: no history of {TUNING}, or no others to report", folder.display()));
        }
        Ok(Self { tuning, held_out })
    }
}

fn benchmarks(path: &Path) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let tell = |what: String| format!("{}: {what}", path.display());
    let file = std::fs::File::open(path).map_err(|error| tell(error.to_string()))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).map_err(|error| tell(error.to_string()))?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| tell(error.to_string()))?;
    let entries = json["entries"].as_object().and_then(|entries| entries.values().next());
    let runs = entries.and_then(|runs| runs.as_array()).ok_or_else(|| tell("holds no entries".into()))?;
    let mut series: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for bench in runs.iter().filter_map(|run| run["benches"].as_array()).flatten() {
        if let (Some(name), Some(value)) = (bench["name"].as_str(), bench["value"].as_f64())
            && value > 0.0
        {
            series.entry(name.replace(' ', "_")).or_default().push(value.ln());
        }
    }
    Ok(series)
}

/// Fowler, Noll & Vo: the split does not depend on the order or number of benchmarks.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl History {
    fn new(project: String, values: Vec<f64>) -> Self {
        // By a partition with absolute cost, which is not ours.
        let penalty = 4.0 * costs::scale(&values) * (values.len() as f64).ln();
        let ends = costs::partition(&values, PIECE, penalty, |_, deviation| deviation);
        let edges = [vec![0], ends, vec![values.len()]].concat();
        let mut residuals = values.clone();
        for piece in edges.windows(2) {
            let part = &mut residuals[piece[0]..piece[1]];
            let middle = gbench_ci::stats::median(&mut part.to_vec()).unwrap_or(0.0);
            part.iter_mut().for_each(|value| *value -= middle);
        }
        Self { project, values, residuals }
    }

    /// A series of blocks of residuals, each drawn from all of them.
    pub fn quiet(&self, random: &mut Pcg64) -> Vec<f64> {
        let count = self.residuals.len();
        let mut series = Vec::with_capacity(RUNS + BLOCK);
        while series.len() < RUNS {
            let first = random.random_range(0..count);
            series.extend((first..first + BLOCK).map(|run| self.residuals[run % count]));
        }
        series.truncate(RUNS);
        series
    }
}

/// One to three lasting steps into a series, up or down.
pub fn labelled(mut series: Vec<f64>, random: &mut Pcg64) -> Labelled {
    let count = random.random_range(1..=3);
    let mut steps: Vec<(usize, f64)> = Vec::new();
    while steps.len() < count {
        let at = random.random_range(FROM_ENDS..series.len() - FROM_ENDS);
        if steps.iter().all(|(other, _)| other.abs_diff(at) >= APART) {
            let size = SIZES[random.random_range(0..SIZES.len())].ln_1p();
            steps.push((at, if random.random_bool(0.5) { size } else { -size }));
        }
    }
    for (at, size) in &steps {
        series[*at..].iter_mut().for_each(|value| *value += size);
    }
    Labelled { series, steps }
}

/// Noise about no change; 1.5 % by a run's normal part.
pub fn made_up(kind: &str, runs: usize, seed: Seed) -> Vec<f64> {
    let mut random = seed.random();
    let sd = 0.015;
    let mut state = normal(&mut random);
    let mut draw = || match kind {
        "log-normal" => (0.8 * normal(&mut random)).exp(),
        "Student's t, 3" => {
            let squares: f64 = (0..3).map(|_| normal(&mut random).powi(2)).sum();
            normal(&mut random) / (squares / 3.0).sqrt()
        }
        "normal, 5 % spikes" => {
            let spike = if random.random_bool(0.05) { random.random_range(3.0..23.0) } else { 0.0 };
            normal(&mut random) + spike
        }
        "autoregression 0.3" | "autoregression 0.5" => {
            let phi: f64 = if kind.ends_with("0.3") { 0.3 } else { 0.5 };
            state = phi * state + (1.0 - phi * phi).sqrt() * normal(&mut random);
            state
        }
        _ => normal(&mut random),
    };
    (0..runs).map(|_| sd * draw()).collect()
}
