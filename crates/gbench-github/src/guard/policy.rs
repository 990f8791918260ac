//! The policy: a TOML file on the machine. A list that is empty or not there allows nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobBuilder;
use serde::Deserialize;

use crate::api::address::Slug;
use crate::runner::event::WorkflowEvent;
use gbench_model::{Fault, Result};

const MAX_BYTES: u64 = 1 << 20;

/// Events that no policy may allow: their jobs have the repository's secrets, and gbench-ci measures nothing there.
pub(super) const NEVER_ALLOWED: [WorkflowEvent; 2] =
    [WorkflowEvent::PullRequestTarget, WorkflowEvent::WorkflowRun];

/// The jobs that the machine allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardPolicy {
    /// `OWNER/NAME`; case does not matter.
    pub repositories: Vec<String>,
    pub events: Vec<String>,
    /// Branches, `*` standing for anything but `/`: of a pull request and of a merge group the one that they go to, else
    /// the one that the workflow runs on.
    pub branches: Vec<String>,
    /// Files of workflows: `.github/workflows/gbench-nightly.yml`.
    pub workflows: Vec<String>,
    pub log: Option<PathBuf>,
    /// The condition for a fork's pull request; without it none may run.
    pub forks: Option<ForkPolicy>,
}

/// A fork's code runs after a maintainer has said so.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkPolicy {
    pub label: String,
    /// A file with a token that may read pull requests and actions: for private repositories.
    pub token_file: Option<PathBuf>,
}

impl GuardPolicy {
    /// Errors: a file that cannot be read or followed.
    pub fn read(path: &Path) -> Result<Self> {
        use std::io::Read;
        let next = "write it again with `gbench-ci guard install`, or make it readable for the runner's user";
        let fault = |what: String| Fault::at_path(path, what, next);
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
        // A device or a pipe may never end.
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(fault("is no file".into()));
        }
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
        let read = read.map_err(|error| fault(format!("cannot be read: {error}")))?;
        if read as u64 > MAX_BYTES {
            return Err(fault("is larger than 1 MiB".into()));
        }
        Self::parse(path, &text)
    }

    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let policy: Self = toml::from_str(text).map_err(|error| {
            let whole: Arc<str> = text.into();
            let span = error.span().unwrap_or_default();
            let next = "follow the comments in the file; `gbench-ci guard install` writes one";
            Fault::in_text(path, &whole, span, error.message(), next)
        })?;
        match policy.mistake() {
            Some((what, next)) => Err(Fault::at_path(path, what, next)),
            None => Ok(policy),
        }
    }

    fn mistake(&self) -> Option<(String, &'static str)> {
        if let Some(wrong) = self.repositories.iter().find_map(|text| text.parse::<Slug>().err()) {
            return Some((wrong, "write OWNER/NAME"));
        }
        if let Some(event) = self.events.iter().find(|event| NEVER_ALLOWED.contains(&event.as_str().into())) {
            let what = format!("`{event}` has the repository's secrets and cannot be allowed");
            return Some((what, "take it out: measure on `pull_request`"));
        }
        if let Some(path) = self.workflows.iter().find(|path| !is_workflow(path)) {
            let what = format!("`{}` is not a file of a workflow", path.escape_debug());
            return Some((what, "write .github/workflows/NAME.yml"));
        }
        if let Some(branch) = self.branches.iter().find(|branch| matcher(branch).is_none()) {
            let what = format!("`{}` is not a pattern of branches", branch.escape_debug());
            return Some((what, "write a branch, with `*` for anything but `/`"));
        }
        let label = self.forks.as_ref().map(|forks| forks.label.trim());
        if label.is_some_and(str::is_empty) {
            let next = "name the label that lets a fork's pull request run, or take `[forks]` out";
            return Some(("`forks.label` is empty".into(), next));
        }
        let paths = [&self.log, &self.forks.as_ref().and_then(|forks| forks.token_file.clone())];
        if let Some(path) = paths.into_iter().flatten().find(|path| !path.is_absolute()) {
            let what = format!("{} counts from no folder that is known", path.display());
            return Some((what, "write a path from the root: /etc/gbench-ci/..."));
        }
        None
    }

    pub fn has_repository(&self, slug: &Slug) -> bool {
        self.repositories.iter().any(|text| text.parse::<Slug>().as_ref() == Ok(slug))
    }

    pub fn has_branch(&self, branch: &str) -> bool {
        self.branches.iter().filter_map(|pattern| matcher(pattern)).any(|pattern| pattern.is_match(branch))
    }
}

fn matcher(pattern: &str) -> Option<globset::GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher()).filter(|_| !pattern.is_empty())
}

/// GitHub takes workflows from this folder alone, and from none below it.
fn is_workflow(path: &str) -> bool {
    let name = path.strip_prefix(".github/workflows/");
    name.is_some_and(|name| !name.contains('/') && (name.ends_with(".yml") || name.ends_with(".yaml")))
}
