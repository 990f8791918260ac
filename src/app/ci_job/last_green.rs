//! The base of a scheduled run, out of the runs in a history.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::app::github::client::client_for;
use crate::app::store::stores::history_of;
use crate::github::Context;
use crate::history::{HistoryBranch, Looked, RunSummary, Started};
use crate::model::{Exit, NoReference, Result, Shard};

/// The commit of a history that the next run is judged against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HistoryBase {
    Green(String),
    /// The newest such run is not green, and this is what it was judged against: the reference stays while nothing is green,
    /// whatever became of older runs.
    Retained(String),
    /// Nothing is green, and no such run was judged against another commit: the commit of the oldest run.
    Oldest(String),
    Missing(NoReference),
}

/// Asks a history about the branch and the machine of this job. A history that cannot be read is a missing reference; `warn`
/// is given what is passed over.
///
/// Errors: an address that is invalid or is not a history's.
pub(super) fn last_green(
    address: &str,
    root: &Path,
    context: Option<&Context>,
    label: &str,
    warn: &dyn Fn(&str),
) -> Result<HistoryBase> {
    let address = history_of(address)?;
    let client = client_for(&address)?;
    let history = HistoryBranch::open(&address, root, client.as_ref())?;
    let branch = context.and_then(|context| context.branch.as_deref());
    let mut statuses = ShardStatuses::default();
    let looked = history.series(branch, label, |run| statuses.add(run));
    match looked {
        Ok(looked) => {
            looked.warnings.iter().for_each(|warning| warn(warning));
            Ok(statuses.reference(&looked))
        }
        // The run is measured all the same, and its verdict says what it lacked.
        Err(fault) if fault.exit == Exit::Unpublished => {
            warn(&format!("{}: {}; {}", fault.place, fault.what, fault.next));
            Ok(HistoryBase::Missing(NoReference::Unreadable))
        }
        Err(fault) => Err(fault),
    }
}

/// The status of each commit by shard, out of the runs added so far, newest first.
#[derive(Default)]
struct ShardStatuses {
    commits: Vec<Commit>,
    green: Option<String>,
    retained: Option<String>,
    oldest: Option<String>,
}

/// A commit is cut into shards as its newest run was: what was measured of it in another way says nothing more.
struct Commit {
    id: String,
    of: u32,
    cut: Option<String>,
    /// By shard: whether its newest run was green.
    shards: BTreeMap<u32, bool>,
}

/// True if a run was judged against what the history says, or is a commit that was accepted. A push is judged against
/// the commit before it: it may be as slow as that one, so that it does not say what was green.
fn is_scheduled(run: &RunSummary) -> bool {
    match run.started {
        Started::Push => false,
        Started::Schedule | Started::Other => true,
        // Outside of GitHub Actions nothing is judged by a history; a commit against itself is accepted.
        Started::Nowhere => run.base.as_ref().is_none_or(|base| *base == run.commit),
    }
}

impl ShardStatuses {
    /// Breaks off when the reference is known: all that is still to come is older.
    fn add(&mut self, run: &RunSummary) -> ControlFlow<()> {
        let other = run.base.as_ref().filter(|base| **base != run.commit);
        let is_scheduled = is_scheduled(run);
        self.oldest = Some(other.filter(|_| is_scheduled).unwrap_or(&run.commit).clone());
        // A schedule that found nothing new, or nothing to compare with: another run shows whether the commit is green.
        let says_nothing =
            run.started == Started::Schedule && run.is_green && run.base.is_some() && other.is_none();
        if !is_scheduled || says_nothing {
            return ControlFlow::Continue(());
        }
        let shard = run.shard.unwrap_or(Shard { index: 1, of: 1 });
        let known = self.commits.iter().position(|commit| commit.id == run.commit);
        let at = known.unwrap_or_else(|| {
            let (id, cut) = (run.commit.clone(), run.cut.clone());
            self.commits.push(Commit { id, of: shard.of, cut, shards: BTreeMap::new() });
            self.commits.len() - 1
        });
        let is_cut_alike = |commit: &&mut Commit| commit.of == shard.of && commit.cut == run.cut;
        if let Some(commit) = self.commits.get_mut(at).filter(is_cut_alike) {
            commit.shards.entry(shard.index).or_insert(run.is_green);
            let is_whole = u32::try_from(commit.shards.len()) == Ok(commit.of);
            if is_whole && commit.shards.values().all(|green| *green) {
                self.green = Some(commit.id.clone());
                return ControlFlow::Break(());
            }
        }
        match other.filter(|_| !run.is_green) {
            Some(base) => {
                self.retained = Some(base.clone());
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }

    fn reference(self, looked: &Looked) -> HistoryBase {
        match (self.green, self.retained, self.oldest) {
            (Some(commit), ..) => HistoryBase::Green(commit),
            (None, Some(commit), _) => HistoryBase::Retained(commit),
            // A run that was not read may be the green one, or older than the oldest.
            _ if looked.cut_short => HistoryBase::Missing(NoReference::TooFar),
            _ if looked.unreadable > 0 => HistoryBase::Missing(NoReference::Unreadable),
            (.., Some(commit)) => HistoryBase::Oldest(commit),
            _ if !looked.is_there => HistoryBase::Missing(NoReference::NoBranch),
            _ => HistoryBase::Missing(NoReference::NoRun),
        }
    }
}

#[cfg(test)]
mod tests;
