//! Rules on the same round differences that promise a level over the suite too: a fixed number of rounds, and a
//! group-sequential t. Both take the variance as moderated over the suite.

use gbench_ci::stats::seq_e::Status;
use gbench_ci::stats::{Prior, TQuantiles, mean, sample_stddev, t_tail};
use rand_pcg::Pcg64;

use super::ours::{MIN_EFFECT, Rounds, SeqE, TARGET, USUAL};
use super::simulate::Suite;
use super::trials::{Rule, Said};

const ALPHA: f64 = 0.01;
const ALPHA_IMPROVED: f64 = 0.05;
/// Rounds at which the group-sequential rule looks.
pub const LOOKS: [usize; 8] = [3, 4, 6, 8, 12, 16, 24, 40];
/// One-sided level of its interval for "unchanged".
const CERTIFY: f64 = 0.005;
/// Its prior never counts for more rounds than this, and no variance is below that.
const MAX_PRIOR: f64 = 8.0;
const MIN_VARIANCE: f64 = 4e-8;

pub fn rules() -> Vec<Rule> {
    vec![
        fixed("fixed paired t, R=20, Bonferroni", 20),
        fixed("fixed paired t, R=40, Bonferroni", 40),
        group_sequential("group-sequential t, 40 rounds at most"),
    ]
}

fn fixed(name: &'static str, rounds: usize) -> Rule {
    let judge = move |suite: &Suite, change: &[f64], random: &mut Pcg64| {
        let differences = Rounds::new(suite, change, rounds, SeqE::USUAL, random).all(rounds);
        let iterations = 2 * rounds * USUAL.all();
        Said::red(fixed_reds(&differences, rounds), rounds as f64, iterations, 2 * rounds)
    };
    Rule { name, judge: Box::new(judge) }
}

fn group_sequential(name: &'static str) -> Rule {
    let most = LOOKS[LOOKS.len() - 1];
    let judge = move |suite: &Suite, change: &[f64], random: &mut Pcg64| {
        let differences = Rounds::new(suite, change, most, SeqE::USUAL, random).all(most);
        let (statuses, rounds) = group_sequential_results(&differences);
        let longest = rounds.iter().copied().max().unwrap_or(0);
        let mean = rounds.iter().sum::<usize>() as f64 / rounds.len() as f64;
        Said {
            statuses,
            rounds: mean,
            red_rounds: Vec::new(),
            iterations: 2.0 * mean * USUAL.all() as f64,
            launches: 2.0 * longest as f64,
        }
    };
    Rule { name, judge: Box::new(judge) }
}

/// Which benchmarks are red after the first `rounds` of a design with so many, tested once: Bonferroni over the suite,
/// one-sided against the minimum effect.
pub fn fixed_reds(differences: &[Vec<f64>], rounds: usize) -> Vec<bool> {
    let level = ALPHA / differences.len() as f64;
    let moderated = Moderated::all(differences, rounds, f64::INFINITY);
    moderated.iter().map(|one| one.tail(one.mean - MIN_EFFECT) <= level).collect()
}

/// Statuses, and the look at which each stopped.
pub fn group_sequential_results(differences: &[Vec<f64>]) -> (Vec<Status>, Vec<usize>) {
    let tests = (differences.len() * LOOKS.len()) as f64;
    let most = LOOKS[LOOKS.len() - 1];
    let mut statuses = vec![Status::Exhausted; differences.len()];
    let mut rounds = vec![most; differences.len()];
    let mut quantiles = TQuantiles::default();
    for look in LOOKS {
        let moderated = Moderated::all(differences, look, MAX_PRIOR);
        for (at, one) in moderated.iter().enumerate() {
            if statuses[at] != Status::Exhausted {
                continue;
            }
            let half = quantiles.upper(CERTIFY, one.freedom) * one.error;
            statuses[at] = if one.tail(one.mean - MIN_EFFECT) <= ALPHA / tests {
                Status::Regressed
            } else if one.tail(-one.mean - MIN_EFFECT) <= ALPHA_IMPROVED / tests {
                Status::Improved
            } else if one.mean.abs() + half < TARGET {
                Status::Unchanged
            } else {
                continue;
            };
            rounds[at] = look;
        }
    }
    (statuses, rounds)
}

struct Moderated {
    mean: f64,
    error: f64,
    freedom: f64,
}

impl Moderated {
    fn all(differences: &[Vec<f64>], rounds: usize, most_prior: f64) -> Vec<Self> {
        let freedom = (rounds - 1) as f64;
        let variance = |values: &Vec<f64>| sample_stddev(&values[..rounds]).unwrap_or(0.0).powi(2);
        let variances: Vec<f64> = differences.iter().map(variance).collect();
        let prior = Prior::fit(&variances, freedom).at_most(most_prior);
        let moderate = |(values, variance): (&Vec<f64>, &f64)| {
            let moderated = prior.moderate(*variance, freedom).max(MIN_VARIANCE);
            Self {
                mean: mean(&values[..rounds]).unwrap_or(0.0),
                error: (moderated / rounds as f64).sqrt(),
                freedom: prior.freedom + freedom,
            }
        };
        differences.iter().zip(&variances).map(moderate).collect()
    }

    /// Chance of `distance` or more above 0.
    fn tail(&self, distance: f64) -> f64 {
        t_tail(distance / self.error, self.freedom)
    }
}
