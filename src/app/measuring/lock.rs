//! The turn of a gate among those that measure on this machine: who has it keeps the others out until it is dropped.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::app::progress::Reporter;
use crate::machine;
use crate::machine::locks::{LockAttempt, LockHolder, LockScope, MeasuringLock, lock_folder};
use crate::model::line::env::LOCKS;
use crate::model::{ExclusiveUse, Exit, Fault, Gpu, Result, RunRecord, format_duration};
use crate::run::{InheritedGpus, bound_list, gpus_of_list};
use crate::suite::{RunOptions, Suite};

/// Between two looks at a lock. One is a system call or two: it does not disturb who measures.
const INTERVAL: Duration = Duration::from_millis(200);
/// Between two looks at who holds it.
const NEWS: Duration = Duration::from_secs(2);
/// Another gate has the queue for a moment only: that is not a reason to give up.
const MOMENT: Duration = Duration::from_millis(500);

/// A turn of this gate, for as long as it is kept.
pub(crate) struct MeasuringTurn {
    _lock: Option<MeasuringLock>,
    exclusive: Option<ExclusiveUse>,
    warning: Option<String>,
}

impl MeasuringTurn {
    /// Waits for the turn to measure these suites, and says for whom. Where no lock can be had, the turn is this gate's all
    /// the same, with a warning: a folder's trouble must not keep anybody from measuring.
    ///
    /// Errors: others measured for longer than `lock_wait` (exit code 5); an interrupt.
    pub(crate) fn take(suites: &[&Suite], reporter: &Reporter) -> Result<Self> {
        let Some(suite) = suites.last() else { return Ok(Self::without(None)) };
        if !suite.run.lock.value {
            let warning =
                "other gates may have measured meanwhile: `--no-lock` waits for none, and none waits for it";
            return Ok(Self::without(Some(warning.into())));
        }
        let folder = match lock_folder(std::env::var_os(LOCKS).as_deref()) {
            Ok(Some(folder)) => folder,
            Ok(None) => return Ok(Self::without(None)),
            Err(why) => return Ok(Self::warned(&why, reporter)),
        };
        let scope = scope(suites);
        let gpus = match &scope {
            LockScope::Machine => Vec::new(),
            LockScope::Gpus(uuids) => uuids.iter().cloned().collect(),
        };
        let mut attempt = LockAttempt::new(folder, scope, LockHolder::here(&command(), &suite.name));
        let since = Instant::now();
        match wait(&mut attempt, &suite.run, since, reporter)? {
            Ok(false) => {}
            Ok(true) => {
                let seconds = Duration::from_secs(since.elapsed().as_secs());
                reporter.note(&format!("it is free after {}", humantime::format_duration(seconds)));
            }
            Err(why) => return Ok(Self::warned(&why, reporter)),
        }
        // Time that no other gate caused is not waiting.
        let waited_seconds = Some(since.elapsed().as_secs_f64()).filter(|it| *it >= INTERVAL.as_secs_f64());
        let exclusive = ExclusiveUse { gpus, waited_seconds: waited_seconds.unwrap_or(0.0) };
        Ok(Self { _lock: Some(attempt.finish()), exclusive: Some(exclusive), warning: None })
    }

    fn without(warning: Option<String>) -> Self {
        Self { _lock: None, exclusive: None, warning }
    }

    fn warned(why: &str, reporter: &Reporter) -> Self {
        let warning = format!("other gates may have measured meanwhile: no lock can be had: {why}");
        reporter.note(&format!("warning: other gates may measure meanwhile: no lock can be had: {why}"));
        Self::without(Some(warning))
    }

    pub(crate) fn waited(&self) -> Duration {
        Duration::from_secs_f64(self.exclusive.as_ref().map_or(0.0, |exclusive| exclusive.waited_seconds))
    }

    /// Writes into a record that begins now what its run has for itself.
    pub(crate) fn mark(&self, record: &mut RunRecord) {
        record.exclusive.clone_from(&self.exclusive);
        record.warnings.extend(self.warning.clone());
    }
}

/// Takes the locks as they become free. The answer is whether others were waited for, or why there are no locks.
fn wait(
    attempt: &mut LockAttempt,
    options: &RunOptions,
    since: Instant,
    reporter: &Reporter,
) -> Result<std::result::Result<bool, String>> {
    let patience = Duration::from_secs_f64(options.lock_wait.value.min(1e9)).max(MOMENT);
    let (mut interrupt, mut said) = (None, String::new());
    let mut next_news = Instant::now() + if options.lock_wait.value > 0.0 { INTERVAL } else { MOMENT };
    loop {
        match attempt.advance() {
            Ok(true) => return Ok(Ok(!said.is_empty())),
            Ok(false) => {}
            Err(why) => return Ok(Err(why)),
        }
        if since.elapsed() >= patience {
            return Err(given_up(&attempt.obstacle(), options));
        }
        if Instant::now() >= next_news {
            next_news = Instant::now() + NEWS;
            let obstacle = attempt.obstacle();
            if obstacle != said {
                reporter.note(&format!("waiting for the measuring lock: {obstacle}"));
                said = obstacle;
            }
        }
        let interrupt = match &mut interrupt {
            Some(interrupt) => interrupt,
            none => none.insert(super::executor::interrupt()?),
        };
        if let Some(signal) = interrupt.wait(INTERVAL) {
            return Err(interrupted(signal));
        }
    }
}

fn given_up(obstacle: &str, options: &RunOptions) -> Fault {
    let seconds = options.lock_wait.value;
    let waited = if seconds > 0.0 { format!(", after {}", format_duration(seconds)) } else { String::new() };
    let next = "wait for it with `--lock-wait 2h`, or measure at the same time with `--no-lock`";
    Fault::at("the measuring lock", format!("{obstacle}{waited}"), next).exits(Exit::Machine)
}

fn interrupted(signal: i32) -> Fault {
    let exit = if signal == 2 { Exit::Interrupted } else { Exit::Terminated };
    let what = "a signal ended the wait for it, and nothing was measured";
    Fault::at("the measuring lock", what, "run again").exits(exit)
}

/// The GPUs by the gate's own environment.
pub(crate) struct GateGpus {
    visible: Option<String>,
    by_bus: bool,
}

impl GateGpus {
    pub(crate) fn read() -> Self {
        let by_bus = std::env::var("CUDA_DEVICE_ORDER").is_ok_and(|order| order == "PCI_BUS_ID");
        Self { visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(), by_bus }
    }

    pub(crate) fn inherited(&self) -> InheritedGpus<'_> {
        InheritedGpus { visible: self.visible.as_deref(), by_bus: self.by_bus }
    }
}

fn scope(suites: &[&Suite]) -> LockScope {
    let gate = GateGpus::read();
    let inherited = gate.inherited();
    let benchmarks = suites.iter().flat_map(|suite| &suite.benchmarks);
    let lists: Option<BTreeSet<String>> =
        benchmarks.map(|benchmark| bound_list(benchmark, inherited)).collect();
    let Some(lists) = lists.filter(|lists| !lists.is_empty()) else { return LockScope::Machine };
    let facts = machine::gpus();
    let found: Option<Vec<_>> = lists.iter().map(|list| gpus_of_list(list, &facts)).collect();
    let uuid = |(_, gpu): (u32, &Gpu)| gpu.uuid.known().cloned();
    match found {
        Some(found) => LockScope::Gpus(found.into_iter().flatten().filter_map(uuid).collect()),
        None => LockScope::Machine,
    }
}

/// `gbench-ci compare`: of the command line no more, since any user can read it.
fn command() -> String {
    let is_plain =
        |word: &String| word.len() < 20 && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let word = std::env::args_os().nth(1).and_then(|word| word.into_string().ok()).filter(is_plain);
    word.map_or_else(|| "gbench-ci".into(), |word| format!("gbench-ci {word}"))
}
