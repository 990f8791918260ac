//! GitHub Actions on this machine: `act` plays the real workflows and the real `action.yml` from event files. Only
//! artifacts and checking out have stand-ins (`fixtures/github/act`).

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::cli::{command, ended};
use super::{fixture, tools};

/// The commit that workflows of these tests take the action from.
pub const ACTION_SHA: &str = "0123456789abcdef0123456789abcdef01234567";

/// A token that no server knows.
pub const TOKEN: &str = "ghs_TestToken0123456789";

/// A repository that uses the action, and the action's own source beside it.
pub struct Stage {
    folder: tempfile::TempDir,
    act: PathBuf,
    environment: Vec<(String, String)>,
    /// Folders that stand before the usual ones on the steps' PATH.
    path: Vec<PathBuf>,
    /// `github.token` of the jobs.
    pub token: String,
}

impl Stage {
    /// `None` where there is no `act`.
    pub fn new() -> Option<Self> {
        let act = tools::act()?;
        let folder = crate::support::tempdir().unwrap();
        let environment = vec![("GBENCH_LOCKS".into(), "off".into())];
        let stage = Self { folder, act, environment, path: Vec::new(), token: TOKEN.into() };
        for name in ["repository", "home", "artifacts", "bin", "action/.github"] {
            std::fs::create_dir_all(stage.at(name)).unwrap();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["action.yml", "Cargo.toml"] {
            std::fs::copy(root.join(name), stage.at("action").join(name)).unwrap();
        }
        stage.sh(&format!("cp -R '{}' action/.github/action", root.join(".github/action").display()));
        // Those of a release would be looked for on GitHub.
        stage.write("action/.github/action/checksums.txt", "# none\n");
        stage.sh("cd repository && git init -q -b main . && git remote add origin https://github.com/acme/kernels.git");
        Some(stage)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A shell's line in the stage's folder; panics unless it succeeds.
    pub fn sh(&self, line: &str) -> String {
        let mut command = Command::new("bash");
        command.args(["-euc", line]).current_dir(self.folder.path()).env("HOME", self.at("home"));
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Tester")
                .env(format!("GIT_{who}_EMAIL"), "tester@example.com");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Writes a file below the stage's folder.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a program below the stage's folder.
    pub fn program(&self, path: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        self.write(path, text);
        std::fs::set_permissions(self.at(path), PermissionsExt::from_mode(0o755)).unwrap();
        self.at(path)
    }

    /// For every step of every job.
    pub fn set(&mut self, name: &str, value: impl AsRef<Path>) -> &mut Self {
        self.environment.push((name.into(), value.as_ref().to_str().unwrap().into()));
        self
    }

    pub fn put_on_path(&mut self, folder: &Path) -> &mut Self {
        self.path.push(folder.to_owned());
        self
    }

    /// Commits everything in the repository; gives the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.sh(&format!(
            "cd repository && git add -A && git commit -q --allow-empty -m '{message}' && git rev-parse HEAD"
        ))
    }

    /// `gbench-ci init --github` in the repository, with an action that is a release.
    pub fn init(&self, flags: &str) {
        self.init_from("#v1.2.3", flags);
    }

    /// `version`: what stands behind the action's commit. Without one a job builds gbench-ci for those that may write.
    pub fn init_from(&self, version: &str, flags: &str) {
        let line = format!("init --github --force --action acme/gbench-ci@{ACTION_SHA}{version} {flags}");
        ended(command(&self.at("repository"), &line)).exits(0);
    }

    /// A workflow of one job that uses the action, with these lines below `with:`.
    pub fn using(&self, with: &[(&str, &str)], after: &str) {
        let with: String = with.iter().map(|(name, value)| format!("          {name}: {value}\n")).collect();
        self.write(
            "repository/.github/workflows/test.yml",
            &format!(
                "name: Test\non: [pull_request, push, workflow_run]\njobs:\n  gate:\n    runs-on: self-hosted\n    steps:\n\
                 \x20     - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd\n\
                 \x20     - id: gate\n        uses: acme/gbench-ci@{ACTION_SHA}\n        with:\n{with}{after}"
            ),
        );
    }

    /// Plays what the event starts, of one workflow file.
    pub fn play(&self, workflow: &str, event: &str, payload: &Value) -> Played {
        self.write("event.json", &payload.to_string());
        let mut command = Command::new(&self.act);
        command.current_dir(self.at("repository"));
        command.env_clear().env("HOME", self.at("home")).env("XDG_CACHE_HOME", self.at("home/cache"));
        let usual = super::path().to_str().unwrap();
        let own = self.path.iter().map(|folder| format!("{}:", folder.display())).collect::<String>();
        command.env("PATH", format!("{}:{own}{usual}", fixture("github/act/shell").display()));
        command.args([event, "--json", "--no-cache-server", "--rm", "-P", "self-hosted=-self-hosted"]);
        command.args(["-P", "ubuntu-latest=-self-hosted", "--defaultbranch", "main"]);
        command.arg("-s").arg(format!("GITHUB_TOKEN={}", self.token));
        command.arg("-e").arg(self.at("event.json"));
        command.arg("-W").arg(format!(".github/workflows/{workflow}"));
        let local = |name: String, place: PathBuf| format!("{name}={}", place.display());
        command
            .arg("--local-repository")
            .arg(local(format!("acme/gbench-ci@{ACTION_SHA}"), self.at("action")));
        for (name, sha) in [
            ("checkout", "de0fac2e4500dabe0009e67214ff5f5447ce83dd"),
            ("upload-artifact", "043fb46d1a93c77aae656e7c1c64a875d1fc6a0a"),
            ("download-artifact", "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c"),
        ] {
            let place = fixture("github/act").join(name);
            command.arg("--local-repository").arg(local(format!("actions/{name}@{sha}"), place));
        }
        let place = |name: &str, place: &str| (name.to_owned(), self.at(place).to_str().unwrap().to_owned());
        self.write("steps.log", "");
        let places = [
            place("ARTIFACT_STORE", "artifacts"),
            place("CHECKOUT_ORIGIN", "repository"),
            place("STEPS_LOG", "steps.log"),
        ];
        for (name, value) in self.environment.iter().chain(&places) {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        let output = command.output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let steps = String::from_utf8_lossy(&std::fs::read(self.at("steps.log")).unwrap()).into_owned();
        Played { code: output.status.code().unwrap(), lines, text, steps }
    }
}

/// What came of it.
pub struct Played {
    /// 0, or 1 where a job failed.
    pub code: i32,
    lines: Vec<Value>,
    text: String,
    /// Output of all steps, without masking.
    steps: String,
}

impl Played {
    #[track_caller]
    pub fn is(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.log());
        self
    }

    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(self.log().contains(words), "`{words}` in\n{}", self.log());
        self
    }

    #[track_caller]
    pub fn keeps_silent_about(self, words: &str) -> Self {
        assert!(!self.text.contains(words), "`{words}` in\n{}", self.log());
        self
    }

    /// The messages of the runner and of the steps, and all that the steps said.
    pub fn log(&self) -> String {
        let message = |line: &Value| Some(line.get("msg")?.as_str()?.trim_end().to_owned());
        let lines: Vec<String> = self.lines.iter().filter_map(message).collect();
        let runner = if lines.is_empty() { self.text.clone() } else { lines.join("\n") };
        runner + "\n\nThe steps:\n" + &self.steps
    }

    /// Exit codes of the steps that failed, in order.
    pub fn failed_steps(&self) -> Vec<i32> {
        let mut codes: Vec<(String, i32)> = Vec::new();
        for line in &self.lines {
            let code = line["msg"].as_str().and_then(|text| text.strip_prefix("exit status ")?.parse().ok());
            let step = line["stepID"].to_string() + &line["job"].to_string();
            // A composite action says its step's code again as its own.
            if let Some(code) = code.filter(|_| {
                line["stepID"].as_array().is_some_and(|ids| ids.len() > 1 || !self.has_inner(line))
            }) {
                codes.push((step, code));
            }
        }
        codes.into_iter().map(|(_, code)| code).collect()
    }

    fn has_inner(&self, outer: &Value) -> bool {
        let inner = |line: &&Value| line["job"] == outer["job"] && line["step"] == outer["step"];
        self.lines.iter().filter(inner).any(|line| line["stepID"].as_array().is_some_and(|ids| ids.len() > 1))
    }

    /// What the steps wrote as their summaries.
    pub fn summaries(&self) -> Vec<&str> {
        let summary = |line: &&Value| line["command"] == "summary";
        self.lines.iter().filter(summary).filter_map(|line| line["content"].as_str()).collect()
    }

    /// The last value that a step with this id set.
    pub fn output(&self, step: &str, name: &str) -> Option<&str> {
        let set = |line: &&Value| {
            let id = line["stepID"].as_array().and_then(|ids| ids.last());
            line["command"] == "set-output" && line["name"] == name && id.is_some_and(|id| id == step)
        };
        self.lines.iter().rev().find(set)?["arg"].as_str()
    }
}

/// The event of a pull request from `head_repository`, a branch of `acme/kernels` or of a fork.
pub fn pull_request(base: &str, head: &str, branch: &str, head_repository: &str) -> Value {
    json!({
        "action": "synchronize", "number": 7,
        "pull_request": {
            "number": 7,
            "head": {"ref": branch, "sha": head, "repo": {"full_name": head_repository, "fork": head_repository != "acme/kernels"}},
            "base": {"ref": "main", "sha": base, "repo": {"full_name": "acme/kernels"}},
        },
        "repository": repository(),
    })
}

/// The `workflow_run` event that follows a run on a pull request's head.
pub fn workflow_run(action: &str, head: &str, branch: &str, head_repository: &str) -> Value {
    let conclusion = if action == "completed" { json!("failure") } else { Value::Null };
    json!({
        "action": action,
        "workflow_run": {
            "id": 1, "run_attempt": 1, "event": "pull_request", "conclusion": conclusion, "status": action,
            "name": "gbench-ci pull request", "path": ".github/workflows/gbench-pull-request.yml",
            "head_sha": head, "head_branch": branch, "head_repository": {"full_name": head_repository},
            "pull_requests": [],
        },
        "repository": repository(),
    })
}

pub fn repository() -> Value {
    json!({"full_name": "acme/kernels", "name": "kernels", "owner": {"login": "acme"}, "default_branch": "main"})
}
