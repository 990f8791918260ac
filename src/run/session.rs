//! Plan in, records out: checks, builds, then process after process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::model::line::MICRO_ARGUMENT;
use crate::model::{
    CaseRecord, FailureKind, Manifest, Outcome, ProcessEnd, RecordState, Result, RunRecord, Side, Stage,
    Thermal, Timing,
};
use crate::plan::{Plan, PlannedCase, Step};
use crate::store::RunFolder;
use crate::suite::Benchmark;

use super::draft::{Draft, not_finished};
use super::environment;
use super::event::{Observer, Progress};
use super::executor::{End, Execution, Executor, Launch, StagePlan, Stop};
use super::judge::{first_line, signal_name};
use super::requires;

/// What a session needs beside its plan.
pub struct Session<'a> {
    pub plan: &'a Plan,
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    /// The gbench-ci binary, which is what built-in workloads run in.
    pub binary: PathBuf,
    /// Seconds for everything; 0: no limit.
    pub deadline: f64,
    /// Program and arguments to call after a process was stopped for its time, with its folder; empty: none.
    pub after_timeout: (Vec<String>, PathBuf),
    /// Where records and logs go.
    pub artifacts: &'a Path,
}

/// One lane's result.
#[derive(Debug)]
pub struct Finished {
    pub record: RunRecord,
    /// `artifacts/<run_id>`.
    pub folder: RunFolder,
    /// Signal number, if one ended the run.
    pub interrupted: Option<i32>,
    /// A GPU that a benchmark requires is not here.
    pub gpu_missing: bool,
}

/// The state of one lane.
struct LaneRun {
    record: RunRecord,
    folder: RunFolder,
    /// Benchmark id to the outcome that settles all its cases before they run.
    settled: BTreeMap<String, Outcome>,
    gpu_missing: bool,
}

impl Session<'_> {
    /// Carries the plan out. `headers`: one record for each lane, complete but for its cases.
    ///
    /// Never ends early without records: deadlines, interrupts and failures become outcomes. Errors: the artifacts
    /// folder cannot be written.
    pub fn run(mut self, headers: Vec<RunRecord>) -> Result<Vec<Finished>> {
        let started = Instant::now();
        let until = (self.deadline > 0.0).then(|| started + Duration::from_secs_f64(self.deadline.min(1e9)));
        let mut lanes = Vec::new();
        for (index, header) in headers.into_iter().enumerate() {
            lanes.push(self.open(index, header)?);
        }
        let total = self.plan.processes();
        self.observer.on(&Progress::Planned { cases: self.plan.steps.len(), processes: total });
        let mut ended = None;
        for (index, lane) in lanes.iter_mut().enumerate() {
            if ended.is_none() {
                ended = self.build_all(index, lane, until)?;
            }
        }
        let mut done = 0;
        let mut next_index = vec![0; lanes.len()];
        for (number, step) in self.plan.steps.iter().enumerate() {
            let drafts = self.step(step, number, &mut lanes, &next_index, &mut ended, until, &mut done)?;
            for (case, draft) in step.cases.iter().zip(&drafts) {
                let complete = ended.is_none() || draft.is_broken();
                let record = draft.record(complete);
                let lane = &mut lanes[case.lane];
                let index = next_index[case.lane];
                next_index[case.lane] += 1;
                lane.folder.keep(index, &record)?;
                let (id, outcome) = (&record.id, &record.outcome);
                let side = self.plan.lanes[case.lane].side;
                self.observer.on(&Progress::CaseEnded { id, side, outcome, done, total });
                lane.record.cases[index] = record;
            }
        }
        lanes.into_iter().map(|lane| lane.finish(ended)).collect()
    }

    /// Begins a lane: every selected case stands in its record from the start, as not run.
    fn open(&self, index: usize, mut record: RunRecord) -> Result<LaneRun> {
        let cases = self.plan.steps.iter().flat_map(|step| &step.cases).filter(|case| case.lane == index);
        record.cases = cases.map(unrun).collect();
        record.state = RecordState::Interrupted;
        let mut settled = BTreeMap::new();
        let mut gpu_missing = false;
        for benchmark in &self.plan.lanes[index].benchmarks {
            if let Some((outcome, gpu)) = unmet(benchmark, &record.manifest) {
                gpu_missing |= gpu;
                settled.insert(benchmark.id.to_string(), outcome);
            }
        }
        let folder = RunFolder::create(self.artifacts, &record)?;
        Ok(LaneRun { record, folder, settled, gpu_missing })
    }

    /// Runs each build step of a lane once. A failed build settles its benchmark's cases.
    fn build_all(
        &mut self,
        index: usize,
        lane: &mut LaneRun,
        until: Option<Instant>,
    ) -> Result<Option<Stop>> {
        let mut built: Vec<(crate::suite::Build, Option<Outcome>)> = Vec::new();
        for benchmark in &self.plan.lanes[index].benchmarks {
            let id = benchmark.id.to_string();
            let Some(build) = benchmark.build.as_ref().filter(|_| !lane.settled.contains_key(&id)) else {
                continue;
            };
            let outcome = match built.iter().find(|(other, _)| other == build) {
                Some((_, outcome)) => outcome.clone(),
                None => {
                    let side = self.plan.lanes[index].side;
                    self.observer.on(&Progress::BuildStarted { benchmark: &id, side });
                    let launch = build_launch(benchmark, build, until);
                    let execution = self.executor.execute(&launch);
                    let name = format!("build-{}", slug(&id));
                    write_logs(&lane.folder, &name, &execution)?;
                    if let Some(stop @ (Stop::Interrupt(_) | Stop::RunDeadline)) = execution.stopped {
                        return Ok(Some(stop));
                    }
                    let outcome = build_outcome(&execution);
                    built.push((build.clone(), outcome.clone()));
                    outcome
                }
            };
            if let Some(outcome) = outcome {
                lane.settled.insert(id, outcome);
            }
        }
        Ok(None)
    }

    #[allow(clippy::too_many_arguments, reason = "one call, and each is a different thing")]
    fn step(
        &mut self,
        step: &Step,
        number: usize,
        lanes: &mut [LaneRun],
        next_index: &[usize],
        ended: &mut Option<Stop>,
        until: Option<Instant>,
        done: &mut usize,
    ) -> Result<Vec<Draft>> {
        let mut drafts: Vec<Draft> = step.cases.iter().map(Draft::new).collect();
        for (case, draft) in step.cases.iter().zip(&mut drafts) {
            if let Some(outcome) = lanes[case.lane].settled.get(case.benchmark.id.as_str()) {
                draft.break_off(outcome.clone());
            }
        }
        let total = self.plan.processes();
        let interleaved = self.plan.lanes.len() > 1;
        for turn in &step.turns {
            let (case, draft) = (&step.cases[turn.case], &mut drafts[turn.case]);
            if let Some(stop) = *ended {
                draft.break_off(not_reached(stop));
            }
            if draft.is_broken() {
                *done += 1;
                continue;
            }
            let side = self.plan.lanes[case.lane].side;
            let of = case.benchmark.settings.processes.value;
            let process = turn.process;
            let (id, at) = (&case.id, *done);
            self.observer.on(&Progress::ProcessStarted { id, side, process, of, done: at, total });
            let started = SystemTime::now();
            let execution = self.process(case, process, until);
            *done += 1;
            if let Some(stop @ (Stop::Interrupt(_) | Stop::RunDeadline)) = execution.stopped {
                *ended = Some(stop);
            }
            let after_timeout = self.after_timeout(&execution, case, until);
            draft.add(&execution, *turn, interleaved, started, after_timeout);
            self.observer.on(&Progress::ProcessEnded { seconds: execution.seconds, done: *done, total });
            let lane = &mut lanes[case.lane];
            let name = format!("{number:03}-{}.{process}", slug(&case.id.to_string()));
            write_logs(&lane.folder, &name, &execution)?;
            if is_worth_keeping(turn.process) {
                lane.folder.keep(next_index[case.lane], &draft.record(false))?;
            }
        }
        Ok(drafts)
    }

    /// Calls the user's command after a timeout, so that the next process finds a device that works.
    fn after_timeout(
        &mut self,
        execution: &Execution,
        case: &PlannedCase,
        until: Option<Instant>,
    ) -> Option<ProcessEnd> {
        let (argv, dir) = &self.after_timeout;
        if argv.is_empty() || !matches!(execution.stopped, Some(Stop::Stage { .. })) {
            return None;
        }
        let launch = step_launch(&case.benchmark, argv.clone(), dir.clone(), Stage::Teardown, until);
        let execution = self.executor.execute(&launch);
        match execution.end {
            // The user's interrupt came first: it was never started.
            _ if execution.stopped.is_some() => None,
            End::Process(end) => Some(end),
            // As a shell says it of a command that it cannot start.
            End::NotStarted { .. } => Some(ProcessEnd::Exit(127)),
            End::Lost => Some(ProcessEnd::Signal(9)),
        }
    }

    fn process(&mut self, case: &PlannedCase, process: u32, until: Option<Instant>) -> Execution {
        let benchmark = &case.benchmark;
        // Fresh for every process, gone with it; without one the process could still be told apart as cold, but
        // would not be: then it does not start.
        let cold = (case.id.thermal == Thermal::Cold).then(tempfile::tempdir);
        let cold = match cold.transpose() {
            Ok(folder) => folder,
            Err(error) => {
                return Execution::not_started(format!("no folder for empty caches can be made: {error}"));
            }
        };
        let settings = &benchmark.settings;
        let follows_events = benchmark.timing == Timing::Protocol;
        let log_limit = usize::try_from(settings.log_limit.value).unwrap_or(usize::MAX);
        let launch = Launch {
            argv: benchmark.action.argv(&case.id.params, &[&self.binary.to_string_lossy(), MICRO_ARGUMENT]),
            dir: benchmark.dir.clone(),
            env: environment::of_process(
                benchmark,
                &case.id,
                process,
                cold.as_ref().map(tempfile::TempDir::path),
            ),
            stages: StagePlan {
                follows_events,
                first: if follows_events { Stage::Start } else { Stage::Measure },
                deadlines: settings.deadlines.clone(),
                multiplier: settings.deadline_multiplier.value,
            },
            memory_limit: settings.memory_limit.value,
            // What numbers are extracted from must be there whole.
            stdout_limit: if benchmark.timing == Timing::Stdout {
                log_limit.max(16 << 20)
            } else {
                log_limit
            },
            stderr_limit: log_limit,
            until,
        };
        self.executor.execute(&launch)
    }
}

impl LaneRun {
    fn finish(mut self, ended: Option<Stop>) -> Result<Finished> {
        self.record.finished = Some(humantime::format_rfc3339_millis(SystemTime::now()).to_string());
        if ended.is_none() {
            self.record.state = RecordState::Complete;
        }
        let interrupted = match ended {
            Some(Stop::Interrupt(signal)) => Some(signal),
            _ => None,
        };
        if let Some(stop) = ended {
            self.record.warnings.push(format!("the run is not complete: {}", why_ended(stop)));
        }
        self.folder.finish(&self.record)?;
        let LaneRun { record, folder, gpu_missing, .. } = self;
        Ok(Finished { record, folder, interrupted, gpu_missing })
    }
}

fn unrun(case: &PlannedCase) -> CaseRecord {
    let mut draft = Draft::new(case);
    draft.break_off(not_finished());
    draft.record(false)
}

fn unmet(benchmark: &Benchmark, manifest: &Manifest) -> Option<(Outcome, bool)> {
    let missing = requires::missing(benchmark, manifest);
    let first = missing.first()?;
    let gpu = missing.iter().any(|missing| missing.gpu);
    let cause = missing.iter().map(|missing| missing.what.as_str()).collect::<Vec<_>>().join("; ");
    let advice = first.next.clone();
    let outcome = match benchmark.settings.fail_on_missing.value {
        true => Outcome::Failed { kind: FailureKind::MissingDependency, cause, advice },
        false => Outcome::Skipped { cause, advice },
    };
    Some((outcome, gpu))
}

fn why_ended(stop: Stop) -> String {
    match stop {
        Stop::Interrupt(signal) => format!("{} ended it", signal_name(signal)),
        _ => "its deadline came".into(),
    }
}

fn not_reached(stop: Stop) -> Outcome {
    match stop {
        Stop::Interrupt(signal) => Outcome::NotRun {
            cause: format!("{} came before its turn", signal_name(signal)),
            advice: "run again".into(),
        },
        _ => Outcome::NotRun {
            cause: "the run's deadline came before its turn".into(),
            advice: "raise `deadline` in [run], or select less".into(),
        },
    }
}

fn build_launch(benchmark: &Benchmark, build: &crate::suite::Build, until: Option<Instant>) -> Launch {
    let argv = build.action.argv(&crate::model::Params::new(), &[]);
    step_launch(benchmark, argv, build.dir.clone(), Stage::Build, until)
}

/// A process beside the measured ones, all of it one stage.
fn step_launch(
    benchmark: &Benchmark,
    argv: Vec<String>,
    dir: PathBuf,
    stage: Stage,
    until: Option<Instant>,
) -> Launch {
    let settings = &benchmark.settings;
    Launch {
        argv,
        dir,
        env: environment::of_benchmark(benchmark),
        stages: StagePlan {
            follows_events: false,
            first: stage,
            deadlines: settings.deadlines.clone(),
            multiplier: settings.deadline_multiplier.value,
        },
        memory_limit: 0,
        stdout_limit: 1 << 20,
        stderr_limit: 1 << 20,
        until,
    }
}

fn build_outcome(execution: &Execution) -> Option<Outcome> {
    let failed = |cause: String| {
        let advice = "run the build step by hand; its output is in the run's logs".into();
        Some(Outcome::Failed { kind: FailureKind::Build, cause, advice })
    };
    if let Some(Stop::Stage { stage, limit, spent }) = execution.stopped {
        let advice = "raise it: deadlines.build".into();
        return Some(Outcome::TimedOut { stage, limit, spent, advice });
    }
    match &execution.end {
        End::Process(ProcessEnd::Exit(0)) => None,
        End::Process(ProcessEnd::Exit(code)) => {
            let stderr = execution.stderr.end(4096);
            let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).map(first_line);
            let last = last.map(|line| format!("; stderr ends: {line}")).unwrap_or_default();
            failed(format!("the build step ended with exit code {code}{last}"))
        }
        End::Process(ProcessEnd::Signal(signal)) => {
            failed(format!("the build step was ended by {}", signal_name(*signal)))
        }
        End::NotStarted { cause, .. } => failed(format!("the build step could not be started: {cause}")),
        End::Lost => failed("the build step's supervisor was killed".into()),
    }
}

fn write_logs(folder: &RunFolder, name: &str, execution: &Execution) -> Result<()> {
    folder.log(&format!("{name}.stdout.log"), &execution.stdout.bytes())?;
    folder.log(&format!("{name}.stderr.log"), &execution.stderr.bytes())
}

/// Whether to write down a case that is not over after its process of this index: after each of the first eight, then
/// whenever a quarter more have come. A journal that repeats a case after every process grows with the square of them.
fn is_worth_keeping(process: u32) -> bool {
    let mut at = 8u32;
    while at < process {
        at += at / 4;
    }
    process <= 8 || at == process
}

/// A file name's worth of a case's name.
fn slug(name: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    name.chars().take(80).map(word).collect::<String>().trim_matches(['-', '.']).to_owned()
}

/// `Side::word`, or nothing in an ordinary run; for observers.
pub fn side_word(side: Option<Side>) -> &'static str {
    side.map_or("", Side::word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_repeats_a_case_ever_more_rarely() {
        let kept = |processes: u32| (0..processes).filter(|process| is_worth_keeping(*process)).count();
        assert_eq!(kept(5), 5);
        assert_eq!(kept(9), 9);
        assert!((20..40).contains(&kept(1000)), "{}", kept(1000));
    }
}
