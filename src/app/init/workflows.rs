//! The workflows that let the gate answer on pull requests and every night.

use std::path::{Path, PathBuf};

use super::action_ref::ActionRef;
use super::actionlint;
use super::jobs::{MeasuringJob, own_labels};
use super::next_steps::{NextSteps, next_steps};
use super::template::{ForkRuns, WorkflowValues, workflows};
use crate::app::paths::shown_from_here;
use crate::machine::open_repository;
use crate::model::{Exit, Fault, Result};

/// The workflows to write.
#[derive(Clone, Debug)]
pub struct WorkflowsRequest {
    pub action: ActionRef,
    pub forks: ForkRuns,
    /// At least one.
    pub jobs: Vec<MeasuringJob>,
    /// The labels of the runner were not given.
    pub labels_assumed: bool,
    /// Overwrite workflows that are there.
    pub force: bool,
}

/// The workflows with their places; nothing has been written yet.
pub struct PreparedWorkflows {
    root: PathBuf,
    /// The suite file lies below the root, and not in it.
    is_below: bool,
    suite: String,
    files: Vec<(&'static str, String)>,
    /// The labels that actionlint has to be told of.
    own_labels: Vec<String>,
    next: NextSteps,
}

/// The files that lie there now.
pub struct WrittenWorkflows {
    /// The repository's root, and the path of the suite file from there, where that lies deeper.
    pub below: Option<(PathBuf, String)>,
    pub files: Vec<PathBuf>,
    pub actionlint: Option<(PathBuf, ActionlintFile)>,
    pub next: NextSteps,
}

/// The state of actionlint's own file, which is never changed: it belongs to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionlintFile {
    Written,
    /// It mentions all labels.
    Complete,
    /// It lacks these labels.
    Lacks(Vec<String>),
}

impl PreparedWorkflows {
    /// `suite` is the suite file, in `folder`, which exists. Errors: a workflow of other content is there already.
    pub fn new(request: &WorkflowsRequest, suite: &Path, folder: &Path) -> Result<Self> {
        let (root, in_git) = repository(folder);
        let suite = path_in(&root, folder, suite)?;
        let values = WorkflowValues {
            action: request.action.clone(),
            suite,
            forks: request.forks,
            jobs: request.jobs.clone(),
        };
        let prepared = Self {
            is_below: root != folder,
            root,
            files: workflows(&values)?,
            own_labels: own_labels(&values.jobs),
            next: next_steps(&values, request.labels_assumed, in_git),
            suite: values.suite,
        };
        if !request.force {
            prepared.refuse_others()?;
        }
        Ok(prepared)
    }

    fn refuse_others(&self) -> Result<()> {
        for (path, text) in &self.files {
            let path = self.root.join(path);
            if std::fs::read(&path).is_ok_and(|there| there != text.as_bytes()) {
                let next = "read what differs, or overwrite it with `gbench-ci init --github --force`";
                return Err(Fault::at_path(
                    shown_from_here(&path),
                    "the file is there already, and init overwrites nothing",
                    next,
                ));
            }
        }
        Ok(())
    }

    /// Writes the workflows, and a file for actionlint where there is none.
    pub fn write(self) -> Result<WrittenWorkflows> {
        let mut files = Vec::new();
        for (path, text) in &self.files {
            let path = self.root.join(path);
            put(&path, text)?;
            files.push(path);
        }
        let path = self.root.join(actionlint::PATH);
        let needs_labels = !self.own_labels.is_empty();
        let actionlint = needs_labels.then(|| write_for_actionlint(&path, &self.own_labels)).transpose()?;
        Ok(WrittenWorkflows {
            actionlint: actionlint.map(|state| (path, state)),
            below: self.is_below.then_some((self.root, self.suite)),
            files,
            next: self.next,
        })
    }
}

fn write_for_actionlint(path: &Path, labels: &[String]) -> Result<ActionlintFile> {
    if !path.exists() {
        put(path, &actionlint::file(labels))?;
        return Ok(ActionlintFile::Written);
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        let next = "make it readable, or take it away";
        Fault::at_path(shown_from_here(path), format!("cannot be read: {error}"), next)
    })?;
    let missing = actionlint::missing(&text, labels);
    Ok(if missing.is_empty() { ActionlintFile::Complete } else { ActionlintFile::Lacks(missing) })
}

/// The repository's root, and whether there is one; else the folder itself.
fn repository(folder: &Path) -> (PathBuf, bool) {
    let root = open_repository(folder).ok().and_then(|it| it.workdir().map(Path::to_owned));
    match root {
        Some(root) => (root.canonicalize().unwrap_or(root), true),
        None => (folder.to_owned(), false),
    }
}

fn path_in(root: &Path, folder: &Path, suite: &Path) -> Result<String> {
    let name = suite.file_name().map(Path::new).unwrap_or(suite);
    let inside = folder.strip_prefix(root).unwrap_or(Path::new("")).join(name);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+".contains(c);
    match inside.to_str().filter(|text| text.chars().all(plain) && text.starts_with(char::is_alphanumeric)) {
        Some(text) => Ok(text.to_owned()),
        None => Err(Fault::at_path(
            suite,
            "a workflow cannot name this path safely",
            "use a path of letters, digits, `.`, `_`, `/`, `+` and `-`",
        )),
    }
}

fn put(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text)).map_err(|error| {
        Fault::at_path(path, format!("cannot be written: {error}"), "make the place writable")
            .exits(Exit::Usage)
            .caused_by(&error)
    })
}
