//! The git repository that is compared: one program, a suite of twenty benchmarks, and three commits.

use std::path::Path;

use git2::{Error, IndexAddOption, Oid, Repository, Signature};
use tempfile::TempDir;

use crate::workloads::Workload;

const SUITE: &str = "endtoend";
const PROGRAM: &str = include_str!("repository/chains.rs");
const IGNORED: &str = "/chains\n/artifacts/\n/.gbench/\n";

/// Lies in a temporary folder for as long as this lives.
pub struct Commits {
    pub folder: TempDir,
    base: Oid,
    /// Another text beside the same work.
    same: Oid,
    /// The work of two workloads is more.
    slower: Oid,
    /// Stands for every file of the base.
    pub tree: String,
}

/// What the head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Same,
    Slower,
}

impl Part {
    pub fn word(self) -> &'static str {
        match self {
            Part::Same => "same",
            Part::Slower => "slower",
        }
    }
}

impl Commits {
    pub fn make() -> Result<Self, Box<dyn std::error::Error>> {
        let folder = tempfile::Builder::new().prefix("gbench-ci-endtoend-").tempdir()?;
        let at = folder.path();
        let repository = Repository::init(at)?;
        let write = |name: &str, text: &str| std::fs::write(at.join(name), text);
        write("chains.rs", PROGRAM)?;
        write("gbench.toml", &suite())?;
        write("work.txt", &work(Workload::steps))?;
        write("README", "Twenty chains.\n")?;
        write(".gitignore", IGNORED)?;
        let base = commit(&repository, None, "base")?;
        write("README", "Twenty chains, each step of which waits for the one before.\n")?;
        let same = commit(&repository, Some(base), "same")?;
        let steps = |it: Workload| if it.is_planted() { it.slower_steps() } else { it.steps() };
        write("work.txt", &work(steps))?;
        let slower = commit(&repository, Some(base), "slower")?;
        let tree = repository.find_commit(base)?.tree_id().to_string();
        Ok(Self { base, same, slower, tree, folder })
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// `BASE..HEAD`
    pub fn range(&self, part: Part) -> String {
        let head = match part {
            Part::Same => self.same,
            Part::Slower => self.slower,
        };
        format!("{}..{head}", self.base)
    }
}

/// The case of a workload as verdicts name it.
pub fn benchmark(workload: Workload) -> String {
    format!("{SUITE}/{}", workload.name())
}

fn suite() -> String {
    let mut text = format!("[suite]\nname = \"{SUITE}\"\n");
    for workload in Workload::all() {
        let (name, kind, batch) = (workload.name(), workload.kind(), workload.batch());
        let (iterations, warmup) = workload.iterations();
        text += &format!(
            "\n[[benchmark]]\nid = \"{name}\"\ncommand = [\"./chains\", \"{name}\", \"{kind}\", \"{batch}\"]\n\
             build = [\"rustc\", \"--edition\", \"2021\", \"-O\", \"chains.rs\"]\ntiming = \"protocol\"\n\
             iterations = {iterations}\nwarmup = {warmup}\n"
        );
    }
    text
}

/// Steps by workload, read by the program as it runs: both sides have the same machine code.
fn work(steps: impl Fn(Workload) -> u64) -> String {
    Workload::all().map(|workload| format!("{} {}\n", workload.name(), steps(workload))).collect()
}

/// A commit of all files, the only one of a new branch that is called as its message.
fn commit(repository: &Repository, parent: Option<Oid>, message: &str) -> Result<Oid, Error> {
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = Signature::now("gbench-ci endtoend", "endtoend@example.invalid")?;
    let parent = parent.map(|parent| repository.find_commit(parent)).transpose()?;
    let parents: Vec<_> = parent.iter().collect();
    // A branch may be made at a commit whose parent is another branch's.
    let made = repository.commit(None, &author, &author, message, &tree, &parents)?;
    repository.branch(message, &repository.find_commit(made)?, true)?;
    if parents.is_empty() {
        repository.set_head(&format!("refs/heads/{message}"))?;
    }
    Ok(made)
}
