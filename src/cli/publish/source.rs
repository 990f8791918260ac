//! What is to be published, out of a folder that this job, or one it trusts, has written.

use std::path::{Path, PathBuf};

use super::Args;
use crate::cli::artifact::{self, Contents};
use crate::cli::run::home;
use crate::cli::selection::SelectionArgs;
use crate::compare::Merged;
use crate::model::{Fault, Job, Result};
use crate::store::latest_comparison;
use crate::suite::Benchmark;

/// A verdict, and what is known of the jobs that gave it.
pub struct Material {
    pub merged: Merged,
    /// The one that stands for all.
    pub job: Option<Job>,
    /// Where the records may be.
    pub folder: Option<PathBuf>,
}

impl Material {
    /// Errors: the contents are no one verdict.
    pub fn of(contents: Contents, folder: Option<&Path>) -> Result<Self> {
        let (merged, job) = contents.whole()?;
        Ok(Self { merged, job, folder: folder.map(Path::to_owned) })
    }
}

/// Reads what the command line names, or the latest comparison. Errors: nothing is there, or it is no verdict.
pub fn here(what: Option<&Path>, args: &Args, builtins: &[Benchmark]) -> Result<Material> {
    let path = match what {
        Some(path) => path.to_owned(),
        None => latest(builtins)?,
    };
    if path.is_dir() {
        let contents = artifact::read_folder(&path)?;
        if contents.parts.is_empty() && contents.merged.is_empty() {
            let next =
                "name a comparison's folder, one with reports/verdict.json, or what `gbench-ci merge` wrote";
            return Err(Fault::at_path(path, "the folder holds no verdict", next));
        }
        let contents = match contents.merged.is_empty() {
            true => contents.held_to(args.expect, args.measured.as_deref())?,
            false => contents,
        };
        return Material::of(contents, Some(&path));
    }
    let next = "name what `gbench-ci ci`, `compare` or `merge` wrote";
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Fault::at_path(&path, format!("cannot be read: {error}"), next))?;
    let name = path.display().to_string();
    let merged = match artifact::merged(&name, &text) {
        Ok(merged) => merged,
        Err(_) => Merged::single("", artifact::verdict(&name, &text)?),
    };
    Ok(Material { merged, job: None, folder: None })
}

fn latest(builtins: &[Benchmark]) -> Result<PathBuf> {
    let artifacts = match &SelectionArgs::default().registry(builtins)?.file {
        Some(suite) => home(suite)?.join(&suite.run.artifacts.value),
        None => "artifacts".into(),
    };
    latest_comparison(&artifacts).ok_or_else(|| {
        let next = "measure first with `gbench-ci ci`, or name a comparison's folder";
        Fault::at_path(artifacts, "no comparison lies here", next)
    })
}
