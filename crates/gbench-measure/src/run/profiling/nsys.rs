//! The kernels in a report of Nsight Systems, whose reports have changed their names.

use std::path::Path;

use super::profile_files::ProfileFiles;
use super::step::{KernelsRead, printed, step, unread};
use crate::run::session::launcher::Launcher;
use gbench_formats::profile::read_nsys_stats;
use gbench_suite::plan::PlannedCase;

/// The summary of kernels, by its name since 2023 and the one before.
const REPORTS: [&str; 2] = ["cuda_gpu_kern_sum", "gpukernsum"];

/// Asks by both names: a version knows one of them, and its exit code does not show which. If neither gives kernels, the error
/// is that of the known name.
pub(super) fn kernels(
    launcher: &mut Launcher<'_>,
    case: &PlannedCase,
    program: &Path,
    files: &ProfileFiles,
) -> KernelsRead {
    let mut why = Vec::new();
    for name in REPORTS {
        let words = [program.to_string_lossy().into_owned(), "stats".into(), "--report".into(), name.into()];
        let rest = ["--format", "csv", "--force-export=true"].map(str::to_owned);
        let report = files.report().to_string_lossy().into_owned();
        let execution = step(launcher, case, words.into_iter().chain(rest).chain([report]).collect());
        // nsys recreates its database next to the report whenever it needs it.
        let _ = std::fs::remove_file(files.export());
        let unknown =
            is_unknown(&execution.stdout.bytes(), name) || is_unknown(&execution.stderr.bytes(), name);
        let read = printed(&execution, "nsys stats").and_then(|text| {
            read_nsys_stats(&text).map_err(|error| unread(&format!("nsys stats --report {name}"), &error))
        });
        match read {
            Ok(kernels) => return Ok(kernels),
            Err(cause) => why.push((unknown, cause)),
        }
    }
    // False sorts first: the error of a known report is more informative.
    why.sort_by_key(|(unknown, _)| *unknown);
    Err(why.into_iter().next().map(|(_, cause)| cause).unwrap_or_default())
}

fn is_unknown(bytes: &[u8], name: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().any(|line| line.contains(name) && line.contains("could not be found"))
}
