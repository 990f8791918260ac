//! The same on traces of real GPUs, which are no part of the project: `GBENCH_CORPUS` names their folder.
//!
//! Wanted are caches of Kernel Tuner (`*.json.gz` with the raw times of each configuration under `times`) and the
//! published history of a github-action-benchmark (`*history*.json.gz`). A benchmark is a place in one file; each of its
//! rounds is the trace of a configuration about as noisy. The code of one trace is the same throughout, so that its
//! two interleaved halves are base and head in lock-step, and its first and second half are one after the other, under
//! the real drift, clock states, outliers and ticks of that GPU. What a fresh process adds is not in such data: it is
//! modelled as in the simulation.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use gbench_ci::stats::{mean, median, sample_stddev};
use rand::RngExt;
use rand_pcg::Pcg64;

use super::draw::Seed;
use super::history::History;
use super::ours::{LIMITS, Way, decide_as_needed, location};
use super::simulate::process_effect;
use super::trials::{SIZE, Said, each, is_planted};

/// Of a whole trace of 32, as the simulated processes drop 10 of 40; of a shorter one a fifth.
const DROPPED: usize = 10;
const WHOLE: usize = 32;
/// Configurations of about the same noise that stand in for a benchmark's processes.
const NEIGHBOURS: usize = 100;
/// Fewer samples than this show no noise.
const SHORTEST: usize = 8;

pub struct Corpus {
    files: Vec<TraceFile>,
    histories: Vec<PathBuf>,
}

struct TraceFile {
    name: String,
    /// By ascending noise.
    traces: Vec<Trace>,
}

struct Trace {
    times: Vec<f64>,
    /// Standard deviation of the logarithms of what is kept.
    noise: f64,
}

/// A place in a file, with the modelled effect of its processes.
struct Benchmark<'a> {
    neighbours: &'a [Trace],
    process_deviation: f64,
    process_jump: f64,
}

impl Corpus {
    /// Errors are told with the file that they are about.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let tell = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        let entries = std::fs::read_dir(folder).map_err(|error| tell(folder, error))?;
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(".json.gz"));
        paths.sort();
        let (histories, caches): (Vec<_>, Vec<_>) =
            paths.into_iter().partition(|path| path.to_string_lossy().contains("history"));
        let mut files = Vec::new();
        for path in caches {
            let text = unpacked(&path).map_err(|error| tell(&path, error))?;
            let mut traces: Vec<Trace> = times(&text).into_iter().filter_map(Trace::new).collect();
            traces.sort_by(|a, b| a.noise.total_cmp(&b.noise));
            if traces.len() > NEIGHBOURS {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                files.push(TraceFile { name: name.trim_end_matches(".json.gz").to_owned(), traces });
            }
        }
        match files.is_empty() {
            true => Err(format!("{}: no *.json.gz in it holds traces", folder.display())),
            false => Ok(Self { files, histories }),
        }
    }

    /// The files, one a line.
    pub fn describe(&self) -> String {
        let line = |file: &TraceFile| {
            let noise = |at: usize| 100.0 * file.traces[file.traces.len() * at / 10].noise;
            format!(
                "- {}: {} traces of up to {} samples; CV after warm-up 10 %, 50 %, 90 %: {:.2} %, {:.2} %, {:.2} %\n",
                file.name,
                file.traces.len(),
                file.traces.iter().map(|trace| trace.times.len()).max().unwrap_or(0),
                noise(1),
                noise(5),
                noise(9)
            )
        };
        self.files.iter().map(line).collect()
    }

    fn draw(&self, random: &mut Pcg64) -> Vec<Benchmark<'_>> {
        let mut one = || {
            let file = &self.files[random.random_range(0..self.files.len())];
            let at = random.random_range(0..file.traces.len() - NEIGHBOURS);
            let neighbours = &file.traces[at..at + NEIGHBOURS];
            let noise = neighbours[NEIGHBOURS / 2].noise;
            Benchmark {
                neighbours,
                process_deviation: noise * random.random_range(0.1..0.5) + 3e-4,
                process_jump: 0.005 + 1.5 * noise,
            }
        };
        (0..SIZE).map(|_| one()).collect()
    }

    /// `count` suites by SEQ-E, every twentieth benchmark slower by `percent`.
    pub fn ours(&self, way: Way, count: usize, percent: f64, seed: Seed) -> Vec<Said> {
        self.suites(count, seed, |benchmarks, random| {
            let mut launches = 0;
            let mut samples = 0;
            let results = decide_as_needed(benchmarks.len(), &[], &LIMITS, |at, round| {
                let [base, head] = benchmarks[at].pair(way, change(at, percent), random);
                launches = launches.max(2 * (round + 1));
                samples += base.len() + head.len();
                location(head) - location(base)
            });
            let rounds: usize = results.iter().map(|result| result.rounds).sum();
            Said {
                statuses: results.iter().map(|result| result.status).collect(),
                rounds: rounds as f64 / results.len() as f64,
                red_rounds: Vec::new(),
                iterations: samples as f64 / results.len() as f64,
                launches: launches as f64,
            }
        })
    }

    /// `count` suites by a rule on one process a side.
    pub fn peer(
        &self,
        way: Way,
        count: usize,
        percent: f64,
        seed: Seed,
        is_red: impl Fn(&[f64], &[f64]) -> bool + Sync,
    ) -> Vec<Said> {
        self.suites(count, seed, |benchmarks, random| {
            let red = benchmarks.iter().enumerate().map(|(at, benchmark)| {
                let [first, second] = benchmark.pair(way, change(at, percent), random);
                is_red(&first, &second)
            });
            let red: Vec<bool> = red.collect();
            Said::red(red, 1.0, WHOLE, 2)
        })
    }

    fn suites(
        &self,
        count: usize,
        seed: Seed,
        judge: impl Fn(&[Benchmark], &mut Pcg64) -> Said + Sync,
    ) -> Vec<Said> {
        each(count, |index| {
            let mut random = seed.named("traces").at(index as u64).random();
            let benchmarks = self.draw(&mut random);
            judge(&benchmarks, &mut random)
        })
    }

    /// How each history went under rules that compare a run with those before it.
    pub fn histories(&self) -> Result<Vec<History>, String> {
        self.histories.iter().map(|path| History::read(path)).collect()
    }
}

impl Benchmark<'_> {
    /// Kept samples of base and head of one round.
    fn pair(&self, way: Way, change: f64, random: &mut Pcg64) -> [Vec<f64>; 2] {
        let trace = &self.neighbours[random.random_range(0..self.neighbours.len())];
        let kept = trace.kept();
        let half = kept.len() / 2;
        let (mut base, mut head) = match way {
            Way::LockStep => (every_second(kept), every_second(&kept[1..])),
            Way::Alternating => (kept[..half].to_vec(), kept[half..].to_vec()),
        };
        // The order of the round: which of the two begins.
        if random.random::<bool>() {
            std::mem::swap(&mut base, &mut head);
        }
        for (samples, change) in [(&mut base, 0.0), (&mut head, change)] {
            let factor = (change + process_effect(self.process_deviation, self.process_jump, random)).exp();
            samples.iter_mut().for_each(|time: &mut f64| *time *= factor);
        }
        [base, head]
    }
}

fn every_second(values: &[f64]) -> Vec<f64> {
    values.iter().step_by(2).copied().collect()
}

fn change(at: usize, percent: f64) -> f64 {
    if is_planted(at) { (percent / 100.0).ln_1p() } else { 0.0 }
}

impl Trace {
    fn new(times: Vec<f64>) -> Option<Self> {
        if times.len() < SHORTEST || !times.iter().all(|time| *time > 0.0 && time.is_finite()) {
            return None;
        }
        let mut trace = Self { times, noise: 0.0 };
        trace.noise = sample_stddev(&trace.kept().iter().map(|time| time.ln()).collect::<Vec<_>>())?;
        Some(trace)
    }

    fn kept(&self) -> &[f64] {
        let dropped = if self.times.len() >= WHOLE { DROPPED } else { self.times.len() / 5 };
        &self.times[dropped..]
    }
}

pub fn unpacked(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// The arrays called `times`. Some caches were cut short and are no JSON as a whole.
fn times(text: &str) -> Vec<Vec<f64>> {
    let array = |rest: &str| -> Option<Vec<f64>> {
        let inner = rest.trim_start_matches([':', ' ']).strip_prefix('[')?;
        inner[..inner.find(']')?].split(',').map(|number| number.trim().parse().ok()).collect()
    };
    text.split("\"times\"").skip(1).filter_map(array).collect()
}

/// One run a side, its medians `percent` apart.
pub fn threshold(percent: f64) -> impl Fn(&[f64], &[f64]) -> bool + Sync {
    let middle = |values: &[f64]| median(&mut values.to_vec()).unwrap_or(f64::NAN);
    move |base, head| middle(head) / middle(base) > 1.0 + percent / 100.0
}

/// NVBench's comparison of two runs.
pub fn nvbench_compare(base: &[f64], head: &[f64]) -> bool {
    let [base, head] =
        [base, head].map(|side| (mean(side).unwrap_or(f64::NAN), sample_stddev(side).unwrap_or(f64::NAN)));
    let noise = (base.1 / base.0).min(head.1 / head.0);
    noise > 0.0 && (head.0 - base.0) / base.0 > noise
}
