//! Comparisons in rounds whose processes are made up: what one gives depends on its case, side and round alone.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gbench_ci::model::line::Event;
use gbench_ci::model::{CaseRecord, Metric, ProcessEnd, RunId, RunRecord, Side};
use gbench_ci::run::{
    Execution, ExecutionEnd, Executor, Finished, Launch, NextRound, RoundsSession, RoundsState, RunSession,
    Silent, StopReason, StoppingPolicy, Turns,
};
use gbench_ci::stats::seq_e::{SequentialLimits, Series, Status, decide};
use gbench_ci::store::ComparisonFolder;
use gbench_ci::suite::plan::RoundsPlan;
use gbench_ci::suite::{Action, Benchmark, Source, Suite};

/// One process, or what one case has of it, as the executor saw it: case, side's folder, index within its case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Started {
    pub case: String,
    pub side: &'static str,
    pub process: u32,
}

/// What becomes of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Measures(f64),
    Fails,
    Ends(StopReason),
    /// The gate is killed while it runs.
    Killed,
}

/// Plays every process from a script; the control's are those of the base.
pub struct Scripted<'a> {
    pub script: &'a (dyn Fn(&Started, usize) -> Fate + Sync),
    pub started: Vec<Started>,
    /// For each pair that took turns: whose was the first, and the first launch's side and the second's.
    pub pairs: Vec<(usize, [Started; 2])>,
    /// How many cases each process measured.
    pub shared: Vec<usize>,
}

impl<'a> Scripted<'a> {
    pub fn new(script: &'a (dyn Fn(&Started, usize) -> Fate + Sync)) -> Self {
        Self { script, started: Vec::new(), pairs: Vec::new(), shared: Vec::new() }
    }
}

impl Executor for Scripted<'_> {
    fn execute(&mut self, launch: &Launch) -> Execution {
        let cases = cases_of(launch);
        self.shared.push(cases.len());
        let mut execution = Execution::not_started(String::new());
        execution.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
        execution.seconds = 0.5;
        let announce = cases.len() > 1;
        for (index, started) in cases.into_iter().enumerate() {
            let fate = (self.script)(&started, self.started.len());
            self.started.push(started);
            if announce {
                execution.events.push(Event::Case { index: index as u32 });
            }
            match fate {
                Fate::Measures(value) => {
                    let (metric, values) = ("time".into(), vec![Some(value), Some(value * 1.01)]);
                    execution.events.push(Event::Samples {
                        metric,
                        values,
                        unit: None,
                        better: None,
                        gate: None,
                    });
                    continue;
                }
                Fate::Fails => execution.end = ExecutionEnd::Process(ProcessEnd::Exit(3)),
                Fate::Ends(stop) => execution.stopped = Some(stop),
                Fate::Killed => panic!("killed"),
            }
            break;
        }
        execution
    }

    /// One that fails takes the other with it.
    fn execute_pair(&mut self, launches: [&Launch; 2], turns: &Turns) -> [Execution; 2] {
        self.pairs.push((turns.first, launches.map(|launch| cases_of(launch).remove(0))));
        let mut order = [0, 1];
        order.rotate_left(turns.first);
        let mut executions = [None, None];
        for side in order {
            executions[side] = Some(self.execute(launches[side]));
        }
        let mut executions = executions.map(Option::unwrap);
        let fails = |execution: &Execution| execution.end == ExecutionEnd::Process(ProcessEnd::Exit(3));
        for side in [0, 1] {
            if fails(&executions[side]) && !fails(&executions[1 - side]) {
                executions[1 - side].stopped =
                    Some(StopReason::Partner { why: "ended before its turns were over" });
            }
        }
        executions
    }
}

fn cases_of(launch: &Launch) -> Vec<Started> {
    let request = launch.env.iter().rev().find(|(name, _)| name == "GBENCH_REQUEST").unwrap();
    let request: serde_json::Value = serde_json::from_str(request.1.to_str().unwrap()).unwrap();
    let points = match request["cases"].as_array() {
        Some(cases) if !cases.is_empty() => cases.clone(),
        _ => vec![request["params"].clone()],
    };
    let started = |params: serde_json::Value| Started {
        case: match params["n"].as_i64() {
            Some(n) => format!("{}:{n}", request["benchmark"].as_str().unwrap()),
            None => request["benchmark"].as_str().unwrap().into(),
        },
        side: if launch.dir == Path::new("/base") { "base" } else { "head" },
        process: request["process"].as_u64().unwrap() as u32,
    };
    points.into_iter().map(started).collect()
}

/// A reproducible number in 0..1 from whatever is given.
pub fn chance(of: impl std::hash::Hash) -> f64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    (hasher.finish() >> 11) as f64 / (1u64 << 53) as f64
}

/// Two percent of noise by case, side and round; the head's `s/slow` takes a tenth longer.
pub fn noisy(started: &Started, _nth: usize) -> Fate {
    let slower = if started.case == "s/slow" && started.side == "head" { 1.1 } else { 1.0 };
    let noise = chance((&started.case, started.side, started.process)) - 0.5;
    Fate::Measures(1e-3 * slower * (1.0 + 0.02 * noise))
}

pub fn suite(names: &[&str], dir: &str) -> Suite {
    let benchmark = |name: &&str| {
        let action = Action::Command(vec!["true".into()]);
        let mut benchmark = Benchmark::new(name.parse().unwrap(), action, dir.into());
        benchmark.timing = gbench_ci::model::Timing::Protocol;
        benchmark
    };
    Suite::new("s", Source::Builtin, names.iter().map(benchmark).collect())
}

pub fn plan(names: &[&str], controls: usize) -> RoundsPlan {
    let (base, head) = (suite(names, "/base"), suite(names, "/head"));
    let common = gbench_ci::suite::plan::common_cases(&base, &head);
    RoundsPlan::new(&base, &head, &gbench_ci::suite::plan::choose_controls(&common, controls, 1), 7)
}

pub fn headers(plan: &RoundsPlan) -> Vec<RunRecord> {
    let header = |side: &Option<Side>| RunRecord { side: *side, ..super::header() };
    plan.arms.iter().map(|arm| header(&arm.side)).collect()
}

pub fn new_folder(artifacts: &Path) -> ComparisonFolder {
    ComparisonFolder::create(artifacts, &RunId::new(SystemTime::now(), std::process::id())).unwrap()
}

pub fn rounds<'a>(
    plan: &'a RoundsPlan,
    executor: &'a mut dyn Executor,
    folder: &'a ComparisonFolder,
) -> RoundsSession<'a> {
    let session = RunSession {
        executor,
        // Nothing is leaked: it has no size.
        observer: Box::leak(Box::new(Silent)),
        probe: None,
        binary: PathBuf::from("gbench-ci"),
        deadline: 0.0,
        calm_wait: 0.0,
        after_timeout: Default::default(),
    };
    RoundsSession { plan, session, folder, resume: Vec::new() }
}

/// Begins a comparison and sees it through.
pub fn compare(
    plan: &RoundsPlan,
    script: &(dyn Fn(&Started, usize) -> Fate + Sync),
    folder: &ComparisonFolder,
    referee: &mut dyn StoppingPolicy,
) -> (Vec<Finished>, Vec<Started>) {
    let mut executor = Scripted::new(script);
    let finished = rounds(plan, &mut executor, folder).run(headers(plan), referee).unwrap();
    (finished, executor.started)
}

/// So many rounds of every case.
pub struct Rounded(pub u32);

impl StoppingPolicy for Rounded {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        let mut open = state.open();
        open.retain(|pair| state.pairs[*pair].rounds < self.0);
        if open.is_empty() { NextRound::Stop } else { NextRound::Measure(open) }
    }
}

/// Until the rule has decided every case, or has seen its most rounds.
pub struct Decided(pub SequentialLimits);

impl StoppingPolicy for Decided {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        let mut open = state.open();
        let screening: Vec<usize> = open
            .iter()
            .copied()
            .filter(|pair| (state.pairs[*pair].rounds as usize) < self.0.screen_rounds)
            .collect();
        if !screening.is_empty() {
            return NextRound::Measure(screening);
        }
        let statuses = self.statuses(state.records[0], state.records[1]);
        open.retain(|pair| statuses[*pair].0 == Status::Open);
        if open.is_empty() { NextRound::Stop } else { NextRound::Measure(open) }
    }
}

impl Decided {
    /// Status and rounds by case.
    pub fn statuses(&self, base: &RunRecord, head: &RunRecord) -> Vec<(Status, usize)> {
        let values = |case: &CaseRecord| -> Vec<f64> {
            let metric: Option<&Metric> = case.metrics.first();
            metric.map_or_else(Vec::new, |metric| {
                metric.processes.iter().map(|samples| samples.values[0]).collect()
            })
        };
        let differences = |(base, head): (&CaseRecord, &CaseRecord)| -> Vec<f64> {
            values(base).iter().zip(values(head)).map(|(base, head)| (head / base).ln()).collect()
        };
        let all: Vec<Vec<f64>> = base.cases.iter().zip(&head.cases).map(differences).collect();
        let series: Vec<Series> =
            all.iter().map(|differences| Series::new(differences, 0.02, 0.0025)).collect();
        decide(&series, &self.0).1.iter().map(|ruling| (ruling.status, ruling.rounds)).collect()
    }
}

/// What two runs of the same order and samples share: everything but when it was.
pub fn essence(record: &RunRecord) -> Vec<CaseRecord> {
    let timeless = |case: &CaseRecord| {
        let mut case = case.clone();
        case.processes.iter_mut().for_each(|process| process.started.clear());
        case
    };
    record.cases.iter().map(timeless).collect()
}
