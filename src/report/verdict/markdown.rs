//! A verdict for a pull request or a summary page, in GitHub-flavoured Markdown. The same order as in a
//! terminal; what most readers skip is folded. Every text from the document passes through `escape`.

use std::fmt::Write;
use std::io;

use super::method;
use super::status::{conclusion_sign, conclusion_word};
use super::view::{RowView, SideView, VerdictGroup, VerdictView};
use crate::compare::{Difference, Row, Verdict};
use crate::model::text::{capitalized, count};
use crate::report::layout::escape::{markdown as prose, markdown_block, markdown_code as code};
use crate::report::layout::grouped::{named, together};
use crate::report::layout::markdown::{details, stacked};
use crate::report::layout::number;

/// Rows of one table before the rest is only counted, as long as the page is not too long.
const ROWS: usize = 60;

/// Rows that one note names before the rest is counted.
pub(in crate::report) const MOST_NAMED: usize = 10;

/// Bytes that the page stays below unless everything is asked for: GitHub takes comments of 65,536 characters.
pub(in crate::report) const PAGE: usize = 65_000;

/// Writes the report. `all`: no table is cut.
pub(in crate::report) fn render(
    view: &VerdictView,
    all: bool,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let page = if all { text(view, usize::MAX) } else { fitting(view) };
    out.write_all(page.as_bytes())
}

/// The page with its tables cut as little as its length allows.
fn fitting(view: &VerdictView) -> String {
    fitted(|limit| text(view, limit))
}

/// The first of several ever shorter pages that is short enough: `page` with at most so many rows a table.
pub(in crate::report) fn fitted(page: impl Fn(usize) -> String) -> String {
    let mut limit = ROWS;
    loop {
        let page = page(limit);
        if page.len() <= PAGE || limit == 1 {
            return page;
        }
        limit /= 2;
    }
}

/// The page with at most `limit` rows a table.
pub(in crate::report) fn text(view: &VerdictView, limit: usize) -> String {
    let document = view.document;
    let mut page =
        format!("## {} {}\n\n", conclusion_sign(document.conclusion), conclusion_word(document.conclusion));
    let mut say = |block: String| {
        if !block.is_empty() {
            page += &block;
            page += "\n";
        }
    };
    say(format!("**{}**\n", prose(&capitalized(&document.sentence))));
    say(format!("{}.\n", prose(&capitalized(&view.counts()))));
    let mut facts = vec![
        ("base", VerdictView::side(document, &document.base)),
        ("head", VerdictView::side(document, &document.head)),
    ];
    if let Some(in_rounds) = &document.method.rounds {
        facts.push(("how", method::measured(document, in_rounds)));
        facts.push(("sure", method::sureness(document, in_rounds)));
        facts.extend(method::next(document).map(|next| ("next", next)));
    }
    say(facts.iter().map(|(label, text)| format!("- **{label}**: {}\n", prose(text))).collect());
    let (strict, noted): (Vec<_>, Vec<_>) =
        document.differences.iter().partition(|difference| difference.strict);
    if !strict.is_empty() {
        say(format!("### Differs, and must agree for a comparison\n\n{}", differences(&strict)));
    }
    for group in &view.groups {
        say(section(group, limit));
    }
    if !document.reproduce.is_empty() {
        say(format!("### {}\n\n{}", view.again(), markdown_block("sh", &document.reproduce)));
    }
    if let Some(command) = view.explain() {
        say(format!("### See why, round by round, with\n\n{}", markdown_block("sh", &command)));
    }
    if !document.warnings.is_empty() {
        let warnings: String =
            document.warnings.iter().map(|warning| format!("- {}\n", prose(warning))).collect();
        say(format!("### Warnings\n\n{warnings}"));
    }
    if !view.unchanged.is_empty() {
        say(details(&view.unchanged_title(), &table(&view.unchanged, limit)));
    }
    if !view.suites.is_empty() {
        say(details("Suites and speed", &suites(view)));
    }
    if !noted.is_empty() {
        say(details(&format!("Environment: {}", count(noted.len(), "difference")), &differences(&noted)));
    }
    if let Some(in_rounds) = &document.method.rounds {
        let checks = method::checks(in_rounds);
        let checks: String = checks.iter().map(|check| format!("- {}\n", prose(check))).collect();
        say(details("What was checked", &checks));
    }
    say(details("How it was decided", &format!("{}\n", prose(&view.method()))));
    page.trim_end().to_owned() + "\n"
}

fn section(group: &VerdictGroup, limit: usize) -> String {
    let title = format!("### {}: {}\n\n", capitalized(group.verdict.into_str()), group.lines.len());
    let shown: Vec<&RowView> = group.lines.iter().take(limit).collect();
    let most_named = if limit == usize::MAX { limit } else { MOST_NAMED };
    let notes = Notes::of(&shown, &NoteStyle { name: &code, prose: &prose, most_named });
    format!("{title}{}{}", table(&group.lines, limit), notes.text())
}

fn table(lines: &[RowView], limit: usize) -> String {
    let changes = lines.iter().any(|line| !line.change.is_empty());
    let in_rounds = changes && lines.iter().any(|line| !line.rounds.is_empty());
    let mut out = String::from(match (changes, in_rounds) {
        (true, true) => "| case, metric | base | head | change | rounds |\n|:--|--:|--:|:--|:--|\n",
        (true, false) => "| case, metric | base | head | change |\n|:--|--:|--:|:--|\n",
        (false, _) => "| case, metric | base | head |\n|:--|--:|--:|\n",
    });
    for line in lines.iter().take(limit) {
        let side = |side: &SideView| stacked(&prose(&side.value), &prose(&side.spread));
        let name = stacked(&code(&line.name), &prose(&line.row.metric));
        let _ = write!(out, "| {name} | {} | {} |", side(&line.base), side(&line.head));
        if changes {
            let decided = !matches!(line.row.verdict, Verdict::Unchanged | Verdict::Inconclusive);
            let mark = if decided && !line.change.is_empty() { "**" } else { "" };
            let change = format!("{mark}{}{mark}", prose(&line.change));
            let _ = write!(out, " {} |", stacked(&change, &prose(&line.evidence())));
        }
        if in_rounds {
            let _ = write!(out, " {} |", stacked(&prose(&line.rounds), &prose(&line.noise)));
        }
        out.push('\n');
    }
    if lines.len() > limit {
        let more = lines.len() - limit;
        let _ = writeln!(out, "\nand {} more, in the JSON document.", count(more, "row"));
    }
    out
}

/// How names and prose come into Markdown: whole, or cut where room is short.
pub(in crate::report) struct NoteStyle<'f> {
    pub name: &'f dyn Fn(&str) -> String,
    pub prose: &'f dyn Fn(&str) -> String,
    /// Rows that a note names which several share, before the rest is counted.
    pub most_named: usize,
}

/// Why and what next, said once where it is the same: paragraphs and items of a list, in order.
#[derive(Default)]
pub(in crate::report) struct Notes {
    pub items: Vec<String>,
    /// What holds for all; empty where nothing does.
    pub together: String,
}

impl Notes {
    pub fn of(lines: &[&RowView], pen: &NoteStyle) -> Self {
        let told: Vec<&RowView> =
            lines.iter().copied().filter(|line| !sentence(line, true, pen).is_empty()).collect();
        let Some(first) = told.first() else { return Self::default() };
        let same = |part: fn(&Row) -> &str| told.iter().all(|line| part(line.row) == part(first.row));
        let same_next = same(|row| &row.next);
        if told.len() == 1
            || told.len() == lines.len()
                && same_next
                && same(|row| &row.reason)
                && same(|row| row.trace().unwrap_or_default())
        {
            let each = if told.len() == 1 { "" } else { "For each: " };
            return Self { items: Vec::new(), together: format!("{each}{}\n", sentence(first, true, pen)) };
        }
        let called = |line: &&RowView| {
            let metric = if line.row.metric.is_empty() { "" } else { " " };
            format!("{}{metric}{}", (pen.name)(&line.name), (pen.prose)(&line.row.metric))
        };
        let said = told.iter().map(|line| (sentence(line, !same_next, pen), called(line)));
        let item = |(said, names): (String, Vec<String>)| {
            (!said.is_empty()).then(|| match names.as_slice() {
                [only] => format!("- {only}: {said}\n"),
                several => {
                    let rows = count(several.len(), "row");
                    format!("- {said} That holds for {rows}: {}.\n", named(several, pen.most_named))
                }
            })
        };
        let next_of_all = if same_next && !first.row.next.is_empty() {
            format!("{}\n", next(&first.row.next, pen))
        } else {
            String::new()
        };
        Self { items: together(said).into_iter().filter_map(item).collect(), together: next_of_all }
    }

    /// As it stands below a table; empty where there is nothing to say.
    pub fn text(&self) -> String {
        let parts = [self.items.concat(), self.together.clone()];
        parts.iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}")).collect()
    }
}

fn sentence(line: &RowView, with_next: bool, pen: &NoteStyle) -> String {
    let mut parts = Vec::new();
    if !line.row.reason.is_empty() {
        parts.push(format!("{}.", end(&line.row.reason, pen)));
    }
    if let Some(trace) = line.row.trace() {
        parts.push(format!("Trace: {}.", end(trace, pen)));
    }
    if with_next && !line.row.next.is_empty() {
        parts.push(next(&line.row.next, pen));
    }
    parts.join(" ")
}

fn next(text: &str, pen: &NoteStyle) -> String {
    format!("**Next:** {}.", end(text, pen))
}

fn end(text: &str, pen: &NoteStyle) -> String {
    (pen.prose)(&capitalized(text.trim_end_matches('.')))
}

/// Fields in which the machines differ, as a table.
pub(in crate::report) fn differences(differences: &[&Difference]) -> String {
    let mut out = String::from("| field | base | head |\n|:--|:--|:--|\n");
    for difference in differences {
        let shown = |value: &str| if value.is_empty() { "(none)".to_owned() } else { code(value) };
        let (base, head) = (shown(&difference.base), shown(&difference.head));
        let _ = writeln!(out, "| {} | {base} | {head} |", code(&difference.field));
    }
    out
}

/// The suites as a table, and the speed of all in a sentence.
pub(in crate::report) fn suites(view: &VerdictView) -> String {
    let mut out = String::from(
        "| suite | status | rows | regressed | improved | unchanged | inconclusive | failed | new | speedup | worst | best |\n\
         |:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for suite in &view.suites {
        let count = |verdict| suite.count(verdict);
        let speed = suite.speedup.as_ref().map_or(["", "", ""].map(str::to_owned), |speedup| {
            [speedup.geometric_mean, speedup.worst, speedup.best].map(number::times)
        });
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            code(&suite.name),
            conclusion_word(suite.conclusion()),
            suite.rows(),
            count(Verdict::Regressed),
            count(Verdict::Improved),
            count(Verdict::Unchanged),
            count(Verdict::Inconclusive),
            suite.failed(),
            count(Verdict::New),
            speed.join(" | "),
        );
    }
    if let Some(speedup) = &view.speedup {
        let _ = write!(
            out,
            "\nSpeed of head against base, above 1 is faster: {} in the geometric mean over {}, worst {} ({}), best {} ({}).\n",
            number::times(speedup.geometric_mean),
            count(speedup.rows as usize, "row"),
            number::times(speedup.worst),
            code(&speedup.worst_name),
            number::times(speedup.best),
            code(&speedup.best_name),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::test_support as documents;

    #[test]
    fn every_kind_of_document_has_its_page() {
        for (name, document) in documents::all() {
            insta::assert_snapshot!(name, fitting(&VerdictView::new(&document)));
        }
    }

    #[test]
    fn a_hostile_document_adds_no_cell_and_no_mention() {
        let page = text(&VerdictView::new(&documents::hostile()), usize::MAX);
        assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
        assert!(!page.contains("@octo") && !page.contains("<img") && !page.contains("http://"));
        for line in page.lines().filter(|line| line.starts_with("| <code>s/x")) {
            assert_eq!(line.matches('|').count(), 5, "{line}");
        }
    }

    #[test]
    fn ten_thousand_rows_stay_below_the_limit_of_a_comment() {
        let mut document = documents::long_names();
        document.rows = document.rows.iter().cycle().take(10_000).cloned().collect();
        let view = VerdictView::new(&document);
        assert!(fitting(&view).len() < 65_536);
        assert!(text(&view, usize::MAX).len() > 1_000_000);
    }
}
