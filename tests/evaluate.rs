//! The short version of `benches/evaluate`: the rule's promise, power and cost on simulated suites, few enough for every
//! run of the tests.
//!
//! A figure fails only where a rule that just reaches its goal would do as badly with a chance below 1e-4
//! (`goals::CHANCE`): the binomial tail for shares, the normal one for means over suites. A right rule fails with less than
//! that chance by the choice of the seed, and with the one chosen always or never. Broken rules go through the same check below.

#![allow(dead_code, reason = "the bench uses the rest of what is shared")]

#[path = "../benches/evaluate/awkward.rs"]
mod awkward;
#[path = "../benches/evaluate/draw.rs"]
mod draw;
#[path = "../benches/evaluate/goals.rs"]
mod goals;
#[path = "../benches/evaluate/history.rs"]
mod history;
#[path = "../benches/evaluate/ours.rs"]
mod ours;
#[path = "../benches/evaluate/paired.rs"]
mod paired;
#[path = "../benches/evaluate/peers.rs"]
mod peers;
#[path = "../benches/evaluate/simulate.rs"]
mod simulate;
#[path = "../benches/evaluate/table.rs"]
mod table;
#[path = "../benches/evaluate/traces.rs"]
mod traces;
#[path = "../benches/evaluate/trials.rs"]
mod trials;

use std::io::Write;

use gbench_ci::stats::seq_e::{SequentialLimits, Status};
use gbench_ci::stats::{SampleGroup, Welch};
use rand_pcg::Pcg64;

use draw::Seed;
use goals::{Bound, Figure, Goal, Standing, Unit, missed};
use ours::{LIMITS, SeqE};
use simulate::{Iterations, Process, Profile, QUIET, Suite, TYPICAL};
use trials::{Mean, Rule, Said, Share, found, mean_of, planted, red_suites, unchanged};

const SEED: Seed = Seed(2024);
/// Suites without and with changes: 4 red ones of these may be chance, 5 are not.
const UNCHANGED: usize = 100;
const PLANTED: usize = 30;
/// A broken rule shows itself in fewer of the latter.
const FEWER: usize = 15;

fn goal(what: &str, figure: Figure, bound: Bound) -> Goal {
    Goal { what: what.to_owned(), figure, bound, unit: Unit::Plain }
}

/// Red suites and iterations where nothing changed.
fn level_and_cost(rule: &Rule, profile: &Profile, count: usize) -> [Goal; 2] {
    let said = unchanged(rule, profile, count, SEED);
    let iterations = mean_of(&said, |one| one.iterations);
    [
        goal("red suites", Figure::Share(red_suites(&said)), Bound::AtMost(2.0 / 600.0)),
        goal("iterations", Figure::Mean(iterations), Bound::AtMost(200.0)),
    ]
}

fn power(rule: &Rule, profile: &Profile, count: usize, least: f64) -> Goal {
    let said = planted(rule, profile, count, 3.0, SEED);
    goal("power at +3 %", Figure::Share(found(&said, Status::Regressed)), Bound::AtLeast(least))
}

fn lean(limits: SequentialLimits) -> Rule {
    SeqE { limits, ..SeqE::LEAN }.named("SEQ-E, lean")
}

fn rows(goals: &[Goal]) -> String {
    table::markdown(
        &["goal", "reached", "asked", "standing"],
        &goals.iter().map(Goal::row).collect::<Vec<_>>(),
    )
}

#[test]
fn the_rule_reaches_its_goals_on_typical_and_quiet_suites() {
    for (profile, least) in [(TYPICAL, 0.98), (QUIET, 0.99)] {
        let [level, cost] = level_and_cost(&lean(LIMITS), &profile, UNCHANGED);
        let goals = [level, cost, power(&lean(LIMITS), &profile, PLANTED, least)];
        assert!(missed(&goals).is_empty(), "{}:\n{}", profile.name, rows(&goals));
    }
}

#[test]
fn a_level_a_hundred_times_too_large_is_caught() {
    let [level, _] = level_and_cost(
        &lean(SequentialLimits { alpha: 100.0 * LIMITS.alpha, ..LIMITS }),
        &TYPICAL,
        UNCHANGED,
    );
    assert_eq!(level.standing(), Standing::Missed, "{}", rows(&[level]));
}

#[test]
fn a_rule_that_stops_too_early_is_caught() {
    let goal = power(&lean(SequentialLimits { most_rounds: 16, ..LIMITS }), &TYPICAL, FEWER, 0.98);
    assert_eq!(goal.standing(), Standing::Missed, "{}", rows(&[goal]));
}

#[test]
fn a_rule_that_measures_too_long_is_caught() {
    let [_, cost] = level_and_cost(&lean(SequentialLimits { screen_rounds: 6, ..LIMITS }), &TYPICAL, FEWER);
    assert_eq!(cost.standing(), Standing::Missed, "{}", rows(&[cost]));
}

/// Iterations of one process a side taken as independent, corrected for the number of benchmarks: what most tools do,
/// even with a strict level.
#[test]
fn welch_on_iterations_is_caught() {
    let judge = |suite: &Suite, change: &[f64], random: &mut Pcg64| {
        let iterations = Iterations { dropped: 4, kept: 24 };
        let red = suite.benchmarks.iter().zip(change).map(|(benchmark, change)| {
            let mut side = |shift| {
                let process = Process { iterations, drift: 0.0, shift, batched: true };
                SampleGroup::of(&suite.process(benchmark, &process, random)).unwrap()
            };
            Welch::new(side(0.0), side(*change)).p_above(0.0) <= LIMITS.alpha / suite.benchmarks.len() as f64
        });
        Said::red(red.collect::<Vec<_>>(), 1.0, 2 * iterations.all(), 2)
    };
    let [level, _] = level_and_cost(&Rule { name: "Welch", judge: Box::new(judge) }, &TYPICAL, FEWER);
    assert_eq!(level.standing(), Standing::Missed, "{}", rows(&[level]));
}

/// A second slot that is slower is the head's wherever the order is fixed.
#[test]
fn a_biased_order_is_caught_and_a_random_one_is_harmless() {
    let level = |name: &str| {
        let case = awkward::CASES.iter().find(|case| case.name == name).unwrap();
        goal(name, Figure::Share(case.red_suites_ours(60, SEED)), Bound::AtMost(LIMITS.alpha))
    };
    assert_ne!(level("second slot 1 % slower, random order").standing(), Standing::Missed);
    assert_eq!(level("second slot 1 % slower, fixed order").standing(), Standing::Missed);
}

#[test]
fn the_sampling_error_of_a_run_is_no_miss_and_more_than_it_is() {
    let standing = |figure, bound| goal("", figure, bound).standing();
    let share = |hits| Figure::Share(Share { hits, of: 600 });
    // SciPy 1.14: binom.sf(13, 600, 0.01) = 2.6e-3, binom.sf(18, 600, 0.01) = 1.1e-5.
    assert_eq!(standing(share(6), Bound::AtMost(0.01)), Standing::Met);
    assert_eq!(standing(share(14), Bound::AtMost(0.01)), Standing::Near);
    assert_eq!(standing(share(19), Bound::AtMost(0.01)), Standing::Missed);
    assert_eq!(standing(share(588), Bound::AtLeast(0.98)), Standing::Met);
    assert_eq!(standing(share(575), Bound::AtLeast(0.98)), Standing::Near);
    assert_eq!(standing(share(570), Bound::AtLeast(0.98)), Standing::Missed);
    let mean = |value| Figure::Mean(Mean { value, error: 0.1 });
    assert_eq!(standing(mean(5.8), Bound::AtMost(5.5)), Standing::Near);
    assert_eq!(standing(mean(5.9), Bound::AtMost(5.5)), Standing::Missed);
}

#[test]
fn the_same_seed_gives_the_same_rulings_whatever_the_threads() {
    let rule = SeqE::LEAN.named("SEQ-E");
    let together = unchanged(&rule, &TYPICAL, 6, SEED);
    for (index, there) in together.iter().enumerate() {
        let mut random = SEED.named("unchanged").named(TYPICAL.name).at(index as u64).random();
        let suite = Suite::draw(&TYPICAL, trials::SIZE, &mut random);
        let alone = (rule.judge)(&suite, &[0.0; trials::SIZE], &mut random);
        assert_eq!((&alone.statuses, alone.rounds), (&there.statuses, there.rounds));
    }
    let other = unchanged(&rule, &TYPICAL, 6, Seed(2025));
    assert!(together.iter().zip(&other).any(|(one, other)| one.statuses != other.statuses));
}

/// The promise of the profile's name: coefficients of variation with a median of 0.9 %, from 0.3 % to 2.8 %.
#[test]
fn simulated_processes_are_as_noisy_as_the_profile_says() {
    let mut random = SEED.random();
    let suite = Suite::draw(&TYPICAL, 600, &mut random);
    let iterations = Iterations { dropped: 30, kept: 400 };
    let process = Process { iterations, drift: 0.0, shift: 0.0, batched: true };
    let mut variation: Vec<f64> = suite
        .benchmarks
        .iter()
        .map(|benchmark| {
            let group = SampleGroup::of(&suite.process(benchmark, &process, &mut random)).unwrap();
            group.stddev / group.mean
        })
        .collect();
    variation.sort_unstable_by(f64::total_cmp);
    let [low, middle, high] = [60, 300, 540].map(|at| variation[at]);
    assert!((0.002..0.004).contains(&low), "{low}");
    assert!((0.007..0.011).contains(&middle), "{middle}");
    assert!((0.022..0.034).contains(&high), "{high}");
}

/// SciPy 1.14: mannwhitneyu of 4 and 4 separate values has p = 0.0286, of 3 and 3 p = 0.1; of 10 and 10 with U = 23
/// p = 0.0433 and with U = 24 p = 0.0524.
#[test]
fn the_u_test_rejects_where_scipy_does() {
    let side = |from: i32, count: i32| -> Vec<f64> { (from..from + count).map(f64::from).collect() };
    assert!(peers::u_test_red(&side(0, 4), &side(10, 4)));
    assert!(!peers::u_test_red(&side(10, 4), &side(0, 4)), "faster is not red");
    assert!(!peers::u_test_red(&side(0, 3), &side(10, 3)));
    // Six of the head lie above all ten of the base, the others above three or four of them: U of 100 - 77 and 100 - 76.
    let base = side(0, 10);
    let head = |low: [f64; 4]| low.into_iter().chain(side(20, 6)).collect::<Vec<_>>();
    assert!(peers::u_test_red(&base, &head([3.5, 3.5 + 1e-9, 3.5 + 2e-9, 4.5])));
    assert!(!peers::u_test_red(&base, &head([3.5, 3.5 + 1e-9, 3.5 + 2e-9, 3.5 + 3e-9])));
    assert!(!peers::u_test_red(&[1.0; 10], &[1.0; 10]), "ties alone are nothing");
}

/// Caches of real traces are cut short now and then, and failed configurations have no times.
#[test]
fn traces_are_read_from_a_cache_that_was_cut_short() {
    let folder = crate::support::tempdir().unwrap();
    let traces: String = (0..150)
        .map(|index| {
            let time = |at: usize| format!("{}", 1.0 + 1e-3 * ((at * 7 + index) % 5) as f64);
            let times = (0..32).map(time).collect::<Vec<_>>().join(", ");
            format!("\"{index}\": {{\"time\": 1.0, \"times\": [{times}]}},\n")
        })
        .collect();
    let text = format!("{{\"cache\": {{\n\"bad\": {{\"time\": \"RuntimeFailedConfig\"}},\n{traces}");
    let file = std::fs::File::create(folder.path().join("cache.json.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap();
    let corpus = traces::Corpus::read(folder.path()).unwrap();
    assert!(corpus.describe().contains("cache: 150 traces of up to 32 samples"), "{}", corpus.describe());
    let said = corpus.ours(ours::Way::LockStep, 2, 5.0, SEED);
    assert_eq!(found(&said, Status::Regressed), Share { hits: 10, of: 10 });
    assert!(corpus.histories().unwrap().is_empty());
    let empty = crate::support::tempdir().unwrap();
    assert!(traces::Corpus::read(empty.path()).is_err_and(|what| what.contains("holds traces")));
}
