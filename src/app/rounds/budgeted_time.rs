//! How long each case of a harness is measured where a budget has to hold many of them: rounds buy evidence, samples do not.

use std::collections::{BTreeSet, HashMap};

use super::scheduler::rounded;
use crate::model::text::count;
use crate::model::{Budget, CaseRecord, Isolation, Origin, Result, RunRecord, Setting, format_duration};
use crate::suite::words::parse_seconds;
use crate::suite::{Benchmark, Suite};

/// A clear change is red after about so many rounds.
const ROUNDS: f64 = 16.0;
/// With fewer, hardly any change is.
const LEAST_ROUNDS: f64 = 12.0;
/// The share of a budget that they may take by their measuring alone: programs start, and harnesses calibrate, in as much
/// time again, and other work may slow both down.
const SHARE: f64 = 0.35;
/// And by all that a process does, once that is known.
const WHOLE: f64 = 0.9;
/// The share that one process may take to show how long it takes.
const TRIAL: f64 = 0.2;
/// Seconds that a second of measuring takes with its calibration.
const CALIBRATED: f64 = 2.0;
/// Below this a sample is mostly the cost of taking it.
const LEAST: f64 = 0.01;
const LEAST_WARMUP: f64 = 0.001;
/// Samples that a process has left: some harnesses look again for the number of calls before each (`go test`), or set up again.
const LEAST_SAMPLES: u32 = 3;

/// The time and the samples of a case in one process.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spent {
    duration: f64,
    burnin: f64,
    /// `None`: each side keeps its own, because one of them sets it.
    samples: Option<u32>,
}

/// How many samples a process has left.
#[derive(Clone, Copy)]
enum Samples {
    Fewer,
    /// Where a process takes too long all the same: each may be set up again.
    One,
}

/// How times were fitted to a budget.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Fitted {
    pub notes: Vec<String>,
    /// Rounds fit better without the third process of each.
    pub without_controls: bool,
    /// Seconds of the budget that are spent already.
    pub spent: f64,
}

/// How long the times of one comparison are.
#[derive(Clone, Copy)]
pub(crate) struct TimeLimits<'a> {
    pub budget: &'a Setting<Budget>,
    /// A control's process measures all that the base's measures.
    pub has_controls: bool,
    /// The user has not set their number.
    pub are_controls_free: bool,
    /// The base's record of the comparison that is gone on with, which keeps its times.
    pub begun: Option<&'a RunRecord>,
}

/// Shortens the time of cases that share processes, on both sides alike, so that enough rounds fit into the budget; only
/// where the suite file does not say how long. `trial`: measures the seconds of one process of each benchmark named, all
/// together, up to a limit; where these are too many even without controls, one at the shortest times shows what remains.
///
/// Errors: those of the trial.
pub(crate) fn fit(
    sides: [&mut Suite; 2],
    limits: TimeLimits<'_>,
    mut trial: impl FnMut(&Suite, &BTreeSet<String>, f64) -> Result<f64>,
) -> Result<Fitted> {
    let [base, head] = sides;
    let mut sides = [base, head];
    let free = free(&sides);
    let mut fitted = Fitted::default();
    if let Some(record) = limits.begun {
        let times: Vec<_> = record.cases.iter().filter_map(time_of).collect();
        let of = |id: &str| {
            times.iter().find(|(of, ..)| of == id).map(|(_, spent, origin)| (*spent, origin.clone()))
        };
        fitted.notes.extend(shorten(&mut sides, &free, of));
        return Ok(fitted);
    }
    let Some(budget) = limits.budget.value.seconds() else { return Ok(fitted) };
    let origin = &limits.budget.origin;
    let usual = [sides[0].clone(), sides[1].clone()];
    let by_factor = |sides: &mut [&mut Suite; 2], ids: &BTreeSet<String>, factor: f64, samples: Samples| {
        let of = |id: &String| Some((id.clone(), shorter(&usual, id, factor, samples)?));
        let spent: HashMap<String, Spent> = ids.iter().filter_map(of).collect();
        shorten(sides, ids, |id| Some((*spent.get(id)?, origin.clone())))
    };
    let mut of_round = if limits.has_controls { 3.0 } else { 2.0 };
    // Programs start, and harnesses calibrate: in about as much time again.
    let factor = SHARE * budget / (ROUNDS * of_round * seconds_asked(&usual[0], &free));
    let mut note = if factor < 1.0 { by_factor(&mut sides, &free, factor, Samples::Fewer) } else { None };
    let is_shared = |it: &&Benchmark| free.contains(it.id.as_str()) && it.points.len() > 1;
    let shared: BTreeSet<String> =
        usual[0].benchmarks.iter().filter(is_shared).map(|it| it.id.to_string()).collect();
    if shared.is_empty() {
        fitted.notes.extend(note);
        return Ok(fitted);
    }
    let most = TRIAL * budget;
    let mut process = trial(sides[0], &shared, most)?;
    fitted.spent = process;
    // Seconds that a process may take.
    let allowed = |spent: f64, of_round: f64| (WHOLE * budget - spent) / (ROUNDS * of_round);
    if process > allowed(fitted.spent, of_round) && limits.are_controls_free {
        fitted.without_controls = limits.has_controls;
        of_round = 2.0;
    }
    if process > allowed(fitted.spent, of_round) {
        note = by_factor(&mut sides, &shared, 0.0, Samples::One);
        let mut was_stopped = process >= most;
        if !was_stopped {
            process = trial(sides[0], &shared, most)?;
            was_stopped = process >= most;
            fitted.spent += process;
            // This process hardly measures: its time is overhead. The cases share the time left, half of which is
            // calibration. Each gets at least a quarter of its overhead, because that lowers noise by more than it lowers
            // the number of rounds.
            let cases: f64 =
                usual[0].benchmarks.iter().filter(is_shared).map(|it| it.points.len() as f64).sum();
            let left = (allowed(fitted.spent, of_round) - process) / (CALIBRATED * cases);
            let duration = LEAST + left.max(process / cases / CALIBRATED / 4.0);
            let asked = seconds_asked(&usual[0], &shared) / cases;
            let factor = (duration / asked).min(1.0);
            process += CALIBRATED * cases * (asked * factor - LEAST).max(0.0);
            note = by_factor(&mut sides, &shared, factor, Samples::One);
        }
        let rounds = ((WHOLE * budget - fitted.spent) / (process * of_round)).floor();
        if rounds < LEAST_ROUNDS {
            // A process that was stopped shows only what it takes at least.
            let [at_least, at_most, would_do] = if was_stopped {
                ["at least ", " at most", "is the least that would do"]
            } else {
                ["", "", "would do"]
            };
            fitted.notes.push(format!(
                "warning: a round of all harnesses takes {at_least}{}, and {} has room for {}{at_most}; a clear change takes about \
                 {ROUNDS}: `--budget {}` {would_do}, or fewer cases (`cases` in the suite file, `--benchmark`)",
                rounded(process * of_round),
                rounded(budget),
                count(rounds as usize, "round"),
                rounded(fitted.spent + process * of_round * ROUNDS / WHOLE),
            ));
        }
    }
    fitted.notes.splice(0..0, note);
    if fitted.without_controls {
        fitted.notes.push("no case is measured against itself: the budget has no room for controls".into());
    }
    Ok(fitted)
}

/// Benchmarks whose time neither side sets: rows of different times are not compared.
fn free(sides: &[&mut Suite; 2]) -> BTreeSet<String> {
    let all = || sides.iter().flat_map(|side| &side.benchmarks);
    let is_free_on_both = |id: &String| all().filter(|it| it.id.as_str() == id).all(is_free);
    all().map(|it| it.id.to_string()).filter(is_free_on_both).collect()
}

/// A benchmark's times multiplied by a factor: at most what was asked for, and never zero.
fn shorter(usual: &[Suite; 2], id: &str, factor: f64, samples: Samples) -> Option<Spent> {
    let mut of_both = usual.iter().flat_map(|side| &side.benchmarks).filter(|it| it.id.as_str() == id);
    let settings = &of_both.clone().next()?.settings;
    let seconds = |asked: f64, least: f64| ((asked * factor * 1e3).round() / 1e3).max(least).min(asked);
    let asked = settings.iterations.value;
    let fewer = match samples {
        Samples::Fewer => ((f64::from(asked) * factor).ceil() as u32).max(LEAST_SAMPLES).min(asked),
        Samples::One => 1,
    };
    let is_free = of_both.all(|it| it.settings.iterations.origin == Origin::Default);
    Some(Spent {
        duration: seconds(settings.duration.value, LEAST),
        burnin: seconds(settings.burnin.value, LEAST_WARMUP),
        samples: is_free.then_some(fewer),
    })
}

fn shorten(
    sides: &mut [&mut Suite; 2],
    ids: &BTreeSet<String>,
    of: impl Fn(&str) -> Option<(Spent, Origin)>,
) -> Option<String> {
    let mut shortest = f64::INFINITY;
    let benchmarks = sides.iter_mut().flat_map(|side| &mut side.benchmarks);
    for benchmark in benchmarks.filter(|it| ids.contains(it.id.as_str())) {
        let Some((spent, origin)) = of(benchmark.id.as_str()) else { continue };
        let settings = &mut benchmark.settings;
        settings.duration = Setting { value: spent.duration, origin: origin.clone() };
        settings.burnin = Setting { value: spent.burnin, origin: origin.clone() };
        if let Some(samples) = spent.samples.filter(|samples| *samples != settings.iterations.value) {
            settings.iterations = Setting { value: samples, origin };
        }
        shortest = shortest.min(spent.duration);
    }
    shortest.is_finite().then(|| {
        format!(
            "each case of a harness is measured for {}, so that enough rounds fit into the budget",
            format_duration(shortest)
        )
    })
}

fn seconds_asked(suite: &Suite, ids: &BTreeSet<String>) -> f64 {
    let of_case = |it: &Benchmark| it.settings.duration.value + it.settings.burnin.value;
    let named = suite.benchmarks.iter().filter(|it| ids.contains(it.id.as_str()));
    named.map(|it| it.points.len() as f64 * of_case(it)).sum()
}

fn time_of(case: &CaseRecord) -> Option<(String, Spent, Origin)> {
    let seconds = |name: &str| parse_seconds(case.config.get(name)?.value.as_str()?).ok();
    let origin = &case.config.get("duration")?.origin;
    let iterations = case.config.get("iterations")?;
    let samples = iterations.value.as_u64().filter(|_| iterations.origin == *origin);
    let samples = samples.and_then(|samples| u32::try_from(samples).ok());
    let spent = Spent { duration: seconds("duration")?, burnin: seconds("burnin")?, samples };
    (*origin != Origin::Default).then(|| (case.id.benchmark.to_string(), spent, origin.clone()))
}

/// True if the cases share processes at first and neither file nor flag sets their time. Python modules may set it
/// themselves, so their time is not changed.
fn is_free(benchmark: &Benchmark) -> bool {
    let settings = &benchmark.settings;
    benchmark.harness.as_ref().is_some_and(|entry| entry.harness.is_some())
        && settings.duration.value > 0.0
        && settings.isolation.value == Isolation::SharedScreen
        && settings.duration.origin == Origin::Default
        && settings.burnin.origin == Origin::Default
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::rounds::shared_screen_tests;

    fn suite(cases: usize) -> Suite {
        let mut suite = shared_screen_tests::suite("/", cases);
        let settings = &mut suite.benchmarks[0].settings;
        (settings.duration, settings.burnin) = (Setting::default(0.1), Setting::default(0.02));
        settings.iterations = Setting::default(10);
        suite
    }

    fn set(value: f64) -> Setting<Budget> {
        Setting { value: Budget::from_seconds(value), origin: Origin::Cli("--budget".into()) }
    }

    /// `process`: what one process of the harness takes, in seconds, by its settings.
    fn fitted(sides: [&mut Suite; 2], budget: f64, process: impl Fn(&Benchmark) -> f64) -> Fitted {
        let limits =
            TimeLimits { budget: &set(budget), has_controls: true, are_controls_free: true, begun: None };
        let trial = |suite: &Suite, ids: &BTreeSet<String>, most: f64| {
            assert_eq!(ids.len(), 1);
            Ok(process(&suite.benchmarks[0]).min(most))
        };
        fit(sides, limits, trial).unwrap()
    }

    #[test]
    fn many_cases_are_measured_for_less_and_few_as_ever() {
        let time = |cases: usize, seconds: f64| {
            let (mut base, mut head) = (suite(cases), suite(cases));
            let fitted = fitted([&mut base, &mut head], seconds, |_| 0.0);
            let settings = [base, head].map(|suite| suite.benchmarks[0].settings.clone());
            assert_eq!(settings[0], settings[1]);
            assert_eq!(!fitted.notes.is_empty(), settings[0].duration.origin != Origin::Default);
            (settings[0].duration.value, settings[0].iterations.value)
        };
        assert_eq!(time(10, 240.0), (0.1, 10));
        assert_eq!(time(40, 240.0), (0.036, 4));
        assert_eq!(time(100, 240.0), (0.015, 3));
        assert_eq!(time(5000, 240.0), (LEAST, 3));
        assert_eq!(time(100, 0.0), (0.1, 10), "no budget");
        let mut said = [suite(100), suite(100)];
        said.iter_mut()
            .for_each(|it| it.benchmarks[0].settings.duration.origin = Origin::File("gbench.toml:7".into()));
        let [base, head] = &mut said;
        assert_eq!(fitted([base, head], 240.0, |_| 0.0), Fitted::default(), "the suite file says how long");
        base.benchmarks[0].settings.duration.origin = Origin::Default;
        assert_eq!(fitted([base, head], 240.0, |_| 0.0), Fitted::default(), "one side says how long");
        head.benchmarks[0].settings.duration.origin = Origin::Default;
        head.benchmarks[0].settings.iterations =
            Setting { value: 7, origin: Origin::File("gbench.toml:8".into()) };
        assert!(!fitted([base, head], 240.0, |_| 0.0).notes.is_empty());
        let samples = [base, head].map(|suite| suite.benchmarks[0].settings.iterations.value);
        assert_eq!(samples, [10, 7], "one side says how many samples");
    }

    #[test]
    fn what_a_process_takes_shortens_the_times_further_and_says_where_it_is_hopeless() {
        let of = |cases: usize, budget: f64, process: fn(&Benchmark) -> f64| {
            let (mut base, mut head) = (suite(cases), suite(cases));
            let fitted = fitted([&mut base, &mut head], budget, process);
            let settings = [base, head].map(|suite| suite.benchmarks[0].settings.clone());
            assert_eq!(settings[0], settings[1]);
            (settings[0].duration.value, settings[0].iterations.value, fitted)
        };
        // It takes what it is asked for.
        let (duration, samples, as_asked) = of(10, 240.0, |_| 1.2);
        assert_eq!((duration, samples), (0.1, 10));
        assert_eq!(as_asked, Fitted { spent: 1.2, ..Fitted::default() });
        // Three times as much, and 16 rounds of three still fit; at six times these are rounds of two.
        assert!(!of(10, 240.0, |_| 3.6).2.without_controls);
        let (duration, samples, without) = of(10, 240.0, |_| 6.0);
        assert_eq!((duration, samples, without.notes.len(), without.without_controls), (0.1, 10, 1, true));
        // Seconds to start, and half of one to set up each sample: there is time for one sample, of the usual length.
        let sets_up = |it: &Benchmark| 3.5 + 0.5 * f64::from(it.settings.iterations.value);
        let (duration, samples, fitted) = of(10, 240.0, sets_up);
        assert_eq!((duration, samples, fitted.notes.len(), fitted.spent), (0.1, 1, 2, 12.5));
        // It starts for so long that there is time for little else, and still measures for a quarter of that.
        let (duration, samples, start_up) = of(20, 240.0, |_| 7.0);
        assert_eq!((duration, samples, start_up.notes.len()), (0.045, 1, 3));
        let (duration, samples, hopeless) = of(10, 240.0, |_| 60.0);
        assert_eq!((duration, samples, hopeless.spent), (LEAST, 1, TRIAL * 240.0));
        let [_, warning, _] = hopeless.notes.as_slice() else { panic!("{hopeless:?}") };
        assert_eq!(
            warning,
            "warning: a round of all harnesses takes at least 1m 36s, and 4m has room for 1 round at most; a clear change takes about 16: \
             `--budget 30m` is the least that would do, or fewer cases (`cases` in the suite file, `--benchmark`)"
        );
    }
}
