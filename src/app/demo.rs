//! The demonstration's repository of two commits, one of which does more work, and what a right verdict of it is.

use std::path::{Path, PathBuf};

use git2::{Repository, Signature};

use super::request::{CommitsRequest, RoundsRequest, RunRequest, SelectionRequest};
use crate::model::{Exit, Fault, Result};
use crate::run::has_binary;

/// The benchmark whose second commit does more work.
pub(crate) const PLANTED: &str = "demo/checksum";

const FILES: [(&str, &str); 6] = [
    (".gitignore", "artifacts/\n.gbench/\nchecksum\nhorner\nxorshift\n"),
    ("gbench.toml", include_str!("demo/repository/gbench.toml")),
    ("bench.rs", include_str!("demo/repository/bench.rs")),
    ("checksum.rs", include_str!("demo/repository/checksum.rs")),
    ("horner.rs", include_str!("demo/repository/horner.rs")),
    ("xorshift.rs", include_str!("demo/repository/xorshift.rs")),
];
const CHANGE: (&str, &str) = ("ROUNDS: u32 = 100;", "ROUNDS: u32 = 110;");

/// The command that a user would type in the repository.
pub(crate) const RANGE: &str = "HEAD~1..HEAD";

/// Makes the repository in a folder that does not exist yet, or in a new temporary one. Returns the repository's folder.
///
/// Errors: the folder, or no `rustc`, with which the workloads are built.
pub(crate) fn make(folder: Option<&Path>) -> Result<PathBuf> {
    if !has_binary("rustc", Path::new(".")) {
        let what = "its three workloads are built with `rustc`, which is not on PATH";
        let next = "install Rust, or begin with your own benchmarks: `gbench-ci init`";
        return Err(Fault::at("demo", what, next).exits(Exit::Machine));
    }
    let repository = work_folder(folder)?.join("repository");
    two_commits(&repository)
        .map_err(|error| Fault::at_path(&repository, error, "give a writable folder with `--output`"))?;
    Ok(repository)
}

/// The command that is shown as a request, with the suite file named instead of gone to.
pub(crate) fn request(seed: u64, repository: &Path) -> CommitsRequest {
    CommitsRequest {
        range: Some(RANGE.into()),
        run: RunRequest {
            selection: SelectionRequest::of_file(Some(repository.join("gbench.toml"))),
            ..RunRequest::default()
        },
        rounds: RoundsRequest { order_seed: Some(seed), ..RoundsRequest::default() },
        ..CommitsRequest::default()
    }
}

fn work_folder(given: Option<&Path>) -> Result<PathBuf> {
    let fault = |path: &Path, error: std::io::Error| {
        let what = format!("the folder cannot be made: {error}");
        Fault::at_path(path, what, "give another folder with `--output`, one that does not exist yet")
            .caused_by(&error)
    };
    match given {
        Some(path) => {
            std::fs::create_dir(path).map_err(|error| fault(path, error))?;
            std::path::absolute(path).map_err(|error| fault(path, error))
        }
        None => {
            let folder = tempfile::Builder::new().prefix("gbench-ci-demo-").tempdir();
            folder.map(tempfile::TempDir::keep).map_err(|error| fault(&std::env::temp_dir(), error))
        }
    }
}

fn two_commits(at: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let repository = Repository::init(at)?;
    for (name, text) in FILES {
        std::fs::write(at.join(name), text)?;
    }
    commit(&repository, "Three workloads")?;
    let (before, after) = CHANGE;
    let source = std::fs::read_to_string(at.join("checksum.rs"))?;
    std::fs::write(at.join("checksum.rs"), source.replace(before, after))?;
    commit(&repository, "Checksum ten more rounds")?;
    Ok(())
}

fn commit(repository: &Repository, message: &str) -> Result<git2::Oid, git2::Error> {
    let mut index = repository.index()?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = Signature::now("gbench-ci demo", "demo@example.invalid")?;
    let parent = repository.head().and_then(|head| head.peel_to_commit()).ok();
    let parents: Vec<_> = parent.iter().collect();
    repository.commit(Some("HEAD"), &author, &author, message, &tree, &parents)
}
