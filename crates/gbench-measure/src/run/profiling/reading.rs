//! Reads figures from a profiler's report, with the profiler's own program if it has one.

use std::path::Path;

use super::ends::told;
use super::nsys;
use super::profile_files::ProfileFiles;
use super::step::{KernelsRead, printed, step, unread};
use crate::run::harness::left_files;
use crate::run::process::executor::Execution;
use crate::run::session::launcher::Launcher;
use gbench_formats::profile::{read_ncu_csv, read_torch_trace};
use gbench_model::{KernelProfile, ProfileOutcome, Profiler};
use gbench_suite::plan::PlannedCase;

pub(super) struct Left<'a> {
    pub files: &'a ProfileFiles,
    pub profiler: Profiler,
    pub program: Option<&'a Path>,
    pub execution: &'a Execution,
}

impl Left<'_> {
    /// The kernels of its report. Errors: there is no report, it cannot be read, or it has no kernel.
    pub(super) fn kernels(
        &self,
        launcher: &mut Launcher<'_>,
        case: &PlannedCase,
    ) -> Result<Vec<KernelProfile>, ProfileOutcome> {
        let failed = |cause: String| ProfileOutcome::Failed { cause };
        let report = self.files.report();
        if !report.is_file() {
            return Err(failed(self.no_report()));
        }
        let kernels = match (self.profiler, self.program) {
            (Profiler::Nsys, Some(program)) => nsys::kernels(launcher, case, program, self.files),
            (Profiler::Ncu, Some(program)) => ncu_kernels(launcher, case, program, &report),
            _ => left_files::one(&report).and_then(|bytes| {
                read_torch_trace(&bytes).map_err(|error| format!("its trace cannot be read: {error}"))
            }),
        };
        match kernels {
            Ok(kernels) if kernels.is_empty() => {
                Err(failed(format!("{} saw no kernel: nothing ran on a GPU", self.profiler.into_str())))
            }
            Ok(kernels) => Ok(kernels),
            Err(cause) => Err(failed(cause)),
        }
    }

    fn no_report(&self) -> String {
        let Self { files, profiler, execution, .. } = self;
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match profiler {
            Profiler::Nsys if files.stream().is_file() => format!(
                "nsys left {} alone and no report: the part of it that makes one is not installed, or failed{}",
                name(&files.stream()),
                told(execution)
            ),
            Profiler::Torch => "the process left no trace of torch's profiler".into(),
            _ => {
                format!("{} ended well and left no report{}", profiler.into_str(), told(execution))
            }
        }
    }
}

fn ncu_kernels(
    launcher: &mut Launcher<'_>,
    case: &PlannedCase,
    program: &Path,
    report: &Path,
) -> KernelsRead {
    let words = [program, Path::new("--import"), report].map(|word| word.to_string_lossy().into_owned());
    let form = ["--csv", "--page", "raw"].map(str::to_owned);
    let what = "ncu --import";
    let execution = step(launcher, case, words.into_iter().chain(form).collect());
    let text = printed(&execution, what)?;
    read_ncu_csv(&text).map_err(|error| unread(what, &error))
}
