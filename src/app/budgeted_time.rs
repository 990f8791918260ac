//! How long each case of a harness is measured where a budget has to hold many of them: rounds buy evidence, samples do not.

use std::collections::BTreeSet;

use crate::model::{Budget, CaseRecord, Isolation, Origin, RunRecord, Setting, format_duration};
use crate::suite::words::parse_seconds;
use crate::suite::{Benchmark, Suite};

/// A clear change is red after about so many rounds.
const ROUNDS: f64 = 16.0;
/// The share of a budget that they may take by their measuring alone: programs start, and harnesses calibrate, in as much time again,
/// and other work may slow both down.
const SHARE: f64 = 0.35;
/// Below this a sample is mostly the cost of taking it.
const LEAST: f64 = 0.01;
const LEAST_WARMUP: f64 = 0.001;
/// Samples that a process has left: some harnesses look anew for the number of calls before each (`go test`), or set up again.
const LEAST_SAMPLES: u32 = 3;

/// What a process spends on a case.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spent {
    duration: f64,
    burnin: f64,
    /// `None`: each side keeps its own, because one of them sets it.
    samples: Option<u32>,
}

/// Shortens the time of cases that share processes, on both sides alike, so that enough rounds fit into the budget; only where the
/// suite file does not say how long. The note says so. `begun`: the base's record of the comparison that is gone on with,
/// which keeps its times.
pub(crate) fn fit(
    sides: [&mut Suite; 2],
    budget: &Setting<Budget>,
    has_controls: bool,
    begun: Option<&RunRecord>,
) -> Option<String> {
    let [base, head] = sides;
    // If one side sets its own time, both keep theirs: rows of different times are not compared.
    let all = || base.benchmarks.iter().chain(&head.benchmarks);
    let is_free_on_both = |id: &str| all().filter(|it| it.id.as_str() == id).all(is_free);
    let ids = all().map(|it| it.id.to_string());
    let free: BTreeSet<String> = ids.filter(|id| is_free_on_both(id)).collect();
    let times: Vec<(String, Spent, Origin)> = match begun {
        Some(record) => record.cases.iter().filter_map(time_of).collect(),
        None => {
            let factor = factor(base, budget.value.seconds()?, has_controls)?;
            let of = |benchmark: &Benchmark| {
                let settings = &benchmark.settings;
                // Neither more than was asked for, nor none of it.
                let shorter = |seconds: f64, least: f64| {
                    ((seconds * factor * 1e3).round() / 1e3).max(least).min(seconds)
                };
                let samples = settings.iterations.value;
                let fewer = ((f64::from(samples) * factor).ceil() as u32).max(LEAST_SAMPLES).min(samples);
                let mut sides = all().filter(|it| it.id == benchmark.id);
                let is_free = sides.all(|it| it.settings.iterations.origin == Origin::Default);
                let spent = Spent {
                    duration: shorter(settings.duration.value, LEAST),
                    burnin: shorter(settings.burnin.value, LEAST_WARMUP),
                    samples: is_free.then_some(fewer),
                };
                (benchmark.id.to_string(), spent, budget.origin.clone())
            };
            base.benchmarks.iter().filter(|it| free.contains(it.id.as_str())).map(of).collect()
        }
    };
    let mut shortest = f64::INFINITY;
    for benchmark in
        base.benchmarks.iter_mut().chain(&mut head.benchmarks).filter(|it| free.contains(it.id.as_str()))
    {
        let id = benchmark.id.to_string();
        let Some((_, spent, origin)) = times.iter().find(|(of, ..)| *of == id) else { continue };
        let settings = &mut benchmark.settings;
        settings.duration = Setting { value: spent.duration, origin: origin.clone() };
        settings.burnin = Setting { value: spent.burnin, origin: origin.clone() };
        if let Some(samples) = spent.samples.filter(|samples| *samples != settings.iterations.value) {
            settings.iterations = Setting { value: samples, origin: origin.clone() };
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

/// The benchmark of a case and its times, where they are not the default.
fn time_of(case: &CaseRecord) -> Option<(String, Spent, Origin)> {
    let seconds = |name: &str| parse_seconds(case.config.get(name)?.value.as_str()?).ok();
    let origin = &case.config.get("duration")?.origin;
    let iterations = case.config.get("iterations")?;
    let samples = iterations.value.as_u64().filter(|_| iterations.origin == *origin);
    let samples = samples.and_then(|samples| u32::try_from(samples).ok());
    let spent = Spent { duration: seconds("duration")?, burnin: seconds("burnin")?, samples };
    (*origin != Origin::Default).then(|| (case.id.benchmark.to_string(), spent, origin.clone()))
}

/// Whether the cases share processes at first and neither file nor flag sets their time. Python modules may set it themselves, so
/// their time is not changed.
fn is_free(benchmark: &Benchmark) -> bool {
    let settings = &benchmark.settings;
    benchmark.harness.as_ref().is_some_and(|entry| entry.harness.is_some())
        && settings.duration.value > 0.0
        && settings.isolation.value == Isolation::SharedScreen
        && settings.duration.origin == Origin::Default
        && settings.burnin.origin == Origin::Default
}

/// The factor by which the times are shortened; `None` where they fit.
fn factor(suite: &Suite, budget: f64, has_controls: bool) -> Option<f64> {
    // The control of a shared process measures all that base measures.
    let sides = if has_controls { 3.0 } else { 2.0 };
    let of_case = |it: &Benchmark| it.settings.duration.value + it.settings.burnin.value;
    let free = suite.benchmarks.iter().filter(|it| is_free(it));
    let of_round: f64 = free.map(|it| sides * it.points.len() as f64 * of_case(it)).sum();
    let factor = SHARE * budget / (ROUNDS * of_round);
    (factor < 1.0).then_some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::shared_screen_tests;

    fn suite(cases: usize) -> Suite {
        let mut suite = shared_screen_tests::suite("/", cases);
        let settings = &mut suite.benchmarks[0].settings;
        (settings.duration, settings.burnin) = (Setting::default(0.1), Setting::default(0.02));
        settings.iterations = Setting::default(10);
        suite
    }

    #[test]
    fn many_cases_are_measured_for_less_and_few_as_ever() {
        let time = |cases: usize, seconds: f64| {
            let (mut base, mut head) = (suite(cases), suite(cases));
            let budget =
                Setting { value: Budget::from_seconds(seconds), origin: Origin::Cli("--budget".into()) };
            let note = fit([&mut base, &mut head], &budget, true, None);
            let settings = [base, head].map(|suite| suite.benchmarks[0].settings.clone());
            assert_eq!(settings[0], settings[1]);
            assert_eq!(note.is_some(), settings[0].duration.origin != Origin::Default);
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
        let budget = Setting::default(Budget::from_seconds(240.0));
        assert_eq!(fit([base, head], &budget, true, None), None, "the suite file says how long");
        base.benchmarks[0].settings.duration.origin = Origin::Default;
        assert_eq!(fit([base, head], &budget, true, None), None, "one side says how long");
        head.benchmarks[0].settings.duration.origin = Origin::Default;
        head.benchmarks[0].settings.iterations =
            Setting { value: 7, origin: Origin::File("gbench.toml:8".into()) };
        assert!(fit([base, head], &budget, true, None).is_some());
        let samples = [base, head].map(|suite| suite.benchmarks[0].settings.iterations.value);
        assert_eq!(samples, [10, 7], "one side says how many samples");
    }
}
