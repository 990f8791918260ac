//! The commits between two, oldest first, with their parents.

use std::collections::HashMap;
use std::path::Path;

use git2::{Commit, Oid, Repository, Revwalk, Sort};

use super::range::{Base, Range};
use super::revision::{Revision, open, resolve};
use gbench_model::text::short_commit;
use gbench_model::{Fault, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ancestry {
    /// The bad end, its first parent, the first parent of that: a merge represents everything that it brings.
    #[default]
    FirstParent,
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeCommit {
    /// 40 hexadecimal digits.
    pub id: String,
    pub subject: String,
    pub author: String,
    /// When its author wrote it: UTC, RFC 3339.
    pub authored: String,
}

/// The commits after the good end up to the bad one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRange {
    /// The good end, then all commits of the range, each after its parents; the last one is the bad end.
    pub commits: Vec<RangeCommit>,
    /// For all but the good end: its parents among `commits`, by index.
    pub parents: Vec<Vec<usize>>,
    /// The ends as shown to users.
    pub good_words: String,
    pub bad_words: String,
}

impl CommitRange {
    pub fn revision(&self, index: usize) -> Revision {
        let commit = &self.commits[index];
        let words = short_commit(&commit.id).to_owned();
        Revision { commit: commit.id.clone(), name: Some(commit.id.clone()), words, ..Revision::default() }
    }
}

/// The commits of `text`: `GOOD..BAD`, `GOOD...BAD` from their merge base, `GOOD..` or `GOOD` up to `HEAD`. Reads only.
///
/// Errors: no repository, an unknown name, a good end that is not an ancestor of the bad one, an empty range, a truncated
/// history.
pub fn commits_between(repository: &Path, text: &str, ancestry: Ancestry) -> Result<CommitRange> {
    let range = range_of(text);
    let sides = resolve(repository, &range)?;
    let opened = open(repository)?;
    let place = || format!("range `{text}`");
    let fault = |error: git2::Error| {
        let what = format!("its commits cannot be read: {}", error.message());
        Fault::at(place(), what, "fetch the whole history: `git fetch --unshallow`")
    };
    let [good, bad] = [&sides.base, &sides.head].map(|side| Oid::from_str(&side.commit).map_err(fault));
    let (good, bad) = (good?, bad?);
    if good == bad {
        let what = "both ends are one commit: there is nothing between them";
        return Err(Fault::at(place(), what, "name an older good commit"));
    }
    if !opened.graph_descendant_of(bad, good).map_err(fault)? {
        let [older, newer] = [&sides.head, &sides.base].map(|side| short_commit(&side.commit));
        let (what, next) = if opened.graph_descendant_of(good, bad).map_err(fault)? {
            let what = format!("the good end {newer} is newer than the bad end {older}");
            (what, format!("give the older one first: `{older}..{newer}`"))
        } else {
            let what = format!("the good end {newer} is not an ancestor of the bad end {older}");
            (what, "begin at their merge base: `GOOD...BAD`, with three dots".to_owned())
        };
        return Err(Fault::at(place(), what, next));
    }
    let ids = walk(&opened, good, bad, ancestry).map_err(fault)?;
    let mut commits = vec![of(&opened.find_commit(good).map_err(fault)?)];
    let mut index: HashMap<Oid, usize> = HashMap::from([(good, 0)]);
    let mut parents = Vec::new();
    for id in ids {
        let commit = opened.find_commit(id).map_err(fault)?;
        let most = if ancestry == Ancestry::FirstParent { 1 } else { usize::MAX };
        parents.push(commit.parent_ids().take(most).filter_map(|id| index.get(&id).copied()).collect());
        index.insert(id, commits.len());
        commits.push(of(&commit));
    }
    Ok(CommitRange { commits, parents, good_words: sides.base.words, bad_words: sides.head.words })
}

/// Unlike a comparison, a bisection ends at a commit, never at the working tree.
fn range_of(text: &str) -> Range {
    let head = |range: Range| Range { head: range.head.or(Some("HEAD".to_owned())), ..range };
    if text.contains("..") {
        head(Range::parse(Some(text)))
    } else {
        Range { base: Base::Exactly(text.to_owned()), head: Some("HEAD".to_owned()) }
    }
}

fn walk(repository: &Repository, good: Oid, bad: Oid, ancestry: Ancestry) -> Result<Vec<Oid>, git2::Error> {
    let mut walk: Revwalk<'_> = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    if ancestry == Ancestry::FirstParent {
        walk.simplify_first_parent()?;
    }
    walk.push(bad)?;
    walk.hide(good)?;
    let mut ids = walk.collect::<Result<Vec<Oid>, git2::Error>>()?;
    if ancestry == Ancestry::FirstParent {
        // The walk only hides the first parents of the good end. If that is on a merged branch, the line is followed until it
        // reaches an ancestor of the good end.
        let mut kept = Vec::with_capacity(ids.len());
        for id in ids {
            if id != good && !repository.graph_descendant_of(good, id)? {
                kept.push(id);
            }
        }
        ids = kept;
    }
    Ok(ids)
}

fn of(commit: &Commit<'_>) -> RangeCommit {
    let author = commit.author();
    let seconds = u64::try_from(author.when().seconds()).unwrap_or(0);
    let when = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.min(253_402_300_799));
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    RangeCommit {
        id: commit.id().to_string(),
        subject: text(commit.summary_bytes()),
        author: text(Some(author.name_bytes())),
        authored: humantime::format_rfc3339_seconds(when).to_string(),
    }
}
