//! Changes of a history that people have accepted: the acceptance came to the branch with one of the commits of the change.

use std::path::Path;

use git2::{Oid, Repository};

use crate::app::store::stores::Stored;
use crate::compare::{DecisionKind, LandedDecision};
use crate::machine::open_repository;
use crate::model::Result;
use crate::trend::{TrendsDocument, V1AcceptedChange, V1ChangePoint, V1Series};

/// Marks them in a document. `folder`: of the repository whose commits were measured; where it does not know a commit, the
/// acceptance counts for the run of that very commit alone. Errors: the history cannot be read.
pub(super) fn mark(document: &mut TrendsDocument, stored: &Stored, folder: &Path) -> Result<()> {
    let Stored::Branch(branch) = stored else { return Ok(()) };
    let is_worse = |change: &V1ChangePoint| change.worse == Some(true);
    if !document.series.iter().flat_map(|series| &series.changes).any(is_worse) {
        return Ok(());
    }
    let (decisions, warnings) = branch.accepted()?;
    document.warnings.extend(warnings);
    if decisions.is_empty() {
        return Ok(());
    }
    let repository = open_repository(folder).ok();
    for series in &mut document.series {
        let of_series = |decision: &&LandedDecision| is_about(decision, series);
        let about: Vec<&LandedDecision> = decisions.iter().filter(of_series).collect();
        for change in series.changes.iter_mut().filter(|change| is_worse(change)) {
            let came = |decision: &&&LandedDecision| came_with(decision, change, repository.as_ref());
            // The last decision applies.
            let last = about.iter().rfind(came);
            change.accepted =
                last.filter(|it| it.decision.kind == DecisionKind::Accept).map(|it| V1AcceptedChange {
                    pull: it.pull,
                    by: it.decision.by.clone(),
                    reason: it.decision.reason.clone(),
                });
        }
    }
    Ok(())
}

fn is_about(decision: &LandedDecision, series: &V1Series) -> bool {
    decision
        .decision
        .rows
        .iter()
        .any(|row| row.label == series.label && row.case == series.case && row.metric == series.metric)
}

/// True if its pull request came to the branch within the commits of the change: `good..bad`, as git has it.
fn came_with(decision: &LandedDecision, change: &V1ChangePoint, repository: Option<&Repository>) -> bool {
    let Some(bad) = &change.bad else { return false };
    if decision.merged_as == *bad {
        return true;
    }
    let is_in = |commit: &str| {
        let (repository, commit) = (repository?, Oid::from_str(commit).ok()?);
        let merged = Oid::from_str(&decision.merged_as).ok()?;
        Some(commit == merged || repository.graph_descendant_of(commit, merged).ok()?)
    };
    let before = change.good.as_deref().map_or(Some(false), is_in);
    is_in(bad) == Some(true) && before == Some(false)
}
