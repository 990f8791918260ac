//! The request of `publish`, and its target: the repository, the commit, and whose token is used.

use std::cell::RefCell;
use std::path::PathBuf;

use super::destination::Destination;
use crate::app::compare::fail_on::FailOn;
use crate::app::github::client::{client_at, token};
use crate::github::comments::CommentMode;
use crate::github::{Client, Context, Identity, WorkflowEvent};
use crate::model::{Exit, Fault, Host, Result};

pub(crate) type Log<'a> = dyn FnMut(&str) -> Result<()> + 'a;

#[derive(Clone, Debug)]
pub(crate) struct PublishRequest {
    /// A comparison's folder, a verdict, or the folder of a merge; `None`: the latest comparison.
    pub what: Option<PathBuf>,
    pub start: bool,
    pub ended: Option<u8>,
    pub comment: CommentMode,
    /// Name of the check; see [`gate_name`].
    pub name: String,
    /// Machine of a matrix; empty for the only one.
    pub label: String,
    /// Empty: as the measuring job has it.
    pub fail_on: Vec<FailOn>,
    pub allow_forks: bool,
    pub expect: Option<u32>,
    /// How the measuring jobs ended, in GitHub's words.
    pub measured: Option<String>,
    pub issue: bool,
    pub history: Option<String>,
    /// Beginning of the names of the artifacts that are fetched.
    pub artifact: String,
    pub summary: bool,
    /// The account whose comments and issues are ours; `None`: the token's.
    pub login: Option<String>,
    /// Address of the pages of `gbench-ci site`.
    pub pages: Option<String>,
    /// Where the verdict is sent; empty: to the service that started the job.
    pub to: Vec<Destination>,
}

/// A request in a job of a service that keeps the repository, with a client for it.
pub(super) struct PublishTarget<'a> {
    pub request: &'a PublishRequest,
    pub context: Context,
    pub client: Client,
    pub me: Identity,
    log: RefCell<&'a mut Log<'a>>,
}

impl<'a> PublishTarget<'a> {
    /// Errors: no token, or one that cannot be used.
    pub(super) fn open(request: &'a PublishRequest, context: Context, log: &'a mut Log<'a>) -> Result<Self> {
        if token(context.host())?.is_none() {
            let next = match context.host() {
                Host::GitLab => {
                    "make a project access token with the scope `api` and the role Developer, and give it to this job \
                     alone as the masked variable GITLAB_TOKEN"
                }
                _ => "give the step `env: { GBENCH_TOKEN: '${{ github.token }}' }`, or the action `token:`",
            };
            return Err(unpublished("publish", "there is no token to publish with", next));
        }
        let client = client_at(&context.endpoint, &context.slug)?;
        let me = match &request.login {
            Some(login) => Identity::named(login),
            None => Identity::of(&client)?,
        };
        Ok(Self { request, context, client, me, log: RefCell::new(log) })
    }

    pub(super) fn log(&self, line: &str) -> Result<()> {
        (self.log.borrow_mut())(line)
    }

    pub(super) fn run(&self) -> (u64, u32) {
        let other = self.context.workflow_run.as_ref().map(|run| (run.id, run.attempt));
        other.or(self.context.run.map(|run| (run.id, run.attempt))).unwrap_or((0, 1))
    }

    /// True where changes are accepted and a history is kept by the host: decisions are kept in checks.
    pub(super) fn has_decisions(&self) -> bool {
        self.context.host() == Host::GitHub
    }

    pub(super) fn check_name(&self) -> String {
        check_name(Some(&self.context), &self.request.name, &self.request.label)
    }

    pub(super) fn run_url(&self) -> Option<String> {
        run_url(&self.context)
    }
}

/// The page of the run that measured: of a `workflow_run` workflow it is the other one's.
pub(super) fn run_url(context: &Context) -> Option<String> {
    match &context.workflow_run {
        Some(run) => Some(context.page_of(run.id, run.attempt)),
        None => context.run_url(),
    }
}

/// The name of the check of one machine, and of all where there is no label. Branch protection knows a check by its name, so
/// it has nothing that changes. A run that no pull request started answers another question about the same commit, and has
/// its own check.
pub(super) fn check_name(context: Option<&Context>, name: &str, label: &str) -> String {
    let name = match context.map(|context| &context.event) {
        None | Some(WorkflowEvent::PullRequest | WorkflowEvent::MergeGroup | WorkflowEvent::WorkflowRun) => {
            name.to_owned()
        }
        Some(other) => format!("{name} ({})", other.as_ref()),
    };
    if label.is_empty() { name } else { format!("{name} / {label}") }
}

/// A name that is allowed in a marker, in a check and in a branch's protection.
pub(crate) fn gate_name(text: &str) -> std::result::Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-.+/()".contains(c);
    let text = text.trim();
    if !text.is_empty() && text.len() <= 80 && text.chars().all(plain) && !text.contains("--") {
        Ok(text.to_owned())
    } else {
        Err("use at most 80 letters, digits, blanks and _-.+/(), and no `--`".to_owned())
    }
}

pub(super) fn unpublished(target: &str, what: impl std::fmt::Display, next: &str) -> Fault {
    Fault::at(target, what, next).exits(Exit::Unpublished)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checks_name_is_stable_and_says_the_machine() {
        assert_eq!(check_name(None, "gbench-ci", ""), "gbench-ci");
        assert_eq!(check_name(None, "kernels", "h100"), "kernels / h100");
        assert_eq!(gate_name(" nightly (full) "), Ok("nightly (full)".into()));
        for wrong in ["", "a-->b", "x\ny", "<b>", &"n".repeat(81)] {
            assert!(gate_name(wrong).is_err(), "{wrong}");
        }
    }
}
