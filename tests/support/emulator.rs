//! Somebody else's stateful emulator of GitHub (`emulate`), as a process of its own.
//!
//! It listens on every interface and has no flag against that; it lives for as long as one test.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rest::Rest;
use super::tools;

/// Runs until it is dropped.
pub struct Emulator {
    pub url: String,
    /// The repository owner's.
    pub token: &'static str,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Emulator {
    /// With one public repository that has a commit on `main`. `None` where the program is not installed.
    pub fn start(slug: &str) -> Option<Self> {
        let program = tools::emulate()?;
        let (owner, name) = slug.split_once('/').unwrap();
        let folder = tempfile::tempdir().unwrap();
        let seed = folder.path().join("seed.yaml");
        let text = format!(
            "tokens:\n  test_token_admin:\n    login: {owner}\n    scopes: [repo]\n\
             github:\n  users:\n    - login: {owner}\n  repos:\n    - owner: {owner}\n      name: {name}\n      \
             auto_init: true\n"
        );
        std::fs::write(&seed, text).unwrap();
        // Somebody may take the port before it does; then another is tried.
        (0..5)
            .find_map(|_| {
                let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
                let mut command = Command::new(&program);
                command
                    .args(["start", "--service", "github", "--port", &port.to_string(), "--seed"])
                    .arg(&seed);
                let silent = command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
                let mut child = silent.stderr(Stdio::null()).spawn().unwrap();
                let url = format!("http://127.0.0.1:{port}");
                if answers(&url, &mut child) {
                    return Some((url, child));
                }
                let _ = child.kill();
                let _ = child.wait();
                None
            })
            .map(|(url, child)| Self { url, token: "test_token_admin", child, _folder: folder })
            .or_else(|| panic!("emulate is installed and does not start"))
    }
}

impl Emulator {
    /// One request as the owner; panics unless it succeeds.
    pub fn call(&self, method: &str, route: &str, body: Option<Value>) -> Value {
        let answer = Rest::new(&self.url, Some(self.token)).send(method, route, body.as_ref()).unwrap();
        assert!(answer.status < 300, "{method} {route}: {} {}", answer.status, answer.body);
        answer.body
    }

    /// Repeats the commits that `revision` reaches, the oldest first, and points the branch, which may be new, to the last.
    /// The emulator's ids are git's, so they stay the same.
    pub fn repeat(&self, slug: &str, repository: &Path, revision: &str, branch: &str) {
        let route = format!("/repos/{slug}/git");
        let repository = git2::Repository::open(repository).unwrap();
        let mut walk = repository.revwalk().unwrap();
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE).unwrap();
        walk.push(repository.revparse_single(revision).unwrap().id()).unwrap();
        let mut last = String::new();
        for id in walk {
            let commit = repository.find_commit(id.unwrap()).unwrap();
            let tree = self.tree(&route, &repository, &commit.tree().unwrap());
            let person = |who: git2::Signature| {
                let seconds = Duration::from_secs(u64::try_from(who.when().seconds()).unwrap());
                let date = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + seconds).to_string();
                json!({"name": who.name().unwrap(), "email": who.email().unwrap(), "date": date})
            };
            let parents: Vec<String> = commit.parent_ids().map(|id| id.to_string()).collect();
            let body = json!({
                "message": commit.message().unwrap(), "tree": tree, "parents": parents,
                "author": person(commit.author()), "committer": person(commit.committer()),
            });
            let made = self.call("POST", &format!("{route}/commits"), Some(body));
            last = commit.id().to_string();
            assert_eq!(made["sha"], json!(last));
        }
        let to = json!({"sha": last, "force": true});
        let moved = Rest::new(&self.url, Some(self.token)).send(
            "PATCH",
            &format!("{route}/refs/heads/{branch}"),
            Some(&to),
        );
        if moved.unwrap().status >= 300 {
            let made = json!({"ref": format!("refs/heads/{branch}"), "sha": last});
            self.call("POST", &format!("{route}/refs"), Some(made));
        }
    }

    fn tree(&self, route: &str, repository: &git2::Repository, tree: &git2::Tree) -> Value {
        let entry = |entry: git2::TreeEntry| {
            let (kind, sha) = match entry.to_object(repository).unwrap().into_blob() {
                Ok(blob) => {
                    let text = std::str::from_utf8(blob.content()).unwrap();
                    let body = json!({"content": text, "encoding": "utf-8"});
                    ("blob", self.call("POST", &format!("{route}/blobs"), Some(body))["sha"].clone())
                }
                Err(other) => ("tree", self.tree(route, repository, &other.into_tree().unwrap())),
            };
            json!({"path": entry.name().unwrap(), "mode": format!("{:06o}", entry.filemode()), "type": kind, "sha": sha})
        };
        let entries: Vec<Value> = tree.iter().map(entry).collect();
        self.call("POST", &format!("{route}/trees"), Some(json!({"tree": entries})))["sha"].clone()
    }
}

/// Whether it answers within two minutes, and is still there.
fn answers(url: &str, child: &mut Child) -> bool {
    let rest = Rest::new(url, None);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(120) {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if rest.send("GET", "/rate_limit", None).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
