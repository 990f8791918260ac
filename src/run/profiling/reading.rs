//! From a profiler's report to figures, by the profiler's own program where it has one.

use std::path::Path;

use super::ends::told;
use super::{CaseProfiling, Files, nsys};
use crate::model::{KernelProfile, Origin, ProcessEnd, ProfileOutcome, Profiler, Setting, Stage};
use crate::profile::{ProfileReadError, read_ncu_csv, read_torch_trace};
use crate::run::executor::{Execution, ExecutionEnd, Launch};
use crate::run::launcher::Launcher;
use crate::run::left_files;
use crate::suite::plan::PlannedCase;

/// Seconds for reading a report, before the multiplier.
const LIMIT: f64 = 120.0;

pub(super) type Kernels = Result<Vec<KernelProfile>, String>;

/// A step of a profiler's program beside the processes of a case. It speaks English, with decimal points.
pub(super) fn step(launcher: &mut Launcher<'_>, case: &PlannedCase, words: Vec<String>) -> Execution {
    let mut launch =
        Launch::of_step(&case.benchmark, words, case.benchmark.dir.clone(), Stage::Profile, launcher.until());
    launch.env.push(("LC_ALL".into(), "C".into()));
    launch.stages.deadlines.insert(Stage::Profile, Setting { value: LIMIT, origin: Origin::Default });
    launcher.session.executor.execute(&launch)
}

/// What a step printed. Errors: it did not end well, or printed more than is kept.
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

impl CaseProfiling<'_, '_, '_> {
    /// The kernels of a report that a process has left. Errors: it left none, it cannot be read, or there is no kernel in it.
    pub(super) fn kernels(
        &mut self,
        case: &PlannedCase,
        profiler: Profiler,
        program: Option<&Path>,
        files: &Files,
        execution: &Execution,
    ) -> Result<Vec<KernelProfile>, ProfileOutcome> {
        let failed = |cause: String| ProfileOutcome::Failed { cause };
        let report = files.report();
        if !report.is_file() {
            return Err(failed(no_report(files, profiler, execution)));
        }
        let kernels = match (profiler, program) {
            (Profiler::Nsys, Some(program)) => nsys::kernels(self.launcher, case, program, files),
            (Profiler::Ncu, Some(program)) => self.ncu_kernels(case, program, &report),
            _ => left_files::one(&report).and_then(|bytes| {
                read_torch_trace(&bytes).map_err(|error| format!("its trace cannot be read: {error}"))
            }),
        };
        match kernels {
            Ok(kernels) if kernels.is_empty() => {
                Err(failed(format!("{} saw no kernel: nothing ran on a GPU", profiler.into_str())))
            }
            Ok(kernels) => Ok(kernels),
            Err(cause) => Err(failed(cause)),
        }
    }

    fn ncu_kernels(&mut self, case: &PlannedCase, program: &Path, report: &Path) -> Kernels {
        let words = [program, Path::new("--import"), report].map(|word| word.to_string_lossy().into_owned());
        let form = ["--csv", "--page", "raw"].map(str::to_owned);
        let what = "ncu --import";
        let execution = step(self.launcher, case, words.into_iter().chain(form).collect());
        let text = printed(&execution, what)?;
        read_ncu_csv(&text).map_err(|error| unread(what, &error))
    }
}

pub(super) fn unread(what: &str, error: &ProfileReadError) -> String {
    format!("what `{what}` printed cannot be read: {error}")
}

fn no_report(files: &Files, profiler: Profiler, execution: &Execution) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match profiler {
        Profiler::Nsys if files.stream().is_file() => format!(
            "nsys left {} alone and no report: the part of it that makes one is not installed, or failed{}",
            name(&files.stream()),
            told(execution)
        ),
        Profiler::Torch => "the process left no trace of torch's profiler".into(),
        Profiler::Nsys | Profiler::Ncu => {
            format!("{} ended well and left no report{}", profiler.into_str(), told(execution))
        }
    }
}
