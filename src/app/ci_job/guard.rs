//! Events that are refused before anything is built, and tokens that benchmarks must not find.

use std::convert::Infallible;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::note::RunnerNote;
use crate::app::measuring::executor::own_binary;
use crate::github::{Context, WorkflowEvent};
use crate::machine::open_repository;
use crate::model::{Exit, Fault, Result};

/// The tokens and keys by which a verdict is published, by the names under which workflows hand them to a step.
const TOKENS: [&str; 11] = [
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "FORGEJO_TOKEN",
    "GBENCH_TOKEN",
    "GBENCH_WEBHOOK_SECRET",
    "GH_ENTERPRISE_TOKEN",
    "GH_TOKEN",
    "GITEA_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
];

/// Those that a service gives to every job, whatever its author does: nothing to warn of.
const OF_EVERY_JOB: [&str; 8] = [
    "BUILDKITE_AGENT_ACCESS_TOKEN",
    "CI_DEPENDENCY_PROXY_PASSWORD",
    "CI_DEPLOY_PASSWORD",
    "CI_JOB_JWT",
    "CI_JOB_JWT_V2",
    "CI_JOB_TOKEN",
    "CI_REGISTRY_PASSWORD",
    // It contains the job's token.
    "CI_REPOSITORY_URL",
];

/// The tokens in the environment of this process, by name.
pub(crate) fn tokens() -> Vec<&'static str> {
    let all = TOKENS.into_iter().chain(OF_EVERY_JOB);
    all.filter(|name| std::env::var_os(name).is_some()).collect()
}

/// `None`: none of them could be kept away from this step.
pub(crate) fn token_warning(found: &[&str]) -> Option<RunnerNote> {
    let found: Vec<&str> = found.iter().copied().filter(|name| TOKENS.contains(name)).collect();
    if found.is_empty() {
        return None;
    }
    let what = format!(
        "{} is in the environment of the step that measures: give the token to `gbench-ci publish` alone. It was \
         taken out before anything was started, but the shell of this step still holds it",
        found.join(", ")
    );
    Some(RunnerNote::warning(TOKEN_TITLE, what))
}

/// Begins this process again without the tokens; returns only where that fails. Leaving them out of the children's environment
/// is not enough: root, as in most containers, reads that of any process below `/proc`, and what a process was started with
/// stays there until it executes something else.
pub(crate) fn restart_without(tokens: &[&str]) -> Result<Infallible> {
    let mut again = Command::new(own_binary()?);
    again.args(std::env::args_os().skip(1));
    for name in tokens {
        again.env_remove(name);
    }
    let error = again.exec();
    let what = format!("cannot be started again without the token: {error}");
    Err(Fault::at("gbench-ci", what, "take the token out of this step's environment").exits(Exit::Internal))
}

/// A checkout that kept the job's token keeps it in the repository's configuration, where every benchmark can read it.
pub(crate) fn credentials_warning() -> Option<RunnerNote> {
    let repository = std::env::current_dir().ok().and_then(|folder| open_repository(&folder).ok())?;
    let config = repository.config().ok()?;
    let header =
        config.entries(Some(r"^http\..*\.extraheader$")).is_ok_and(|mut found| found.next().is_some());
    let remotes = repository.remotes().ok()?;
    let has_password = |name: &str| {
        let remote = repository.find_remote(name).ok();
        let url = remote.and_then(|remote| remote.url().map(str::to_owned).ok());
        let rest = url.and_then(|url| url.split_once("://").map(|(_, rest)| rest.to_owned()));
        rest.is_some_and(|rest| rest.split_once('@').is_some_and(|(user, _)| user.contains(':')))
    };
    let next = if header {
        "give actions/checkout `persist-credentials: false`"
    } else if remotes.iter().flatten().flatten().any(has_password) {
        "set the variable FF_GIT_URLS_WITHOUT_TOKENS of GitLab's runner to `true`"
    } else {
        return None;
    };
    let what =
        format!("the checkout keeps a token in its git configuration, where benchmarks can read it: {next}");
    Some(RunnerNote::warning(TOKEN_TITLE, what))
}

const TOKEN_TITLE: &str = "a token where benchmarks run";

/// Refuses events that would run a stranger's code here, or anybody's code with the repository's secrets. Exit code 5.
pub(crate) fn refuse(context: &Context, allow_forks: bool) -> Result<()> {
    let fault = |what: String, next: &str| Err(Fault::at("the event", what, next).exits(Exit::Machine));
    match &context.event {
        WorkflowEvent::PullRequestTarget => fault(
            "`pull_request_target` runs with the repository's secrets, and a pull request's code never runs with \
             them"
                .into(),
            "measure on `pull_request`, and publish from a `workflow_run` workflow with `gbench-ci publish`",
        ),
        WorkflowEvent::WorkflowRun => fault(
            "`workflow_run` runs with the repository's secrets: it is for telling results, and nothing is measured \
             there"
                .into(),
            "use `gbench-ci publish` here, and measure on `pull_request`",
        ),
        _ if context.is_fork() && !allow_forks => {
            let pull = context.pull_request.as_ref();
            let from = pull.and_then(|pull| pull.head_repository.as_ref());
            let from = from.map_or("a fork that is gone".to_owned(), |slug| format!("the fork {slug}"));
            let number = pull.map_or(0, |pull| pull.number);
            fault(
                format!("pull request #{number} comes from {from}, whose code is not run on this machine"),
                "measure forks on a hosted runner; or give `--allow-forks` where the machine is thrown away after \
                 the job and reaches nothing of yours",
            )
        }
        _ if context.deleted => {
            let what = "the push removed its branch or tag: there is nothing to measure";
            Err(Fault::at("the event", what, "run this job only `if: ${{ !github.event.deleted }}`"))
        }
        _ => Ok(()),
    }
}
