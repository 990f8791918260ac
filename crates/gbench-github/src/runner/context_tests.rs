use std::fmt::Write as _;
use std::path::Path;

use super::context::*;
use case_files::Given;

/// Commits of the events.
const COMMITS: [(&str, &str); 4] = [
    ("HEAD", "8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923"),
    ("BASE", "3b9e7c5d1f2a4068b7c6d5e4f3a29180716f5e4d"),
    ("MERGE", "e4a1b2c3d4f5061728394a5b6c7d8e9fa0b1c2d3"),
    ("ZEROS", "0000000000000000000000000000000000000000"),
];

/// Reads the job for `event`, a file in fixtures/github/events whose name up to the dot is the event's. `payload`
/// replaces the file, `replace` substitutes its second line for its first, and `variables` override the usual ones.
pub(crate) fn answer(given: &Given) -> String {
    let unnamed = |text: String| COMMITS.iter().fold(text, |text, (name, sha)| text.replace(name, sha));
    let section = |head: &str| given.get(head).map(unnamed);
    let event = given.get("event").unwrap();
    let event = event.trim_end();
    let mut file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/github/events/{event}.json"));
    let folder = tempfile::tempdir().unwrap();
    let replaced = section("replace").map(|lines| {
        let (from, to) = lines.trim_end().split_once('\n').unwrap();
        let text = section("payload").unwrap_or_else(|| std::fs::read_to_string(&file).unwrap());
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    if let Some(text) = replaced.or_else(|| section("payload")) {
        file = folder.path().join("event.json");
        std::fs::write(&file, text).unwrap();
    }
    let more = given.get("variables").unwrap_or_default();
    let usual = format!(
        "GITHUB_ACTIONS=true\nGITHUB_EVENT_NAME={}\nGITHUB_REPOSITORY=acme/kernels\nGITHUB_SHA={}\nGITHUB_EVENT_PATH={}\n\
         GITHUB_RUN_ID=5550009\nGITHUB_RUN_ATTEMPT=2\nGITHUB_RUN_NUMBER=18",
        event.split('.').next().unwrap(),
        COMMITS[2].1,
        file.display(),
    );
    let variables: Vec<(&str, &str)> =
        more.lines().chain(usual.lines()).map(|line| line.split_once('=').unwrap()).collect();
    let variable = |wanted: &str| {
        let (_, value) = variables.iter().find(|(name, _)| *name == wanted)?;
        Some(unnamed((*value).to_owned()))
    };
    let text = match Context::read(&variable) {
        Ok(context) => context_text(&context.unwrap()),
        Err(fault) => {
            let place = fault.place.to_string();
            format!("{:?} at {}: {}", fault.exit, place.rsplit('/').next().unwrap(), fault.what)
        }
    };
    COMMITS.iter().fold(text, |text, (name, sha)| text.replace(sha, name))
}

fn context_text(context: &Context) -> String {
    let Context { event, slug, endpoint, sha, branch, default_branch, .. } = context;
    let Context { pull_request, workflow_run, comment, run, before, head, deleted, .. } = context;
    let mut text = format!("{event:?} of {slug}: {head}");
    if context.host() != gbench_model::Host::GitHub {
        write!(text, ", by {}", context.host()).unwrap();
    }
    if context.is_fork() {
        text += ", of a fork";
    }
    if context.on_default_branch() {
        text += ", on the default branch";
    }
    writeln!(text, "\nsha {sha}, branch {branch:?} of {default_branch:?}").unwrap();
    if *deleted || before.is_some() {
        writeln!(text, "before {before:?}, deleted {deleted}").unwrap();
    }
    text.extend(pull_request.iter().map(|it| format!("{it:?}\n")));
    text.extend(workflow_run.iter().map(|it| format!("{it:?}\n")));
    text.extend(comment.iter().map(|it| format!("comment {it}\n")));
    writeln!(text, "{} by {}, {run:?}", context.run_url().unwrap_or_default(), endpoint.api).unwrap();
    text
}

#[test]
fn outside_of_actions_there_is_no_job() {
    assert!(Context::read(&|_| None).unwrap().is_none());
    let other = |name: &str| (name == "CI").then(|| "true".to_owned());
    assert!(Context::read(&other).unwrap().is_none());
}
