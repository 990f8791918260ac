//! The suite against itself, to learn what this machine can tell apart and what that costs.

use std::path::{Path, PathBuf};

use super::figures;
use crate::app::compare::commits::rule_of;
use crate::app::measuring::listing::list_cases;
use crate::app::measuring::lock::MeasuringTurn;
use crate::app::measuring::session::{RoundsMeasuring, base_and_head, new_comparison, new_seed};
use crate::app::paths::project_root;
use crate::app::progress::Reporter;
use crate::app::reports::verdict_files::json_of;
use crate::app::request::RunRequest;
use crate::app::rounds::scheduler::{SequentialStopping, rounded};
use crate::app::store::stores::folder_of;
use crate::compare::{
    self, Calibration, PlantedControl, Readiness, Verdict, VerdictDocument, limits_of, verdict_of,
};
use crate::micro::injected::{INJECTED, WORK};
use crate::model::text::count;
use crate::model::{Budget, Comparison, Result, SequentialRule, Setting, Timing};
use crate::run::{NextRound, RoundsState, StoppingPolicy};
use crate::stats::seq_e::{self, PowerContext};
use crate::store::ComparisonFolder;
use crate::suite::plan::{RoundsPlan, common_cases};
use crate::suite::{Action, Benchmark, Gate, Source, Suite};

#[derive(Clone, Debug)]
pub(crate) struct CalibrateRequest {
    pub run: RunRequest,
    pub rounds: u32,
    pub budget: Budget,
    /// Seed of the random run order, and of the tries.
    pub order_seed: Option<u64>,
    /// Measure a workload of ours with more work on one side, too.
    pub positive_control: bool,
    pub store: Option<String>,
}

pub(crate) enum CalibrateResult {
    Done(Box<Calibrated>),
    /// The signal that ended it; nothing is calibrated.
    Interrupted(i32),
}

pub(crate) struct Calibrated {
    pub calibration: Calibration,
    pub bytes: Vec<u8>,
    pub folder: PathBuf,
    /// Its file in the store; `None` where nothing was measured, which replaces nothing.
    pub stored: Option<PathBuf>,
    pub has_failures: bool,
}

pub(crate) fn calibrate(
    request: &CalibrateRequest,
    builtins: &[Benchmark],
    reporter: &Reporter,
) -> Result<CalibrateResult> {
    let suite = request.run.suite(builtins)?;
    let root = project_root(&suite)?;
    let store = folder_of(&suite, request.store.as_deref())?.root().to_owned();
    let artifacts = root.join(&suite.run.artifacts.value).join("calibrations");

    let seed = request.order_seed.unwrap_or_else(new_seed);
    let comparison =
        comparison(&suite, seed, request.run.settings.overrides.settings.threshold.given().copied());
    let turn = MeasuringTurn::take(&[&suite], reporter)?;
    let mut suite = suite;
    list_cases(vec![(&mut suite, None, &root)], reporter)?;
    let plan = RoundsPlan::new(&suite, &suite, &[], seed);
    let folder = ComparisonFolder::create(&artifacts, &comparison.id)?;
    let within = request.budget.seconds();
    let within = within.map_or(String::new(), |seconds| format!(", within {}", rounded(seconds)));
    reporter.note(&format!(
        "{} against itself: {}, {}{within}",
        suite.name,
        count(plan.comparable(), "case"),
        count(request.rounds as usize, "round")
    ));
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&suite, &root), (&suite, &root)],
        git: None,
        comparison: &comparison,
        folder: &folder,
        turn: &turn,
        resume: Vec::new(),
    };
    let mut even = Even { rounds: request.rounds, budget: request.budget };
    let finished = measuring.carry_out(&mut even, reporter)?;
    let [base, head] = base_and_head(&finished)?;
    if let Some(signal) = head.interrupted {
        return Ok(CalibrateResult::Interrupted(signal));
    }
    let mut calibration = compare::calibrate(&base.record, &head.record, &comparison, request.rounds)?;
    propose_counting(&mut calibration, &suite);
    if calibration.has_figures() && request.positive_control {
        match planted([&artifacts, &root], seed, &turn, reporter)? {
            Planted::Measured(control) => calibration.control = Some(control),
            Planted::Failed(why) => {
                calibration.warnings.push(format!("the planted slowdown could not be measured: {why}"));
            }
            Planted::Interrupted(signal) => return Ok(CalibrateResult::Interrupted(signal)),
        }
    }
    let bytes = json_of(&calibration)?;
    folder.report("calibration.json", &bytes)?;
    let stored = calibration.has_figures().then(|| figures::replace(&store, &bytes)).transpose()?;
    let mut cases = finished.iter().flat_map(|finished| &finished.record.cases);
    let has_failures = cases.any(|case| case.outcome.is_failure());
    let folder = folder.root().to_owned();
    Ok(CalibrateResult::Done(Box::new(Calibrated { calibration, bytes, folder, stored, has_failures })))
}

/// Says of each time that is too noisy for its target, and of a harness whose executions can be counted, that counting helps.
fn propose_counting(calibration: &mut Calibration, suite: &Suite) {
    for row in &mut calibration.rows {
        let noisy = matches!(row.readiness, Readiness::Slow | Readiness::Hopeless) && row.metric == "time";
        let benchmark = suite.benchmarks.iter().find(|benchmark| benchmark.id == row.case.benchmark);
        let Some(benchmark) = benchmark.filter(|_| noisy) else { continue };
        if let Some(advice) = figures::counting_advice(benchmark) {
            row.help.insert(0, advice);
        }
    }
}

/// How a gate ends a job means nothing here.
fn comparison(suite: &Suite, seed: u64, threshold: Option<f64>) -> Comparison {
    let (match_key, interleaving) = (suite.gate.match_key.clone(), suite.gate.interleaving.clone());
    let gate = Gate { match_key, interleaving, ..Gate::default() };
    let rule = rule_of(&suite.gate, common_cases(suite, suite).len());
    let mut comparison = new_comparison(["this tree", "this tree again"], seed, &gate, rule);
    comparison.policy.threshold = threshold;
    comparison
}

/// Every case gets the same rounds: what is decided early is measured on, because its noise is the question.
struct Even {
    rounds: u32,
    budget: Budget,
}

impl StoppingPolicy for Even {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        let rounds = |pair: &usize| state.pairs[*pair].rounds;
        let open: Vec<usize> = state.open().into_iter().filter(|pair| rounds(pair) < self.rounds).collect();
        match open.iter().map(rounds).min() {
            Some(fewest) => {
                NextRound::Measure(open.into_iter().filter(|pair| rounds(pair) == fewest).collect())
            }
            None => NextRound::Stop,
        }
    }

    fn may_start(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let round = state.pairs[pair].seconds_per_round().unwrap_or(0.0);
        self.budget.has_room(state.seconds, round)
    }
}

const USUAL: u32 = 100;
const MORE: u32 = 105;
/// The gate's own default.
const MIN_EFFECT: f64 = 0.0025;

/// The positive control: a workload of ours with more work on one side, judged like any other.
enum Planted {
    Measured(PlantedControl),
    /// No verdict came of it, for this reason.
    Failed(String),
    Interrupted(i32),
}

/// Measures until it is decided, in at most the usual rounds. Its records go below `artifacts`.
fn planted(
    [artifacts, home]: [&Path; 2],
    seed: u64,
    turn: &MeasuringTurn,
    reporter: &Reporter,
) -> Result<Planted> {
    let (Some(base), Some(head)) = (planted_suite(home, USUAL), planted_suite(home, MORE)) else {
        return Ok(Planted::Failed("its name is not valid".into()));
    };
    let rule = SequentialRule::for_cases(1);
    let comparison = new_comparison(["the usual work", "5 % more work"], seed, &Gate::default(), rule);
    reporter.note("a built-in workload with 5 % more work on one side");
    let plan = RoundsPlan::new(&base, &head, &[], seed);
    let folder = ComparisonFolder::create(artifacts, &comparison.id)?;
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&base, home), (&head, home)],
        git: None,
        comparison: &comparison,
        folder: &folder,
        turn,
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

fn planted_suite(home: &Path, work: u32) -> Option<Suite> {
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
    let power = PowerContext { noise: sequence.noise, min_effect: MIN_EFFECT, target: row.threshold.ln_1p() };
    let bets = limits.bets_in(limits.most_rounds, 0);
    let detectable = seq_e::detectable(bets, power, &limits, 1).exp_m1();
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
