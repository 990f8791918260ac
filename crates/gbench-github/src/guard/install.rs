//! The files of an installation: the hook's script, and a policy for a person to edit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::job::VARIABLES;
use gbench_model::shell_word;

/// Names within the guard's folder.
pub const SCRIPT: &str = "guard.sh";
pub(crate) const POLICY: &str = "guard.toml";
pub const LOG: &str = "refusals.jsonl";

/// The runner's process that goes through the steps of one job.
const WORKER: &str = "Runner.Worker";

/// Where everything of an installation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledFiles {
    pub script: PathBuf,
    pub policy: PathBuf,
    pub log: PathBuf,
    pub program: PathBuf,
}

impl InstalledFiles {
    /// `folder` and `program` are absolute.
    pub fn new(folder: &Path, program: &Path) -> Self {
        Self {
            script: folder.join(SCRIPT),
            policy: folder.join(POLICY),
            log: folder.join(LOG),
            program: program.to_owned(),
        }
    }
}

/// The content of a new policy.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    pub repositories: Vec<String>,
    pub events: Vec<String>,
    pub branches: Vec<String>,
    pub workflows: Vec<String>,
    pub label: Option<String>,
}

/// The script. The runner starts it as `bash -e PATH`, or by `sh` where there is no bash, as a child of the worker that
/// goes through the job's steps. A hook that fails fails the job, but the worker still takes every step with `if:
/// always()` or `if: failure()`, which a fork can write. So the script ends the worker, whatever it was that did not
/// allow the job: the program's answer, a program that is not there, or a job that was cancelled meanwhile.
pub fn script(places: &InstalledFiles) -> String {
    let variables = VARIABLES.join(" ");
    format!(
        r#"#!/bin/sh
# Written by `gbench-ci guard install`: decides whether a job may run on this machine, before its first step. The runner starts
# it because its own environment says {hook}=<this file>.
allowed=
program=
finish() {{
    status=$?
    trap '' HUP INT TERM
    set +eu
    if [ -n "$allowed" ]; then
        exit 0
    fi
    if [ -n "$program" ]; then
        kill -KILL "$program" 2> /dev/null
    fi
    # A failed hook alone does not keep steps with `if: always()` from running: the runner's worker has to end. The pause
    # lets it send the lines above to GitHub.
    read -r name < "/proc/$PPID/comm"
    case "$name $(/usr/bin/readlink "/proc/$PPID/exe")" in
        "{worker} "* | *"/{worker}" | *"/{worker} (deleted)")
            echo "gbench-ci guard: this job ends here, before its first step"
            sleep 2
            kill -KILL "$PPID"
            ;;
        *)
            echo "gbench-ci guard: the process above this one is no {worker}: steps with if: always() may still run"
            ;;
    esac
    if [ "$status" -eq 0 ]; then
        status=1
    fi
    exit "$status"
}}
trap finish EXIT
trap 'exit 143' HUP INT TERM
set -eu
# Only variables that the runner sets itself go on; a workflow can set none of them.
for name in {variables}; do
    eval "value=\${{$name-}}"
    if [ -n "$value" ]; then
        set -- "$@" "$name=$value"
    fi
done
/usr/bin/env -i "$@" {program} guard run --policy {policy} &
program=$!
wait "$program"
allowed=yes
"#,
        hook = super::HOOK,
        worker = WORKER,
        program = shell_word(&places.program.display().to_string()),
        policy = shell_word(&places.policy.display().to_string()),
    )
}

/// The policy, with what each line means.
pub fn policy(allowed: &Allowed, places: &InstalledFiles) -> String {
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| toml_text(item)).collect();
        format!("[{}]", items.join(", "))
    };
    let mut text = String::from(
        "# Which jobs of GitHub Actions may run on this machine. Written by `gbench-ci guard install`; edit it, then ask\n\
         # `gbench-ci guard check`. A job that no line allows is refused. The file must not be writable by the user that the runner runs as.\n",
    );
    let mut part = |comment: &str, line: String| {
        let _ = write!(text, "\n{comment}\n{line}\n");
    };
    part("# Repositories: OWNER/NAME.", format!("repositories = {}", list(&allowed.repositories)));
    part(
        "# Events. `pull_request_target` and `workflow_run` cannot be allowed: they have the repository's secrets.",
        format!("events = {}", list(&allowed.events)),
    );
    part(
        "# Branches, with `*` for anything but `/`: of a pull request and a merge group the one that they go to, else the one\n\
         # that the workflow runs on.",
        format!("branches = {}", list(&allowed.branches)),
    );
    part(
        "# Workflows by their file. The name of a file does not guarantee its content: a pull request brings its own\n\
         # version. The one on a branch of the repository itself comes from a person with write access.",
        format!("workflows = {}", list(&allowed.workflows)),
    );
    part(
        "# A line of JSON for each refusal.",
        format!("log = {}", toml_text(&places.log.display().to_string())),
    );
    let forks = "# Without this part no fork's pull request runs here. With it, one runs after a person with triage rights has put the\n\
                 # label on it, after its last push. GitHub is asked for the label each time; the event's own word is not taken.";
    let token = "# For a private repository: a file with a token that may read its pull requests, issues and actions. The runner's\n\
                 # user must be able to read it, and so can every job that runs here.\n# token_file = \"/etc/gbench-ci/token\"";
    match &allowed.label {
        Some(label) => part(forks, format!("[forks]\nlabel = {}\n{token}", toml_text(label))),
        None => part(forks, format!("# [forks]\n# label = \"measure this fork\"\n{token}")),
    }
    text
}

fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::policy::GuardPolicy;

    #[test]
    fn n14_what_is_installed_reads_back_as_what_was_asked_for() {
        let places = InstalledFiles::new(Path::new("/etc/it's here"), Path::new("/usr/local/bin/gbench-ci"));
        let allowed = Allowed {
            repositories: vec!["acme/kernels".into()],
            events: vec!["pull_request".into()],
            branches: vec!["release/*".into()],
            workflows: vec![".github/workflows/x.yml".into()],
            label: Some("say \"yes\"".into()),
        };
        let read = GuardPolicy::parse(&places.policy, &policy(&allowed, &places)).unwrap();
        assert_eq!((&read.repositories, &read.branches), (&allowed.repositories, &allowed.branches));
        assert_eq!(read.forks.unwrap().label, "say \"yes\"");
        assert_eq!(read.log, Some(places.log.clone()));
        let fresh = GuardPolicy::parse(&places.policy, &policy(&Allowed::default(), &places)).unwrap();
        assert_eq!((fresh.forks, fresh.repositories.len()), (None, 0));
        assert!(script(&places).contains(r"guard run --policy '/etc/it'\''s here/guard.toml'"));
    }
}
