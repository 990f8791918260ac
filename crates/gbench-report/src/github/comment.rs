//! The order of a comment: one answer, the changes, how to reproduce them, and folded details. Space goes to the most
//! important parts first: regressions before all else, folded parts last.

use super::parts::accepted::decided;
use super::parts::budget::{ByteBudget, prose};
use super::parts::context::{MAX_SUMMARY, PublishContext};
use super::parts::details::{JobCommands, folded};
use super::parts::links::{files_of_the_job, footer, gate, whole_report};
use super::parts::machine::{MachineSection, counts, fill};
use super::parts::recent::recent_runs;
use super::parts::reproduce::{local_command, with_ci_advice};
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::markdown_block;
use crate::layout::markdown::details;
use crate::verdict::summary::counts_text;
use crate::verdict::view::VerdictView;
use gbench_compare::{Conclusion, Group, Merged, Verdict, VerdictDocument};
use gbench_model::MAX_COMMENT;
use gbench_model::text::{capitalized, count};

/// Most machines with a separate section: half the number of jobs in a matrix.
const MAX_SECTIONS: usize = 128;

/// Bytes reserved for warnings and notes while rows are chosen.
const FOR_WORDS: usize = 4000;

/// Warnings that are shown; the others are counted.
const MAX_WARNINGS: usize = 12;

const SEVERITY: [Conclusion; 5] = [
    Conclusion::Regressed,
    Conclusion::Incomparable,
    Conclusion::Failed,
    Conclusion::Inconclusive,
    Conclusion::Pass,
];

pub(super) struct CommentLayout {
    pub opening: String,
    /// Bytes.
    pub limit: usize,
    /// Most rows of a folded table; `None`: nothing is folded into the page.
    pub unchanged: Option<usize>,
}

/// The comment of a pull request: at most `MAX_COMMENT` bytes, `marker` (one line) last. If it is too long, parts are
/// dropped in this order: folded parts, improved and new rows, notes, undecided rows, regressions; each place links to
/// the rest.
pub fn comment(merged: &Merged, context: &PublishContext, marker: &str) -> String {
    let merged = &with_ci_advice(merged, context);
    let limit = MAX_COMMENT.saturating_sub(marker.len() + 2);
    let layout = CommentLayout { opening: opening(merged, context), limit, unchanged: Some(60) };
    format!("{}\n{marker}\n", page(merged, context, layout))
}

/// The summary of a step: at most `MAX_SUMMARY` bytes, with as many results as fit.
pub fn step_summary(merged: &Merged, context: &PublishContext) -> String {
    let merged = &with_ci_advice(merged, context);
    let layout =
        CommentLayout { opening: opening(merged, context), limit: MAX_SUMMARY, unchanged: Some(usize::MAX) };
    page(merged, context, layout)
}

fn opening(merged: &Merged, context: &PublishContext) -> String {
    let settled = context.accepted.settled(merged).conclusion;
    let all_accepted = settled == Conclusion::Pass && merged.conclusion != Conclusion::Pass;
    let word = match settled {
        _ if all_accepted => "accepted",
        Conclusion::Inconclusive if merged.is_pending() => "pending",
        settled => settled.into_str(),
    };
    let sign = Emphasis::from(settled).look().sign;
    format!("### {sign} {}: {word}\n\n{}", gate(context), answer(merged, context))
}

pub(super) fn answer(merged: &Merged, context: &PublishContext) -> String {
    let mut text = String::new();
    if context.unverified {
        text += "> **Unverified.** These figures were measured by a job that runs the fork's own code. Names, figures and \
                 advice below are what that job said.\n\n";
    }
    let sentence = prose(&capitalized(&merged.sentence), 6000);
    if !sentence.is_empty() {
        text += &format!("**{sentence}**\n\n");
    }
    let counts = match merged.groups.as_slice() {
        [only] => counts(&VerdictView::new(&only.verdict), &only.label),
        groups => {
            let rows: u32 = merged.counts.values().sum();
            let machines = count(groups.len(), "machine");
            let counts = counts_text(&merged.counts);
            let colon = if counts.is_empty() { "" } else { ": " };
            format!("{} on {machines}{colon}{counts}.", count(rows as usize, "row"))
        }
    };
    let end = if counts.is_empty() { "" } else { "\n\n" };
    text + &counts + end + &decided(context)
}

/// The whole page except the opening's words, in at most `layout.limit` bytes.
pub(super) fn page(merged: &Merged, context: &PublishContext, layout: CommentLayout) -> String {
    let more = whole_report(context);
    let (footer, again) = (footer(merged, context), again(merged, context));
    let mut budget = ByteBudget::new(layout.limit);
    budget.set_aside(layout.opening.len() + footer.len() + again.len() + more.len() + 200);

    let views: Vec<VerdictView> =
        merged.groups.iter().map(|group| VerdictView::new(&group.verdict)).collect();
    let mut sections = sections(merged, &views, &more, &mut budget);
    let for_words = budget.set_aside(FOR_WORDS);
    fill(&mut sections, &[Verdict::Regressed], &mut budget);
    fill(&mut sections, &[Verdict::Invalid, Verdict::Missing], &mut budget);
    fill(&mut sections, &[Verdict::Inconclusive, Verdict::Broken, Verdict::Mended], &mut budget);
    budget.put_back(for_words);
    let warnings = warnings(merged, &more, &mut budget);
    for section in &mut sections {
        section.explain(&mut budget);
    }
    for section in &mut sections {
        section.draw(&mut budget);
    }
    for section in &mut sections {
        section.profile(&mut budget);
    }
    fill(&mut sections, &[Verdict::Improved, Verdict::Gone, Verdict::New], &mut budget);
    let recent = recent_runs(merged, context, &mut budget);
    if let Some(rows) = layout.unchanged {
        fold(&mut sections, rows, job_commands(merged, context).as_ref(), &more, &mut budget);
    }

    let alone = merged.groups.len() == 1;
    let mut page = layout.opening;
    for section in &sections {
        page += &section.text(&more);
        if !alone && !section.folded.is_empty() {
            // A machine without findings takes at most three lines.
            page += &spaced(&details("Results, environment and method", &section.folded));
        }
    }
    let unseen = merged.groups.len() - sections.len();
    if unseen > 0 {
        page += &format!("{} without a section here: see {more}.\n\n", count(unseen, "machine"));
    }
    page += &recent;
    page += &warnings;
    page += &again;
    if alone {
        page.extend(sections.iter().map(|section| spaced(&section.folded)));
    }
    page + &footer
}

/// The folded parts of all machines, in at most `limit` bytes.
pub(super) fn folds(merged: &Merged, context: &PublishContext, limit: usize) -> String {
    let more = whole_report(context);
    let mut budget = ByteBudget::new(limit);
    let views: Vec<VerdictView> =
        merged.groups.iter().map(|group| VerdictView::new(&group.verdict)).collect();
    let mut sections = sections(merged, &views, &more, &mut budget);
    fold(&mut sections, usize::MAX, job_commands(merged, context).as_ref(), &more, &mut budget);
    let alone = merged.groups.len() == 1;
    let part = |section: &MachineSection| {
        if alone || section.folded.is_empty() {
            section.folded.clone()
        } else {
            format!("#### {}\n\n{}\n", prose(&section.group.label, 200), section.folded)
        }
    };
    sections.iter().map(part).collect()
}

fn sections<'a>(
    merged: &'a Merged,
    views: &'a [VerdictView<'a>],
    more: &str,
    budget: &mut ByteBudget,
) -> Vec<MachineSection<'a>> {
    let alone = merged.groups.len() == 1;
    let mut order: Vec<(usize, (&Group, &VerdictView))> =
        merged.groups.iter().zip(views).enumerate().collect();
    // The most severe get their space first, but the order is that of the document.
    order.sort_by_key(|(_, (group, _))| SEVERITY.iter().position(|it| *it == group.verdict.conclusion));
    let half = budget.left() / 2;
    let mut sections = Vec::new();
    for (index, (group, view)) in order.into_iter().take(MAX_SECTIONS) {
        if budget.left() <= half && !sections.is_empty() {
            break;
        }
        budget.set_aside(more.len());
        sections.extend(MachineSection::new(group, view, alone, budget).map(|section| (index, section)));
    }
    sections.sort_by_key(|(index, _)| *index);
    sections.into_iter().map(|(_, section)| section).collect()
}

fn fold(
    sections: &mut [MachineSection],
    rows: usize,
    commands: Option<&JobCommands>,
    more: &str,
    budget: &mut ByteBudget,
) {
    let mut to_come = sections.len();
    for section in sections {
        let share = budget.left() / to_come;
        let mut own = ByteBudget::new(budget.set_aside(share));
        // A further heading or blank line.
        own.set_aside(220);
        section.folded = folded(section, rows, commands, more, &mut own);
        budget.put_back(own.left());
        to_come -= 1;
    }
}

fn spaced(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

fn warnings(merged: &Merged, more: &str, budget: &mut ByteBudget) -> String {
    let mut texts: Vec<String> = merged.warnings.clone();
    for group in &merged.groups {
        let label = if group.label.is_empty() { String::new() } else { format!("{}: ", group.label) };
        texts.extend(group.verdict.warnings.iter().map(|warning| format!("{label}{warning}")));
    }
    if texts.is_empty() || !budget.take(200 + more.len()) {
        return String::new();
    }
    let item =
        |text: &String| Some(format!("- {}\n", prose(text, 900))).filter(|item| budget.take(item.len()));
    let items: Vec<String> = texts.iter().take(MAX_WARNINGS).map_while(item).collect();
    let rest = match texts.len() - items.len() {
        0 => String::new(),
        rest => format!("- {} in {more}\n", count(rest, "further warning")),
    };
    format!("**Warnings**\n\n{}{rest}\n", items.concat())
}

/// The command that reproduces the measurement locally. Folded if there is nothing to investigate.
fn again(merged: &Merged, context: &PublishContext) -> String {
    let Some((what, command)) = command(merged, context) else { return String::new() };
    let block = markdown_block("sh", &command);
    if is_all_green(merged) {
        format!("{}\n", details(&what, &block))
    } else {
        format!("**{what}**\n\n{block}\n")
    }
}

fn command(merged: &Merged, context: &PublishContext) -> Option<(String, String)> {
    let short_enough = |command: &String| !command.is_empty() && command.len() <= 2000;
    if let Some(local) = local_command(merged, context) {
        return Some(local);
    }
    let verdict: &VerdictDocument = &merged.groups.first()?.verdict;
    // A command by an unverified job is not shown: a reader might paste it.
    let own = Some(verdict.reproduce.clone()).filter(|_| merged.groups.len() == 1 && !context.unverified);
    Some((VerdictView::new(verdict).again().into(), own.filter(short_enough)?))
}

/// `None`: an unverified job wrote them.
fn job_commands(merged: &Merged, context: &PublishContext) -> Option<JobCommands> {
    let above = || command(merged, context).map(|(_, command)| command);
    (!context.unverified).then(|| JobCommands { above: above(), files: files_of_the_job(context) })
}

fn is_all_green(merged: &Merged) -> bool {
    let calm = |group: &Group| {
        group.verdict.warnings.is_empty()
            && group.verdict.rows.iter().all(|row| row.verdict == Verdict::Unchanged)
    };
    merged.conclusion == Conclusion::Pass && merged.warnings.is_empty() && merged.groups.iter().all(calm)
}
