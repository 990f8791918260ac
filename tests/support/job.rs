//! A job of GitHub Actions without GitHub: a repository, an event file, the runner's variables and files, and what a
//! runner would make of the log.

use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::compare::VerdictDocument;
use gbench_ci::model::Job;
use gbench_ci::store::latest_comparison;
use git2::Oid;

use super::cli::{Ran, command, ended};
use super::fixture;
use super::git::{Sandbox, signature};

/// Head and base in the event fixtures.
const HEAD: &str = "8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923";
const BASE: &str = "3b9e7c5d1f2a4068b7c6d5e4f3a29180716f5e4d";

/// Prints twelve made-up times of case `$1`: what the file `work` says that it costs, and a little noise.
pub const BENCH: &str = r#"
set -eu
rest=${GBENCH_REQUEST#*'"process":'}
process=${rest%%[!0-9]*}
while read -r name cost; do [ "$name" != "$1" ] || work=$cost; done < work
exec awk -v process="$process" -v side="${PWD##*/}" -v work="$work" -v name="$1" '
    BEGIN {
        srand(process * 7919 + (side == "head" ? 104729 : 0) + substr(name, 2) * 1299709)
        for (i = 0; i < 20; i++) rand()
        time = 0.001 * work * (1 + 0.004 * (rand() + rand() + rand() - 1.5))
        for (i = 0; i < 12; i++) printf "time: %.12f\n", time * (1 + 0.001 * rand())
    }'
"#;

/// A checkout, and the files of one step beside it.
pub struct Checkout {
    pub sandbox: Sandbox,
    /// The point where head and main parted.
    pub base: Oid,
    pub head: Oid,
}

/// A suite of cases `c0`, `c1`, ... with more lines in its `[gate]`.
pub fn suite(cases: usize, gate: &str) -> String {
    let case = |case: usize| {
        format!(
            "[[benchmark]]\nid = \"c{case}\"\ncommand = [\"sh\", \"bench.sh\", \"c{case}\"]\n\
             extract = [{{ metric = \"time\", unit = \"s\", regex = 'time: ([0-9.]+)' }}]\n\n"
        )
    };
    format!(
        "[suite]\nname = \"s\"\n\n[gate]\nwatch = false\n{gate}\n{}",
        (0..cases).map(case).collect::<String>()
    )
}

/// What the cases cost, in order.
pub fn work(costs: &[f64]) -> String {
    costs.iter().enumerate().map(|(case, cost)| format!("c{case} {cost}\n")).collect()
}

impl Checkout {
    /// As actions/checkout leaves a pull request: `topic` with these files on top of `main`, and checked out a merge commit
    /// that nobody wrote. `main` holds a suite of three cases.
    pub fn of_pull_request(files: &[(&str, &str)]) -> Self {
        Self::over(&[("gbench.toml", &suite(3, "")), ("work", &work(&[1.0; 3]))], files)
    }

    /// The same over these files of `main`.
    pub fn over(main: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("bench.sh", BENCH);
        let base = sandbox.commit(main);
        sandbox.branch("topic", base);
        sandbox.switch("topic");
        let head = sandbox.commit(files);
        let it = Self { sandbox, base, head };
        it.merge();
        it
    }

    fn merge(&self) {
        let repository = &self.sandbox.repository;
        repository.reference("refs/remotes/origin/main", self.base, true, "fetched").unwrap();
        let [one, two] = [self.base, self.head].map(|id| repository.find_commit(id).unwrap());
        let tree = two.tree().unwrap();
        let merge =
            repository.commit(None, &signature(), &signature(), "Merge", &tree, &[&one, &two]).unwrap();
        repository.set_head_detached(merge).unwrap();
    }

    pub fn root(&self) -> PathBuf {
        self.sandbox.root()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.folder.path().join(name)
    }

    /// `gbench-ci LINE` as a step of a job that an event started, without a token.
    pub fn step(&self, event: &str, line: &str) -> Command {
        let text = std::fs::read_to_string(fixture(&format!("github/events/{event}.json"))).unwrap();
        let text = text.replace(HEAD, &self.head.to_string()).replace(BASE, &self.base.to_string());
        std::fs::write(self.file("event.json"), text).unwrap();
        for name in ["output", "summary"] {
            std::fs::write(self.file(name), "").unwrap();
        }
        let is_pull = event.starts_with("pull");
        let reference = if is_pull { "refs/pull/42/merge" } else { "refs/heads/main" };
        let here = self.sandbox.repository.head().unwrap().target().unwrap();
        let sha = if is_pull { here } else { self.head };
        let mut command = outside(&self.root(), line);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", event.split('.').next().unwrap())
            .env("GITHUB_EVENT_PATH", self.file("event.json"))
            .env("GITHUB_REPOSITORY", "acme/kernels")
            .env("GITHUB_SHA", sha.to_string())
            .env("GITHUB_REF", reference)
            .env("GITHUB_REF_NAME", reference.splitn(3, '/').nth(2).unwrap())
            .env("GITHUB_RUN_ID", "5550009")
            .env("GITHUB_OUTPUT", self.file("output"))
            .env("GITHUB_STEP_SUMMARY", self.file("summary"));
        command
    }

    pub fn ran(&self, event: &str, line: &str) -> Ran {
        ended(self.step(event, line))
    }

    pub fn summary(&self) -> String {
        std::fs::read_to_string(self.file("summary")).unwrap()
    }

    /// An output of the step as the runner reads it.
    pub fn output(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.file("output")).unwrap();
        let mut lines = text.lines();
        let mut found = None;
        while let Some(line) = lines.next() {
            let (key, delimiter) = line.split_once("<<").unwrap_or_else(|| panic!("`{line}` in\n{text}"));
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != delimiter).collect();
            if key == name {
                found = Some(value.join("\n"));
            }
        }
        found
    }

    /// Whether anything was checked out, built, started or kept.
    pub fn is_untouched(&self) -> bool {
        !self.root().join("artifacts").exists() && !self.root().join(".gbench").exists()
    }

    pub fn comparison(&self) -> PathBuf {
        latest_comparison(&self.root().join("artifacts")).expect("a comparison")
    }

    pub fn verdict(&self) -> VerdictDocument {
        let text = std::fs::read_to_string(self.comparison().join("reports/verdict.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub fn job(&self) -> Job {
        let text = std::fs::read_to_string(self.comparison().join("job.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// `gbench-ci LINE` where there is no job, also if these tests run in one.
pub fn outside(folder: &Path, line: &str) -> Command {
    let mut command = command(folder, line);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().into_owned();
        if ["GITHUB_", "GH_", "ACTIONS_", "RUNNER_", "GITLAB_", "CI_", "BUILDKITE", "GITEA_", "FORGEJO_"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    command
}

/// A command that the runner obeyed.
#[derive(Debug, PartialEq)]
pub struct Obeyed {
    pub command: String,
    pub data: String,
}

/// What the runner makes of a log: it reads lines to any line break, takes `::` after blanks for a command, and the older
/// `##[` anywhere; between `::stop-commands::TOKEN` and `::TOKEN::` it obeys nothing else.
pub fn obeyed(log: &str) -> Vec<Obeyed> {
    let mut found = Vec::new();
    let mut stopped: Option<String> = None;
    for line in log.split(['\n', '\r']) {
        let trimmed = line.trim_start();
        let parsed = match (trimmed.strip_prefix("::"), line.split_once("##[")) {
            (Some(rest), _) => rest.split_once("::"),
            (None, Some((_, rest))) => rest.split_once(']'),
            (None, None) => None,
        };
        let Some((head, data)) = parsed else { continue };
        let command = head.split(' ').next().unwrap().to_owned();
        match &stopped {
            Some(token) if *token == command => stopped = None,
            Some(_) => {}
            None if command == "stop-commands" => stopped = Some(data.to_owned()),
            None => found.push(Obeyed { command, data: data.to_owned() }),
        }
    }
    assert_eq!(stopped, None, "commands stay stopped:\n{log}");
    found
}
