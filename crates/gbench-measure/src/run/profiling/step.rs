//! Steps of a profiler's program outside of a case's processes: its version, its report as text.

use super::ends::told;
use crate::run::process::environment;
use crate::run::process::executor::{Execution, ExecutionEnd, Launch};
use crate::run::session::launcher::Launcher;
use gbench_formats::profile::ProfileReadError;
use gbench_model::{KernelProfile, Origin, ProcessEnd, Setting, Stage};
use gbench_suite::plan::PlannedCase;

const LIMIT: f64 = 120.0;

pub(super) type KernelsRead = Result<Vec<KernelProfile>, String>;

/// A step of a profiler's program, in English and with decimal points.
pub(super) fn step(launcher: &mut Launcher<'_>, case: &PlannedCase, words: Vec<String>) -> Execution {
    let mut launch =
        Launch::of_step(&case.benchmark, words, case.benchmark.dir.clone(), Stage::Profile, launcher.until());
    // It runs only the profiler, which writes next to its report; the suite file must not affect it.
    (launch.sandbox, launch.env) = (None, environment::own());
    launch.env.push(("LC_ALL".into(), "C".into()));
    launch.stages.deadlines.insert(Stage::Profile, Setting { value: LIMIT, origin: Origin::Default });
    launcher.session.executor.execute(&launch)
}

/// The output of a step. Errors: it did not end well, or printed more than is kept.
pub(super) fn printed(execution: &Execution, what: &str) -> Result<Vec<u8>, String> {
    match &execution.end {
        _ if execution.stopped.is_some() => Err(format!("`{what}` took too long and was ended")),
        ExecutionEnd::Process(ProcessEnd::Exit(0)) if execution.stdout.is_whole() => {
            Ok(execution.stdout.bytes())
        }
        ExecutionEnd::Process(ProcessEnd::Exit(0)) => Err(format!("`{what}` printed more than is kept")),
        ExecutionEnd::Process(ProcessEnd::Exit(code)) => {
            Err(format!("`{what}` ended with exit code {code}{}", told(execution)))
        }
        ExecutionEnd::Process(ProcessEnd::Signal(_)) | ExecutionEnd::SupervisorDied => {
            Err(format!("`{what}` was killed"))
        }
        ExecutionEnd::NotStarted { cause, .. } => Err(format!("`{what}` could not be started: {cause}")),
    }
}

pub(super) fn unread(what: &str, error: &ProfileReadError) -> String {
    match error {
        ProfileReadError::Nothing => {
            format!("`{what}` shows no kernel: perhaps nothing ran on a GPU while it was watched")
        }
        _ => format!("what `{what}` printed cannot be read: {error}"),
    }
}
