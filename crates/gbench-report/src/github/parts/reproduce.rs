//! Next steps of a reader: the command that repeats the measurement locally, and advice that a job can follow.

use std::borrow::Cow;

use super::context::PublishContext;
use super::links::{commits, is_dirty};
use gbench_compare::{Advice, Merged, Row, VerdictDocument};
use gbench_model::text::{count, short_commit};

/// A comparison of the same states: its introduction, and the command. `None`: it did not compare commits, or they are
/// unknown.
pub(crate) fn local_command(merged: &Merged, context: &PublishContext) -> Option<(String, String)> {
    let verdict: &VerdictDocument = &merged.groups.first()?.verdict;
    // A comparison of commits uses rounds, even if it was refused before the first.
    let of_commits = verdict.method.rounds.is_some() || !verdict.replayed().is_empty();
    let [Some(base), Some(head)] = commits(merged, context) else { return None };
    let [base, head] = [base, head].map(short_commit);
    // An unverified job wrote them, or they are too long to type.
    let hidden = context.unverified || context.flags.len() > 2000;
    let flags = if hidden { "" } else { context.flags.as_str() };
    of_commits.then(|| {
        if is_dirty(merged) {
            // No commit contains the measured state.
            let how = format!("Reproduce locally, on {head} with the same changes: they were not committed");
            (how, format!("gbench-ci compare {base}{flags}"))
        } else {
            ("Reproduce locally".into(), format!("gbench-ci compare {base}..{head}{flags}"))
        }
    })
}

/// The verdict with advice for readers who have the repository but not the records: a job cannot be resumed.
pub(crate) fn with_ci_advice<'m>(merged: &'m Merged, context: &PublishContext) -> Cow<'m, Merged> {
    let resumes = |row: &Row| matches!(row.advice, Some(Advice::Resume { .. }));
    if !merged.groups.iter().any(|group| group.verdict.rows.iter().any(resumes)) {
        return Cow::Borrowed(merged);
    }
    let command = local_command(merged, context).map(|(_, command)| command);
    let mut said = merged.clone();
    for group in &mut said.groups {
        let most = group.verdict.method.rounds.as_ref().map_or(0, |rounds| rounds.most_rounds);
        for row in group.verdict.rows.iter_mut().filter(|row| resumes(row)) {
            row.next = more_rounds(row, most, command.as_deref()).unwrap_or_default();
        }
    }
    Cow::Owned(said)
}

fn more_rounds(row: &Row, most: u32, command: Option<&str>) -> Option<String> {
    let sequence = row.sequence.as_ref()?;
    let more = sequence.more_rounds?;
    let total = sequence.rounds.saturating_add(more).max(most);
    let more = count(more as usize, "more round");
    let give = if total > most {
        format!("allow the job as many (`rounds = {total}`) and the time for them (`budget`)")
    } else {
        "give the job more time (`budget`)".into()
    };
    let command = command.map(|command| format!("; to try it locally, `{command} --rounds {total}`"));
    let command = command.unwrap_or_default();
    Some(format!("about {more} would probably decide it: {give}, or quieten the machine{command}"))
}
