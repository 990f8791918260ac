//! What a test puts there before it begins. Everything is about the first repository.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::FakeGithub;
use super::pulls::repository;
use super::world::{Artifact, Check, Comment, Issue, Pull, Repository, Token, TokenKind, now, user};

/// A workflow run, as `GET /actions/runs/ID` shows it.
#[derive(Clone, Debug)]
pub struct RunSeed<'a> {
    pub id: u64,
    pub attempt: u32,
    /// `pull_request`, `push`, `schedule` …
    pub event: &'a str,
    pub head_sha: &'a str,
    pub head_branch: &'a str,
    /// `None`: the fork was deleted.
    pub head_repository: Option<&'a str>,
    pub name: &'a str,
    pub path: &'a str,
    /// `success`, `failure` …; `None` while it runs.
    pub conclusion: Option<&'a str>,
}

impl Default for RunSeed<'_> {
    fn default() -> Self {
        Self {
            id: 1,
            attempt: 1,
            event: "pull_request",
            head_sha: "",
            head_branch: "feature",
            head_repository: Some("acme/kernels"),
            name: "Benchmarks",
            path: ".github/workflows/benchmarks.yml",
            conclusion: Some("success"),
        }
    }
}

impl FakeGithub {
    /// A private repository with one commit on `main`, whose id is given.
    pub fn repository(&self, slug: &str) -> String {
        self.empty_repository(slug);
        let mut world = self.shared.world();
        world.repository(slug).unwrap().commit("main", &[("README.md", b"# A test\n")], "first")
    }

    /// A repository without a commit, in which git data cannot be written.
    pub fn empty_repository(&self, slug: &str) {
        let mut world = self.shared.world();
        let id = world.id();
        world.repositories.push(Repository::new(id, slug));
    }

    /// A token with exactly these permissions, such as `("checks", "write")`.
    pub fn token(&self, login: &str, kind: TokenKind, permissions: &[(&str, &str)]) -> String {
        let mut world = self.shared.world();
        let text = match kind {
            TokenKind::App => format!("ghs_{:032x}", world.id()),
            TokenKind::User => format!("ghp_{:032x}", world.id()),
        };
        let permissions = permissions.iter().map(|(name, level)| (name.replace('-', "_"), level.to_string()));
        let token =
            Token { text: text.clone(), login: login.into(), kind, permissions: permissions.collect() };
        world.tokens.push(token);
        text
    }

    /// A `GITHUB_TOKEN` with exactly these permissions, each to write.
    pub fn actions_token(&self, permissions: &[&str]) -> String {
        let permissions: Vec<(&str, &str)> = permissions.iter().map(|name| (*name, "write")).collect();
        self.token("github-actions[bot]", TokenKind::App, &permissions)
    }

    /// Commits files onto a branch, made if it is not there. Gives the commit.
    pub fn commit(&self, branch: &str, files: &[(&str, &[u8])], message: &str) -> String {
        self.shared.world().first().commit(branch, files, message)
    }

    /// An open pull request. Its head may be a made-up id; its repository a fork that is only a name.
    pub fn pull(&self, number: u64, head_sha: &str, head_ref: &str, head_repository: &str, base: &str) {
        let mut world = self.shared.world();
        let first = world.first();
        first.known.insert(head_sha.into());
        let pull = Pull {
            head_sha: head_sha.into(),
            head_ref: head_ref.into(),
            head_owner: head_repository.split('/').next().unwrap().into(),
            head_repository: Some(head_repository.into()),
            base: base.into(),
            base_sha: first.commit_of(base).unwrap_or_else(|| "b".repeat(40)),
            merged: None,
        };
        let login = pull.head_owner.clone();
        let issue = Issue { pull: Some(pull), ..blank(number, &login, "A change", None) };
        first.issues.insert(number, issue);
    }

    /// Changes a pull request: its head, its state, its fork gone.
    pub fn change_pull(&self, number: u64, change: impl FnOnce(&mut Issue)) {
        let mut world = self.shared.world();
        let first = world.first();
        let issue = first.issues.get_mut(&number).unwrap();
        change(issue);
        first.known.extend(issue.pull.iter().map(|pull| pull.head_sha.clone()));
    }

    /// Somebody with the rights for it puts a label on, at this time.
    pub fn label(&self, number: u64, name: &str, at: SystemTime) {
        self.change_pull(number, |issue| {
            issue.labels.push(name.into());
            issue.labelled.push((name.into(), at));
        });
    }

    /// A new head for a pull request: somebody pushed.
    pub fn push(&self, number: u64, head_sha: &str) {
        self.change_pull(number, |issue| issue.pull.as_mut().unwrap().head_sha = head_sha.into());
    }

    /// Somebody may do so much here: `admin`, `write`, `read`.
    pub fn collaborator(&self, login: &str, permission: &str) {
        self.shared.world().first().collaborators.insert(login.into(), permission.into());
    }

    /// A pull request is merged, by this commit.
    pub fn merge(&self, number: u64, merged_as: &str) {
        self.change_pull(number, |issue| {
            issue.open = false;
            issue.pull.as_mut().unwrap().merged = Some((merged_as.into(), SystemTime::now()));
        });
    }

    /// The made-up commits after one up to another, the second one last.
    pub fn commits_between(&self, base: &str, head: &str, commits: &[&str]) {
        let commits = commits.iter().map(|commit| (*commit).to_owned()).collect();
        self.shared.world().first().between.insert((base.into(), head.into()), commits);
    }

    /// Changes a comment, as its author or time may be.
    pub fn change_comment(&self, id: u64, change: impl FnOnce(&mut Comment)) {
        change(self.shared.world().first().comments.get_mut(&id).unwrap());
    }

    /// A comment of somebody's. Gives its id.
    pub fn comment(&self, number: u64, login: &str, body: &str) -> u64 {
        let mut world = self.shared.world();
        let (id, at) = (world.id(), SystemTime::now());
        let (login, body) = (login.into(), body.into());
        let comment = Comment { id, number, login, body, created_at: at, updated_at: at };
        world.first().comments.insert(id, comment);
        id
    }

    /// Somebody takes a comment away.
    pub fn delete_comment(&self, id: u64) {
        self.shared.world().first().comments.remove(&id);
    }

    /// Changes a check, its number too: checks of jobs that ran at the same time come in any order.
    pub fn change_check(&self, id: u64, change: impl FnOnce(&mut Check)) {
        let mut world = self.shared.world();
        let first = world.first();
        let mut check = first.checks.remove(&id).unwrap();
        change(&mut check);
        first.checks.insert(check.id, check);
    }

    /// As if no status had ever been set.
    pub fn forget_statuses(&self) {
        self.shared.world().first().statuses.clear();
    }

    /// An open issue of somebody's. Gives its number.
    pub fn issue(&self, login: &str, title: &str, body: &str) -> u64 {
        let mut world = self.shared.world();
        let first = world.first();
        let number = first.next_number();
        first.issues.insert(number, blank(number, login, title, Some(body.into())));
        number
    }

    /// What a person does on the page of an issue.
    pub fn set_open(&self, number: u64, login: &str, open: bool) {
        let mut world = self.shared.world();
        let issue = world.first().issues.get_mut(&number).expect("there is such an issue");
        issue.open = open;
        issue.closed_by = (!open).then(|| login.to_owned());
    }

    pub fn workflow_run(&self, run: &RunSeed) {
        let mut world = self.shared.world();
        let slug = world.first().slug.clone();
        let shown = json!({
            "id": run.id, "name": run.name, "head_branch": run.head_branch, "head_sha": run.head_sha,
            "path": run.path, "run_number": run.id, "run_attempt": run.attempt, "event": run.event,
            "display_title": run.name, "status": if run.conclusion.is_some() { "completed" } else { "in_progress" },
            "conclusion": run.conclusion, "workflow_id": 3, "created_at": now(), "updated_at": now(),
            "html_url": format!("https://github.invalid/{slug}/actions/runs/{}", run.id),
            // Those of forks are not named here, nor are ours: nobody may rely on it.
            "pull_requests": [],
            "repository": repository(&world, &slug),
            "head_repository": run.head_repository.map_or(Value::Null, |slug| repository(&world, slug)),
            "actor": user("somebody"),
        });
        let first = world.first();
        first.known.insert(run.head_sha.into());
        first.runs.insert(run.id, shown);
    }

    /// An artifact of a run, with its digest. Gives its id.
    pub fn artifact(&self, run: u64, name: &str, zip: &[u8]) -> u64 {
        use sha2::Digest as _;
        let mut world = self.shared.world();
        let id = world.id();
        let digest: String = sha2::Sha256::digest(zip).iter().map(|byte| format!("{byte:02x}")).collect();
        let artifact = Artifact {
            id,
            run,
            name: name.into(),
            zip: zip.into(),
            size: zip.len() as u64,
            expired: false,
            digest: Some(format!("sha256:{digest}")),
        };
        world.first().artifacts.insert(id, artifact);
        id
    }

    /// Makes an artifact lie: about its size, its digest, or that it is still there.
    pub fn change_artifact(&self, id: u64, size: Option<u64>, digest: Option<&str>, expired: bool) {
        let mut world = self.shared.world();
        let artifact = world.first().artifacts.get_mut(&id).unwrap();
        artifact.size = size.unwrap_or(artifact.size);
        artifact.digest = digest.map(str::to_owned).or(artifact.digest.take());
        artifact.expired = expired;
    }

    /// Rules forbid writing to the branch.
    pub fn protect(&self, branch: &str) {
        self.shared.world().first().protected.insert(branch.into());
    }

    /// The requests left until the hour ends.
    pub fn rate_limit(&self, left: u32, ends_in: Duration) {
        self.shared.world().rate = (left, SystemTime::now() + ends_in);
    }

    /// How many entries a recursive tree shows at most; it says `truncated` beyond.
    pub fn truncate_trees(&self, entries: usize) {
        self.shared.world().tree_entries = entries;
    }
}

fn blank(number: u64, login: &str, title: &str, body: Option<String>) -> Issue {
    Issue {
        number,
        title: title.into(),
        body,
        open: true,
        state_reason: None,
        closed_by: None,
        labels: Vec::new(),
        labelled: Vec::new(),
        login: login.into(),
        locked: false,
        created_at: SystemTime::now(),
        pull: None,
    }
}
