//! Starts what a run needs: builds, single processes, the command after a timeout.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::arm::ArmRecorder;
use super::build;
use super::environment;
use super::event::Observer;
use super::executor::{Execution, ExecutionEnd, Executor, Launch, StagePlan, StopReason};
use super::nothing;
use super::step::step_launch;
use super::temporary::Temporary;
use crate::model::line::MICRO_ARGUMENT;
use crate::model::{CutShort, Outcome, Params, ProcessEnd, Result, Stage, Thermal, Timing};
use crate::suite::plan::{Arm, PlannedCase};

/// Starts processes of a plan, one at a time.
pub(super) struct Launcher<'a> {
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    pub binary: PathBuf,
    pub after_timeout: (Vec<String>, PathBuf),
    /// The moment at which the whole run must end.
    pub until: Option<Instant>,
}

/// The moment so many seconds from now; 0: none.
pub(super) fn deadline(seconds: f64) -> Option<Instant> {
    (seconds > 0.0).then(|| Instant::now() + Duration::from_secs_f64(seconds.min(1e9)))
}

impl Launcher<'_> {
    /// Runs each build step of a arm once. A failed build settles its benchmark's cases.
    pub(super) fn build_all(&mut self, plan: &Arm, arm: &mut ArmRecorder) -> Result<Option<CutShort>> {
        let mut built: Vec<(crate::suite::Build, Option<Outcome>)> = Vec::new();
        for benchmark in &plan.benchmarks {
            let id = benchmark.id.to_string();
            let Some(build) = benchmark.build.as_ref().filter(|_| !arm.decided_early.contains_key(&id))
            else {
                continue;
            };
            let outcome = match built.iter().find(|(other, _)| other == build) {
                Some((_, outcome)) => outcome.clone(),
                None => {
                    let step = (&**benchmark, build);
                    let outcome = match build::build(self.executor, self.observer, step, arm, self.until)? {
                        Ok(outcome) => outcome,
                        Err(ended) => return Ok(Some(ended)),
                    };
                    built.push((build.clone(), outcome.clone()));
                    outcome
                }
            };
            if let Some(outcome) = outcome {
                arm.decided_early.insert(id, outcome);
            }
        }
        for benchmark in plan.benchmarks.iter().filter(|it| !arm.decided_early.contains_key(it.id.as_str())) {
            nothing::time_start(self.executor, benchmark, &mut arm.starts);
        }
        Ok(None)
    }

    /// Calls the user's command after a timeout, so that the next process finds a device that works.
    pub(super) fn after_timeout(&mut self, execution: &Execution, case: &PlannedCase) -> Option<ProcessEnd> {
        let (argv, dir) = &self.after_timeout;
        if argv.is_empty() || !matches!(execution.stopped, Some(StopReason::Stage { .. })) {
            return None;
        }
        let launch = step_launch(&case.benchmark, argv.clone(), dir.clone(), Stage::Teardown, self.until);
        let execution = self.executor.execute(&launch);
        match execution.end {
            // The user's interrupt came first: it was never started.
            _ if execution.stopped.is_some() => None,
            ExecutionEnd::Process(end) => Some(end),
            // As a shell says it of a command that it cannot start.
            ExecutionEnd::NotStarted { .. } => Some(ProcessEnd::Exit(127)),
            ExecutionEnd::SupervisorDied => Some(ProcessEnd::Signal(9)),
        }
    }

    /// Runs one process of a case to its end. `shared`: the points of the case's benchmark that it measures; empty: the
    /// case alone.
    pub(super) fn process(&mut self, case: &PlannedCase, process: u32, shared: &[Params]) -> Execution {
        // Fresh for every process, gone with it; without one the process could still be told apart as cold, but
        // would not be: then it does not start.
        let cold = (case.id.thermal == Thermal::Cold).then(Temporary::make);
        let cold = match cold.transpose() {
            Ok(folder) => folder,
            Err(error) => {
                return Execution::not_started(format!("no folder for empty caches can be made: {error}"));
            }
        };
        let mut launch = self.launch(case, process, cold.as_ref().map(Temporary::path));
        if !shared.is_empty() {
            launch = launch.for_cases(shared);
        }
        self.executor.execute(&launch)
    }

    /// The launch of one process of a case. `cold`: an empty folder for caches, given exactly for cold ones.
    pub(super) fn launch(&self, case: &PlannedCase, process: u32, cold: Option<&Path>) -> Launch {
        let benchmark = &case.benchmark;
        let settings = &benchmark.settings;
        let follows_events = benchmark.timing == Timing::Protocol;
        let log_limit = usize::try_from(settings.log_limit.value).unwrap_or(usize::MAX);
        Launch {
            argv: benchmark.action.argv(&case.id.params, &[&self.binary.to_string_lossy(), MICRO_ARGUMENT]),
            dir: benchmark.dir.clone(),
            env: environment::of_process(benchmark, &case.id, process, cold),
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
            until: self.until,
        }
    }
}
