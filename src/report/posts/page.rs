//! The order of a comment: one answer, what changed, how to see it again, and folded what most readers skip. Room is
//! given to what must stay first: regressions before all else, folded parts last.

use super::Facts;
use super::folded::{Commands, folded};
use super::links::{files_of_the_job, footer, whole_report};
use super::locally::{Locally, locally};
use super::section::{Section, counts, fill};
use super::text::{Purse, prose};
use crate::compare::{Conclusion, Group, Merged, Verdict, VerdictDocument};
use crate::report::layout::escape::markdown_block;
use crate::report::layout::markdown::details;
use crate::report::layout::words::{capitalized, plural};
use crate::report::verdict::status::conclusion_sign;
use crate::report::verdict::status::{conclusion_word, counts_text};
use crate::report::verdict::view::VerdictView;

/// Most machines that have a section of their own: half as many as a matrix has jobs.
const MOST_SECTIONS: usize = 128;

/// Room kept for warnings and notes while rows are chosen.
const FOR_WORDS: usize = 4000;

/// Warnings that are shown before the rest is only counted.
const MOST_WARNINGS: usize = 12;

/// What a page begins with, and how much of it there may be.
pub struct Sheet {
    pub opening: String,
    /// Bytes.
    pub limit: usize,
    /// Most rows of a folded table; `None`: nothing is folded into the page.
    pub unchanged: Option<usize>,
}

/// Sign, gate, sentence and counts.
pub fn opening(merged: &Merged, facts: &Facts) -> String {
    let word = conclusion_word(merged.conclusion).to_lowercase();
    let heading = format!("### {} {}: {word}\n\n", conclusion_sign(merged.conclusion), gate(facts));
    format!("{heading}{}", answer(merged, facts))
}

pub fn gate(facts: &Facts) -> String {
    if facts.gate.is_empty() { "gbench-ci".into() } else { prose(&facts.gate, 300) }
}

/// The sentence and the counts, and whether they can be relied on.
pub fn answer(merged: &Merged, facts: &Facts) -> String {
    let mut text = String::new();
    if facts.unverified {
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
            let machines = plural(groups.len(), "machine");
            let counts = counts_text(&merged.counts);
            let colon = if counts.is_empty() { "" } else { ": " };
            format!("{} on {machines}{colon}{counts}.", plural(rows as usize, "row"))
        }
    };
    let end = if counts.is_empty() { "" } else { "\n\n" };
    text + &counts + end
}

/// The whole page but the opening's words, in at most `sheet.limit` bytes.
pub fn page(merged: &Merged, facts: &Facts, sheet: Sheet) -> String {
    let more = whole_report(facts);
    let (footer, again) = (footer(merged, facts), again(merged, facts));
    let mut purse = Purse::new(sheet.limit);
    purse.owe(sheet.opening.len() + footer.len() + again.len() + more.len() + 200);

    let digests: Vec<VerdictView> =
        merged.groups.iter().map(|group| VerdictView::new(&group.verdict)).collect();
    let mut sections = sections(merged, &digests, &more, &mut purse);
    let for_words = purse.set_aside(FOR_WORDS);
    fill(&mut sections, &[Verdict::Regressed], &mut purse);
    fill(&mut sections, &[Verdict::Invalid, Verdict::Missing], &mut purse);
    fill(&mut sections, &[Verdict::Inconclusive], &mut purse);
    purse.give_back(for_words);
    let warnings = warnings(merged, &more, &mut purse);
    for section in &mut sections {
        section.explain(&mut purse);
    }
    fill(&mut sections, &[Verdict::Improved, Verdict::New], &mut purse);
    if let Some(rows) = sheet.unchanged {
        fold(&mut sections, rows, &commands_below(merged, facts), &more, &mut purse);
    }

    let alone = merged.groups.len() == 1;
    let mut page = sheet.opening;
    for section in &sections {
        page += &section.text(&more);
        if !alone && !section.folded.is_empty() {
            // Machines of which nothing is to be said take no more than three lines.
            page += &spaced(&details("Results, environment and method", &section.folded));
        }
    }
    let unseen = merged.groups.len() - sections.len();
    if unseen > 0 {
        page += &format!("{} without a section here: see {more}.\n\n", plural(unseen, "machine"));
    }
    page += &warnings;
    page += &again;
    if alone {
        page.extend(sections.iter().map(|section| spaced(&section.folded)));
    }
    page + &footer
}

/// The folded parts of all machines by themselves, in at most `limit` bytes.
pub fn folds(merged: &Merged, facts: &Facts, limit: usize) -> String {
    let more = whole_report(facts);
    let mut purse = Purse::new(limit);
    let digests: Vec<VerdictView> =
        merged.groups.iter().map(|group| VerdictView::new(&group.verdict)).collect();
    let mut sections = sections(merged, &digests, &more, &mut purse);
    fold(&mut sections, usize::MAX, &commands_below(merged, facts), &more, &mut purse);
    let alone = merged.groups.len() == 1;
    let part = |section: &Section| match alone || section.folded.is_empty() {
        true => section.folded.clone(),
        false => format!("#### {}\n\n{}\n", prose(&section.group.label, 200), section.folded),
    };
    sections.iter().map(part).collect()
}

fn sections<'a>(
    merged: &'a Merged,
    digests: &'a [VerdictView<'a>],
    more: &str,
    purse: &mut Purse,
) -> Vec<Section<'a>> {
    let alone = merged.groups.len() == 1;
    let mut order: Vec<(usize, (&Group, &VerdictView))> =
        merged.groups.iter().zip(digests).enumerate().collect();
    // The gravest get their room first; all stand in the order of the document.
    order.sort_by_key(|(_, (group, _))| gravity(group.verdict.conclusion));
    let half = purse.left() / 2;
    let mut kept = Vec::new();
    for (index, (group, digest)) in order.into_iter().take(MOST_SECTIONS) {
        if purse.left() <= half && !kept.is_empty() {
            break;
        }
        purse.owe(more.len());
        kept.extend(Section::new(group, digest, alone, purse).map(|section| (index, section)));
    }
    kept.sort_by_key(|(index, _)| *index);
    kept.into_iter().map(|(_, section)| section).collect()
}

fn gravity(conclusion: Conclusion) -> u8 {
    match conclusion {
        Conclusion::Regressed => 0,
        Conclusion::Incomparable => 1,
        Conclusion::Failed => 2,
        Conclusion::Inconclusive => 3,
        Conclusion::Pass => 4,
    }
}

fn fold(sections: &mut [Section], rows: usize, commands: &Commands, more: &str, purse: &mut Purse) {
    let mut to_come = sections.len();
    for section in sections {
        let share = purse.left() / to_come;
        let mut own = Purse::new(purse.set_aside(share));
        // A heading or a blank line more.
        own.owe(220);
        section.folded = folded(section, rows, commands, more, &mut own);
        purse.give_back(own.left());
        to_come -= 1;
    }
}

fn spaced(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

fn warnings(merged: &Merged, more: &str, purse: &mut Purse) -> String {
    let mut texts: Vec<String> = merged.warnings.clone();
    for group in &merged.groups {
        let label = if group.label.is_empty() { String::new() } else { format!("{}: ", group.label) };
        texts.extend(group.verdict.warnings.iter().map(|warning| format!("{label}{warning}")));
    }
    if texts.is_empty() || !purse.pay(200 + more.len()) {
        return String::new();
    }
    let item = |text: &String| Some(format!("- {}\n", prose(text, 900))).filter(|item| purse.pay(item.len()));
    let items: Vec<String> = texts.iter().take(MOST_WARNINGS).map_while(item).collect();
    let rest = match texts.len() - items.len() {
        0 => String::new(),
        rest => format!("- {} in {more}\n", plural(rest, "further warning")),
    };
    format!("**Warnings**\n\n{}{rest}\n", items.concat())
}

/// The command that measures the same on one's own machine. Folded where there is nothing to look into.
fn again(merged: &Merged, facts: &Facts) -> String {
    let Some((what, command)) = command(merged, facts) else { return String::new() };
    let block = markdown_block("sh", &command);
    match is_calm(merged) {
        true => format!("{}\n", details(&what, &block)),
        false => format!("**{what}**\n\n{block}\n"),
    }
}

fn command(merged: &Merged, facts: &Facts) -> Option<(String, String)> {
    let short_enough = |command: &String| !command.is_empty() && command.len() <= 2000;
    if let Some(Locally { words, command }) = locally(merged, facts) {
        return Some((words, command));
    }
    let verdict: &VerdictDocument = &merged.groups.first()?.verdict;
    // What a stranger's job calls a command is not put into anyone's shell.
    let own = Some(verdict.reproduce.clone()).filter(|_| merged.groups.len() == 1 && !facts.unverified);
    Some((VerdictView::new(verdict).again().into(), own.filter(short_enough)?))
}

fn commands_below(merged: &Merged, facts: &Facts) -> Commands {
    match facts.unverified {
        true => Commands::Hidden,
        false => Commands::But {
            above: command(merged, facts).map(|(_, command)| command),
            files: files_of_the_job(facts),
        },
    }
}

/// Nothing changed, nothing is amiss.
fn is_calm(merged: &Merged) -> bool {
    let calm = |group: &Group| {
        group.verdict.warnings.is_empty()
            && group.verdict.rows.iter().all(|row| row.verdict == Verdict::Unchanged)
    };
    merged.conclusion == Conclusion::Pass && merged.warnings.is_empty() && merged.groups.iter().all(calm)
}
