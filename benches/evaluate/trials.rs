//! Many suites under one rule, over all processors, and what is counted of them.
//!
//! Every suite has a seed of its own, so that the figures do not depend on the number of threads. Rules compared with each
//! other see the same suites.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gbench_ci::stats::seq_e::Status;
use gbench_ci::stats::{mean, sample_stddev};
use rand_pcg::Pcg64;

use super::draw::Seed;
use super::simulate::{Profile, Suite};

/// Benchmarks of a suite, unless a table says otherwise.
pub const SIZE: usize = 100;
/// In a suite with changes every so many-th benchmark is changed.
pub const PLANTED_EVERY: usize = 20;

/// What a rule says of one suite, and what it took.
#[derive(Clone, Debug)]
pub struct Said {
    pub statuses: Vec<Status>,
    /// Rounds per benchmark; of rules without rounds, pairs of processes.
    pub rounds: f64,
    /// Rounds that each red benchmark took, of rules that decide each by itself.
    pub red_rounds: Vec<usize>,
    /// Per benchmark, of both sides, dropped ones included.
    pub iterations: f64,
    /// Processes that the suite started, each running all that is still open.
    pub launches: f64,
}

impl Said {
    /// Of a rule that only knows red and not red.
    pub fn red(red: impl IntoIterator<Item = bool>, rounds: f64, iterations: usize, launches: usize) -> Self {
        let status = |red| if red { Status::Regressed } else { Status::Unchanged };
        Self {
            statuses: red.into_iter().map(status).collect(),
            rounds,
            red_rounds: Vec::new(),
            iterations: iterations as f64,
            launches: launches as f64,
        }
    }

    pub fn count(&self, status: Status) -> usize {
        self.statuses.iter().filter(|one| **one == status).count()
    }
}

/// Suite, true change of each benchmark in logarithms, randomness.
type Judge = dyn Fn(&Suite, &[f64], &mut Pcg64) -> Said + Sync;

pub struct Rule {
    pub name: &'static str,
    pub judge: Box<Judge>,
}

/// Numbers of suites.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Without changes, for rules that promise a level over the suite.
    pub unchanged: usize,
    /// The same for the others.
    pub unchanged_peers: usize,
    /// With changes, for each size of change.
    pub planted: usize,
    /// The same where a goal rests on it.
    pub planted_goals: usize,
}

/// `work` for each index in order, by as many threads as there are processors.
pub fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = work(index);
                    done.lock().expect("no holder of this lock panics").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no holder of this lock panics");
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// `count` suites of `size` benchmarks; `change` in logarithms for each benchmark by its index.
pub fn suites(
    rule: &Rule,
    profile: &Profile,
    (count, size): (usize, usize),
    change: impl Fn(usize) -> f64,
    seed: Seed,
) -> Vec<Said> {
    let change: Vec<f64> = (0..size).map(change).collect();
    each(count, |index| {
        let mut random = seed.named(profile.name).at(index as u64).random();
        let suite = Suite::draw(profile, size, &mut random);
        (rule.judge)(&suite, &change, &mut random)
    })
}

/// Suites in which nothing changed.
pub fn unchanged(rule: &Rule, profile: &Profile, count: usize, seed: Seed) -> Vec<Said> {
    suites(rule, profile, (count, SIZE), |_| 0.0, seed.named("unchanged"))
}

/// Suites in which some benchmarks are slower by `percent`.
pub fn planted(rule: &Rule, profile: &Profile, count: usize, percent: f64, seed: Seed) -> Vec<Said> {
    let change = |index| if is_planted(index) { (percent / 100.0).ln_1p() } else { 0.0 };
    suites(rule, profile, (count, SIZE), change, seed.named("planted"))
}

pub fn is_planted(index: usize) -> bool {
    index.is_multiple_of(PLANTED_EVERY)
}

/// Some of many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    pub hits: usize,
    pub of: usize,
}

impl Share {
    pub fn of(all: impl IntoIterator<Item = bool>) -> Self {
        let mut share = Self { hits: 0, of: 0 };
        for one in all {
            share.hits += usize::from(one);
            share.of += 1;
        }
        share
    }

    pub fn value(self) -> f64 {
        self.hits as f64 / self.of as f64
    }

    /// Standard error.
    pub fn error(self) -> f64 {
        (self.value() * (1.0 - self.value()) / self.of as f64).sqrt()
    }
}

/// A mean over suites with its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub value: f64,
    pub error: f64,
}

impl Mean {
    pub fn of(values: &[f64]) -> Self {
        let error = sample_stddev(values).unwrap_or(f64::NAN) / (values.len() as f64).sqrt();
        Self { value: mean(values).unwrap_or(f64::NAN), error }
    }
}

/// Suites with any red.
pub fn red_suites(said: &[Said]) -> Share {
    Share::of(said.iter().map(|one| one.count(Status::Regressed) > 0))
}

/// Planted changes that were called `status`.
pub fn found(said: &[Said], status: Status) -> Share {
    let planted = said.iter().flat_map(|one| one.statuses.iter().step_by(PLANTED_EVERY));
    Share::of(planted.map(|one| *one == status))
}

/// Share of benchmarks left undecided, a suite's each.
pub fn inconclusive(said: &[Said]) -> Mean {
    let share = |one: &Said| one.count(Status::Exhausted) as f64 / one.statuses.len() as f64;
    Mean::of(&said.iter().map(share).collect::<Vec<_>>())
}

pub fn mean_of(said: &[Said], what: impl Fn(&Said) -> f64) -> Mean {
    Mean::of(&said.iter().map(what).collect::<Vec<_>>())
}
