//! A check: what GitHub calls it, and its texts.

use super::links::{address, commit};
use super::locally::for_readers;
use super::page::{Sheet, answer, folds, gate, page};
use super::remarks::{PostAnnotation, on_lines};
use super::text::{plain, prose};
use super::{CHECK, Facts};
use crate::compare::{Conclusion, Merged, Verdict};
use crate::model::Exit;
use crate::report::verdict::status::counts_text;

/// What a check shows. Title of at most 255 bytes, without Markdown; summary and text of at most [`CHECK`] each.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub standing: Standing,
    pub title: String,
    pub summary: String,
    pub text: Option<String>,
    /// At most 200, the gravest first.
    pub annotations: Vec<PostAnnotation>,
}

/// What GitHub shall make of it: all but the first are conclusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    InProgress,
    Success,
    Failure,
    /// Undecided in part, or decided and of no consequence. Does not block.
    Neutral,
    /// Undecided where policy wants a decision, or nothing decided at all. Blocks.
    ActionRequired,
}

impl Standing {
    /// GitHub's word.
    pub fn word(self) -> &'static str {
        match self {
            Standing::InProgress => "in_progress",
            Standing::Success => "success",
            Standing::Failure => "failure",
            Standing::Neutral => "neutral",
            Standing::ActionRequired => "action_required",
        }
    }

    /// Green only where everything was compared and nothing regressed. What fails the job fails the check: by `fail_on`
    /// where it is given, else by the gate's own exit code, which is red also where nothing at all could be decided.
    pub fn of(merged: &Merged, facts: &Facts) -> Self {
        let pass = Exit::Pass.code();
        let inconclusive = Exit::Inconclusive.code();
        let judged = [pass, Exit::Regression.code(), Exit::Failed.code(), inconclusive];
        if !judged.contains(&merged.exit_code) {
            return Standing::Failure;
        }
        let fails = |verdict| is_wanted(verdict, facts);
        let has = |verdicts: &[Verdict]| {
            let count = |verdict| merged.counts.get(verdict).copied().unwrap_or(0);
            verdicts.iter().any(|verdict| fails(*verdict) && count(verdict) > 0)
        };
        let nothing_compared = merged.conclusion == Conclusion::Failed && fails(Verdict::Invalid);
        match (facts.fail_on.is_empty(), merged.conclusion) {
            (_, Conclusion::Pass) if merged.exit_code == pass => Standing::Success,
            (false, _)
                if nothing_compared || has(&[Verdict::Regressed, Verdict::Invalid, Verdict::Missing]) =>
            {
                Standing::Failure
            }
            (false, _) if has(&[Verdict::Inconclusive]) => Standing::ActionRequired,
            // All rows are decided, and nothing is: there was no commit to compare with.
            (false, Conclusion::Inconclusive) if fails(Verdict::Inconclusive) => Standing::ActionRequired,
            (true, _) if merged.exit_code == inconclusive => Standing::ActionRequired,
            (true, _) if merged.exit_code != pass => Standing::Failure,
            _ => Standing::Neutral,
        }
    }
}

/// Whether policy lets the job fail for rows of this verdict.
pub fn is_wanted(verdict: Verdict, facts: &Facts) -> bool {
    let class = match verdict {
        Verdict::Regressed => "regression",
        Verdict::Invalid | Verdict::Missing => "failed",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Improved | Verdict::New | Verdict::Unchanged => return false,
    };
    facts.fail_on.is_empty() || facts.fail_on.iter().any(|word| word == class)
}

/// The finished check.
pub fn check(merged: &Merged, facts: &Facts) -> Check {
    let merged = &for_readers(merged, facts);
    let sheet = Sheet { opening: answer(merged, facts), limit: CHECK, unchanged: None };
    let text = folds(merged, facts, CHECK);
    Check {
        standing: Standing::of(merged, facts),
        title: title(merged),
        summary: page(merged, facts, sheet),
        text: Some(text).filter(|text| !text.is_empty()),
        annotations: on_lines(merged, facts),
    }
}

/// `2 regressed, 13 unchanged`: what a list of checks shows.
pub fn title(merged: &Merged) -> String {
    let counts = counts_text(&merged.counts);
    let compared = [Verdict::Regressed, Verdict::Improved, Verdict::Unchanged];
    let decided = compared.iter().any(|verdict| merged.counts.get(verdict).is_some_and(|count| *count > 0));
    let title = match merged.conclusion {
        Conclusion::Incomparable => "Nothing was compared: the machines differ".to_owned(),
        _ if counts.is_empty() => "Nothing was compared".into(),
        Conclusion::Pass => format!("Nothing regressed: {counts}"),
        Conclusion::Inconclusive if !decided => format!("Nothing could be decided: {counts}"),
        _ => counts,
    };
    plain(&title, 255)
}

/// The check while it is being measured.
pub fn begun(facts: &Facts) -> Check {
    let mut summary = format!("{} is measuring.\n", gate(facts));
    if let Some(base) = facts.base.commit.as_deref().and_then(super::links::full_commit) {
        let comma = if facts.base.why.is_empty() { "" } else { ", " };
        summary += &format!("\nBase: {}{comma}{}.\n", commit(base, facts), prose(&facts.base.why, 600));
    }
    if let Some(url) = facts.run_url.as_deref().and_then(address) {
        summary += &format!("\nSee the [run]({url}).\n");
    }
    Check {
        standing: Standing::InProgress,
        title: "Measuring".into(),
        summary,
        text: None,
        annotations: Vec::new(),
    }
}
