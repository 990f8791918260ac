//! What other tools decide on the same data, as their sources have it.

use gbench_ci::stats::{TQuantiles, mean, median, quantile, sample_stddev};
use rand::RngExt;
use rand_pcg::Pcg64;
use statrs::distribution::{ContinuousCDF, Normal};

use super::simulate::{Iterations, Process, Suite};
use super::trials::{Rule, Said};

const DROPPED: usize = 10;
const KEPT: usize = 50;
const RUN: Iterations = Iterations { dropped: DROPPED, kept: KEPT };
/// Stored nights that Bencher compares with, and the level of its limit.
const NIGHTS: usize = 30;
const BENCHER_TAIL: f64 = 0.02;
/// Both U tests' two-sided level.
const U_LEVEL: f64 = 0.05;
const REPETITIONS: usize = 10;
/// NVBench: samples without a warm-up worth the name, launches not batched.
const NVBENCH: Iterations = Iterations { dropped: 1, kept: 500 };
const ROBUST_GAP: f64 = 0.005;
const CRITERION_SAMPLES: usize = 100;
const CRITERION_RESAMPLES: usize = 400;
const CRITERION: Iterations = Iterations { dropped: DROPPED, kept: 5 * CRITERION_SAMPLES };
const TANGO: Iterations = Iterations { dropped: DROPPED, kept: 500 };
const TANGO_Z: f64 = 2.6;
const TANGO_LEAST: f64 = 0.005;

pub fn rules() -> Vec<Rule> {
    vec![
        github_action_benchmark("github-action-benchmark 200 %", 2.0),
        github_action_benchmark("github-action-benchmark 110 %", 1.1),
        threshold("threshold 5 %", 1.05),
        threshold("threshold 10 %", 1.1),
        bencher(),
        benchstat("benchstat 6+6", 6),
        benchstat("benchstat 10+10", 10),
        google_benchmark(),
        nvbench_compare(),
        nvbench_compare_robust(),
        criterion("criterion, 1 % noise (default)", 0.01),
        criterion("criterion, 2 % noise", 0.02),
        tango(),
    ]
}

/// A rule on two blocks of processes of one session: all of base, then all of head.
fn blocks(
    name: &'static str,
    processes: usize,
    iterations: Iterations,
    batched: bool,
    is_red: impl Fn(&[Vec<f64>], &[Vec<f64>], &mut Pcg64) -> bool + Sync + 'static,
) -> Rule {
    let judge = move |suite: &Suite, change: &[f64], random: &mut Pcg64| {
        let minutes: Vec<f64> = (0..2 * processes).map(|minute| minute as f64).collect();
        let drift = suite.drift(&minutes, random);
        let red: Vec<bool> = suite
            .benchmarks
            .iter()
            .zip(change)
            .map(|(benchmark, change)| {
                let mut block = |drift: &[f64], shift| -> Vec<Vec<f64>> {
                    let process = |drift: &f64| Process { iterations, drift: *drift, shift, batched };
                    drift.iter().map(|drift| suite.process(benchmark, &process(drift), random)).collect()
                };
                let base = block(&drift[..processes], 0.0);
                let head = block(&drift[processes..], *change);
                is_red(&base, &head, random)
            })
            .collect();
        Said::red(red, processes as f64, 2 * processes * iterations.all(), 2 * processes)
    };
    Rule { name, judge: Box::new(judge) }
}

/// A rule on one run now against the means of `nights` stored runs, each a session of its own.
fn against_history(
    name: &'static str,
    nights: usize,
    is_red: impl Fn(f64, &[f64]) -> bool + Sync + 'static,
) -> Rule {
    let judge = move |suite: &Suite, change: &[f64], random: &mut Pcg64| {
        let red = suite.benchmarks.iter().zip(change).map(|(benchmark, change)| {
            let mut run = |change| {
                let shift = change + benchmark.session_effect(random);
                let process = Process { iterations: RUN, drift: 0.0, shift, batched: true };
                average(&suite.process(benchmark, &process, random))
            };
            let stored: Vec<f64> = (0..nights).map(|_| run(0.0)).collect();
            is_red(run(*change), &stored)
        });
        let red: Vec<bool> = red.collect();
        // The stored runs were paid for by those who stored them.
        Said::red(red, 0.5, RUN.all(), 1)
    };
    Rule { name, judge: Box::new(judge) }
}

/// The value of this run against that of the run before.
fn github_action_benchmark(name: &'static str, limit: f64) -> Rule {
    against_history(name, 1, move |now, before| now / before[0] > limit)
}

/// Student's prediction limit from the nights before.
fn bencher() -> Rule {
    let quantile = TQuantiles::default().upper(BENCHER_TAIL, (NIGHTS - 1) as f64);
    against_history("Bencher t 0.98, 30 nights", NIGHTS, move |now, nights| {
        let spread = deviation(nights) * (1.0 + 1.0 / NIGHTS as f64).sqrt();
        now > average(nights) + quantile * spread
    })
}

/// Medians of one run a side.
fn threshold(name: &'static str, limit: f64) -> Rule {
    blocks(name, 1, RUN, true, move |base, head, _| middle(&head[0]) / middle(&base[0]) > limit)
}

/// Mann-Whitney on the means of runs.
fn benchstat(name: &'static str, runs: usize) -> Rule {
    blocks(name, runs, RUN, true, |base, head, _| {
        let [base, head] = [base, head].map(|side| side.iter().map(|run| average(run)).collect::<Vec<_>>());
        u_test_red(&base, &head)
    })
}

/// The U test of its compare.py on repetitions within one process a side.
fn google_benchmark() -> Rule {
    let iterations = Iterations { dropped: DROPPED, kept: KEPT * REPETITIONS };
    blocks("google benchmark U test, 10 repetitions", 1, iterations, true, |base, head, _| {
        u_test_red(&groups(&base[0], KEPT), &groups(&head[0], KEPT))
    })
}

/// The difference of means against the smaller of the two relative deviations.
fn nvbench_compare() -> Rule {
    blocks("nvbench_compare", 1, NVBENCH, false, |base, head, _| {
        let [base, head] = [base, head].map(|side| (average(&side[0]), deviation(&side[0])));
        let noise = (base.1 / base.0).min(head.1 / head.0);
        noise > 0.0 && (head.0 - base.0) / base.0 > noise
    })
}

/// Head's fastest against base's upper quartile.
fn nvbench_compare_robust() -> Rule {
    blocks("nvbench_compare_robust", 1, NVBENCH, false, |base, head, _| {
        let mut base = base[0].clone();
        base.sort_unstable_by(f64::total_cmp);
        let upper = quantile(&base, 0.75).unwrap_or(f64::NAN);
        let fastest = head[0].iter().copied().fold(f64::INFINITY, f64::min);
        fastest / upper - 1.0 >= ROBUST_GAP
    })
}

/// Welch's t by bootstrap, and the bootstrap interval of the change beyond the noise threshold.
fn criterion(name: &'static str, noise: f64) -> Rule {
    blocks(name, 1, CRITERION, true, move |base, head, random| {
        let size = CRITERION.kept / CRITERION_SAMPLES;
        let (base, head) = (groups(&base[0], size), groups(&head[0], size));
        let error =
            (deviation(&base).powi(2) + deviation(&head).powi(2)).sqrt() / (CRITERION_SAMPLES as f64).sqrt();
        let t = (average(&head) - average(&base)) / error;
        // The bootstrap distribution of t over 100 + 100 samples is normal for all that matters here.
        if 2.0 * Normal::standard().sf(t.abs()) >= 0.05 {
            return false;
        }
        let mut resampled =
            |side: &[f64]| (0..side.len()).map(|_| side[random.random_range(0..side.len())]).sum::<f64>();
        let mut changes: Vec<f64> =
            (0..CRITERION_RESAMPLES).map(|_| resampled(&head) / resampled(&base) - 1.0).collect();
        changes.sort_unstable_by(f64::total_cmp);
        quantile(&changes, 0.025).unwrap_or(f64::NAN) > noise
    })
}

/// Pairs of iterations of one long-lived pair of processes.
fn tango() -> Rule {
    let judge = |suite: &Suite, change: &[f64], random: &mut Pcg64| {
        let drift = suite.drift(&[0.0], random)[0];
        let red = suite.benchmarks.iter().zip(change).map(|(benchmark, change)| {
            let process = |shift| Process { iterations: TANGO, drift, shift, batched: true };
            let [base, head] = suite.lock_step(benchmark, &process(0.0), &process(*change), random);
            let differences: Vec<f64> = head.iter().zip(&base).map(|(head, base)| head - base).collect();
            let difference = average(&differences);
            let z = difference / (deviation(&differences) / (TANGO.kept as f64).sqrt());
            z >= TANGO_Z && difference / average(&base) > TANGO_LEAST
        });
        let red: Vec<bool> = red.collect();
        Said::red(red, 1.0, 2 * TANGO.all(), 2)
    };
    Rule { name: "tango", judge: Box::new(judge) }
}

/// Red where head's median is larger and the two-sided Mann-Whitney test rejects: exact without ties, else by the
/// normal approximation with their correction.
pub fn u_test_red(base: &[f64], head: &[f64]) -> bool {
    if middle(head) <= middle(base) {
        return false;
    }
    let mut all: Vec<(f64, bool)> =
        base.iter().map(|value| (*value, false)).chain(head.iter().map(|value| (*value, true))).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rank_sum, mut ties, mut before) = (0.0, 0.0, 0);
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let size = group.len() as f64;
        let rank = before as f64 + (size + 1.0) / 2.0;
        rank_sum += rank * group.iter().filter(|(_, head)| *head).count() as f64;
        ties += size.powi(3) - size;
        before += group.len();
    }
    let (n, m) = (head.len() as f64, base.len() as f64);
    let u = rank_sum - n * (n + 1.0) / 2.0;
    let smaller = u.min(n * m - u);
    if ties == 0.0 {
        return 2.0 * u_tail(smaller as usize, head.len(), base.len()) < U_LEVEL;
    }
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    let z = (n * m / 2.0 - smaller - 0.5) / variance.sqrt();
    2.0 * Normal::standard().sf(z) < U_LEVEL
}

/// P(U <= u) without ties: the subsets of `n` of the ranks 0 to `n + m - 1`, counted by their sum (Mann & Whitney 1947).
fn u_tail(u: usize, n: usize, m: usize) -> f64 {
    // ways[k][s]: subsets of k ranks with the sum s.
    let most = u + n * (n - 1) / 2;
    let mut ways = vec![vec![0.0_f64; most + 1]; n + 1];
    ways[0][0] = 1.0;
    let mut all = vec![0.0_f64; n + 1];
    all[0] = 1.0;
    for rank in 0..n + m {
        for k in (1..=n).rev() {
            all[k] += all[k - 1];
            for sum in (rank..=most).rev() {
                ways[k][sum] += ways[k - 1][sum - rank];
            }
        }
    }
    ways[n].iter().sum::<f64>() / all[n]
}

/// Means of `size` values at a time.
fn groups(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks_exact(size).map(average).collect()
}

fn average(values: &[f64]) -> f64 {
    mean(values).unwrap_or(f64::NAN)
}

fn middle(values: &[f64]) -> f64 {
    median(&mut values.to_vec()).unwrap_or(f64::NAN)
}

fn deviation(values: &[f64]) -> f64 {
    sample_stddev(values).unwrap_or(f64::NAN)
}
