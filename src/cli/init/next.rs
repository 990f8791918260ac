//! The last words of `init --github`: what was assumed, and what is left to do, in order.

use super::action::ActionRef;
use super::machines::{Part, USUAL_LABELS};
use super::template::{Facts, Forks};
use crate::report::paragraph;

/// What is not in the workflows themselves.
pub struct Circumstances {
    /// Nobody named the runner's labels.
    pub assumed: bool,
    pub in_git: bool,
}

pub fn words(facts: &Facts, circumstances: &Circumstances) -> String {
    let mut text = String::new();
    let mut say = |words: &str| text += &format!("\n{}", paragraph("", words));
    if circumstances.assumed {
        say(&format!(
            "The runner's labels were not given: `{USUAL_LABELS}` it is (`--runner LABELS` for others)."
        ));
    }
    let local = facts.action == ActionRef::Here;
    if local {
        say(
            "No report was written: it runs with the right to write, so it may not check out the action from here. \
             Nothing is posted on pull requests; the job `Benchmarks` is red or green, and its page has the report.",
        );
    }
    if !circumstances.in_git {
        say("This is no git repository yet: the workflows belong in the root of one (`git init`).");
    }
    text += "\nNext:\n";
    for (number, step) in steps(facts, local).iter().enumerate() {
        text += &paragraph(&format!("  {}. ", number + 1), step);
    }
    let own = |part: &Part| part.runner.iter().any(|label| label == "self-hosted");
    if facts.forks == Forks::Refuse && facts.parts.iter().any(own) {
        text += &format!(
            "\n{}",
            paragraph(
                "",
                "A fork's pull request brings its own version of these files, so that they alone do not keep its code off your \
                 runner. Require approval for all outside contributors (Settings, Actions, General), or let the machine refuse \
                 it: `gbench-ci guard install`."
            )
        );
    }
    if facts.forks == Forks::Allow {
        text += &format!(
            "\n{}",
            paragraph(
                "",
                "Pull requests of forks will run their code on your runner: use one that is thrown away after each job."
            )
        );
    }
    text
}

fn steps(facts: &Facts, local: bool) -> Vec<String> {
    let mut runners: Vec<&Vec<String>> = Vec::new();
    for part in &facts.parts {
        if !runners.contains(&&part.runner) {
            runners.push(&part.runner);
        }
    }
    let runner = |labels: &&Vec<String>| {
        let words = if labels.len() == 1 { "the label" } else { "the labels" };
        let list = labels.join(", ");
        match labels.iter().any(|label| label == "self-hosted") {
            true => format!("register a runner with {words} {list}: Settings, Actions, Runners"),
            false => format!("a runner with {words} {list} has to be there: Settings, Actions, Runners"),
        }
    };
    let mut steps: Vec<String> = runners.iter().map(runner).collect();
    steps.push(
        match local {
            true => "commit these files and push them to the default branch: the nightly run starts only there",
            false => {
                "commit these files and push them to the default branch: the report and the nightly run start only \
                 there. A pull request that brings gbench.toml itself is red with exit code 4: its base has nothing to \
                 compare with"
            }
        }
        .to_owned(),
    );
    steps.push("open a pull request; or start `gbench-ci nightly` by hand, under Actions".into());
    steps.push(required(&facts.parts, local));
    steps
}

/// The name that branch protection takes, as it will read on GitHub.
fn required(parts: &[Part], local: bool) -> String {
    if local {
        return "once it has answered, require the job `Benchmarks`: Settings, Rules, Rulesets".into();
    }
    let mut names: Vec<String> = Vec::new();
    for part in parts.iter().filter(|part| !part.label.is_empty()) {
        let name = format!("`gbench-ci / {}`", part.label);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let beside = match &names[..] {
        [] => String::new(),
        [one] => format!(". {one} beside it is the same for that machine"),
        several => {
            format!(". It stands for all machines; {} beside it show what each found", several.join(", "))
        }
    };
    format!("once it has answered, require the check `gbench-ci`: Settings, Rules, Rulesets{beside}")
}
