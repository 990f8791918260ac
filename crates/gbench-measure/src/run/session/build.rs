//! Runs a build step: its launch, its progress, its outcome.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;

use super::event::{Observer, Progress};
use crate::run::outcome::classify::signal_name;
use crate::run::outcome::first_line::first_line;
use crate::run::outcome::refused_writes::advised;
use crate::run::outcome::telling_line::{is_echo, npm};
use crate::run::process::executor::{Execution, ExecutionEnd, Executor, Launch, Meanwhile, StopReason};
use crate::run::record::arm::{ArmRecorder, slug};
use gbench_model::{CutShort, FailureKind, Outcome, Params, ProcessEnd, Result, Side, Stage};
use gbench_suite::{Benchmark, Build, FailedBuild};

const BEAT: Duration = Duration::from_secs(1);

/// Runs a build step to its end. If it failed, returns the outcome of the benchmark's cases; an interrupt or the run's
/// deadline is not an outcome of the step.
pub(crate) fn build(
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
    (benchmark, build, source): (&Benchmark, &Build, Option<&str>),
    arm: &ArmRecorder,
    until: Option<Instant>,
) -> Result<Result<Option<Outcome>, CutShort>> {
    let (execution, name) = execute(executor, observer, (benchmark, build, source), arm.side, until);
    arm.log(&name, &execution)?;
    if let Some(ended) = execution.cut_short() {
        return Ok(Err(ended));
    }
    let logs = logs(execution.stdout.total() > 0, execution.stderr.total() > 0, arm.side, &name);
    let outcome = outcome(&execution, &logs);
    Ok(Ok(outcome.map(|outcome| advised(outcome, benchmark.sandbox.as_ref(), &execution))))
}

/// Keeps the output of a build step that failed for listing, instead of running it again. Returns its outcome.
pub(crate) fn keep(failed: &FailedBuild, benchmark: &Benchmark, arm: &ArmRecorder) -> Result<Outcome> {
    let name = log_name(benchmark, None);
    let FailedBuild { outcome, stdout, stderr } = failed;
    arm.log_output(&name, stdout, stderr)?;
    let mut outcome = outcome.clone();
    if let Outcome::Failed { advice, .. } | Outcome::TimedOut { advice, .. } = &mut outcome {
        advice.push_str(&logs(!stdout.is_empty(), !stderr.is_empty(), arm.side, &name));
    }
    Ok(outcome)
}

/// The failure of a build step that was run for listing; `None` if it succeeded.
pub(crate) fn failed(benchmark: &Benchmark, execution: &Execution) -> Option<FailedBuild> {
    // The advice on where its output is follows once the output is kept.
    let outcome = advised(outcome(execution, "")?, benchmark.sandbox.as_ref(), execution);
    let (stdout, stderr) = (execution.stdout.bytes(), execution.stderr.bytes());
    Some(FailedBuild { outcome, stdout, stderr })
}

fn log_name(benchmark: &Benchmark, source: Option<&str>) -> String {
    let source = source.map_or(String::new(), |source| format!("-{}", slug(source)));
    format!("build-{}{source}", slug(&benchmark.id.to_string()))
}

/// Runs a build step and reports progress, of one source if given. Returns it with the name of its logs.
pub(crate) fn execute(
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
    (benchmark, build, source): (&Benchmark, &Build, Option<&str>),
    side: Option<Side>,
    until: Option<Instant>,
) -> (Execution, String) {
    let id = source.map_or(benchmark.id.to_string(), |source| format!("{} {source}", benchmark.id));
    observer.on(&Progress::BuildStarted { benchmark: &id, side });
    let launch = Launch::of_step(
        benchmark,
        build.action.argv(&Params::new(), &[]),
        build.dir.clone(),
        Stage::Build,
        until,
    );
    let mut tell = |meanwhile: Meanwhile<'_>| {
        let Meanwhile::Output { seconds, text } = meanwhile else { return };
        let line = last_line(text);
        observer.on(&Progress::BuildGoesOn { benchmark: &id, side, seconds, line: &line });
    };
    let execution = executor.execute_telling(&launch, BEAT, &mut tell);
    let failed = execution.cut_short().is_none() && outcome(&execution, "").is_some();
    observer.on(&Progress::BuildEnded { benchmark: &id, side, seconds: execution.seconds, failed });
    (execution, log_name(benchmark, source))
}

/// The paths of its output, from the names of written files: `; its output is in head/logs/build-x.stderr.log`.
fn logs(stdout: bool, stderr: bool, side: Option<Side>, name: &str) -> String {
    let (below, whose) = match side {
        Some(side) => (format!("{}/logs", side.into_str()), "comparison"),
        None => ("logs".to_owned(), "run"),
    };
    let written = [("stderr", stderr), ("stdout", stdout)];
    let files: Vec<String> = written
        .into_iter()
        .filter(|(_, is_written)| *is_written)
        .map(|(stream, _)| format!("{below}/{name}.{stream}.log"))
        .collect();
    if files.is_empty() {
        "; it printed nothing".into()
    } else {
        format!("; its output is in the {whose}'s folder: {}", files.join(" and "))
    }
}

/// The outcome of the benchmark's cases if the step failed. `logs`: the advice about its output.
fn outcome(execution: &Execution, logs: &str) -> Option<Outcome> {
    let failed = |cause: String| {
        let advice = format!("run the build step by hand{logs}");
        Some(Outcome::Failed { kind: FailureKind::Build, cause, advice })
    };
    if let Some(StopReason::Stage { stage, limit, spent }) = execution.stopped {
        let advice = format!("raise it: deadlines.build{logs}");
        return Some(Outcome::TimedOut { stage, limit, spent, advice });
    }
    if let Some(misdeed) = execution.misdeed() {
        return failed(format!("the build step cannot be trusted: {misdeed}"));
    }
    match &execution.end {
        ExecutionEnd::Process(ProcessEnd::Exit(0)) => None,
        ExecutionEnd::Process(ProcessEnd::Exit(code)) => {
            let why = why(execution).map(|line| format!(": {line}")).unwrap_or_default();
            failed(format!("the build step ended with exit code {code}{why}"))
        }
        ExecutionEnd::Process(ProcessEnd::Signal(signal)) => {
            failed(format!("the build step was ended by {}", signal_name(*signal)))
        }
        ExecutionEnd::NotStarted { cause, .. } => {
            failed(format!("the build step could not be started: {cause}"))
        }
        ExecutionEnd::SupervisorDied => failed("the build step's supervisor was killed".into()),
    }
}

/// The first error of the step's tools; else the last line that does more than report that another tool failed; else the last
/// line. Some tools (ninja, MSBuild-like ones) print errors to stdout.
fn why(execution: &Execution) -> Option<String> {
    let texts = [&execution.stderr, &execution.stdout].map(|output| {
        let bytes = output.bytes();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.trim().is_empty()).map(first_line).collect()
    };
    let [stderr, stdout] = texts.map(|text| lines(&text));
    let of_tools = |lines: &Vec<String>| first_error(lines).or_else(|| Some(npm(lines)?.line));
    let first = [&stderr, &stdout].into_iter().find_map(of_tools);
    let last = || {
        let all =
            || [&stderr, &stdout].into_iter().filter_map(|lines| lines.iter().rfind(|line| !is_echo(line)));
        all().next().or_else(|| stderr.last().or(stdout.last())).cloned()
    };
    first.or_else(last)
}

/// Beginnings of errors of compilers, linkers and build systems: `a.c:3:5: error: `, `error[E0425]: `, `a.cu(12): error: `,
/// `nvcc fatal : `, `CMake Error at`, `make: *** No rule`, and linker errors without the word.
static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let starts = r"(?i)(\b(fatal )?error\s*(\[\w+\]|[A-Z]+\d+)?\s*:|\bfatal\s+:|^CMake Error\b|\b\w*Error: )";
    let linkers = r"(undefined reference to|[Uu]ndefined symbols?\b|multiple definition of|cannot find -l|unable to find library)";
    let others = r"(\*\*\* (No rule|missing separator)|command not found|: not found$|No such file or directory|Permission denied)";
    Regex::new(&format!("{starts}|{linkers}|{others}")).ok()
});

fn matches(pattern: &LazyLock<Option<Regex>>, line: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(line))
}

fn first_error(lines: &[String]) -> Option<String> {
    let at = lines.iter().position(|line| matches(&ERROR, line) && !is_echo(line))?;
    // rustc prints the place on the next line.
    let place = lines.get(at + 1).and_then(|line| line.strip_prefix("--> "));
    Some(place.map_or_else(|| lines[at].clone(), |place| format!("{} ({place})", lines[at])))
}

fn last_line(output: &str) -> String {
    output.lines().rfind(|line| !line.trim().is_empty()).map(first_line).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) fn quoted(execution: &crate::run::process::executor::Execution) -> Option<String> {
        super::why(execution)
    }
}
