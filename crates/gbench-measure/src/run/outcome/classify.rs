//! Classifies the outcome of a process: one pure function, so that every ending has one meaning.

use gbench_formats::adapters::End;
use gbench_model::line::{Event, Lack};
use gbench_model::{
    CutShort, FailureKind, Outcome, OutcomeCode, ProcessEnd, ReportedError, Stage, Timing, format_duration,
};
use gbench_suite::Benchmark;

use super::first_line::first_line;
use super::refused_writes::advised;
use super::reported::{self, Meaning};
use super::telling_line::{error_on_stdout, telling};
use crate::run::lockstep::schedule::TurnFault;
use crate::run::process::executor::{Execution, ExecutionEnd, ShareFault, StopReason};
use crate::run::python::driver_advice;
use crate::run::samples::collected::{CollectedSamples, Skip};

/// The outcome of one process. The checks are in order of trust: the kernel's report, the child's messages, missing results.
pub(crate) fn classify(
    execution: &Execution,
    collected: &CollectedSamples,
    benchmark: &Benchmark,
) -> Outcome {
    let outcome = stopped(execution, benchmark)
        .or_else(|| not_started(execution, benchmark))
        .or_else(|| killed(execution, benchmark))
        .or_else(|| said(execution, collected, benchmark))
        .or_else(|| by_harness(execution))
        .or_else(|| exit_code(execution))
        .or_else(|| bad_data(execution, collected, benchmark))
        .unwrap_or(Outcome::Measured);
    advised(outcome, benchmark.sandbox.as_ref(), execution)
}

fn stopped(execution: &Execution, benchmark: &Benchmark) -> Option<Outcome> {
    Some(match execution.stopped? {
        StopReason::Stage { stage, limit, spent } => Outcome::TimedOut {
            stage,
            limit,
            spent,
            advice: if asks_itself(execution, stage) {
                format!(
                    "look for a hang in {stage}, or raise the limit that the benchmark itself asks for (`get_config()`, or the \
                     event `config`)"
                )
            } else {
                timeout_advice(stage, limit / benchmark.settings.deadline_multiplier.value)
            },
        },
        StopReason::RunDeadline => cut_short(CutShort::Deadline, "while it ran"),
        StopReason::Interrupt(signal) => cut_short(CutShort::Interrupt { signal }, "while it ran"),
        StopReason::OutputLimit => failed(
            FailureKind::Protocol,
            "it sent more than 64 MiB over the channel".into(),
            "send fewer samples, or send them as one `samples` event",
        ),
        StopReason::FolderReplaced => failed(
            FailureKind::Protocol,
            execution.misdeed().unwrap_or_default(),
            "leave the folders alone that `GBENCH_...` variables and the command line name; write into them only",
        ),
        StopReason::GateChanged => failed(
            FailureKind::Protocol,
            execution.misdeed().unwrap_or_default(),
            "let it change only its own processes; another user of this machine may also be the cause",
        ),
        StopReason::OtherSideChanged => failed(
            FailureKind::Protocol,
            execution.misdeed().unwrap_or_default(),
            "let it write into its own tree, HOME and TMPDIR only; what base measured afterwards may be wrong, too: remove the tree of \
             that side, and compare again",
        ),
        StopReason::BadLine => return bad_line(execution),
        StopReason::Turns(fault) => turns_broken(fault),
        StopReason::Share(fault) => not_its_own(fault),
        StopReason::Partner { why } => not_run(
            OutcomeCode::PartnerEnded,
            format!("it took turns with the other side, which {why}"),
            "look at the other side's outcome",
        ),
    })
}

fn turns_broken(fault: TurnFault) -> Outcome {
    let (cause, advice) = match fault {
        TurnFault::NeverWaited => (
            "it was asked to take turns and measured without waiting for one",
            "set `lockstep = false`, or teach it the turns (docs/protocol.md)",
        ),
        TurnFault::NotItsTurn => (
            "it gave back a turn that it did not have",
            "send `yield` once when ready and once after each turn, and wait for a line or the end of file each time",
        ),
        TurnFault::WorkedOutOfTurn => (
            "it kept the processor busy while the other side had its turns",
            "let it and its threads rest while it waits (`OMP_WAIT_POLICY=passive`), or set `lockstep = false`",
        ),
        TurnFault::LeftEarly => (
            "it ended before its turns were over",
            "take turns until the end of file; their iterations are what is measured, not those of the request",
        ),
    };
    failed(FailureKind::Protocol, cause.into(), advice)
}

fn not_its_own(fault: ShareFault) -> Outcome {
    let (cause, advice) = match fault {
        ShareFault::NotReached => {
            return not_run(
                OutcomeCode::SharedProcessFailed,
                "the process that it shares failed before it came to this case".into(),
                "look at the benchmark's other cases: one of them failed",
            );
        }
        ShareFault::Unknown { index, asked } => (
            format!("it announced case {index}, and was asked for {asked}, counted from 0"),
            "take `index` from the request's `cases`",
        ),
        ShareFault::BeforeAny => (
            "it sent numbers before it announced a case".into(),
            "send `case` before a case's first event, or set `share = false`",
        ),
        ShareFault::Twice => {
            ("it announced this case twice".into(), "measure each of the request's `cases` once")
        }
        ShareFault::NeverAnnounced => (
            "it was asked for this case and never announced it".into(),
            "measure every one of the request's `cases`, send `skip` after `case` where one cannot run, or set \
             `share = false`",
        ),
    };
    failed(FailureKind::Protocol, cause, advice)
}

fn bad_line(execution: &Execution) -> Option<Outcome> {
    let (number, error) = execution.bad_line.as_ref()?;
    let cause = format!("line {number} of its protocol: {error}");
    Some(failed(FailureKind::Protocol, cause, &error.advice()))
}

fn asks_itself(execution: &Execution, stage: Stage) -> bool {
    let sets =
        |event: &Event| matches!(event, Event::Config { deadlines, .. } if deadlines.contains_key(&stage));
    execution.events.iter().any(sets)
}

/// `limit`: from the suite file, before the multiplier.
fn timeout_advice(stage: Stage, limit: f64) -> String {
    let double = format_duration((limit * 2.0).max(1.0));
    match stage {
        Stage::Start => format!(
            "check that it speaks the protocol, or raise it: deadlines.start = \"{double}\" (imports count as start)"
        ),
        _ => format!("look for a hang in {stage}, or raise it: deadlines.{stage} = \"{double}\""),
    }
}

fn not_started(execution: &Execution, benchmark: &Benchmark) -> Option<Outcome> {
    let ExecutionEnd::NotStarted { cause, not_found } = &execution.end else { return None };
    if benchmark.python().is_some() {
        let advice =
            format!("install Python 3.8 or newer, or name it by `interpreter` at {}", benchmark.declared);
        return Some(failed(FailureKind::Spawn, format!("its Python cannot be started: {cause}"), &advice));
    }
    if benchmark.cuda().is_some() {
        // The other side's parameters may give a launch that its expressions cannot compute.
        let advice = format!(
            "check that `{}` of `[benchmark.cuda]` at {} is below `dir`, and check its launch",
            if benchmark.cuda().is_some_and(|it| it.image) { "image" } else { "file" },
            benchmark.declared
        );
        return Some(failed(
            FailureKind::Spawn,
            format!("the kernel could not be started: {cause}"),
            &advice,
        ));
    }
    let hint = if *not_found { ": program and `dir` must exist" } else { "" };
    let advice = format!("check `command` at {}{hint}", benchmark.declared);
    Some(failed(FailureKind::Spawn, format!("the command could not be started: {cause}"), &advice))
}

fn killed(execution: &Execution, benchmark: &Benchmark) -> Option<Outcome> {
    let signal = match execution.end {
        ExecutionEnd::Process(ProcessEnd::Signal(signal)) => signal,
        ExecutionEnd::SupervisorDied => {
            return Some(failed(
                FailureKind::Signal,
                "its supervisor was killed, and it went with it".into(),
                "look for what kills processes on this machine (the kernel's log, other jobs)",
            ));
        }
        _ => return None,
    };
    if let Some(sign) = out_of_memory_sign(execution) {
        return Some(out_of_memory(format!("ended by {}, and {sign}", signal_name(signal))));
    }
    // An unexplained SIGKILL while the kernel's killer was active, which leaves no other trace.
    if signal == 9 && execution.oom_killer {
        return Some(out_of_memory("killed while the kernel was ending processes for lack of memory".into()));
    }
    let advice = match signal {
        // A loader that cannot map its libraries does not always report it.
        9 | 11 if benchmark.settings.memory_limit.value > 0 => {
            "raise `memory_limit`, in case it is too small to start in; else run it by hand under a debugger"
        }
        9 => "look in the kernel's log and at other jobs for who sent it",
        _ => match execution.stderr.total() {
            0 => "run it by hand under a debugger: it printed nothing to stderr",
            _ => "run it by hand under a debugger; its stderr is in the run's logs",
        },
    };
    Some(failed(FailureKind::Signal, format!("ended by {}", signal_name(signal)), advice))
}

fn said(execution: &Execution, collected: &CollectedSamples, benchmark: &Benchmark) -> Option<Outcome> {
    if let Some(error) = &collected.error {
        let message = first_line(&error.message);
        let kind = error.kind.as_deref().map(first_line);
        let meaning = reported::meaning(error);
        let cause = match kind {
            // Known from other words, or repeated.
            Some(kind) if meaning != Meaning::Import && kind != "out_of_memory" => {
                format!("{message} ({kind})")
            }
            _ => message,
        };
        if let Some(next) = collected.next.as_deref().filter(|_| meaning != Meaning::OutOfMemory) {
            return Some(failed(FailureKind::Error, cause, &first_line(next)));
        }
        return Some(match meaning {
            Meaning::OutOfMemory => out_of_memory(cause),
            Meaning::Import => {
                let advice = driver_advice::of_import(collected);
                failed(FailureKind::Error, format!("import failed: {cause}"), &advice)
            }
            Meaning::Other => {
                let by_driver = error.kind.as_deref().filter(|_| benchmark.python().is_some());
                let advice = by_driver.and_then(driver_advice::of_kind);
                failed(FailureKind::Error, cause, advice.unwrap_or_else(|| after_error(execution, error)))
            }
        });
    }
    collected.skip.as_ref().map(|skip| skipped(skip, benchmark))
}

fn skipped(skip: &Skip, benchmark: &Benchmark) -> Outcome {
    let advice = |usual: &str| skip.next.as_deref().map_or_else(|| usual.into(), first_line);
    match skip.lacks {
        Some(Lack::Gpu) => {
            let usual = "install what is missing, or run on a machine that has it (docs/gpu.md)";
            lacking(benchmark, first_line(&skip.reason), advice(usual))
        }
        None => declined(&skip.reason, advice(DECLINED)),
    }
}

const DECLINED: &str = "nothing to do if this machine is not meant to run it";

fn declined(reason: &str, advice: String) -> Outcome {
    Outcome::Skipped { code: Some(OutcomeCode::Declined), cause: first_line(reason), advice }
}

/// The outcome of a benchmark's cases where the machine lacks something.
pub(crate) fn lacking(benchmark: &Benchmark, cause: String, advice: String) -> Outcome {
    if benchmark.settings.fail_on_missing.value {
        Outcome::Failed { kind: FailureKind::MissingDependency, cause, advice }
    } else {
        Outcome::Skipped { code: Some(OutcomeCode::MissingRequirement), cause, advice }
    }
}

fn exit_code(execution: &Execution) -> Option<Outcome> {
    let ExecutionEnd::Process(ProcessEnd::Exit(code)) = execution.end else { return None };
    if code == 0 {
        return None;
    }
    if let Some(sign) = out_of_memory_sign(execution) {
        return Some(out_of_memory(format!("exit code {code}, and {sign}")));
    }
    let shell = match code {
        126 => " (a shell's word for: found, but not executable)".into(),
        127 => " (a shell's word for: command not found)".into(),
        129..=192 => format!(" (a shell's word for: ended by {})", signal_name(code - 128)),
        _ => String::new(),
    };
    let (stderr, stdout) = (&execution.stderr, &execution.stdout);
    let told = error_on_stdout(stderr, stdout).map(|told| ("stdout", told));
    let cause = match told.or_else(|| Some(("stderr", telling(stderr)?))) {
        Some((stream, told)) => format!("exit code {code}{shell}; {stream} {}: {}", told.verb(), told.line),
        None => format!("exit code {code}{shell}"),
    };
    let advice = match execution.stderr.total() + execution.stdout.total() {
        0 => "run the command by hand: it printed nothing",
        _ => "run the command by hand; its output is in the run's logs",
    };
    Some(failed(FailureKind::ExitCode, cause, advice))
}

/// The harness's report of the case, and whether the output comes from the harness.
fn by_harness(execution: &Execution) -> Option<Outcome> {
    let error = match execution.readings.as_ref()? {
        Err(error) => error,
        Ok(readings) => {
            return match &readings.first()?.end {
                End::Measured => None,
                End::Failed { message } => {
                    let cause = format!("its harness reports: {}", first_line(message));
                    Some(failed(
                        FailureKind::Harness,
                        cause,
                        "run this case by hand; its output is in the run's logs",
                    ))
                }
                End::Skipped { reason } => Some(declined(reason, DECLINED.into())),
            };
        }
    };
    // If a process did not end well, its end is more informative than its unfinished cases.
    let ended_well =
        execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0)) && execution.stopped.is_none();
    ended_well.then(|| {
        let advice = "see by hand what the harness writes, and whether `harness` names the right one";
        failed(FailureKind::Harness, format!("the output of its harness cannot be read: {error}"), advice)
    })
}

fn bad_data(execution: &Execution, collected: &CollectedSamples, benchmark: &Benchmark) -> Option<Outcome> {
    if let Some(outcome) = bad_line(execution).filter(|_| benchmark.timing == Timing::Protocol) {
        return Some(outcome);
    }
    if let Some(conflict) = &collected.unit_conflict {
        return Some(failed(FailureKind::Protocol, conflict.clone(), "send one unit for a metric"));
    }
    if let Some(message) = &collected.invalid {
        let cause = format!("validation failed: {}", first_line(message));
        let advice = "a wrong answer is not measured: fix the benchmark or the code under it";
        return Some(invalid(OutcomeCode::WrongAnswer, cause, advice));
    }
    if let Some(metric) = collected.not_finite.first() {
        let cause = format!("metric `{metric}` has a sample that is not a finite number");
        let advice = "look for a division by zero or an empty timing in the benchmark";
        return Some(invalid(OutcomeCode::NotFinite, cause, advice));
    }
    if let Some((metric, value)) = collected.impossible_time(benchmark) {
        let cause = format!("metric `{metric}` is {value}: nothing takes that time");
        let advice = "check by hand whether the measured work ran at all";
        return Some(invalid(OutcomeCode::ImpossibleTime, cause, advice));
    }
    if let Some(error) = &collected.extract_error {
        let advice = error.next().unwrap_or_else(|| match execution.stdout.total() {
            0 => "it printed nothing to stdout: see by hand where its numbers go".into(),
            _ => "compare the rule in `extract` with the stdout in the run's logs".into(),
        });
        return Some(failed(FailureKind::Extraction, error.to_string(), &advice));
    }
    if !collected.has_samples() {
        let advice = match benchmark.timing {
            Timing::Protocol => "send at least one `sample` event, or set timing = \"process\"",
            Timing::Process | Timing::Stdout => "run it by hand, and look at what it prints",
            Timing::Harness => "the harness ended well and wrote nothing about this case: run it by hand",
        };
        return Some(failed(FailureKind::NoSamples, "it ended well and sent no sample".into(), advice));
    }
    None
}

/// Where to find more about an error that the program reported; only names what exists.
fn after_error(execution: &Execution, error: &ReportedError) -> &'static str {
    match (execution.stderr.total(), &error.trace) {
        (_, Some(_)) => "read its trace: the record has all of it",
        (0, None) => "run it by hand: it printed nothing to stderr",
        _ => "read its stderr in the run's logs",
    }
}

fn out_of_memory_sign(execution: &Execution) -> Option<String> {
    const SIGNS: [&str; 9] = [
        "out of memory",
        "outofmemoryerror",
        "memoryerror",
        "std::bad_alloc",
        "cannot allocate memory",
        "cudaerrormemoryallocation",
        "cuda_error_out_of_memory",
        "failed to allocate memory",
        "bytes failed",
    ];
    let text = execution.stderr.end(8192);
    let mut lines = text.lines().rev();
    let line = lines.find(|line| {
        let lower = line.to_lowercase();
        SIGNS.iter().any(|sign| match *sign {
            // Rust: `memory allocation of 123 bytes failed`.
            "bytes failed" => lower.contains("memory allocation of") && lower.contains(sign),
            sign => lower.contains(sign),
        })
    })?;
    Some(format!("stderr says: {}", first_line(line)))
}

fn out_of_memory(cause: String) -> Outcome {
    let advice = "make the problem smaller, raise `memory_limit`, or free the device or the machine";
    failed(FailureKind::OutOfMemory, cause, advice)
}

/// The outcome of a case at which the run ended, `when`: before its turn or while it ran.
pub(crate) fn cut_short(ended: CutShort, when: &str) -> Outcome {
    match ended {
        CutShort::Interrupt { signal } => {
            let cause = format!("{} came {when}", signal_name(signal));
            not_run(OutcomeCode::Interrupted, cause, "run again")
        }
        CutShort::Deadline => {
            let cause = format!("the run's deadline came {when}");
            not_run(OutcomeCode::RunDeadline, cause, "raise `deadline` in [run], or select less")
        }
    }
}

pub(crate) fn not_run(code: OutcomeCode, cause: String, advice: &str) -> Outcome {
    Outcome::NotRun { code: Some(code), cause, advice: advice.to_owned() }
}

pub(crate) fn invalid(code: OutcomeCode, cause: String, advice: &str) -> Outcome {
    Outcome::Invalid { code: Some(code), cause, advice: advice.to_owned() }
}

pub(crate) fn failed(kind: FailureKind, cause: String, advice: &str) -> Outcome {
    Outcome::Failed { kind, cause, advice: advice.to_owned() }
}

/// `SIGSEGV`, or `signal 37` for those without a name.
pub(crate) fn signal_name(number: i32) -> String {
    match nix::sys::signal::Signal::try_from(number) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) => format!("signal {number}"),
    }
}
