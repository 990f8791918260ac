//! What is refused before anything is built, and what benchmarks must not find.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::app::measure::own_binary;
use crate::cli::terminal::write::wrote;
use crate::github::commands::{self, Level};
use crate::github::{Context, WorkflowEvent};
use crate::machine::open_repository;
use crate::model::{Exit, Fault, Result};

/// What opens GitHub's door, by the names under which workflows hand it to a step.
const TOKENS: [&str; 7] = [
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "GBENCH_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_TOKEN",
];

/// Begins this process anew without the tokens in its environment, if there are any. Leaving them out of the children's
/// environment is not enough: root, as in most containers, reads that of any process below `/proc`, and what a process
/// was started with stays there until it executes something else.
pub fn shed_tokens(out: &mut impl Write) -> Result<()> {
    let found: Vec<&str> = TOKENS.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();
    if found.is_empty() {
        return Ok(());
    }
    let what = format!(
        "{} is in the environment of the step that measures: give the token to `gbench-ci publish` alone. It was \
         taken out before anything was started, but the shell of this step still holds it",
        found.join(", ")
    );
    warn("a token where benchmarks run", &what, out)?;
    let mut again = Command::new(own_binary()?);
    again.args(std::env::args_os().skip(1));
    for name in found {
        again.env_remove(name);
    }
    let error = again.exec();
    let what = format!("cannot be started anew without the token: {error}");
    Err(Fault::at("gbench-ci", what, "take the token out of this step's environment").exits(Exit::Internal))
}

fn in_actions() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// An annotation in a job, a line on standard error elsewhere.
fn warn(title: &str, what: &str, out: &mut impl Write) -> Result<()> {
    match in_actions() {
        true => {
            let line = commands::annotation(Level::Warning, None, None, title, what);
            wrote(writeln!(out, "{line}").and_then(|()| out.flush()))
        }
        false => {
            let _ = writeln!(std::io::stderr(), "warning: {what}");
            Ok(())
        }
    }
}

/// A checkout that kept the job's token keeps it in the repository's configuration, where every benchmark can read it.
pub fn warn_of_credentials(out: &mut impl Write) -> Result<()> {
    let repository = std::env::current_dir().ok().and_then(|here| open_repository(&here).ok());
    let config = repository.and_then(|repository| repository.config().ok());
    let Some(config) = config else { return Ok(()) };
    let holds =
        config.entries(Some(r"^http\..*\.extraheader$")).is_ok_and(|mut found| found.next().is_some());
    match holds {
        true => {
            let what = "the checkout keeps a token in its git configuration, where benchmarks can read it: give \
                        actions/checkout `persist-credentials: false`";
            warn("a token where benchmarks run", what, out)
        }
        false => Ok(()),
    }
}

/// Refuses events that would run a stranger's code here, or anybody's code with the repository's secrets. Exit code 5.
pub fn refuse(context: &Context, allow_forks: bool) -> Result<()> {
    let fault = |what: String, next: &str| Err(Fault::at("the event", what, next).exits(Exit::Machine));
    match &context.event {
        WorkflowEvent::PullRequestTarget => fault(
            "`pull_request_target` runs with the repository's secrets, and a pull request's code never runs beside \
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
