//! The verdict that is published, out of a folder that this job, or one it trusts, has written.

use std::path::{Path, PathBuf};

use super::request::PublishRequest;
use crate::app::kept_comparison::{ArtifactsRequest, kept_folder};
use crate::app::untrusted::{self, Contents};
use crate::compare::{Merged, SCHEMA_MERGED};
use crate::model::{Fault, Job, Result};
use crate::suite::Benchmark;

/// The content of a folder.
pub(super) enum FoundInput {
    Verdict(Box<PublishInput>),
    /// Nothing was measured, because the change touches nothing that is.
    Untouched(Box<Job>),
}

/// A verdict, and what is known of the jobs that gave it.
pub(super) struct PublishInput {
    pub merged: Merged,
    /// The one that stands for all.
    pub job: Option<Job>,
    /// Where the records may be.
    pub folder: Option<PathBuf>,
}

impl PublishInput {
    /// Errors: the contents are no one verdict.
    pub fn of(contents: Contents, folder: Option<&Path>) -> Result<Self> {
        let (merged, job) = contents.whole()?;
        Ok(Self { merged, job, folder: folder.map(Path::to_owned) })
    }
}

/// Reads what the command line names, or the latest comparison. Errors: nothing is there, or it is no verdict.
pub(super) fn find(
    what: Option<&Path>,
    request: &PublishRequest,
    builtins: &[Benchmark],
) -> Result<FoundInput> {
    let path = match what {
        Some(path) => path.to_owned(),
        None => kept_folder(None, &ArtifactsRequest::default().folder(builtins)?)?,
    };
    if path.is_dir() {
        let contents = untrusted::read_folder(&path)?;
        if let Some(job) = contents.all_untouched(request.expect, request.measured.as_deref()) {
            return Ok(FoundInput::Untouched(Box::new(job)));
        }
        if contents.parts.is_empty() && contents.merged.is_empty() {
            let next =
                "name a comparison's folder, one with reports/verdict.json, or what `gbench-ci merge` wrote";
            return Err(Fault::at_path(path, "the folder holds no verdict", next));
        }
        let contents = if contents.merged.is_empty() {
            contents.held_to(request.expect, request.measured.as_deref())?
        } else {
            contents
        };
        return Ok(FoundInput::Verdict(Box::new(PublishInput::of(contents, Some(&path))?)));
    }
    let next = "name what `gbench-ci ci`, `compare` or `merge` wrote";
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Fault::at_path(&path, format!("cannot be read: {error}"), next))?;
    let name = path.display().to_string();
    let merged = if text.contains(SCHEMA_MERGED) {
        untrusted::merged(&name, &text)?
    } else {
        Merged::single("", untrusted::verdict(&name, &text)?)
    };
    Ok(FoundInput::Verdict(Box::new(PublishInput { merged, job: None, folder: None })))
}
