//! A verdict for a terminal or a CI log. In the order in which people read: the verdict, the counts, what
//! changed, how to see it again, and then the rest.

use std::io;

use super::method;
use super::status::{conclusion_mark, conclusion_word, emphasis_of, emphasis_of_verdict};
use super::view::{RowView, VerdictGroup, VerdictView};
use crate::compare::Difference;
use crate::model::text::capitalized;
use crate::report::layout::grouped::{MOST_NAMED, named, together};
use crate::report::layout::number;
use crate::report::layout::terminal::{Emphasis, Grid, GridRow, Style, TerminalLayout};

/// Rows of one group before the rest is only counted.
const ROWS: usize = 50;

/// Writes the report. `all`: every row is shown, also the unchanged ones.
pub(in crate::report) fn render(
    view: &VerdictView,
    style: Style,
    all: bool,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let document = view.document;
    let mut page = TerminalLayout::new(out, style);
    let conclusion = document.conclusion;
    let word = conclusion_word(conclusion);
    page.headline(conclusion_mark(conclusion), word, &document.sentence, emphasis_of(conclusion))?;
    page.blank()?;
    page.line(&capitalized(&view.counts()))?;
    page.note("base", &VerdictView::side(document, &document.base))?;
    page.note("head", &VerdictView::side(document, &document.head))?;
    if let Some(in_rounds) = &document.method.rounds {
        page.note("how", &method::measured(document, in_rounds))?;
        page.note("sure", &method::sureness(document, in_rounds))?;
        method::next(document).map_or(Ok(()), |next| page.note("next", &next))?;
    }

    let strict: Vec<_> = document.differences.iter().filter(|difference| difference.strict).collect();
    if !strict.is_empty() {
        page.heading("Differs, and must agree for a comparison", Emphasis::Bad)?;
        differences(&mut page, &strict)?;
    }
    for group in &view.groups {
        page.heading(&title(group), emphasis_of_verdict(group.verdict))?;
        lines(&mut page, &group.lines, if all { usize::MAX } else { ROWS })?;
    }
    if !document.reproduce.is_empty() {
        page.heading(view.again(), Emphasis::Plain)?;
        page.command(&document.reproduce)?;
    }
    if let Some(command) = view.explain() {
        page.heading("See why, round by round, with", Emphasis::Plain)?;
        page.command(&command)?;
    }
    if !document.warnings.is_empty() {
        page.heading("Warnings", Emphasis::Doubt)?;
        for warning in &document.warnings {
            page.note("-", warning)?;
        }
    }
    let noted: Vec<_> = document.differences.iter().filter(|difference| !difference.strict).collect();
    if !noted.is_empty() {
        page.heading("Also differs between base and head", Emphasis::Plain)?;
        differences(&mut page, &noted)?;
    }
    suites(&mut page, view)?;
    unchanged(&mut page, view, all)?;
    if let Some(in_rounds) = &document.method.rounds {
        page.heading("What was checked", Emphasis::Plain)?;
        method::checks(in_rounds).iter().try_for_each(|check| page.note("-", check))?;
    }
    page.heading("How it was decided", Emphasis::Plain)?;
    page.note("", &view.method())
}

fn unchanged<W: io::Write + ?Sized>(
    page: &mut TerminalLayout<W>,
    view: &VerdictView,
    all: bool,
) -> io::Result<()> {
    let title = view.unchanged_title();
    match (view.unchanged.is_empty(), all) {
        (true, _) => Ok(()),
        (_, true) => {
            page.heading(&title, Emphasis::Good)?;
            lines(page, &view.unchanged, usize::MAX)
        }
        (_, false) => page.heading(&format!("{title} (listed with --all)"), Emphasis::Good),
    }
}

fn title(group: &VerdictGroup) -> String {
    format!("{}: {}", capitalized(group.verdict.into_str()), group.lines.len())
}

/// A table of rows with their notes; beyond `limit` they are only counted. Notes that several rows share are said once,
/// below.
fn lines<W: io::Write + ?Sized>(
    page: &mut TerminalLayout<W>,
    lines: &[RowView],
    limit: usize,
) -> io::Result<()> {
    let most_named = if limit == usize::MAX { limit } else { MOST_NAMED };
    let (lines, left) = lines.split_at(lines.len().min(limit));
    let changes = lines.iter().any(|line| !line.change.is_empty());
    let in_rounds = lines.iter().any(|line| !line.rounds.is_empty());
    let notes = lines.iter().flat_map(|line| line.notes().into_iter().map(move |note| (note, line)));
    let shared: Vec<_> = together(notes).into_iter().filter(|(_, lines)| lines.len() > 1).collect();
    let is_shared = |note: &(&str, String)| shared.iter().any(|(known, _)| known == note);
    let rows = lines.iter().map(|line| GridRow {
        cells: [
            stacked(&line.name, &line.row.metric),
            stacked(&line.base.value, &line.base.spread),
            stacked(&line.head.value, &line.head.spread),
        ]
        .into_iter()
        .chain(changes.then(|| stacked(&line.change, &line.interval)))
        .chain(in_rounds.then(|| stacked(&line.rounds, &line.noise)))
        .collect(),
        notes: line.notes().into_iter().filter(|note| !is_shared(note)).collect(),
    });
    let mut header = vec!["case, metric", "base", "head"];
    header.extend(changes.then_some("change"));
    header.extend(in_rounds.then_some("rounds"));
    page.grid(&Grid { header, rows: rows.collect() })?;
    for ((label, text), of) in &shared {
        let whose = if of.len() == lines.len() {
            "for each".to_owned()
        } else {
            let names: Vec<String> = of.iter().map(|line| line.title()).collect();
            format!("for {}: {}", of.len(), named(&names, most_named))
        };
        page.note(label, &format!("({whose}) {text}"))?;
    }
    match left.len() {
        0 => Ok(()),
        more => page.note("", &format!("and {more} more (listed with --all)")),
    }
}

fn stacked(above: &str, below: &str) -> String {
    // Line breaks tell lines of a cell apart, so none may come in with a name.
    let [above, below] = [above, below].map(|text| text.replace('\n', " "));
    if below.is_empty() { above } else { format!("{above}\n{below}") }
}

fn differences<W: io::Write + ?Sized>(
    page: &mut TerminalLayout<W>,
    differences: &[&Difference],
) -> io::Result<()> {
    let rows = differences.iter().map(|difference| GridRow {
        cells: [&difference.field, shown(&difference.base), shown(&difference.head)]
            .map(|text| text.replace('\n', " "))
            .to_vec(),
        notes: Vec::new(),
    });
    page.grid(&Grid { header: vec!["field", "base", "head"], rows: rows.collect() })
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "(none)" } else { value }
}

fn suites<W: io::Write + ?Sized>(page: &mut TerminalLayout<W>, view: &VerdictView) -> io::Result<()> {
    if view.suites.len() > 1 {
        page.heading("Suites", Emphasis::Plain)?;
        let rows = view.suites.iter().map(|suite| GridRow {
            cells: vec![
                suite.name.clone(),
                conclusion_word(suite.conclusion()).to_owned(),
                suite.rows().to_string(),
                suite.counts_text(),
                suite.speedup.as_ref().map_or(String::new(), |speedup| number::times(speedup.geometric_mean)),
            ],
            notes: Vec::new(),
        });
        let header = vec!["suite", "status", "rows", "of these", "speedup"];
        page.grid(&Grid { header, rows: rows.collect() })?;
    }
    if let Some(speedup) = view.speedup.as_ref().filter(|speedup| speedup.rows > 1) {
        page.heading("Speed of head against base, above 1 is faster", Emphasis::Plain)?;
        let mean = number::times(speedup.geometric_mean);
        page.note("mean", &format!("{mean} (geometric, over {} rows)", speedup.rows))?;
        page.note("worst", &format!("{} {}", number::times(speedup.worst), speedup.worst_name))?;
        page.note("best", &format!("{} {}", number::times(speedup.best), speedup.best_name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Verdict;
    use crate::report::layout::width::width;
    use crate::report::test_support as documents;

    fn rendered(document: &crate::compare::VerdictDocument, style: Style, all: bool) -> String {
        let mut out = Vec::new();
        render(&VerdictView::new(document), style, all, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_document_reads_well_at_eighty_columns() {
        for (name, document) in documents::all() {
            insta::assert_snapshot!(name, rendered(&document, Style::PLAIN, false));
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for (name, document) in documents::all() {
            for (columns, all) in [(60, true), (80, false), (80, true), (120, true)] {
                for unicode in [true, false] {
                    let text = rendered(&document, Style { width: columns, color: false, unicode }, all);
                    // Only a single argument of a command may be wider: broken, it could not be pasted.
                    for line in text.lines().filter(|line| line.trim_end_matches(" \\").trim().contains(' '))
                    {
                        assert!(width(line) <= usize::from(columns), "{name} at {columns}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn long_names_that_differ_in_their_tail_stay_apart_at_any_width() {
        let document = documents::long_names();
        for columns in [60, 80, 120] {
            let text = rendered(&document, Style { width: columns, ..Style::PLAIN }, true);
            for index in 0..40 {
                assert!(text.contains(&format!("={index}]")), "n={index} at {columns}");
            }
        }
    }

    #[test]
    fn a_flood_of_rows_is_counted_unless_all_are_asked_for() {
        let mut document = documents::long_names();
        document.rows =
            document.rows.iter().filter(|row| row.verdict == Verdict::Regressed).cloned().collect();
        document.rows = document.rows.iter().cycle().take(300).cloned().collect();
        assert!(rendered(&document, Style::PLAIN, false).contains("and 250 more (listed with --all)"));
        assert!(!rendered(&document, Style::PLAIN, true).contains("more (listed"));
    }

    #[test]
    fn without_colour_no_escape_and_without_unicode_only_ascii() {
        for (name, document) in documents::all() {
            let plain = rendered(&document, Style { unicode: false, ..Style::PLAIN }, true);
            assert!(plain.chars().all(|c| c == '\n' || !c.is_ascii_control() && c.is_ascii()), "{name}");
            let text = rendered(&document, Style::PLAIN, true);
            assert!(!text.contains('\u{1b}'), "{name}");
        }
    }

    #[test]
    fn colour_changes_no_word() {
        let codes = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
        for (name, document) in documents::all() {
            let color = rendered(&document, Style { color: true, ..Style::PLAIN }, true);
            assert!(color.contains("\u{1b}[1"), "{name}");
            assert_eq!(codes.replace_all(&color, ""), rendered(&document, Style::PLAIN, true), "{name}");
        }
    }
}
