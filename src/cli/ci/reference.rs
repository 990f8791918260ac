//! What the nights before say about a scheduled run's base.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::cli::door::client_of;
use crate::cli::stored::history_of;
use crate::compare::Conclusion;
use crate::github::Context;
use crate::model::{Result, Shard};
use crate::store::{Address, History, HistoryEntry};

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
        if is_ours { ledger.see(entry) } else { ControlFlow::Continue(()) }
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
    fn see(&mut self, entry: &HistoryEntry) -> ControlFlow<()> {
        let shard = entry.shard.unwrap_or(Shard { index: 1, of: 1 });
        let is_green = entry.conclusion.as_deref() == Some(Conclusion::Pass.word());
        self.oldest = Some(entry.commit.clone());
        let known = self.commits.iter().position(|commit| commit.id == entry.commit);
        let at = known.unwrap_or_else(|| {
            let id = entry.commit.clone();
            self.commits.push(Commit { id, of: shard.of, shards: BTreeMap::new() });
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
