//! A check: its state at GitHub, and its texts.

use super::annotations::{BenchmarkAnnotation, on_lines};
use super::comment::{CommentLayout, answer, folds, page};
use super::parts::accepted::in_title;
use super::parts::budget::{plain, prose};
use super::parts::context::PublishContext;
use super::parts::links::{commit, full_commit, gate, link};
use super::parts::reproduce::with_ci_advice;
use crate::verdict::summary::counts_text;
use gbench_compare::{Conclusion, Merged, Verdict};
use gbench_model::{Exit, MAX_CHECK};

/// The texts of a check. Title of at most 255 bytes, without Markdown; summary and text of at most `MAX_CHECK` each.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckPage {
    pub state: CheckState,
    pub title: String,
    pub summary: String,
    pub text: Option<String>,
    /// At most 200, each with its place, the most severe first.
    pub annotations: Vec<BenchmarkAnnotation>,
}

impl CheckPage {
    pub(super) fn new(state: CheckState, title: &str, summary: String) -> Self {
        Self { state, title: title.into(), summary, text: None, annotations: Vec::new() }
    }
}

/// The state of a check at GitHub: all but the first are conclusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CheckState {
    /// Before the measurement has ended, or while parts of it are pending. Blocks.
    InProgress,
    Success,
    Failure,
    /// Undecided in part, or decided and of no consequence. Does not block.
    Neutral,
    /// Undecided although policy requires a decision, or nothing decided at all. Blocks.
    ActionRequired,
}

impl CheckState {
    /// Success requires that everything was compared and nothing regressed. The check fails if the job does: by `fail_on`
    /// if given, else by the gate's own exit code, which also fails if nothing could be decided.
    fn new(merged: &Merged, context: &PublishContext) -> Self {
        let pass = Exit::Pass.code();
        let inconclusive = Exit::Inconclusive.code();
        let judged = [pass, Exit::Regression.code(), Exit::Failed.code(), inconclusive];
        if !judged.contains(&merged.exit_code) {
            return CheckState::Failure;
        }
        let fails = |verdict| context.fails_job(verdict);
        let has = |verdicts: &[Verdict]| {
            let count = |verdict| merged.counts.get(verdict).copied().unwrap_or(0);
            verdicts.iter().any(|verdict| fails(*verdict) && count(verdict) > 0)
        };
        let nothing_compared = merged.conclusion == Conclusion::Failed && fails(Verdict::Invalid);
        // Rows that are broken on both sides leave the gate green.
        let is_broken = merged.exit_code == pass && merged.counts.contains_key(&Verdict::Broken);
        match (context.fail_on.is_empty(), merged.conclusion) {
            (_, Conclusion::Pass) if merged.exit_code == pass => CheckState::Success,
            (false, _)
                if nothing_compared || has(&[Verdict::Regressed, Verdict::Invalid, Verdict::Missing]) =>
            {
                CheckState::Failure
            }
            (false, _) if has(&[Verdict::Inconclusive]) => CheckState::ActionRequired,
            // There was no commit to compare with, so nothing is decided although no row is open.
            (false, Conclusion::Inconclusive) if fails(Verdict::Inconclusive) && !is_broken => {
                CheckState::ActionRequired
            }
            (true, _) if merged.exit_code == inconclusive => CheckState::ActionRequired,
            (true, _) if merged.exit_code != pass => CheckState::Failure,
            _ => CheckState::Neutral,
        }
    }
}

pub fn check(merged: &Merged, context: &PublishContext) -> CheckPage {
    let settled = context.accepted.settled(merged);
    let merged = &with_ci_advice(merged, context);
    let layout = CommentLayout { opening: answer(merged, context), limit: MAX_CHECK, unchanged: None };
    let text = folds(merged, context, MAX_CHECK);
    let state = match CheckState::new(&settled, context) {
        // Nothing that may still come makes a failure good.
        CheckState::Failure => CheckState::Failure,
        _ if merged.is_pending() => CheckState::InProgress,
        state => state,
    };
    CheckPage {
        state,
        title: plain(&(title(merged) + &in_title(context)), 255),
        summary: page(merged, context, layout),
        text: Some(text).filter(|text| !text.is_empty()),
        annotations: on_lines(merged, context),
    }
}

pub(super) fn title(merged: &Merged) -> String {
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
    let pending = if merged.is_pending() { "; parts are pending" } else { "" };
    plain(&format!("{title}{pending}"), 255)
}

/// The check during the measurement.
pub fn begun(context: &PublishContext) -> CheckPage {
    let mut summary = format!("{} is measuring.\n", gate(context));
    if let Some(base) = context.base.commit.as_deref().and_then(full_commit) {
        let comma = if context.base.why.is_empty() { "" } else { ", " };
        summary += &format!("\nBase: {}{comma}{}.\n", commit(base, context), prose(&context.base.why, 600));
    }
    if let Some(run) = link("run", context.run_url.as_deref()) {
        summary += &format!("\nSee the {run}.\n");
    }
    CheckPage::new(CheckState::InProgress, "Measuring", summary)
}
