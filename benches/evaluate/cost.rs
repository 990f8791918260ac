//! What deciding costs: everything is decided anew after each round, by all rounds so far.

use std::time::{Duration, Instant};

use gbench_ci::stats::seq_e::decide;
use rand_pcg::Pcg64;

use super::draw::{Seed, normal};
use super::ours::{LIMITS, series};

pub const ROUNDS: usize = 40;
/// CPU time for each round with 100 benchmarks, and in all with 10,000.
pub const GOAL_ROUND: Duration = Duration::from_millis(50);
pub const GOAL_LARGE: Duration = Duration::from_secs(2);

pub struct Cost {
    /// The dearest round.
    pub round: Duration,
    /// All rounds together.
    pub all: Duration,
    /// The last round alone, everything decided from nothing.
    pub last: Duration,
}

/// Of `count` benchmarks of which none is decided early: noise that is too large for that.
pub fn undecided(count: usize, seed: Seed) -> Cost {
    let mut random = seed.named("cost").random();
    let draw = |random: &mut Pcg64| -> Vec<f64> { (0..ROUNDS).map(|_| 0.05 * normal(random)).collect() };
    let differences: Vec<Vec<f64>> = (0..count).map(|_| draw(&mut random)).collect();
    let mut cost = Cost { round: Duration::ZERO, all: Duration::ZERO, last: Duration::ZERO };
    for rounds in 1..=ROUNDS {
        let so_far: Vec<Vec<f64>> = differences.iter().map(|all| all[..rounds].to_vec()).collect();
        let series = series(&so_far, &[]);
        let begin = Instant::now();
        std::hint::black_box(decide(&series, &LIMITS));
        let took = begin.elapsed();
        cost.round = cost.round.max(took);
        cost.all += took;
        cost.last = took;
    }
    cost
}
