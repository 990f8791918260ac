//! The exit codes of what was measured.

use crate::app::request::profile::ProfileRequest;
use crate::model::{Exit, FailureKind, Outcome, Profile, RecordState};
use crate::run::Finished;

/// The exit code of a run that a signal has ended.
pub(super) fn of_signal(signal: i32) -> Exit {
    if signal == 2 { Exit::Interrupted } else { Exit::Terminated }
}

/// The exit code of one finished run, without any comparison.
pub(super) fn of_run(finished: &Finished) -> Exit {
    let cases = &finished.record.cases;
    let measured = cases.iter().any(|case| case.outcome.is_measured());
    let failed = cases.iter().any(|case| case.outcome.is_failure());
    match finished.interrupted {
        Some(signal) => of_signal(signal),
        None if failed && finished.gpu_missing && only_missing_dependencies(finished) => Exit::Machine,
        None if failed || finished.record.state != RecordState::Complete => Exit::Failed,
        None if measured => Exit::Pass,
        // Nothing was measured: never green. The reason decides what to call it.
        None if finished.gpu_missing => Exit::Machine,
        None => Exit::Failed,
    }
}

fn only_missing_dependencies(finished: &Finished) -> bool {
    let missing =
        |outcome: &Outcome| matches!(outcome, Outcome::Failed { kind: FailureKind::MissingDependency, .. });
    finished.record.cases.iter().all(|case| !case.outcome.is_failure() || missing(&case.outcome))
}

/// The exit code with the profiles that `--require-profilers` asks for; a line reports it if they change it.
pub(super) fn with_profiles<'p>(
    exit: Exit,
    request: &ProfileRequest,
    profiles: impl IntoIterator<Item = &'p Profile>,
) -> Exit {
    let own = request.exit(exit, profiles);
    if own != exit {
        eprintln!(
            "exit code {}: a profile was not taken, and `--require-profilers` asks for it; the verdict itself is {}",
            own.code(),
            exit.code()
        );
    }
    own
}
