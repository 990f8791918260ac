//! The results of the jobs of a matrix as one. The parts are read as [`crate::app::untrusted`] reads artifacts: they come from
//! other machines.

use std::path::{Path, PathBuf};

use super::step_outputs;
use crate::app::compare::fail_on::FailOn;
use crate::app::paths::shown;
use crate::app::reports::verdict_files::{bytes_of, json_of};
use crate::app::store::subject::MERGED;
use crate::app::untrusted::{Contents, read_folder, too_few};
use crate::compare::{Absence, Merged, MissingPart, merge_records};
use crate::model::{Fault, Job, Result, RunRecord};
use crate::report::{Format, Options, Style};
use crate::store::{RunFolder, create_ignored_dir, read_record, write_atomically};

/// The parts as one, written unless nothing was measured.
pub(crate) enum MergeResult {
    /// No part measured anything, because the change touches nothing that is measured.
    Untouched(Box<Job>),
    Verdict {
        merged: Box<Merged>,
        path: PathBuf,
        fail_on: Vec<FailOn>,
    },
    Record {
        record: Box<RunRecord>,
        path: PathBuf,
        incomplete: bool,
    },
}

/// `parts`: folders of comparisons or runs, or folders of several. `expect`: their number. `measured`: how the measuring
/// jobs ended, in GitHub's words. `fail_on`: empty: as the parts have it. `absence`: the meaning of a part that did not come.
///
/// Errors: parts that do not belong together, or a folder that cannot be written.
pub(crate) fn merge(
    parts: &[PathBuf],
    output: &Path,
    expect: Option<u32>,
    measured: Option<&str>,
    fail_on: &[FailOn],
    absence: Absence,
) -> Result<MergeResult> {
    let mut contents = Contents { absence, ..Contents::default() };
    let mut runs = Vec::new();
    for part in parts {
        let mut found = read_folder(part)?;
        if let Some((name, ..)) =
            found.merged.iter().find(|_| found.parts.is_empty() && found.gaps.is_empty())
        {
            let what = format!("`{name}` is what a merge wrote, and a merge takes the parts");
            return Err(Fault::at_path(part, what, "name the folders that it was made of"));
        }
        // The output of an earlier merge among its own parts is not a part.
        found.merged.clear();
        runs.extend(found.runs.iter().map(|run| part.join(run)));
        contents.extend(found);
    }
    match (runs.is_empty(), contents.parts.first().map(|part| part.name.as_str())) {
        (false, Some(comparison)) => {
            let what = format!("`{}` is a run, and `{comparison}` is a comparison", shown(&runs[0]));
            Err(Fault::at("merge", what, "merge runs with runs, and comparisons with comparisons"))
        }
        (false, None) if absence == Absence::Pending => {
            let what =
                format!("`{}` is a run, and runs become one record only when all are there", shown(&runs[0]));
            Err(Fault::at_flag("--partial", what, "take the flag out, and merge when all runs have ended"))
        }
        (false, None) => records(&runs, output, expect, &contents.gaps),
        (true, _) => verdicts(contents, output, expect, measured, fail_on),
    }
}

fn verdicts(
    contents: Contents,
    output: &Path,
    expect: Option<u32>,
    measured: Option<&str>,
    fail_on: &[FailOn],
) -> Result<MergeResult> {
    if let Some(job) = contents.all_untouched(expect, measured) {
        step_outputs::of_untouched()?;
        return Ok(MergeResult::Untouched(Box::new(job)));
    }
    let contents = contents.held_to(expect, measured)?;
    let (merged, job) = contents.whole()?;
    prepare(output)?;
    let path = output.join(MERGED);
    write_atomically(&path, &json_of(&merged)?)?;
    let job_path = output.join("job.json");
    match &job {
        Some(job) => write_atomically(&job_path, &json_of(job)?)?,
        // It was left by an earlier merge in the same folder.
        None => drop(std::fs::remove_file(job_path)),
    }
    let fail_on = if fail_on.is_empty() {
        job.iter().flat_map(|job| &job.fail_on).filter_map(|word| word.parse::<FailOn>().ok()).collect()
    } else {
        fail_on.to_owned()
    };
    let options = Options { format: Format::Markdown, style: Style::PLAIN, all: true };
    let report = bytes_of(|bytes| crate::report::merged(&merged, &options, bytes))?;
    let report_path = output.join("merged.md");
    write_atomically(&report_path, &report)?;
    step_outputs::answer(merged.conclusion.into_str(), &merged.counts)?;
    step_outputs::set(&[("report", shown(&report_path))])?;
    Ok(MergeResult::Verdict { merged: Box::new(merged), path, fail_on })
}

fn prepare(folder: &Path) -> Result<()> {
    create_ignored_dir(folder).map_err(|error| {
        Fault::at_path(folder, format!("cannot be made: {error}"), "name a writable folder with `--output`")
            .caused_by(&error)
    })
}

fn records(
    runs: &[PathBuf],
    output: &Path,
    expect: Option<u32>,
    gaps: &[MissingPart],
) -> Result<MergeResult> {
    let read = |path: &PathBuf| Ok((shown(path), read_record(path)?));
    let parts: Vec<(String, RunRecord)> = runs.iter().map(read).collect::<Result<_>>()?;
    let found = parts.len();
    let (mut record, missing) = merge_records(parts)?;
    let gaps: Vec<String> =
        gaps.iter().cloned().chain(too_few(expect, found, Absence::Missing)).map(|gap| gap.what).collect();
    let incomplete = !missing.is_empty() || !gaps.is_empty();
    record.warnings.splice(0..0, gaps);
    if output.exists() {
        let next = "name another folder with `--output`, or take this one away";
        return Err(Fault::at_path(output, "there is already a file or folder here", next));
    }
    if let Some(above) = output.parent().filter(|above| !above.as_os_str().is_empty()) {
        prepare(above)?;
    }
    let path = RunFolder::create(output, &record)?.finish(&record)?;
    Ok(MergeResult::Record { record: Box::new(record), path, incomplete })
}
