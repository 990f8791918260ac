//! What the nights before say about a scheduled run's base.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::cli::door::client_of;
use crate::cli::stored::history_of;
use crate::compare::Conclusion;
use crate::github::Context;
use crate::model::{Result, Shard};
use crate::store::{Address, History};

/// The commit of a history that the next run is judged against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The newest commit that is green.
    Green(String),
    /// Nothing is green: the commit of the oldest run, so that what grew slower since then is seen.
    Oldest(String),
    /// The history holds no run of this branch and machine.
    Nothing,
}

/// Asks a history about the branch and the machine of this job, by its newest [`History::RECENT`] runs. What cannot be
/// read is passed over with a line on standard error.
pub fn newest(address: &str, home: &Path, context: Option<&Context>, label: &str) -> Result<Reference> {
    let address = history_of(address)?;
    let client = match &address {
        Address::GitHub { slug, .. } => Some(client_of(slug)?),
        _ => None,
    };
    let branch = context.and_then(|context| context.branch.as_deref());
    let mut ledger = Ledger::default();
    let warnings = History::open(&address, home, client.as_ref())?.recent(|entry| {
        let is_ours = branch.is_none_or(|branch| branch == entry.branch) && entry.label == label;
        let is_green = entry.conclusion.as_deref() == Some(Conclusion::Pass.word());
        match is_ours {
            true => ledger.see(&entry.commit, entry.shard, is_green),
            false => ControlFlow::Continue(()),
        }
    })?;
    for warning in &warnings {
        eprintln!("{}", crate::github::commands::line(warning));
    }
    Ok(ledger.reference())
}

/// What the runs seen so far, newest first, say of their commits.
#[derive(Default)]
struct Ledger {
    commits: Vec<Commit>,
    green: Option<String>,
    oldest: Option<String>,
}

/// A commit is cut into shards as its newest run was: what was measured of it in another way says nothing more.
struct Commit {
    id: String,
    of: u32,
    /// By shard: whether its newest run was green.
    shards: BTreeMap<u32, bool>,
}

impl Ledger {
    /// Breaks off when a commit is found to be green: all that is still to come is older.
    fn see(&mut self, id: &str, shard: Option<Shard>, is_green: bool) -> ControlFlow<()> {
        let shard = shard.unwrap_or(Shard { index: 1, of: 1 });
        self.oldest = Some(id.to_owned());
        let known = self.commits.iter().position(|commit| commit.id == id);
        let at = known.unwrap_or_else(|| {
            self.commits.push(Commit { id: id.to_owned(), of: shard.of, shards: BTreeMap::new() });
            self.commits.len() - 1
        });
        let Some(commit) = self.commits.get_mut(at).filter(|commit| commit.of == shard.of) else {
            return ControlFlow::Continue(());
        };
        commit.shards.entry(shard.index).or_insert(is_green);
        let is_whole = u32::try_from(commit.shards.len()) == Ok(commit.of);
        if is_whole && commit.shards.values().all(|green| *green) {
            self.green = Some(commit.id.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn reference(self) -> Reference {
        let oldest = self.oldest.map_or(Reference::Nothing, Reference::Oldest);
        self.green.map_or(oldest, Reference::Green)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs newest first: commit, shard, whether it was green.
    fn of(runs: &[(&str, &str, bool)]) -> Reference {
        let mut ledger = Ledger::default();
        let mut see = |(id, shard, green): &(&str, &str, bool)| ledger.see(id, shard.parse().ok(), *green);
        let _ = runs.iter().try_for_each(&mut see);
        ledger.reference()
    }

    fn green(id: &str) -> Reference {
        Reference::Green(id.into())
    }

    fn oldest(id: &str) -> Reference {
        Reference::Oldest(id.into())
    }

    #[test]
    fn the_newest_green_commit_is_the_reference_and_without_one_the_oldest() {
        assert_eq!(of(&[]), Reference::Nothing);
        assert_eq!(of(&[("c", "", true), ("b", "", true)]), green("c"));
        assert_eq!(of(&[("c", "", false), ("b", "", true), ("a", "", true)]), green("b"));
        assert_eq!(of(&[("c", "", false), ("b", "", false), ("a", "", false)]), oldest("a"));
    }

    #[test]
    fn of_a_commit_that_was_measured_again_the_newest_run_counts() {
        assert_eq!(of(&[("b", "", true), ("b", "", false), ("a", "", true)]), green("b"));
        assert_eq!(of(&[("b", "", false), ("b", "", true), ("a", "", true)]), green("a"));
    }

    #[test]
    fn a_commit_is_green_when_each_of_its_shards_is() {
        let night = |id, two| [(id, "3/3", true), (id, "2/3", two), (id, "1/3", true)];
        assert_eq!(of(&night("b", true)), green("b"));
        assert_eq!(of(&[night("b", false), night("a", true)].concat()), green("a"));
        // One that left nothing is not green, whatever comes of the others.
        assert_eq!(of(&[("b", "3/3", true), ("b", "1/3", true), ("a", "", true)]), green("a"));
        // The second was measured again.
        assert_eq!(of(&[&[("b", "2/3", true)], &night("b", false)[..]].concat()), green("b"));
        assert_eq!(of(&[&[("b", "2/3", false)], &night("b", true)[..]].concat()), oldest("b"));
    }

    #[test]
    fn a_commit_is_cut_as_its_newest_run_was() {
        // Halves and thirds make no whole.
        let mixed = [("b", "1/2", true), ("b", "2/3", true), ("b", "3/3", true), ("b", "1/3", true)];
        assert_eq!(of(&mixed), oldest("b"));
        assert_eq!(of(&[("b", "2/2", true), ("b", "1/2", true), ("b", "", false)]), green("b"));
        assert_eq!(of(&[("b", "", false), ("b", "2/2", true), ("b", "1/2", true)]), oldest("b"));
    }
}
