//! The only trait between a session and the processes it starts, so that tests can script it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gbench_formats::adapters::{ReadError, Reading};
use gbench_model::line::{Event, LineError};
use gbench_model::{
    Conditions, CutShort, EndedProcess, ProcessEnd, Sandbox, Setting, Stage, StageReport, Unrest,
};
use gbench_suite::Benchmark;
use gbench_suite::plan::PlannedCase;

use super::environment;
use crate::run::container::command::ContainerLaunch;
use crate::run::harness::left_files::LeftFiles;
use crate::run::lockstep::schedule::{Block, TurnFault, Turns};
use crate::run::process::io::capture::Capture;

/// Bytes kept of each stream of a step: all of it, unless the output is endless.
const MAX_STEP_OUTPUT_BYTES: usize = 32 << 20;

/// Starts one process, follows it to its end, and leaves no descendant behind.
pub trait Executor: Send {
    fn execute(&mut self, launch: &Launch) -> Execution;

    /// [`Executor::execute`] that reports to `tell` meanwhile. `every`: how often about the output; for a step outside of the
    /// measurements alone. An executor that cannot look meanwhile does not call it.
    fn execute_telling(
        &mut self,
        launch: &Launch,
        _every: Duration,
        _tell: &mut dyn FnMut(Meanwhile<'_>),
    ) -> Execution {
        self.execute(launch)
    }

    /// Starts two processes that are alive at once and measure in turns according to their requests, and follows both to their
    /// end.
    fn execute_pair(&mut self, launches: [&Launch; 2], turns: &Turns) -> [Execution; 2];

    /// Ends processes that killed supervisors have left behind, while no process of the run measures.
    fn end_strays(&mut self) {}

    /// The user has asked for the end, so nothing must wait.
    fn is_interrupted(&mut self) -> bool {
        false
    }
}

/// A report about a process that still runs.
pub enum Meanwhile<'a> {
    /// The seconds so far, and the end of the newest output, from stderr or stdout.
    Output { seconds: f64, text: &'a str },
    /// It has come to this case of those that share it.
    Case { index: u32, seconds: f64 },
}

/// Observes other activity of the machine before and after a process.
pub trait ConditionsProbe: Send {
    /// From now on, the processes are of this case.
    fn concern(&mut self, _case: &PlannedCase) {}

    fn begin(&mut self);

    fn end(&mut self, ended: &EndedProcess) -> Option<Conditions>;

    /// Why the machine is not idle now, while no process of the run is on it; empty: it is, or nothing is observed. `waited`:
    /// there was none for more than a second.
    fn unrest(&mut self, _waited: bool) -> Vec<Unrest> {
        Vec::new()
    }
}

#[derive(Clone, Debug)]
pub struct Launch {
    pub argv: Vec<String>,
    pub dir: PathBuf,
    /// The complete environment of the child; it inherits nothing else.
    pub env: Vec<(OsString, OsString)>,
    pub sandbox: Option<Sandbox>,
    pub container: Option<Box<ContainerLaunch>>,
    pub stages: StagePlan,
    /// Bytes; 0: no limit.
    pub memory_limit: u64,
    /// Bytes of stdout to keep; likewise of stderr.
    pub stdout_limit: usize,
    pub stderr_limit: usize,
    /// The moment at which the whole run must end.
    pub until: Option<Instant>,
}

impl Launch {
    /// Its sandbox. Podman's client gets none: it is the runtime itself, which keeps its containers in the user's home.
    pub(crate) fn confined(&self) -> Option<&Sandbox> {
        let is_podman = self.container.as_ref().is_some_and(|container| container.is_podman());
        self.sandbox.as_ref().filter(|_| !is_podman)
    }

    pub(crate) fn allow(&mut self, path: &Path) {
        if let Some(sandbox) = &mut self.sandbox {
            sandbox.allow(path);
        }
    }

    /// A step outside of the measurements: a build, the start of an interpreter, the command after a timeout. It has a single
    /// stage.
    pub(crate) fn of_step(
        benchmark: &Benchmark,
        argv: Vec<String>,
        dir: PathBuf,
        stage: Stage,
        until: Option<Instant>,
    ) -> Self {
        let settings = &benchmark.settings;
        Self {
            argv,
            dir,
            env: environment::of_benchmark(benchmark),
            sandbox: benchmark.sandbox.clone(),
            container: None,
            stages: StagePlan {
                follows_events: false,
                first: stage,
                deadlines: settings.deadlines.clone(),
                multiplier: settings.deadline_multiplier.value,
            },
            memory_limit: 0,
            stdout_limit: MAX_STEP_OUTPUT_BYTES,
            stderr_limit: MAX_STEP_OUTPUT_BYTES,
            until,
        }
    }
}

#[derive(Clone, Debug)]
pub struct StagePlan {
    /// True: stages are taken from protocol events, beginning with `start`. False: there is a single stage.
    pub follows_events: bool,
    pub first: Stage,
    /// Seconds before the multiplier.
    pub deadlines: BTreeMap<Stage, Setting<f64>>,
    pub multiplier: f64,
}

#[derive(Clone, Debug)]
pub struct Execution {
    pub end: ExecutionEnd,
    /// From spawn to exit, monotonic; with turns, including the time waiting for them.
    pub seconds: f64,
    pub stopped: Option<StopReason>,
    /// Protocol lines in order; reading stops at the first invalid one.
    pub events: Vec<Event>,
    /// The first bad line: its number from 1, and the error.
    pub bad_line: Option<(usize, LineError)>,
    pub stages: Vec<StageReport>,
    /// Its harness's readings of each case, if it has a harness.
    pub readings: Option<Result<Vec<Reading>, ReadError>>,
    /// The first file of the other side that it changed.
    pub reached: Option<PathBuf>,
    pub warning: Option<String>,
    pub blocks: Vec<Block>,
    /// Its request, if that is a file; kept with its logs.
    pub request: Option<String>,
    pub left_files: LeftFiles,
    pub stdout: Capture,
    pub stderr: Capture,
    pub peak_rss_bytes: Option<u64>,
    pub cpu_seconds: Option<f64>,
    pub leftovers: u32,
    /// Processes that even SIGKILL did not end.
    pub survivors: u32,
    /// It did not end by itself, and meanwhile the kernel's out-of-memory killer was active on this machine.
    pub oom_killer: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExecutionEnd {
    NotStarted { cause: String, not_found: bool },
    Process(ProcessEnd),
    SupervisorDied,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopReason {
    Stage {
        stage: Stage,
        limit: f64,
        spent: f64,
    },
    RunDeadline,
    Interrupt(i32),
    /// More output over the channel than any benchmark produces.
    OutputLimit,
    Share(ShareFault),
    /// It takes turns and sent an invalid line: no later line can be trusted.
    BadLine,
    /// A folder that the gate had made for it was removed, moved or replaced, so its contents cannot be trusted.
    FolderReplaced,
    /// It changed the priority, the processors or the limits of the gate or of another side's supervisor, whose processes
    /// inherit them.
    GateChanged,
    OtherSideChanged,
    Turns(TurnFault),
    /// It took turns with a process that is gone, or ending; `why` follows "the other side".
    Partner {
        why: &'static str,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareFault {
    /// It announced an unknown case, so none of its numbers can be attributed to a case.
    Unknown {
        index: u32,
        asked: u32,
    },
    BeforeAny,
    Twice,
    NeverAnnounced,
    NotReached,
}

impl Execution {
    /// The end of the whole run that came while the process ran, if any.
    pub fn cut_short(&self) -> Option<CutShort> {
        match self.stopped? {
            StopReason::Interrupt(signal) => Some(CutShort::Interrupt { signal }),
            StopReason::RunDeadline => Some(CutShort::Deadline),
            _ => None,
        }
    }

    /// How it tampered with the gate or the other side, so that its results cannot be trusted.
    pub(crate) fn misdeed(&self) -> Option<String> {
        match self.stopped? {
            StopReason::FolderReplaced => {
                Some("it removed, moved or replaced a temporary folder of the gate".into())
            }
            StopReason::GateChanged => {
                Some("it changed the priority, the processors or the limits of gbench-ci".into())
            }
            StopReason::OtherSideChanged => {
                let reached = self.reached.as_ref().map(|path| path.display().to_string());
                Some(format!("it changed {} of the other side", reached.unwrap_or_default()))
            }
            _ => None,
        }
    }

    pub fn not_started(cause: String) -> Self {
        Self {
            end: ExecutionEnd::NotStarted { cause, not_found: false },
            seconds: 0.0,
            stopped: None,
            reached: None,
            events: Vec::new(),
            bad_line: None,
            stages: Vec::new(),
            readings: None,
            warning: None,
            blocks: Vec::new(),
            request: None,
            left_files: LeftFiles::default(),
            stdout: Capture::new(0),
            stderr: Capture::new(0),
            peak_rss_bytes: None,
            cpu_seconds: None,
            leftovers: 0,
            survivors: 0,
            oom_killer: false,
        }
    }
}
