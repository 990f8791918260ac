//! Differences that no model of noise would like, with no change in any benchmark.
//!
//! Made directly, not from simulated samples: one deviation for each benchmark, log-normal around 0.9 %, and forty
//! rounds of the distribution that the row names.

use rand::RngExt;
use rand_distr::{Cauchy, Distribution, StudentT};
use rand_pcg::Pcg64;

use super::draw::{Seed, normal};
use super::ours::{LIMITS, decide_as_needed};
use super::paired::group_sequential_results;
use super::trials::{SIZE, Share, each};
use gbench_ci::stats::seq_e::Status;

const ROUNDS: usize = 40;
/// In logarithms.
const SLOWER_SLOT: f64 = 0.01;
const FLIP: f64 = 0.05;

pub struct Case {
    pub name: &'static str,
    /// The order of each round was drawn at random: the promise holds.
    pub random_order: bool,
    draw: fn(f64, &mut Pcg64) -> Vec<f64>,
    /// These times the usual deviation for one benchmark in twenty.
    wilder: f64,
}

pub const CASES: [Case; 14] = [
    case("gaussian", |size, random| rounds(|| size * normal(random))),
    case("Student's t, 2 degrees of freedom", |size, random| {
        let student = StudentT::new(2.0).expect("2 is positive");
        rounds(|| size * student.sample(random))
    }),
    case("Cauchy", |size, random| {
        let cauchy = Cauchy::new(0.0, size).expect("deviations are positive");
        rounds(|| cauchy.sample(random))
    }),
    case("5 % spikes of 10x", |size, random| {
        rounds(|| size * normal(random) * if chance(random, 0.05) { 10.0 } else { 1.0 })
    }),
    case("80 % exact zeros", |size, random| {
        rounds(|| if chance(random, 0.8) { 0.0 } else { size * normal(random) })
    }),
    case("two values", |size, random| rounds(|| size * sign(random))),
    Case { wilder: 20.0, ..case("5 of 100 20x noisier", |size, random| rounds(|| size * normal(random))) },
    case("flips of 5 % in 20 % of rounds", |size, random| {
        rounds(|| size * normal(random) + if chance(random, 0.2) { FLIP * sign(random) } else { 0.0 })
    }),
    case("slots correlated 0.6, random order", |size, random| {
        let slots = autoregressive(0.6, size, 2 * ROUNDS, random);
        slots.chunks_exact(2).map(|slots| sign(random) * (slots[1] - slots[0])).collect()
    }),
    case("slots in a random walk, random order", |size, random| {
        rounds(|| sign(random) * size * normal(random))
    }),
    case("second slot 1 % slower, random order", |size, random| {
        rounds(|| sign(random) * (SLOWER_SLOT + size * normal(random)))
    }),
    in_fixed_order("rounds correlated 0.3, fixed order", |size, random| {
        autoregressive(0.3, size, ROUNDS, random)
    }),
    in_fixed_order("rounds correlated 0.6, fixed order", |size, random| {
        autoregressive(0.6, size, ROUNDS, random)
    }),
    in_fixed_order("second slot 1 % slower, fixed order", |size, random| {
        rounds(|| SLOWER_SLOT + size * normal(random))
    }),
];

const fn case(name: &'static str, draw: fn(f64, &mut Pcg64) -> Vec<f64>) -> Case {
    Case { name, random_order: true, draw, wilder: 1.0 }
}

const fn in_fixed_order(name: &'static str, draw: fn(f64, &mut Pcg64) -> Vec<f64>) -> Case {
    Case { random_order: false, ..case(name, draw) }
}

impl Case {
    /// Suites with a red by SEQ-E and by the group-sequential t.
    pub fn red_suites(&self, count: usize, seed: Seed) -> [Share; 2] {
        let red = each(count, |index| {
            let suite = self.suite(seed.named(self.name).at(index as u64));
            let [ours, theirs] = [self.ours(&suite), group_sequential_results(&suite).0];
            [ours, theirs].map(|statuses| statuses.contains(&Status::Regressed))
        });
        [0, 1].map(|rule| Share::of(red.iter().map(|red| red[rule])))
    }

    /// By SEQ-E alone.
    #[allow(dead_code, reason = "the tests use it")]
    pub fn red_suites_ours(&self, count: usize, seed: Seed) -> Share {
        let red = each(count, |index| {
            self.ours(&self.suite(seed.named(self.name).at(index as u64))).contains(&Status::Regressed)
        });
        Share::of(red)
    }

    fn ours(&self, suite: &[Vec<f64>]) -> Vec<Status> {
        let results = decide_as_needed(suite.len(), &[], &LIMITS, |at, round| suite[at][round]);
        results.iter().map(|result| result.status).collect()
    }

    fn suite(&self, seed: Seed) -> Vec<Vec<f64>> {
        let mut random = seed.random();
        let one = |at: usize| {
            let size = 0.009 * 2.4_f64.powf(normal(&mut random));
            let wilder = if at.is_multiple_of(20) { self.wilder } else { 1.0 };
            (self.draw)(size * wilder, &mut random)
        };
        (0..SIZE).map(one).collect()
    }
}

fn rounds(next: impl FnMut() -> f64) -> Vec<f64> {
    std::iter::repeat_with(next).take(ROUNDS).collect()
}

fn autoregressive(kept: f64, size: f64, count: usize, random: &mut Pcg64) -> Vec<f64> {
    let mut value = normal(random);
    let mut next = || {
        let now = size * value;
        value = kept * value + (1.0 - kept * kept).sqrt() * normal(random);
        now
    };
    (0..count).map(|_| next()).collect()
}

fn chance(random: &mut Pcg64, of: f64) -> bool {
    random.random::<f64>() < of
}

fn sign(random: &mut Pcg64) -> f64 {
    if random.random::<bool>() { 1.0 } else { -1.0 }
}
