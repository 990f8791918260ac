//! Starts what a run needs: builds, single processes, the command after a timeout.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::build;
use super::event::{Observer, Progress};
use crate::run::container::command::ContainerLaunch;
use crate::run::container::contained_process;
use crate::run::harness::left_files::{self, PutAside};
use crate::run::harness::recognition::calibrating;
use crate::run::outcome::nothing_done;
use crate::run::process::environment;
use crate::run::process::executor::{
    ConditionsProbe, Execution, ExecutionEnd, Executor, Launch, Meanwhile, StagePlan, StopReason,
};
use crate::run::process::temporary::Temporary;
use crate::run::process::wrapping::Wrapping;
use crate::run::record::arm::ArmRecorder;
use crate::run::record::case_record::ProcessContext;
use gbench_model::line::MICRO_ARGUMENT;
use gbench_model::{
    CUBIN_FOLDER, CalmWait, CaseId, Conditions, CutShort, EndedProcess, NVML_LIBRARY, NVRTC_LIBRARY, Outcome,
    Params, ProcessEnd, Result, Sandbox, Side, Stage, StageReport, Thermal, Timing,
};
use gbench_suite::plan::{Arm, PlannedCase};
use gbench_suite::{Action, Benchmark, Build};

pub struct RunSession<'a> {
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    /// Observes the machine around each process; `None`: nothing does.
    pub probe: Option<&'a mut dyn ConditionsProbe>,
    /// The gbench-ci binary, which runs built-in workloads.
    pub binary: PathBuf,
    /// Seconds for everything; 0: no limit.
    pub deadline: f64,
    /// The most seconds to wait for an idle machine before a process; 0: none.
    pub calm_wait: f64,
    /// Program and arguments to call after a process timed out, with its folder; empty: none.
    pub after_timeout: (Vec<String>, PathBuf),
}

pub(crate) struct Launcher<'a> {
    pub session: RunSession<'a>,
    until: Option<Instant>,
    /// The Python driver's files, written on first use; in sandboxes each side has its own, because Python stores compiled
    /// files there.
    pub(crate) drivers: Vec<(Option<Sandbox>, Temporary)>,
    cubins: RefCell<Vec<(Option<Sandbox>, Temporary)>>,
    /// While a case is profiled: the program to start its process under.
    pub(crate) wrapping: Option<Wrapping>,
    pub count: ProcessCount,
    /// By benchmark: the processes of the last turn of cases that share them.
    pub(super) turns: BTreeMap<String, usize>,
    pub(crate) gave_up: bool,
}

/// Processes that were started or left out so far, and in all: of the plan, or of the round. Clones share one count.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessCount {
    done: Arc<AtomicUsize>,
    pub total: usize,
}

impl ProcessCount {
    pub(crate) fn of(total: usize) -> Self {
        Self { done: Arc::default(), total }
    }

    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, processes: usize) {
        self.done.fetch_add(processes, Ordering::Relaxed);
    }
}

impl<'a> Launcher<'a> {
    pub(crate) fn new(session: RunSession<'a>) -> Self {
        let limit = session.deadline.min(1e9);
        let until = (limit > 0.0).then(|| Instant::now() + Duration::from_secs_f64(limit));
        Self {
            session,
            until,
            drivers: Vec::new(),
            cubins: RefCell::default(),
            wrapping: None,
            count: ProcessCount::default(),
            turns: BTreeMap::new(),
            gave_up: false,
        }
    }

    pub(crate) fn beside<'b>(&self, session: RunSession<'b>) -> Launcher<'b> {
        Launcher { until: self.until, count: self.count.clone(), ..Launcher::new(session) }
    }

    pub(crate) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Runs each build step of an arm once. A failed build settles its benchmark's cases, or the case of its source.
    pub(crate) fn build_all(&mut self, plan: &Arm, arm: &mut ArmRecorder) -> Result<Option<CutShort>> {
        let mut built: Vec<(Build, Option<Outcome>)> = Vec::new();
        for benchmark in &plan.benchmarks {
            let is_built = benchmark.harness.as_ref().is_some_and(|entry| entry.built);
            let needed = !is_built && !arm.decided_early.settles(benchmark);
            let Some(build) = benchmark.build.as_ref().filter(|_| needed) else { continue };
            if benchmark.pairs.is_none() {
                let outcome = match self.build_once(&mut built, plan, (benchmark, build, None), arm)? {
                    Ok(outcome) => outcome,
                    Err(ended) => return Ok(Some(ended)),
                };
                outcome.into_iter().for_each(|outcome| arm.decided_early.benchmark(benchmark, outcome));
                continue;
            }
            for params in arm.points(benchmark) {
                let Some(build) = benchmark.build_of(&params) else { continue };
                let source = benchmark.source_of(&params);
                let outcome = match self.build_once(&mut built, plan, (benchmark, &build, source), arm)? {
                    Ok(outcome) => outcome,
                    Err(ended) => return Ok(Some(ended)),
                };
                outcome.into_iter().for_each(|outcome| arm.decided_early.case(benchmark, &params, outcome));
            }
        }
        arm.read_device_code(&plan.benchmarks);
        for benchmark in plan.benchmarks.iter().filter(|it| !arm.decided_early.settles(it)) {
            nothing_done::time_start(self.session.executor, benchmark, &mut arm.starts);
            if benchmark.timing == Timing::Process
                && let Some(harness) = calibrating(benchmark)
            {
                arm.calibrating.insert(benchmark.id.to_string(), harness);
            }
        }
        Ok(None)
    }

    /// Runs a build step, unless an equal one is in `built`. Returns the outcome that it settles.
    fn build_once(
        &mut self,
        built: &mut Vec<(Build, Option<Outcome>)>,
        plan: &Arm,
        (benchmark, step, source): (&Benchmark, &Build, Option<&str>),
        arm: &ArmRecorder,
    ) -> Result<Result<Option<Outcome>, CutShort>> {
        if let Some((_, outcome)) = built.iter().find(|(other, _)| other == step) {
            return Ok(Ok(outcome.clone()));
        }
        let mut same = plan.benchmarks.iter().filter(|it| it.build.as_ref() == Some(step));
        let outcome = match same.find_map(|it| it.failed_build()) {
            Some(failed) => Some(build::keep(failed, benchmark, arm)?),
            None => {
                let (executor, observer) = (&mut *self.session.executor, &mut *self.session.observer);
                match build::build(executor, observer, (benchmark, step, source), arm, self.until)? {
                    Ok(outcome) => outcome,
                    Err(ended) => return Ok(Err(ended)),
                }
            }
        };
        built.push((step.clone(), outcome.clone()));
        Ok(Ok(outcome))
    }

    /// Calls the user's command after a timeout, so that the next process finds a working device.
    pub(crate) fn after_timeout(&mut self, execution: &Execution, case: &PlannedCase) -> Option<ProcessEnd> {
        let (argv, dir) = &self.session.after_timeout;
        if argv.is_empty() || !matches!(execution.stopped, Some(StopReason::Stage { .. })) {
            return None;
        }
        let launch = Launch::of_step(&case.benchmark, argv.clone(), dir.clone(), Stage::Teardown, self.until);
        let execution = self.session.executor.execute(&launch);
        match execution.end {
            // The user's interrupt came first: the command was never started.
            _ if execution.stopped.is_some() => None,
            ExecutionEnd::Process(end) => Some(end),
            // Like a shell that cannot start a command.
            ExecutionEnd::NotStarted { .. } => Some(ProcessEnd::Exit(127)),
            ExecutionEnd::SupervisorDied => Some(ProcessEnd::Signal(9)),
        }
    }

    /// Runs one process of a case to its end. `shared`: the points of the case's benchmark that it measures; empty: only the
    /// case.
    pub(crate) fn process(
        &mut self,
        case: &PlannedCase,
        process: u32,
        shared: &[Params],
    ) -> (Execution, ProcessContext) {
        self.observed(case, process, |launcher| launcher.execute(case, process, shared))
    }

    /// Runs one process by `execute`; returns it with its start time and the machine's state meanwhile.
    pub(crate) fn observed(
        &mut self,
        case: &PlannedCase,
        process: u32,
        execute: impl FnOnce(&mut Self) -> Execution,
    ) -> (Execution, ProcessContext) {
        let waited = self.wait_for_calm(case);
        let started = SystemTime::now();
        if let Some(probe) = &mut self.session.probe {
            probe.begin();
        }
        let execution = execute(self);
        let probe = self.session.probe.as_mut();
        let ended = EndedProcess {
            cpu_seconds: execution.cpu_seconds,
            seconds: execution.seconds,
            measured: measured(&execution.stages),
        };
        let conditions = with_wait(probe.and_then(|probe| probe.end(&ended)), waited);
        let after_timeout = self.after_timeout(&execution, case);
        self.tell_end(&execution);
        let context = ProcessContext {
            started,
            process,
            place: None,
            shared: None,
            lockstep: false,
            after_timeout,
            conditions,
        };
        (execution, context)
    }

    /// Starts a process of a case, under a profiler if it is profiled, and follows it to its end. `cases`: those that it will
    /// announce.
    pub(crate) fn start(&mut self, mut launch: Launch, cases: &[&PlannedCase]) -> Execution {
        if let Some(wrapping) = &self.wrapping {
            wrapping.apply(&mut launch);
        }
        let RunSession { executor, observer, .. } = &mut self.session;
        contained_process::execute(&mut **executor, &launch, &mut |meanwhile| {
            let Meanwhile::Case { index, seconds } = meanwhile else { return };
            if let Some(case) = cases.get(index as usize).filter(|_| cases.len() > 1) {
                let (id, index, of) = (&case.id, index as usize, cases.len());
                observer.on(&Progress::CaseStarted { id, index, of, seconds });
            }
        })
    }

    pub(crate) fn execute(&mut self, case: &PlannedCase, process: u32, shared: &[Params]) -> Execution {
        if let Some(cause) = no_kernel(&case.benchmark, &case.id.params) {
            return Execution::not_started(cause);
        }
        // Fresh for every process, and removed with it. Without one, the process would be recorded as cold without being so;
        // it is then not started.
        let cold = (case.id.thermal == Thermal::Cold).then(Temporary::make);
        let cold = match cold.transpose() {
            Ok(folder) => folder,
            Err(error) => {
                return Execution::not_started(format!("no folder for empty caches can be made: {error}"));
            }
        };
        let launch = self.launch(case, process, cold.as_ref().map(Temporary::path), shared, false);
        let files: BTreeSet<&str> =
            case.benchmark.extract.iter().filter_map(|extract| extract.rows.file.as_deref()).collect();
        let _aside =
            match PutAside::new(files.iter().copied(), &case.benchmark.dir, case.benchmark.sandbox.is_some())
            {
                Ok(aside) => aside,
                Err(cause) => return Execution::not_started(cause),
            };
        let mut execution = match &cold {
            Some(folder) => folder.guarded(|| self.start(launch, &[])),
            None => self.start(launch, &[]),
        };
        execution.left_files = left_files::read(files.into_iter(), &case.benchmark.dir);
        execution
    }

    /// The launch of one process of a case. `cold`: an empty folder for caches, given exactly for cold ones. `shared`: see
    /// [`Self::process`]. `turns`: it is to take turns.
    pub(crate) fn launch(
        &self,
        case: &PlannedCase,
        process: u32,
        cold: Option<&Path>,
        shared: &[Params],
        turns: bool,
    ) -> Launch {
        let benchmark = &case.benchmark;
        let settings = &benchmark.settings;
        let follows_events = benchmark.timing == Timing::Protocol;
        let log_limit = usize::try_from(settings.log_limit.value).unwrap_or(usize::MAX);
        let mut launch = Launch {
            argv: benchmark.argv(&case.id.params, &[&self.session.binary.to_string_lossy(), MICRO_ARGUMENT]),
            dir: benchmark.dir.clone(),
            env: environment::of_process(
                benchmark,
                &case.id,
                process,
                cold,
                shared,
                turns,
                self.wrapping.is_some(),
            ),
            sandbox: benchmark.sandbox.clone(),
            container: None,
            stages: StagePlan {
                follows_events,
                first: if follows_events { Stage::Start } else { Stage::Measure },
                deadlines: settings.deadlines.clone(),
                multiplier: settings.deadline_multiplier.value,
            },
            memory_limit: settings.memory_limit.value,
            // Output for extraction must be complete.
            stdout_limit: if benchmark.timing == Timing::Stdout {
                log_limit.max(16 << 20)
            } else {
                log_limit
            },
            stderr_limit: log_limit,
            until: self.until,
        };
        cold.into_iter().for_each(|folder| launch.allow(folder));
        if benchmark.compiles_kernels() {
            let env = self.compiler_env(benchmark);
            let folders = env.iter().filter(|(name, _)| name == CUBIN_FOLDER);
            folders.for_each(|(_, folder)| launch.allow(Path::new(folder)));
            launch.env.extend(env);
        }
        launch.container = ContainerLaunch::of(benchmark, &launch.env, cold);
        launch
    }

    /// Variables that show processes the compiler of kernels and kernels compiled by other processes of the run. Without a
    /// folder, each process compiles again.
    ///
    /// A folder that the user names only contains the suite's own kernels: the includes of a benchmark's kernel may change
    /// between runs.
    fn compiler_env(&self, benchmark: &Benchmark) -> Vec<(OsString, OsString)> {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_own = matches!(benchmark.action, Action::Builtin(_));
        let kept = named(CUBIN_FOLDER).filter(|_| is_own).and_then(|folder| std::path::absolute(folder).ok());
        let folder = kept.map(OsString::from).or_else(|| self.cubins_of(benchmark.sandbox.as_ref()));
        // They look at the card between their samples, as the gate does around them.
        let libraries = [NVRTC_LIBRARY, NVML_LIBRARY].map(|name| (name, named(name)));
        let env = libraries.into_iter().chain([(CUBIN_FOLDER, folder)]);
        env.filter_map(|(name, value)| Some((name.into(), value?))).collect()
    }

    fn cubins_of(&self, side: Option<&Sandbox>) -> Option<OsString> {
        let mut all = self.cubins.borrow_mut();
        if let Some((_, folder)) = all.iter().find(|(of, _)| of.as_ref() == side) {
            return Some(folder.path().into());
        }
        let folder = Temporary::make().ok()?;
        let path = folder.path().into();
        all.push((side.cloned(), folder));
        Some(path)
    }

    /// `cases`: that share the process.
    pub(crate) fn tell_start(
        &mut self,
        (id, cases): (&CaseId, usize),
        side: Option<Side>,
        process: u32,
        of: u32,
    ) {
        let (done, total) = (self.count.done(), self.count.total);
        self.session.observer.on(&Progress::ProcessStarted { id, cases, side, process, of, done, total });
    }

    pub(crate) fn tell_end(&mut self, execution: &Execution) {
        self.count.add(1);
        let (seconds, done, total) = (execution.seconds, self.count.done(), self.count.total);
        self.session.observer.on(&Progress::ProcessEnded { seconds, done, total });
    }

    pub(crate) fn tell_case(&mut self, arm: &ArmRecorder, index: usize) {
        let (case, side) = (arm.case(index), arm.side);
        let (id, outcome) = (&case.id, &case.outcome);
        // In rounds, the end of a case does not affect the count of processes.
        let (done, total) = if side.is_some() { (0, 0) } else { (self.count.done(), self.count.total) };
        self.session.observer.on(&Progress::CaseEnded { id, side, outcome, done, total });
    }
}

pub(crate) fn with_wait(conditions: Option<Conditions>, waited: Option<Box<CalmWait>>) -> Option<Conditions> {
    match waited {
        None => conditions,
        waited => Some(Conditions { waited, ..conditions.unwrap_or_default() }),
    }
}

/// From the beginning of the first measure stage to the end of the last, in seconds since the process's start.
fn measured(stages: &[StageReport]) -> Option<(f64, f64)> {
    let (mut now, mut span) = (0.0, None);
    for report in stages {
        let begin = now;
        now += report.seconds;
        if report.stage == Stage::Measure {
            span = Some((span.map_or(begin, |(first, _)| first), now));
        }
    }
    span
}

/// Why the kernel of a case cannot be requested; `None`: it can, or the benchmark is not a kernel.
fn no_kernel(benchmark: &Benchmark, params: &Params) -> Option<String> {
    match benchmark.kernel_call(params)? {
        Ok(call) if call.file.is_file() => None,
        Ok(call) => Some(format!("there is no file {}", call.file.display())),
        // The parameters come from the other side, for which this side's expressions were never computed.
        Err(why) => Some(format!("its launch cannot be computed: {why}")),
    }
}
