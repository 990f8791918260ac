//! The workflows that let the gate answer on pull requests and every night.

use std::path::{Path, PathBuf};

use super::next_steps::{NextSteps, next_steps};
use super::template::{WorkflowsRequest, own_labels, workflows};
use crate::app::paths::shown_from_here;
use crate::machine::open_repository;
use crate::model::{Exit, Fault, Result};

/// The settings of actionlint, from the repository's root.
const ACTIONLINT: &str = ".github/actionlint.yaml";

/// The workflows with their places; nothing has been written yet.
pub(crate) struct PreparedWorkflows {
    pub root: PathBuf,
    /// The path of the suite file from the root, where that lies deeper.
    pub deeper: Option<String>,
    /// Paths from the root, and texts.
    files: Vec<(&'static str, String)>,
    /// The labels that actionlint does not know.
    own_labels: Vec<String>,
    pub next: NextSteps,
}

/// The state of actionlint's file, which is never changed: it belongs to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ActionlintFile {
    Written,
    Complete,
    Lacks(Vec<String>),
}

impl PreparedWorkflows {
    /// `suite` is the suite file, in `folder`, which exists. `labels_assumed`: the labels of the runner were not given.
    /// Errors: a workflow of other content is there already, and `force` is not given.
    pub(crate) fn new(
        request: &WorkflowsRequest,
        labels_assumed: bool,
        force: bool,
        suite: &Path,
        folder: &Path,
    ) -> Result<Self> {
        let (root, in_git) = repository(folder);
        let suite = path_in(&root, folder, suite)?;
        let prepared = Self {
            files: workflows(request, &suite)?,
            own_labels: own_labels(&request.jobs),
            next: next_steps(request, labels_assumed, in_git),
            deeper: (root != folder).then_some(suite),
            root,
        };
        if !force {
            prepared.refuse_others()?;
        }
        Ok(prepared)
    }

    fn refuse_others(&self) -> Result<()> {
        for (path, text) in &self.files {
            let path = self.root.join(path);
            if std::fs::read(&path).is_ok_and(|there| there != text.as_bytes()) {
                let what = "the file is there already, and init overwrites nothing";
                let next = "read what differs, or overwrite it with `gbench-ci init --github --force`";
                return Err(Fault::at_path(shown_from_here(&path), what, next));
            }
        }
        Ok(())
    }

    pub(crate) fn write(&self) -> Result<Vec<PathBuf>> {
        let write = |(path, text): &(&str, String)| {
            let path = self.root.join(path);
            put(&path, text).map(|()| path)
        };
        self.files.iter().map(write).collect()
    }

    /// Writes a file for actionlint where there is none. Returns its path; `None`: it needs none.
    pub(crate) fn write_for_actionlint(&self) -> Result<Option<(PathBuf, ActionlintFile)>> {
        let path = self.root.join(ACTIONLINT);
        let needs_labels = !self.own_labels.is_empty();
        let state = needs_labels.then(|| write_for_actionlint(&path, &self.own_labels)).transpose()?;
        Ok(state.map(|state| (path, state)))
    }
}

fn write_for_actionlint(path: &Path, labels: &[String]) -> Result<ActionlintFile> {
    if !path.exists() {
        put(path, &actionlint_file(labels))?;
        return Ok(ActionlintFile::Written);
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        let next = "make it readable, or take it away";
        Fault::at_path(shown_from_here(path), format!("cannot be read: {error}"), next)
    })?;
    let missing = missing(&text, labels);
    Ok(if missing.is_empty() { ActionlintFile::Complete } else { ActionlintFile::Lacks(missing) })
}

/// Without the labels of the project's own runners actionlint reports each as a mistake.
fn actionlint_file(labels: &[String]) -> String {
    let items: String = labels.iter().map(|label| format!("    - \"{label}\"\n")).collect();
    format!(
        "# Labels of self-hosted runners, so that actionlint knows them.\nself-hosted-runner:\n  labels:\n{items}"
    )
}

/// The labels that the text of a file does not mention. The file belongs to its owner, who may write YAML in any form, so
/// that words are compared and nothing is changed.
fn missing(text: &str, labels: &[String]) -> Vec<String> {
    let in_label = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let words: Vec<&str> = text.split(|c| !in_label(c)).collect();
    labels.iter().filter(|label| !words.iter().any(|it| it.eq_ignore_ascii_case(label))).cloned().collect()
}

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
    let text =
        inside.to_str().filter(|text| text.chars().all(plain) && text.starts_with(char::is_alphanumeric));
    text.map(str::to_owned).ok_or_else(|| {
        let next = "use a path of letters, digits, `.`, `_`, `/`, `+` and `-`";
        Fault::at_path(suite, "a workflow cannot name this path safely", next)
    })
}

fn put(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text)).map_err(|error| {
        Fault::at_path(path, format!("cannot be written: {error}"), "make the place writable")
            .exits(Exit::Usage)
            .caused_by(&error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_listed_in_whatever_form_of_yaml() {
        let labels = ["a100", "h100", "gpu"].map(str::to_owned);
        for text in [
            "self-hosted-runner:\n  labels:\n  - gpu # the big one\n\n  - 'A100'\nconfig-variables: null\n",
            "self-hosted-runner: { labels: [gpu, \"a100\"] }",
        ] {
            assert_eq!(missing(text, &labels), ["h100"], "{text}");
        }
        assert_eq!(missing(&actionlint_file(&labels), &labels), [""; 0]);
        assert_eq!(missing("labels: [gpu2, my-gpu]", &labels[2..]), ["gpu"]);
    }
}
