//! `emulate`, somebody else's stateful GitHub (npm): the same scenarios as against our own fake, so that the fake is not
//! merely our own opinion. It has real git ids, so a local repository can be repeated in it commit by commit.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The user that the token belongs to.
pub const LOGIN: &str = "github-actions[bot]";

const SEED: &str = r#"
tokens:
  owner_token: { login: acme, scopes: [repo] }
  ghs_EmulatedToken0123456789: { login: "github-actions[bot]", scopes: [repo] }
github:
  users: [{ login: acme }, { login: "github-actions[bot]" }]
  repos: [{ owner: acme, name: kernels, auto_init: true }]
"#;

pub const TOKEN: &str = "ghs_EmulatedToken0123456789";

/// Ends with the test.
pub struct Emulated {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

fn program() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("GBENCH_TEST_TOOLS").map_or(root.join("target/ci-tools"), PathBuf::from);
    let path = folder.join("node_modules/.bin/emulate");
    if !path.exists() {
        eprintln!("SKIPPED emulate: not installed in {}; `.ci/run lint-workflows` installs it", folder.display());
        return None;
    }
    Some(path)
}

impl Emulated {
    /// `acme/kernels` and nothing in it. `None` where `emulate` is not installed.
    pub fn start() -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("seed.yaml"), SEED).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(["start", "--service", "github", "--seed", "seed.yaml", "--port"]).arg(port.to_string());
        let child = command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let it = Self { child, port, _folder: folder };
        let until = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "emulate does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(it)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// One request as the owner; panics unless it succeeds.
    pub fn call(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let mut command = Command::new("curl");
        command.args(["-sS", "--fail-with-body", "-X", method, "-H", "Authorization: Bearer owner_token"]);
        command.arg(format!("{}/repos/acme/kernels{path}", self.url()));
        if let Some(body) = body {
            command.args(["-H", "Content-Type: application/json", "--data-binary", &body.to_string()]);
        }
        let output = command.output().expect("curl starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{method} {path}: {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Repeats the commits that `revision` reaches, the oldest first, and puts a branch on the last. Gives its id.
    pub fn repeat(&self, repository: &Path, revision: &str, branch: &str) -> String {
        let repository = git2::Repository::open(repository).unwrap();
        let mut walk = repository.revwalk().unwrap();
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE).unwrap();
        walk.push(repository.revparse_single(revision).unwrap().id()).unwrap();
        let mut last = String::new();
        for id in walk {
            let commit = repository.find_commit(id.unwrap()).unwrap();
            let tree = self.tree(&repository, &commit.tree().unwrap());
            let person = |who: git2::Signature| {
                let seconds = u64::try_from(who.when().seconds()).unwrap();
                let date = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
                json!({"name": who.name().unwrap(), "email": who.email().unwrap(), "date": humantime::format_rfc3339_seconds(date).to_string()})
            };
            let parents: Vec<String> = commit.parent_ids().map(|id| id.to_string()).collect();
            let body = json!({
                "message": commit.message().unwrap(), "tree": tree, "parents": parents,
                "author": person(commit.author()), "committer": person(commit.committer()),
            });
            last = self.call("POST", "/git/commits", Some(body))["sha"].as_str().unwrap().to_owned();
            assert_eq!(last, commit.id().to_string(), "the emulator's commit is another one");
        }
        let known = self.call("GET", "/branches", None);
        let known = known.as_array().unwrap().iter().any(|one| one["name"] == branch);
        match known {
            true => self.call("PATCH", &format!("/git/refs/heads/{branch}"), Some(json!({"sha": last, "force": true}))),
            false => self.call("POST", "/git/refs", Some(json!({"ref": format!("refs/heads/{branch}"), "sha": last}))),
        };
        last
    }

    fn tree(&self, repository: &git2::Repository, tree: &git2::Tree) -> String {
        let mut entries = Vec::new();
        for entry in tree.iter() {
            let path = entry.name().unwrap().to_owned();
            let (kind, sha) = match entry.to_object(repository).unwrap().into_blob() {
                Ok(blob) => {
                    let body = json!({"content": String::from_utf8(blob.content().to_vec()).unwrap(), "encoding": "utf-8"});
                    ("blob", self.call("POST", "/git/blobs", Some(body))["sha"].as_str().unwrap().to_owned())
                }
                Err(other) => ("tree", self.tree(repository, &other.into_tree().unwrap())),
            };
            entries.push(json!({"path": path, "mode": format!("{:06o}", entry.filemode()), "type": kind, "sha": sha}));
        }
        self.call("POST", "/git/trees", Some(json!({"tree": entries})))["sha"].as_str().unwrap().to_owned()
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
