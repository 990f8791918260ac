//! The positive control of `calibrate`: a workload of ours with more work on one side, judged like any other.

use std::path::Path;

use super::measure::{RoundsMeasuring, base_and_head, new_comparison};
use super::progress::Reporter;
use super::scheduler::SequentialStopping;
use crate::compare::{PlantedControl, Verdict, VerdictDocument, limits_of, verdict_of};
use crate::micro::injected::{INJECTED, WORK};
use crate::model::{Comparison, Result, SequentialRule, Setting, Timing};
use crate::stats::seq_e;
use crate::store::ComparisonFolder;
use crate::suite::plan::RoundsPlan;
use crate::suite::{Action, Benchmark, Gate, Source, Suite};

/// Per cent of the usual work.
const USUAL: u32 = 100;
const MORE: u32 = 105;
/// The gate's own default.
const MIN_EFFECT: f64 = 0.0025;

pub enum Planted {
    Measured(PlantedControl),
    /// Why there is no verdict.
    Failed(String),
    Interrupted(i32),
}

/// Measures until it is decided, in at most the usual rounds. Its records go below `artifacts`.
pub fn planted(artifacts: &Path, home: &Path, seed: u64, reporter: &Reporter) -> Result<Planted> {
    let (Some(base), Some(head)) = (suite(home, USUAL), suite(home, MORE)) else {
        return Ok(Planted::Failed("its name is none".into()));
    };
    let rule = SequentialRule::for_cases(1);
    let comparison = new_comparison(["the usual work", "5 % more work"], seed, &Gate::default(), rule);
    reporter.note("a built-in workload with 5 % more work on one side");
    let plan = RoundsPlan::new(&base, &head, &[], seed);
    let folder = ComparisonFolder::create(artifacts, &comparison.id)?;
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&base, home), (&head, home)],
        comparison: &comparison,
        folder: &folder,
        resume: Vec::new(),
    };
    let finished =
        measuring.carry_out(&mut SequentialStopping::new(&comparison, reporter.clone()), reporter)?;
    let [base, head] = base_and_head(&finished)?;
    if let Some(signal) = head.interrupted {
        return Ok(Planted::Interrupted(signal));
    }
    Ok(found(&verdict_of(&base.record, &head.record, None)?, &comparison))
}

fn suite(home: &Path, work: u32) -> Option<Suite> {
    let id = format!("gbench-ci/{}", INJECTED.name).parse().ok()?;
    let mut benchmark = Benchmark::new(id, Action::Builtin(INJECTED.name.into()), home.to_owned());
    benchmark.timing = Timing::Protocol;
    benchmark.settings.iterations = Setting::default(INJECTED.defaults.iterations);
    benchmark.settings.warmup = Setting::default(INJECTED.defaults.warmup);
    benchmark.env.insert(WORK.into(), work.to_string());
    Some(Suite::new("gbench-ci", Source::Builtin, vec![benchmark]))
}

fn found(document: &VerdictDocument, comparison: &Comparison) -> Planted {
    let row = document.rows.iter().find_map(|row| Some((row, row.sequence.as_ref()?)));
    let Some((row, sequence)) = row else {
        let reason = document.rows.first().map_or("it has no row", |row| row.reason.as_str());
        return Planted::Failed(reason.to_owned());
    };
    let rule = &comparison.rule;
    let limits = limits_of(rule);
    let fresh = limits.most_rounds - limits.screen_rounds;
    let detectable = seq_e::detectable(fresh, sequence.noise, MIN_EFFECT, &limits, 1).exp_m1();
    Planted::Measured(PlantedControl {
        comparison: comparison.id.clone(),
        planted: f64::from(MORE) / f64::from(USUAL) - 1.0,
        found: row.verdict == Verdict::Regressed,
        rounds: sequence.rounds,
        slowdown: row.change.as_ref().map(|change| change.slowdown),
        noise: sequence.noise,
        detectable: Some(detectable).filter(|it| it.is_finite()),
    })
}
