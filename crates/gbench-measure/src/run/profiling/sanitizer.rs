//! Cases under the tools of NVIDIA's `compute-sanitizer`, which look for errors and measure nothing.

use std::path::Path;
use std::sync::Arc;

use super::ends;
use crate::run::harness::left_files;
use crate::run::process::executor::{Execution, ExecutionEnd};
use gbench_formats::profile::{SanitizerLog, read_sanitizer_log};
use gbench_model::text::count;
use gbench_model::{ProcessEnd, ProfileOutcome, Profiler};
use gbench_suite::plan::PlannedCase;

/// The exit code that it is asked to end with if it found an error. No other program of the gate uses it.
const FOUND: i32 = 86;
/// Errors that it prints: the first ones are enough to begin with, and a kernel has an error for each of its threads.
const MAX_PRINTED: &str = "20";

pub(super) fn words(tool: Profiler, report: String) -> Vec<String> {
    let found = FOUND.to_string();
    [
        ["--tool", tool.into_str()],
        ["--target-processes", "all"],
        ["--error-exitcode", &found],
        ["--print-limit", MAX_PRINTED],
        ["--log-file", &report],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

/// The case with a single call: each takes up to a hundred times as long, and the others would show the same.
pub(super) fn brief(case: &PlannedCase) -> PlannedCase {
    let mut benchmark = (*case.benchmark).clone();
    let settings = &mut benchmark.settings;
    (settings.iterations.value, settings.warmup.value) = (1, 0);
    (settings.duration.value, settings.burnin.value) = (0.0, 0.0);
    PlannedCase { benchmark: Arc::new(benchmark), ..case.clone() }
}

/// Errors: what it found; that it could not look.
pub(super) fn read(tool: Profiler, execution: &Execution, report: &Path) -> Result<(), ProfileOutcome> {
    let log = left_files::one(report).unwrap_or_default();
    let SanitizerLog { messages, has_summary } = read_sanitizer_log(&String::from_utf8_lossy(&log));
    let failed = |cause: String| Err(ProfileOutcome::Failed { cause });
    let tool_name = tool.into_str();
    match (execution.stopped, &execution.end, messages.split_first()) {
        (None, ExecutionEnd::Process(ProcessEnd::Exit(FOUND)), Some((first, others))) => {
            let more = match others.len() {
                0 => String::new(),
                more => format!(" ({} in its report)", count(more, "more message")),
            };
            failed(format!("{tool_name} found an error: {first}{more}"))
        }
        (None, ExecutionEnd::Process(ProcessEnd::Exit(code)), Some(_)) if *code != 0 => {
            let said = messages.join("; ");
            failed(format!(
                "its process ended with exit code {code} under {tool_name}: {said}. A case that does nothing on a GPU cannot be checked"
            ))
        }
        _ => {
            ends::of(execution, tool)?;
            // It may have let the process run without looking at it.
            if has_summary && messages.is_empty() {
                return Ok(());
            }
            let said =
                if messages.is_empty() { "its log has no summary".into() } else { messages.join("; ") };
            failed(format!("{tool_name} ended well, but may not have looked: {said}"))
        }
    }
}
