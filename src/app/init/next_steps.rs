//! The assumptions behind the workflows, and the steps that are left to the user.

use super::action_ref::ActionRef;
use super::template::{USUAL_LABELS, WorkflowsRequest};
use crate::app::github::matrix::MeasuringJob;

/// The steps that are left to the user, in order, with notes before and a warning behind them. Each is a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NextSteps {
    pub notes: Vec<String>,
    pub steps: Vec<String>,
    pub warning: Option<&'static str>,
}

/// `labels_assumed`: the labels of the runner were not given. `in_git`: the files lie in a git repository.
pub(super) fn next_steps(request: &WorkflowsRequest, labels_assumed: bool, in_git: bool) -> NextSteps {
    let is_local = request.action == ActionRef::Here;
    let mut notes = Vec::new();
    if labels_assumed {
        notes.push(format!(
            "The runner's labels were not given: `{USUAL_LABELS}` it is (`--runner LABELS` for others)."
        ));
    }
    if is_local {
        notes.push(
            "No report was written, and nothing that accepts rows: these run with the right to write, so they may not check \
             out the action from here. \
             Nothing is posted on pull requests; the job `Benchmarks` is red or green, and its page has the report."
                .into(),
        );
    }
    if !is_local && !request.action.is_release() {
        notes.push(
            "The action's commit has no version behind it, so it counts as no release: a job without rights builds gbench-ci \
             for those that may write."
                .into(),
        );
    }
    if !in_git {
        notes.push(
            "This is not a git repository yet: the workflows belong in the root of one (`git init`).".into(),
        );
    }
    let is_own = |job: &MeasuringJob| job.runner.iter().any(|label| label == "self-hosted");
    let warning = if request.allow_forks {
        Some(
            "Pull requests of forks will run their code on your runner: use one that is thrown away after each job.",
        )
    } else {
        request.jobs.iter().any(is_own).then_some(
            "A fork's pull request brings its own version of these files, so that they alone do not keep its code off your \
             runner. Require approval for all outside contributors (Settings, Actions, General), or let the machine refuse \
             it: `gbench-ci guard install`.",
        )
    };
    NextSteps { notes, steps: steps(request, is_local), warning }
}

fn steps(request: &WorkflowsRequest, is_local: bool) -> Vec<String> {
    let jobs = &request.jobs;
    let mut runners: Vec<&Vec<String>> = Vec::new();
    for job in jobs {
        if !runners.contains(&&job.runner) {
            runners.push(&job.runner);
        }
    }
    let runner = |labels: &&Vec<String>| {
        let words = if labels.len() == 1 { "the label" } else { "the labels" };
        let list = labels.join(", ");
        if labels.iter().any(|label| label == "self-hosted") {
            format!("register a runner with {words} {list}: Settings, Actions, Runners")
        } else {
            format!("a runner with {words} {list} has to be there: Settings, Actions, Runners")
        }
    };
    let mut steps: Vec<String> = runners.iter().map(runner).collect();
    let push = "commit these files and push them to the default branch:";
    steps.push(if is_local {
        format!("{push} the nightly run starts only there")
    } else {
        format!(
            "{push} the report and the nightly run start only there. A pull request that brings gbench.toml itself is \
             red with exit code 4: its base has nothing to compare with"
        )
    });
    steps.push("open a pull request; or start `gbench-ci nightly` by hand, under Actions".into());
    steps.push(required(jobs, is_local));
    if request.pages {
        steps.push(
            "let GitHub Actions be the source of the pages: Settings, Pages. The first night makes them"
                .into(),
        );
    }
    steps
}

/// The name that branch protection takes, as it will read on GitHub.
fn required(jobs: &[MeasuringJob], is_local: bool) -> String {
    if is_local {
        return "once it has answered, require the job `Benchmarks`: Settings, Rules, Rulesets".into();
    }
    let mut names: Vec<String> = Vec::new();
    for job in jobs.iter().filter(|job| !job.label.is_empty()) {
        let name = format!("`gbench-ci / {}`", job.label);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let beside = match &names[..] {
        [] => String::new(),
        [one] => format!(". {one} is the same for that machine"),
        several => {
            format!(". It covers all machines; {} show what each found", several.join(", "))
        }
    };
    format!("once it has answered, require the check `gbench-ci`: Settings, Rules, Rulesets{beside}")
}
