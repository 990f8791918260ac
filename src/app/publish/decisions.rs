//! The decisions about the rows of a pull request, where they are kept, and their effect on a verdict.
//!
//! The decisions are kept with a commit, in a check that only our own app can write. A comment of ours names the commit;
//! what a comment says is not believed, since other workflows write comments under the same account, with text from
//! anywhere.

use super::facts::shown;
use super::recipients::Recipients;
use super::target::{PublishTarget, unpublished};
use crate::compare::{
    AcceptanceDecision, AcceptanceLedger, AcceptedFinding, AppliedAcceptances, Merged, SCHEMA_ACCEPTANCES,
    apply_acceptances,
};
use crate::github::{ApiResult, Sha, answers, kept, pulls};
use crate::model::Result;
use crate::report::github as render;

/// The check that keeps the decisions. No gate can be called so: a name has no colon.
fn kept_under(gate: &str) -> String {
    format!("{gate}: accepted")
}

/// The decisions about a pull request, none where nothing was decided, and the commit with which they are kept.
pub(super) fn ledger(target: &PublishTarget<'_>, number: u64) -> ApiResult<(AcceptanceLedger, Option<Sha>)> {
    let gate = &target.request.name;
    let (mut all, mut at, mut most) = (AcceptanceLedger::new(gate, number), None, 0);
    let mut heads = answers::kept_at(&target.client, number, gate, &target.me)?;
    // A user may have removed our answer.
    let head = pulls::head_of(&target.client, number)?;
    heads.extend((!heads.contains(&head)).then_some(head));
    for head in heads {
        let documents = match kept::kept(&target.client, &kept_under(gate), &head, &target.me) {
            // There is no such commit: a comment may name any.
            Err(refused) if matches!(refused.status(), Some(404 | 422)) => Vec::new(),
            documents => documents?,
        };
        for document in documents {
            let Ok(ledger) = serde_json::from_value::<AcceptanceLedger>(document) else { continue };
            let is_ours =
                ledger.schema == SCHEMA_ACCEPTANCES && ledger.gate == *gate && ledger.pull == number;
            if !is_ours {
                continue;
            }
            if ledger.decisions.len() > most {
                (most, at) = (ledger.decisions.len(), Some(head.clone()));
            }
            // Jobs that ran at once each know their own decision alone.
            let known = |decision: &AcceptanceDecision| {
                all.decisions.iter().any(|other| other.comment == decision.comment)
            };
            let new: Vec<_> = ledger.decisions.into_iter().filter(|decision| !known(decision)).collect();
            all.decisions.extend(new);
        }
    }
    // Comments are numbered in the order in which they were written.
    all.decisions.sort_by_key(|decision| decision.comment);
    Ok((all, at))
}

/// Keeps decisions with a commit, as those of the command in a comment. Errors: there are too many; GitHub.
pub(super) fn keep(
    target: &PublishTarget<'_>,
    ledger: &AcceptanceLedger,
    head: &Sha,
    comment: u64,
) -> Result<()> {
    let document = serde_json::json!(ledger);
    if document.to_string().len() > kept::MAX_KEPT {
        let next = "accept fewer rows, or merge the change and take its commit as the new reference";
        return Err(unpublished("the command", "more is accepted than a check holds", next));
    }
    let [title, summary] = render::kept_acceptances(&ledger.standing(), &shown(target, None, false));
    let name = kept_under(&target.request.name);
    let part = comment.to_string();
    kept::keep(&target.client, [&name, &part], head, &target.me, [&title, &summary], &document)?;
    Ok(())
}

/// The accepted changes of a verdict on a pull request. A token without the right to read finds none, and every row applies.
pub(super) fn applied(
    target: &PublishTarget<'_>,
    recipients: &Recipients,
    merged: &Merged,
) -> Result<AppliedAcceptances> {
    let Some(number) = recipients.only().filter(|_| target.has_decisions() && is_any_acceptable(merged))
    else {
        return Ok(AppliedAcceptances::default());
    };
    match ledger(target, number) {
        Err(refused) if matches!(refused.status(), Some(403 | 404)) => Ok(AppliedAcceptances::default()),
        ledger => {
            let standing = ledger?.0.standing();
            Ok(apply_acceptances(merged, |_| standing.clone()))
        }
    }
}

/// True if a verdict has a row that could be accepted.
pub(super) fn is_any_acceptable(merged: &Merged) -> bool {
    let mut rows = merged.groups.iter().flat_map(|group| &group.verdict.rows);
    rows.any(|row| AcceptedFinding::of(row).is_some())
}
