//! The verdict that is published, out of a folder that this job, or one it trusts, has written.

use std::path::{Path, PathBuf};

use super::target::{PublishRequest, unpublished};
use crate::app::store::comparison::{ArtifactsRequest, comparison_folder};
use crate::app::untrusted::{self, Contents};
use crate::compare::Merged;
use crate::github::Sha;
use crate::model::{Fault, Job, Result};
use crate::suite::Benchmark;
use crate::trend::TrendsDocument;

/// The verdict or the note that the jobs left behind.
pub(super) enum FoundInput {
    Verdict(Box<PublishInput>),
    /// Nothing was measured, because the change touches nothing that is.
    Untouched(Box<Job>),
}

/// A verdict, and what is known of the jobs that gave it.
#[derive(Clone)]
pub(super) struct PublishInput {
    pub merged: Merged,
    /// The one that stands for all.
    pub job: Option<Job>,
    /// Where the records may be.
    pub folder: Option<PathBuf>,
    /// The trends of the rows, a document for each part that has one.
    pub trends: Vec<TrendsDocument>,
    /// Every part has one.
    pub has_all_trends: bool,
}

impl FoundInput {
    /// The one answer that contents hold; `None` where they hold none. `measured`: how the jobs ended, in GitHub's words.
    pub(super) fn new(
        contents: Contents,
        expect: Option<u32>,
        measured: Option<&str>,
        folder: Option<&Path>,
    ) -> Result<Option<Self>> {
        if let Some(job) = contents.all_untouched(expect, measured) {
            return Ok(Some(Self::Untouched(Box::new(job))));
        }
        let contents = match (contents.merged.is_empty(), contents.parts.is_empty()) {
            (true, true) => return Ok(None),
            (true, _) => contents.held_to(expect, measured)?,
            _ => contents,
        };
        let has_all_trends = !contents.parts.is_empty() && contents.trends.len() == contents.parts.len();
        let trends = contents.trends.iter().map(|(_, trends)| trends.clone()).collect();
        let (merged, job) = contents.whole()?;
        let folder = folder.map(Path::to_owned);
        Ok(Some(Self::Verdict(Box::new(PublishInput { merged, job, folder, trends, has_all_trends }))))
    }

    pub(super) fn job(&self) -> Option<&Job> {
        match self {
            Self::Verdict(input) => input.job.as_ref(),
            Self::Untouched(job) => Some(job),
        }
    }

    /// Refuses what is about another commit: it must not be published on this one.
    pub(super) fn is_about(&self, head: &Sha) -> Result<()> {
        let next = "measure the event's own head: `gbench-ci ci` does";
        let is_head = |commit: &str| commit.eq_ignore_ascii_case(head.as_str());
        match self {
            Self::Untouched(job) => {
                let commit = job.head.as_deref().unwrap_or("no commit");
                let what = || format!("it is about {commit}, and the event is about {head}");
                if is_head(commit) { Ok(()) } else { Err(unpublished("job.json", what(), next)) }
            }
            Self::Verdict(input) => input.merged.groups.iter().try_for_each(|group| {
                let judged = &group.verdict.head;
                let commit = judged.commit.as_deref().unwrap_or("no commit");
                let what = if judged.dirty {
                    format!("it judges {commit} with changes that are not committed")
                } else if is_head(commit) {
                    return Ok(());
                } else {
                    format!("it judges {commit}, and the event is about {head}")
                };
                Err(unpublished("the verdict", what, next))
            }),
        }
    }
}

/// Reads the documents that the request names, or the latest comparison. `None`: the gate ended without a verdict, and
/// `no_verdict` received its exit code. A gate that failed early leaves no documents, and those of an earlier run on the
/// same machine are not its answer.
///
/// Errors: no document is there, or it is not a verdict; `no_verdict` received the exit code before, if there is one.
pub(super) fn find_unless_ended(
    request: &PublishRequest,
    builtins: &[Benchmark],
    mut no_verdict: impl FnMut(u8) -> Result<()>,
) -> Result<Option<FoundInput>> {
    match (&request.what, request.ended) {
        (None, Some(code)) => no_verdict(code).map(|()| None),
        (what, code) => match (find(what.as_deref(), request, builtins), code) {
            (Err(fault), Some(code)) => no_verdict(code).and(Err(fault)),
            (found, _) => found.map(Some),
        },
    }
}

/// Reads what a path names, or the latest comparison. Errors: nothing is there, or it is not a verdict.
pub(super) fn find(
    what: Option<&Path>,
    request: &PublishRequest,
    builtins: &[Benchmark],
) -> Result<FoundInput> {
    let path = match what {
        Some(path) => path.to_owned(),
        None => comparison_folder(None, &ArtifactsRequest::default().folder(builtins)?)?,
    };
    if path.is_dir() {
        let contents = untrusted::read_folder(&path)?;
        let found = FoundInput::new(contents, request.expect, request.measured.as_deref(), Some(&path))?;
        return found.ok_or_else(|| {
            let next =
                "name a comparison's folder, one with reports/verdict.json, or what `gbench-ci merge` wrote";
            Fault::at_path(path, "the folder has no verdict", next)
        });
    }
    let next = "name what `gbench-ci ci`, `compare` or `merge` wrote";
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Fault::at_path(&path, format!("cannot be read: {error}"), next))?;
    let merged = untrusted::verdict_or_merged(&path.display().to_string(), &text)?;
    Ok(FoundInput::Verdict(Box::new(PublishInput {
        merged,
        job: None,
        folder: None,
        trends: Vec::new(),
        has_all_trends: false,
    })))
}
