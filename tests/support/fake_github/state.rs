//! What a test looks at afterwards.

use std::collections::BTreeMap;

use regex::Regex;

use super::FakeGithub;
use super::world::{Check, Comment, Issue, Seen, Status};

impl FakeGithub {
    /// The comments of an issue or a pull request, the oldest first.
    pub fn comments(&self, number: u64) -> Vec<Comment> {
        let mut world = self.shared.world();
        world.first().comments.values().filter(|one| one.number == number).cloned().collect()
    }

    /// The check runs of a commit, the oldest first.
    pub fn checks(&self, sha: &str) -> Vec<Check> {
        self.shared.world().first().checks.values().filter(|one| one.head_sha == sha).cloned().collect()
    }

    /// The statuses of a commit, the oldest first.
    pub fn statuses(&self, sha: &str) -> Vec<Status> {
        self.shared.world().first().statuses.iter().filter(|one| one.sha == sha).cloned().collect()
    }

    /// The issues that are no pull requests.
    pub fn issues(&self) -> Vec<Issue> {
        self.shared.world().first().issues.values().filter(|one| one.pull.is_none()).cloned().collect()
    }

    /// The commit that a branch points to.
    pub fn tip(&self, branch: &str) -> Option<String> {
        self.shared.world().first().commit_of(&format!("refs/heads/{branch}"))
    }

    /// Every file of a branch; nothing if there is no such branch.
    pub fn files(&self, branch: &str) -> BTreeMap<String, Vec<u8>> {
        let mut world = self.shared.world();
        let first = world.first();
        let mut files = BTreeMap::new();
        let Some(tip) = first.commit_of(&format!("refs/heads/{branch}")) else { return files };
        let commit = first.git.find_commit(git2::Oid::from_str(&tip).unwrap()).unwrap();
        let walked = commit.tree().unwrap().walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if let Ok(blob) = first.git.find_blob(entry.id()) {
                files.insert(format!("{folder}{}", entry.name().unwrap()), blob.content().to_vec());
            }
            git2::TreeWalkResult::Ok
        });
        walked.unwrap();
        files
    }

    /// How many commits a branch has behind it, its own included.
    pub fn commits(&self, branch: &str) -> usize {
        let mut world = self.shared.world();
        let first = world.first();
        let mut walk = first.git.revwalk().unwrap();
        walk.push_ref(&format!("refs/heads/{branch}")).map_or(0, |()| walk.count())
    }

    /// Every request so far, those for files on the other host too.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.world().seen.clone()
    }

    /// How many requests of a method (`*` for any) came in whose path, without query, fits a regular expression.
    pub fn count(&self, method: &str, path: &str) -> usize {
        let path = Regex::new(path).unwrap();
        let fits = |seen: &Seen| (method == "*" || seen.method == method) && path.is_match(&seen.path);
        self.shared.world().seen.iter().filter(|seen| fits(seen)).count()
    }
}
