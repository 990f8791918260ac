//! SEQ-E as the product decides, through `stats::seq_e`, on simulated rounds.

use gbench_ci::stats::ln_midmean;
use gbench_ci::stats::seq_e::{SequentialLimits, SequentialResult, Series, Status, Version, decide};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::simulate::{Benchmark, Iterations, Process, Suite};
use super::trials::{Rule, Said};

/// How the two processes of a round share the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Both alive, taking turns.
    LockStep,
    /// One after the other, in an order drawn at random.
    Alternating,
}

pub const LIMITS: SequentialLimits = SequentialLimits {
    version: Version::Three,
    alpha: 0.01,
    alpha_improved: 0.05,
    screen_rounds: 3,
    most_rounds: 40,
    beside: 0,
};
/// In logarithms: ln 1.02 and ln 1.0025, as the program has them.
pub const TARGET: f64 = 0.019_802_627_296_179_713;
pub const MIN_EFFECT: f64 = 0.002_496_880_198_587_199;
pub const USUAL: Iterations = Iterations { dropped: 10, kept: 30 };
pub const LEAN: Iterations = Iterations { dropped: 4, kept: 12 };

/// Minutes from round to round, and from the first process of an alternating round to the second.
const ROUND_MINUTES: f64 = 2.0;
const SECOND_MINUTES: f64 = 0.3;
/// Rounds made between two decisions after the screen. What was decided stays decided, so that the results do not depend
/// on it; more of them cost rounds that nobody looks at, fewer cost decisions.
const PORTION: usize = 4;

/// The rule and how its rounds are measured.
#[derive(Clone, Copy, Debug)]
pub struct SeqE {
    pub limits: SequentialLimits,
    pub iterations: Iterations,
    pub way: Way,
}

impl SeqE {
    pub const USUAL: Self = Self { limits: LIMITS, iterations: USUAL, way: Way::LockStep };
    pub const LEAN: Self = Self { iterations: LEAN, ..Self::USUAL };
    pub const ALTERNATING: Self = Self { way: Way::Alternating, ..Self::USUAL };
    /// The rules before this one.
    pub const FIRST: Self =
        Self { limits: SequentialLimits { version: Version::One, ..LIMITS }, ..Self::USUAL };
    pub const SECOND: Self =
        Self { limits: SequentialLimits { version: Version::Two, ..LIMITS }, ..Self::USUAL };
    pub const SHORT: Self = Self { limits: SequentialLimits { most_rounds: 24, ..LIMITS }, ..Self::USUAL };

    pub fn named(self, name: &'static str) -> Rule {
        let judge = move |suite: &Suite, change: &[f64], random: &mut Pcg64| {
            let mut rounds = Rounds::new(suite, change, self.limits.most_rounds, self, random);
            let orders = rounds.head_second.clone();
            let results = decide_as_needed(suite.benchmarks.len(), &orders, &self.limits, |at, round| {
                rounds.next(at, round)
            });
            said(&results, self.iterations)
        };
        Rule { name, judge: Box::new(judge) }
    }
}

/// The four ways to run it that the tables show.
pub fn rules() -> Vec<Rule> {
    vec![
        SeqE::USUAL.named("**SEQ-E 3**"),
        SeqE::LEAN.named("**SEQ-E 3, lean (4 + 12 iterations)**"),
        SeqE::SHORT.named("**SEQ-E 3, 24 rounds at most**"),
        SeqE::ALTERNATING.named("**SEQ-E 3, alternating**"),
    ]
}

/// What `results` say, and what they took.
pub fn said(results: &[SequentialResult], iterations: Iterations) -> Said {
    let rounds: usize = results.iter().map(|result| result.rounds).sum();
    let rounds = rounds as f64 / results.len() as f64;
    let longest = results.iter().map(|result| result.rounds).max().unwrap_or(0);
    let red = results.iter().filter(|result| result.status == Status::Regressed);
    Said {
        statuses: results.iter().map(|result| result.status).collect(),
        rounds,
        red_rounds: red.map(|result| result.rounds).collect(),
        iterations: 2.0 * rounds * iterations.all() as f64,
        launches: 2.0 * longest as f64,
    }
}

/// Rounds for `count` benchmarks until all are decided. `difference(benchmark, round)` is asked for each benchmark in
/// the order of its rounds, and only while it is open. `head_second`: by round, empty where that is not known.
pub fn decide_as_needed(
    count: usize,
    head_second: &[bool],
    limits: &SequentialLimits,
    mut difference: impl FnMut(usize, usize) -> f64,
) -> Vec<SequentialResult> {
    let mut differences = vec![Vec::new(); count];
    let mut open: Vec<usize> = (0..count).collect();
    let (mut rounds, mut until) = (0, limits.screen_rounds);
    loop {
        for &at in &open {
            differences[at].extend((rounds..until).map(|round| difference(at, round)));
        }
        let (_, results) = decide(&series(&differences, head_second), limits);
        open = (0..count).filter(|at| results[*at].status == Status::Open).collect();
        if open.is_empty() {
            return results;
        }
        rounds = until;
        until = (rounds + PORTION).min(limits.most_rounds);
    }
}

pub fn series<'d>(differences: &'d [Vec<f64>], head_second: &'d [bool]) -> Vec<Series<'d>> {
    differences
        .iter()
        .map(|differences| Series { head_second, ..Series::new(differences, TARGET, MIN_EFFECT) })
        .collect()
}

/// Simulated rounds of one suite, made when they are asked for.
pub struct Rounds<'a> {
    suite: &'a Suite,
    change: &'a [f64],
    setting: SeqE,
    /// By round; empty in lock-step, where both take turns.
    pub head_second: Vec<bool>,
    /// Of base and head in each round.
    drift: Vec<[f64; 2]>,
    /// One stream for each benchmark: its rounds do not depend on what others are measured.
    random: Vec<Pcg64>,
}

impl<'a> Rounds<'a> {
    pub fn new(
        suite: &'a Suite,
        change: &'a [f64],
        rounds: usize,
        setting: SeqE,
        random: &mut Pcg64,
    ) -> Self {
        let starts = (0..rounds).map(|round| ROUND_MINUTES * round as f64);
        let mut head_second: Vec<bool> = Vec::new();
        let drift = match setting.way {
            Way::LockStep => {
                let drift = suite.drift(&starts.collect::<Vec<_>>(), random);
                drift.into_iter().map(|drift| [drift, drift]).collect()
            }
            Way::Alternating => {
                let minutes: Vec<f64> = starts.flat_map(|start| [start, start + SECOND_MINUTES]).collect();
                let drift = suite.drift(&minutes, random);
                let balanced = setting.limits.version != Version::One;
                let mut ordered = |slots: &[f64]| {
                    // The second round of the screen takes the order opposite to the first one's.
                    let first = match head_second.len() {
                        1 if balanced => !head_second[0],
                        _ => random.random::<bool>(),
                    };
                    head_second.push(first);
                    let slots = [slots[0], slots[1] + suite.second_slot];
                    if first { slots } else { [slots[1], slots[0]] }
                };
                drift.chunks_exact(2).map(&mut ordered).collect()
            }
        };
        let random = suite.benchmarks.iter().map(|_| Pcg64::seed_from_u64(random.random())).collect();
        Self { suite, change, setting, head_second, drift, random }
    }

    /// The difference of the next round of the benchmark at `at`.
    pub fn next(&mut self, at: usize, round: usize) -> f64 {
        let [base, head] = self.pair(at, round);
        head - base
    }

    /// All differences of the first `rounds`, by benchmark.
    pub fn all(&mut self, rounds: usize) -> Vec<Vec<f64>> {
        let count = self.suite.benchmarks.len();
        (0..count).map(|at| (0..rounds).map(|round| self.next(at, round)).collect()).collect()
    }

    fn pair(&mut self, at: usize, round: usize) -> [f64; 2] {
        self.samples(at, round).map(location)
    }

    /// What base and head give in the next round of the benchmark at `at`.
    pub fn samples(&mut self, at: usize, round: usize) -> [Vec<f64>; 2] {
        let (benchmark, random): (&Benchmark, _) = (&self.suite.benchmarks[at], &mut self.random[at]);
        let side =
            |drift, shift| Process { iterations: self.setting.iterations, drift, shift, batched: true };
        let [base, head] = self.drift[round];
        let (base, head) = (side(base, 0.0), side(head, self.change[at]));
        match self.setting.way {
            Way::LockStep => self.suite.lock_step(benchmark, &base, &head, random),
            Way::Alternating => [base, head].map(|side| self.suite.process(benchmark, &side, random)),
        }
    }
}

/// Where a process lies, by the product's own measure.
pub fn location(mut samples: Vec<f64>) -> f64 {
    ln_midmean(&mut samples).expect("a timer shows at least one tick")
}
