//! The job as the runner describes it before its first step: default variables and the event file.

use crate::api::address::Slug;
use crate::runner::context::Context;
use crate::runner::event::WorkflowEvent;
use gbench_model::{Fault, Result};

/// The variables that are read, and that the hook's script passes on. A workflow can set none of them: the runner sets
/// every variable that begins with `GITHUB_` itself.
pub const VARIABLES: [&str; 14] = [
    "GITHUB_ACTIONS",
    "GITHUB_ACTOR",
    "GITHUB_API_URL",
    "GITHUB_EVENT_NAME",
    "GITHUB_EVENT_PATH",
    "GITHUB_REF",
    "GITHUB_REF_NAME",
    "GITHUB_REPOSITORY",
    "GITHUB_RUN_ATTEMPT",
    "GITHUB_RUN_ID",
    "GITHUB_RUN_NUMBER",
    "GITHUB_SERVER_URL",
    "GITHUB_SHA",
    "GITHUB_WORKFLOW_REF",
];

/// The branch of a merge queue's group ends with the pull request that is tested.
const QUEUE: &str = "gh-readonly-queue/";

/// A job that wants to run here.
#[derive(Clone, Debug)]
pub struct GuardedJob {
    pub context: Context,
    /// The repository and the file of the workflow, as `GITHUB_WORKFLOW_REF` has them.
    pub workflow: (Slug, String),
    /// The branch that the job is about: of a pull request and of a merge group the one that it goes to.
    pub branch: Option<String>,
    /// A label was put on the pull request just now, and this is the job that it started.
    pub labelled: Option<String>,
}

impl GuardedJob {
    /// Errors: anything that is not as GitHub documents it.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let next =
            "name the script in the environment of the runner itself; for a trial give a file with `--job`";
        let context = Context::read(variable)?.ok_or_else(|| {
            Fault::at("GITHUB_ACTIONS", "is not `true`: this is not a job of GitHub Actions", next)
        })?;
        let text = variable("GITHUB_WORKFLOW_REF").unwrap_or_default();
        let workflow = workflow_of(&text).ok_or_else(|| {
            let what = format!("`{}` names no workflow", text.escape_debug());
            Fault::at("GITHUB_WORKFLOW_REF", what, "run the guard on a runner that sets it: 2.300 or later")
        })?;
        let branch = match (&context.pull_request, &context.event) {
            (Some(pull), _) => Some(pull.base_branch.clone()),
            (None, WorkflowEvent::MergeGroup) => context.branch.as_deref().and_then(queued_for),
            (None, _) => context.branch.clone(),
        };
        let labelled = labelled(variable);
        Ok(Self { context, workflow, branch, labelled })
    }
}

/// `OWNER/NAME/.github/workflows/FILE@refs/...`. A file of that folder has no `/` in its name, so that the first `@refs/`
/// ends it, whatever the branch is called.
fn workflow_of(text: &str) -> Option<(Slug, String)> {
    let (path, _) = text.split_once("@refs/")?;
    let (owner, rest) = path.split_once('/')?;
    let (name, file) = rest.split_once('/')?;
    Some((format!("{owner}/{name}").parse().ok()?, file.to_owned()))
}

/// `main` of `gh-readonly-queue/main/pr-7-0123abcd`.
fn queued_for(branch: &str) -> Option<String> {
    Some(branch.strip_prefix(QUEUE)?.rsplit_once('/')?.0.to_owned())
}

/// The label of a `labeled` event. Without one that can be read, the label has to be newer than the run.
fn labelled(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let text = std::fs::read_to_string(variable("GITHUB_EVENT_PATH")?).ok()?;
    let event: serde_json::Value = serde_json::from_str(&text).ok()?;
    let is_labelled = event.get("action")?.as_str()? == "labeled";
    let label = event.get("label")?.get("name")?.as_str()?;
    is_labelled.then(|| label.to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) fn word(function: &str, text: &str) -> String {
        let found = match function {
            "queued_for" => super::queued_for(text),
            _ => super::workflow_of(text).map(|(slug, file)| format!("{slug} {file}")),
        };
        format!("{found:?}")
    }
}
