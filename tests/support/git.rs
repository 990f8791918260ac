//! Real repositories, made without the `git` program and without a user's configuration.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Oid, Repository, RepositoryInitOptions, Signature, Status, StatusOptions, Time};

/// A repository in its own temporary folder, on the branch `main`, and a place for trees beside it.
pub struct Sandbox {
    pub folder: tempfile::TempDir,
    pub repository: Repository,
}

impl Sandbox {
    pub fn new() -> Self {
        Self::called("repository")
    }

    pub fn called(name: &str) -> Self {
        let folder = crate::support::tempdir().unwrap();
        let repository = init(&folder.path().join(name));
        Self { folder, repository }
    }

    /// The root of the user's checkout.
    pub fn root(&self) -> PathBuf {
        self.repository.workdir().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, text: &str) {
        write(&self.root().join(name), text);
    }

    /// Writes files, stages all that changed and commits onto the head.
    pub fn commit(&self, files: &[(&str, &str)]) -> Oid {
        for (name, text) in files {
            self.write(name, text);
        }
        commit_all(&self.repository)
    }

    pub fn branch(&self, name: &str, at: Oid) {
        self.repository.branch(name, &self.repository.find_commit(at).unwrap(), true).unwrap();
    }

    pub fn tag(&self, name: &str, at: Oid) {
        let target = self.repository.find_object(at, None).unwrap();
        self.repository.tag(name, &target, &signature(), "a tag", true).unwrap();
    }

    /// Goes to a branch, files and all.
    pub fn switch(&self, branch: &str) {
        self.repository.set_head(&format!("refs/heads/{branch}")).unwrap();
        let mut how = git2::build::CheckoutBuilder::new();
        self.repository.checkout_head(Some(how.force())).unwrap();
    }
}

pub fn init(at: &Path) -> Repository {
    let mut options = RepositoryInitOptions::new();
    Repository::init_opts(at, options.initial_head("main").external_template(false)).unwrap()
}

pub fn signature() -> Signature<'static> {
    Signature::new("Ada", "ada@example.org", &Time::new(1_700_000_000, 0)).unwrap()
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Stages all files that are not ignored, as they are, and commits them onto the head.
pub fn commit_all(repository: &Repository) -> Oid {
    let mut index = repository.index().unwrap();
    index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
    index.update_all(["*"], None).unwrap();
    index.write().unwrap();
    commit_index(repository)
}

pub fn commit_index(repository: &Repository) -> Oid {
    let tree = repository.find_tree(repository.index().unwrap().write_tree().unwrap()).unwrap();
    let head = repository.head().ok().map(|head| head.peel_to_commit().unwrap());
    let parents: Vec<_> = head.iter().collect();
    repository.commit(Some("HEAD"), &signature(), &signature(), "a step", &tree, &parents).unwrap()
}

/// Adds a submodule at a path, cloned, and stages it.
pub fn add_submodule(outer: &Repository, inner: &Path, at: &str) {
    let mut module = outer.submodule(inner.to_str().unwrap(), Path::new(at), true).unwrap();
    module.clone(None).unwrap();
    module.add_finalize().unwrap();
}

/// All that a user would miss: the index byte by byte, every reference, what the head is, how every file stands, and
/// how many objects there are.
pub fn fingerprint(repository: &Repository) -> String {
    let mut text = String::new();
    let index = fs::read(repository.path().join("index")).unwrap_or_default();
    text += &format!("index {}\n", gbench_ci::model::sha256_hex(&index));
    text += &format!("HEAD {}", fs::read_to_string(repository.path().join("HEAD")).unwrap());
    for reference in repository.references().unwrap().flatten() {
        text += &format!("{} {:?}\n", reference.name().unwrap(), reference.target());
    }
    text += &status(repository);
    let mut objects = 0;
    repository
        .odb()
        .unwrap()
        .foreach(|_| {
            objects += 1;
            true
        })
        .unwrap();
    text + &format!("{objects} objects\n")
}

/// A line for each file that is not as the head has it.
pub fn status(repository: &Repository) -> String {
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    let statuses = repository.statuses(Some(&mut options)).unwrap();
    let entries = statuses.iter().filter(|entry| entry.status() != Status::CURRENT);
    entries.map(|entry| format!("{} {:?}\n", entry.path().unwrap(), entry.status())).collect()
}
