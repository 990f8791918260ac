//! The issue of a scheduled run that failed: the commits to examine, and their changes.

use super::check::title as title_of_check;
use super::comment::{CommentLayout, answer, page};
use super::parts::budget::plain;
use super::parts::context::PublishContext;
use super::parts::links::{commit, commits, footer, link};
use super::parts::reproduce::with_ci_advice;
use crate::layout::escape::markdown_block;
use crate::verdict::summary::counts_text;
use gbench_compare::{Merged, Verdict};
use gbench_model::MAX_COMMENT;
use gbench_model::text::short_commit;

/// Reserved for the marker that identifies the issue.
const FOR_THE_MARKER: usize = 1024;

/// Title (plain, at most 200 bytes) and body of the issue. The body leaves 1 KiB of `MAX_COMMENT` for a marker below it.
/// `compare_url`: the page with the differences between the two commits.
pub fn issue(merged: &Merged, context: &PublishContext, compare_url: Option<&str>) -> (String, String) {
    let merged = &with_ci_advice(merged, context);
    let gate = if context.gate.is_empty() { "gbench-ci" } else { &context.gate };
    let mut amiss = merged.counts.clone();
    let is_well = |verdict| {
        matches!(
            verdict,
            Verdict::Improved | Verdict::Mended | Verdict::Gone | Verdict::New | Verdict::Unchanged
        )
    };
    amiss.retain(|verdict, _| !is_well(*verdict));
    let counts = match counts_text(&amiss) {
        none if none.is_empty() => title_of_check(merged),
        some => some,
    };
    let title = plain(&format!("{gate}: {counts}"), 200);
    let opening = format!("{}{}", answer(merged, context), suspects(merged, context, compare_url));
    let limit = MAX_COMMENT - FOR_THE_MARKER;
    (title, page(merged, context, CommentLayout { opening, limit, unchanged: Some(60) }))
}

fn suspects(merged: &Merged, context: &PublishContext, compare_url: Option<&str>) -> String {
    let [Some(base), Some(head)] = commits(merged, context) else { return String::new() };
    if base == head {
        return format!(
            "Both sides are {}: what differs is not the code, but the machine or the measurement.\n\n",
            commit(head, context)
        );
    }
    let link = link("what changed", compare_url).map_or(String::new(), |link| format!(" ({link})"));
    let log = format!("git log --oneline {}..{}", short_commit(base), short_commit(head));
    format!(
        "**Suspects**: the commits after {} up to {}{link}.\n\n{}\n",
        commit(base, context),
        commit(head, context),
        markdown_block("sh", &log)
    )
}

/// The note that closes the issue.
pub fn closing_note(merged: &Merged, context: &PublishContext) -> String {
    let at = match commits(merged, context) {
        [_, Some(head)] => format!(" at {}", commit(head, context)),
        _ => String::new(),
    };
    format!("✅ Green again{at}.\n\n{}{}", answer(merged, context), footer(merged, context))
}
