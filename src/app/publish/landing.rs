//! Changes accepted in the pull requests that came to the default branch between the two commits of a run. GitHub knows which
//! these are: a commit's message could name any.

use super::decisions;
use super::target::PublishTarget;
use crate::compare::{
    AcceptanceDecision, AcceptanceLedger, AppliedAcceptances, DecisionKind, Group, LandedDecision, Merged,
    SCHEMA_ACCEPTED, apply_acceptances,
};
use crate::github::pulls::{self, MergedPull};
use crate::github::{ApiResult, Sha};
use crate::model::Result;

/// Pull requests of one run whose decisions are looked up: each costs a request or two.
const MAX_PULLS: usize = 60;

/// The decisions about the changes between base and head.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Landed {
    /// Their effect on the verdict.
    pub applied: AppliedAcceptances,
    /// For the history.
    pub decisions: Vec<LandedDecision>,
}

/// Asks GitHub. A change that it does not show is not accepted, and the log records why.
pub(super) fn of_run(target: &PublishTarget<'_>, merged: &Merged) -> Result<Landed> {
    // Accepted rows that are green again matter for the history alone.
    if !target.has_decisions() {
        return Ok(Landed::default());
    }
    if target.request.history.is_none() && !decisions::is_any_acceptable(merged) {
        return Ok(Landed::default());
    }
    match look(target, merged) {
        Ok(landed) => Ok(landed),
        Err(refused) if matches!(refused.status(), Some(403 | 404)) => {
            let next = "give the job `pull-requests: read` and `contents: read` in addition to its other permissions";
            let what = refused.message().to_owned();
            target.log(&format!("accepted rows: not looked up, GitHub says: {what}; {next}"))?;
            Ok(Landed::default())
        }
        Err(error) => Err(error.into()),
    }
}

fn look(target: &PublishTarget<'_>, merged: &Merged) -> ApiResult<Landed> {
    let Some(branch) = &target.context.branch else { return Ok(Landed::default()) };
    let mut ranges: Vec<(Sha, Vec<Sha>)> = Vec::new();
    for (base, head) in merged.groups.iter().filter_map(commits_of) {
        if !ranges.iter().any(|(known, _)| *known == base) {
            let commits = pulls::commits_between(&target.client, &base, &head)?;
            ranges.push((base, commits));
        }
    }
    let all: Vec<Sha> = ranges.iter().flat_map(|(_, commits)| commits.clone()).collect();
    if all.is_empty() {
        return Ok(Landed::default());
    }
    let mut found = pulls::merged_by(&target.client, branch, &all)?;
    let older = found.len().saturating_sub(MAX_PULLS);
    found.drain(..older);
    if older > 0 {
        // Whatever comes of the log: what is not looked at is not accepted.
        let _ = target.log(&format!("accepted rows: of {older} older pull requests they are not looked up"));
    }
    let mut ledgers: Vec<(MergedPull, AcceptanceLedger)> = Vec::new();
    for pull in found {
        let (ledger, _) = decisions::ledger(target, pull.number)?;
        if !ledger.decisions.is_empty() {
            ledgers.push((pull, ledger));
        }
    }
    let standing = |group: &Group| {
        let base = commits_of(group).map(|(base, _)| base);
        let range = ranges.iter().find(|(known, _)| Some(known) == base.as_ref());
        let inside = |pull: &MergedPull| range.is_some_and(|(_, commits)| commits.contains(&pull.merged_as));
        let inside = ledgers.iter().filter(|(pull, _)| inside(pull));
        inside.flat_map(|(_, ledger)| ledger.standing()).collect()
    };
    let applied = apply_acceptances(merged, standing);
    let decisions = ledgers.iter().flat_map(|(pull, ledger)| landed(pull, ledger)).collect();
    Ok(Landed { applied, decisions })
}

fn commits_of(group: &Group) -> Option<(Sha, Sha)> {
    let verdict = &group.verdict;
    let base: Sha = verdict.base.commit.as_deref()?.parse().ok()?;
    let head: Sha = verdict.head.commit.as_deref()?.parse().ok()?;
    (base != head).then_some((base, head))
}

/// The decisions that a history keeps: those in force, and those that take one back after the merge.
fn landed(pull: &MergedPull, ledger: &AcceptanceLedger) -> Vec<LandedDecision> {
    let standing = ledger.standing();
    let stands = |decision: &AcceptanceDecision| match decision.kind {
        DecisionKind::Accept => standing.iter().any(|row| row.comment == decision.comment),
        DecisionKind::Revoke => decision.at > pull.merged_at,
    };
    let kept = ledger.decisions.iter().filter(|decision| stands(decision));
    kept.map(|decision| LandedDecision {
        schema: SCHEMA_ACCEPTED.into(),
        gate: ledger.gate.clone(),
        pull: pull.number,
        merged_as: pull.merged_as.to_string(),
        decision: decision.clone(),
    })
    .collect()
}
