//! What the fake GitHub remembers. Git objects lie in a real bare repository, so that their names are git's own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::faults::Fault;

/// Everything behind one lock: what two requests do at once is done one after the other, as on a database.
pub struct World {
    pub repositories: Vec<Repository>,
    pub tokens: Vec<Token>,
    pub faults: Vec<Fault>,
    pub seen: Vec<Seen>,
    pub violations: Vec<String>,
    /// `http://127.0.0.1:PORT`, with the path of an Enterprise server behind it.
    pub api: String,
    /// Where artifacts are fetched: another host.
    pub files: String,
    /// Requests left until the limit, and when it ends.
    pub rate: (u32, SystemTime),
    /// Entries that a recursive tree shows at most; GitHub shows 100,000.
    pub tree_entries: usize,
    last_id: u64,
}

/// One request, as it came in.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// Without the query and without an Enterprise server's `/api/v3`.
    pub path: String,
    pub query: String,
    /// GitHub's name of the operation: `issues/create-comment`.
    pub operation: Option<String>,
    pub body: Value,
    /// Who the token says it is.
    pub login: Option<String>,
    /// What the client was told; `None` if nothing reached it.
    pub status: Option<u16>,
    /// Whether the fake carried it out, whatever the client was told.
    pub handled: bool,
    pub sent_at: SystemTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// `GITHUB_TOKEN`: an installation of GitHub's own App, whose login is `github-actions[bot]`.
    App,
    /// A personal access token, which may not create checks.
    User,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub text: String,
    pub login: String,
    pub kind: TokenKind,
    pub permissions: BTreeMap<String, String>,
}

pub struct Repository {
    pub slug: String,
    pub id: u64,
    pub default_branch: String,
    pub git: git2::Repository,
    /// Commits that are only names here: heads of pull requests that a test made up.
    pub known: BTreeSet<String>,
    pub issues: BTreeMap<u64, Issue>,
    pub comments: BTreeMap<u64, Comment>,
    pub checks: BTreeMap<u64, Check>,
    pub statuses: Vec<Status>,
    pub runs: BTreeMap<u64, Value>,
    pub artifacts: BTreeMap<u64, Artifact>,
    /// What people may do, by login: `admin`, `write`, `read`.
    pub collaborators: BTreeMap<String, String>,
    /// Made-up commits between two made-up commits.
    pub between: BTreeMap<(String, String), Vec<String>>,
    /// Branches that rules protect.
    pub protected: BTreeSet<String>,
    _folder: tempfile::TempDir,
}

/// An issue, or the talk of a pull request.
#[derive(Clone, Debug)]
pub struct Issue {
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub open: bool,
    pub state_reason: Option<String>,
    /// Login of whoever closed it.
    pub closed_by: Option<String>,
    pub labels: Vec<String>,
    /// When labels were put on.
    pub labelled: Vec<(String, SystemTime)>,
    pub login: String,
    /// Only people with write access may speak.
    pub locked: bool,
    pub created_at: SystemTime,
    pub pull: Option<Pull>,
}

#[derive(Clone, Debug)]
pub struct Pull {
    pub head_sha: String,
    pub head_ref: String,
    pub head_owner: String,
    /// `None`: the fork was deleted.
    pub head_repository: Option<String>,
    pub base: String,
    pub base_sha: String,
    /// The commit with which it came to its base, and when.
    pub merged: Option<(String, SystemTime)>,
}

#[derive(Clone, Debug)]
pub struct Comment {
    pub id: u64,
    pub number: u64,
    pub login: String,
    pub body: String,
    pub created_at: SystemTime,
    pub updated_at: SystemTime,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub id: u64,
    pub name: String,
    pub head_sha: String,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    pub status: String,
    pub conclusion: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Value>,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    /// Whose it is.
    pub app: String,
}

#[derive(Clone, Debug)]
pub struct Status {
    pub id: u64,
    pub sha: String,
    pub state: String,
    pub context: String,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub login: String,
}

#[derive(Clone, Debug)]
pub struct Artifact {
    pub id: u64,
    pub run: u64,
    pub name: String,
    pub zip: Vec<u8>,
    /// What the API says its size is: a hostile one may lie.
    pub size: u64,
    pub expired: bool,
    pub digest: Option<String>,
}

impl World {
    pub fn new() -> Self {
        Self {
            repositories: Vec::new(),
            tokens: Vec::new(),
            faults: Vec::new(),
            seen: Vec::new(),
            violations: Vec::new(),
            api: String::new(),
            files: String::new(),
            rate: (1000, SystemTime::now() + std::time::Duration::from_secs(3600)),
            tree_entries: 100_000,
            last_id: 1000,
        }
    }

    /// A number that nothing else has.
    pub fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub fn repository(&mut self, slug: &str) -> Option<&mut Repository> {
        self.repositories.iter_mut().find(|repository| repository.slug.eq_ignore_ascii_case(slug))
    }

    /// The repository that the seeding functions speak of: the first.
    pub fn first(&mut self) -> &mut Repository {
        self.repositories.first_mut().expect("call `repository` first")
    }
}

impl Repository {
    pub fn new(id: u64, slug: &str) -> Self {
        let folder = crate::support::tempdir().unwrap();
        let mut options = git2::RepositoryInitOptions::new();
        let options = options.bare(true).external_template(false).initial_head("main");
        Self {
            slug: slug.into(),
            id,
            default_branch: "main".into(),
            git: git2::Repository::init_opts(folder.path(), options).unwrap(),
            known: BTreeSet::new(),
            issues: BTreeMap::new(),
            comments: BTreeMap::new(),
            checks: BTreeMap::new(),
            statuses: Vec::new(),
            runs: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            collaborators: BTreeMap::new(),
            between: BTreeMap::new(),
            protected: BTreeSet::new(),
            _folder: folder,
        }
    }

    /// The next issue's or pull request's number.
    pub fn next_number(&self) -> u64 {
        self.issues.keys().last().map_or(1, |last| last + 1)
    }

    /// The commit that a ref, a branch or an id names.
    pub fn commit_of(&self, name: &str) -> Option<String> {
        if self.known.contains(name) {
            return Some(name.to_owned());
        }
        let places = [name.to_owned(), format!("refs/{name}"), format!("refs/heads/{name}")];
        let found = places.iter().find_map(|place| {
            let object = match git2::Oid::from_str(place) {
                Ok(id) if place.len() == 40 => self.git.find_object(id, None).ok()?,
                _ => self.git.find_reference(place).ok()?.peel(git2::ObjectType::Any).ok()?,
            };
            object.peel_to_commit().ok()
        })?;
        Some(found.id().to_string())
    }

    /// Commits files onto a branch, which is made if it is not there.
    pub fn commit(&self, branch: &str, files: &[(&str, &[u8])], message: &str) -> String {
        let name = format!("refs/heads/{branch}");
        let parent = self.git.find_reference(&name).ok().map(|found| found.peel_to_commit().unwrap());
        let empty = || self.git.find_tree(self.git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let mut update = git2::build::TreeUpdateBuilder::new();
        for (path, bytes) in files {
            update.upsert(*path, self.git.blob(bytes).unwrap(), git2::FileMode::Blob);
        }
        let before = parent.as_ref().map_or_else(empty, |parent| parent.tree().unwrap());
        let tree = self.git.find_tree(update.create_updated(&self.git, &before).unwrap()).unwrap();
        let by = git2::Signature::now("A test", "test@example.invalid").unwrap();
        let parents: Vec<&git2::Commit> = parent.iter().collect();
        self.git.commit(Some(&name), &by, &by, message, &tree, &parents).unwrap().to_string()
    }
}

/// Seconds, as GitHub writes times.
pub fn written(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

pub fn now() -> String {
    written(SystemTime::now())
}

/// A person, or the App behind `GITHUB_TOKEN`.
pub fn user(login: &str) -> Value {
    let is_bot = login.ends_with("[bot]");
    let id = login.bytes().fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 1_000_000);
    json!({ "login": login, "id": id, "type": if is_bot { "Bot" } else { "User" }, "site_admin": false })
}
