//! Ends of a process under a profiler that spoil its profile.

use crate::run::outcome::classify::signal_name;
use crate::run::outcome::telling_line::telling_of;
use crate::run::process::executor::{Execution, ExecutionEnd, StopReason};
use gbench_model::line::Event;
use gbench_model::{ProcessEnd, ProfileOutcome, Profiler};

/// Errors: the outcome instead of a profile. The process's measurements are ignored: a profiler may have written between its
/// lines.
pub(super) fn of(execution: &Execution, profiler: Profiler) -> Result<(), ProfileOutcome> {
    let failed = |cause: String| Err(ProfileOutcome::Failed { cause });
    let under = profiler.into_str();
    match execution.stopped {
        None => {}
        Some(StopReason::Stage { limit, .. }) => return Err(ProfileOutcome::TimedOut { limit }),
        Some(StopReason::RunDeadline) => {
            return failed("the deadline of the whole run came while it ran".into());
        }
        Some(StopReason::OutputLimit) => {
            return failed("it sent more over the channel than a benchmark can mean".into());
        }
        Some(_) => return failed(execution.misdeed().unwrap_or_else(|| "the gate ended it".into())),
    }
    // The case's own message is nearer to the cause than the end of its process.
    let said = execution.events.iter().find_map(|event| match event {
        Event::Error { message, .. } => Some(format!("the case failed under {under}: {}", one_line(message))),
        Event::Skip { reason, .. } => {
            Some(format!("the case was skipped under {under}: {}", one_line(reason)))
        }
        _ => None,
    });
    if let Some(cause) = said {
        return failed(cause);
    }
    match &execution.end {
        ExecutionEnd::Process(ProcessEnd::Exit(0)) => Ok(()),
        ExecutionEnd::Process(ProcessEnd::Exit(code)) => {
            failed(format!("its process ended with exit code {code} under {under}{}", told(execution)))
        }
        ExecutionEnd::Process(ProcessEnd::Signal(signal)) => {
            failed(format!("its process was ended by {} under {under}", signal_name(*signal)))
        }
        ExecutionEnd::NotStarted { cause, .. } => failed(format!("it could not be started: {cause}")),
        ExecutionEnd::SupervisorDied => failed("the supervisor of its process was killed".into()),
    }
}

/// The most informative line of a process's output, after a colon; empty if there is none. ncu's own errors begin with
/// `==ERROR==`.
pub(super) fn told(execution: &Execution) -> String {
    let text = String::from_utf8_lossy(&execution.stderr.bytes()).into_owned();
    let own = text.lines().find_map(|line| line.strip_prefix("==ERROR== "));
    let line = own.map(one_line).or_else(|| Some(telling_of(&execution.stderr, &execution.stdout)?.line));
    line.map_or(String::new(), |line| format!(": {}", line.trim_end_matches('.')))
}

fn one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let first = text.lines().next().unwrap_or_default().trim();
    first.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::process::io::capture::Capture;
    use gbench_model::Stage;

    fn ended(end: ExecutionEnd) -> Execution {
        Execution { end, ..Execution::not_started(String::new()) }
    }

    fn cause(execution: &Execution) -> String {
        match of(execution, Profiler::Ncu) {
            Err(ProfileOutcome::Failed { cause }) => cause,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_process_that_ended_well_has_a_profile() {
        assert_eq!(of(&ended(ExecutionEnd::Process(ProcessEnd::Exit(0))), Profiler::Ncu), Ok(()));
        let mut failed = ended(ExecutionEnd::Process(ProcessEnd::Exit(1)));
        failed.stderr = Capture::new(1000);
        failed.stderr.push(b"==PROF== x\n==ERROR== failed to connect to the CUDA driver.\nmore\n");
        assert_eq!(
            cause(&failed),
            "its process ended with exit code 1 under ncu: failed to connect to the CUDA driver"
        );
        let mut said = ended(ExecutionEnd::Process(ProcessEnd::Exit(0)));
        let message = "out of memory\nat line 3".into();
        said.events.push(Event::Error { message, kind: None, trace: None, next: None });
        assert_eq!(cause(&said), "the case failed under ncu: out of memory");
    }

    #[test]
    fn s0_15_one_that_was_stopped_at_its_limit_timed_out() {
        let mut hung = ended(ExecutionEnd::Process(ProcessEnd::Signal(15)));
        hung.stopped = Some(StopReason::Stage { stage: Stage::Profile, limit: 180.0, spent: 180.1 });
        assert_eq!(of(&hung, Profiler::Ncu), Err(ProfileOutcome::TimedOut { limit: 180.0 }));
    }
}
