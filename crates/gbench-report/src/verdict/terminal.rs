//! A verdict for a terminal or a CI log, in the order of importance: the verdict, the counts, the changes, the command to
//! reproduce them, and then the rest.

use super::curves::CurveView;
use super::method;
use super::rows::Shape;
use super::summary::counts_text;
use super::view::{RowView, VerdictView};
use crate::layout::emphasis::Emphasis;
use crate::layout::grouped::{MAX_NAMED, named, together};
use crate::layout::number;
use crate::layout::terminal::{GridRow, Style, TerminalLayout};
use crate::profile::moved::SHOWN_ROWS;
use crate::sweep::SweepTables;
use gbench_compare::Difference;
use gbench_model::text::capitalized;

const MAX_ROWS: usize = 50;

const MAX_VALUES: usize = 24;

/// The report. `all`: every row is shown, also the unchanged ones.
pub(super) fn render(view: &VerdictView, style: Style, all: bool) -> String {
    let document = view.document;
    let mut page = TerminalLayout::new(style);
    let word = document.conclusion.into_str().to_uppercase();
    page.headline(&word, &document.sentence, document.conclusion.into());
    page.blank();
    page.line(&capitalized(&view.counts()));
    view.facts().iter().for_each(|(label, text)| page.note(label, text));
    let (strict, noted) = view.differences();
    differences(&mut page, ("Differs, and must agree for a comparison", Emphasis::Bad), &strict);
    for group in &view.groups {
        page.heading(&group.title(), group.verdict.into());
        rows(&mut page, &group.shown, if all { usize::MAX } else { MAX_ROWS });
    }
    CurveView::terminal(&CurveView::all(document), all, &mut page);
    if let Some(profiles) = &view.profiles {
        profiles.terminal(&mut page, if all { usize::MAX } else { SHOWN_ROWS });
    }
    if !document.reproduce.is_empty() {
        page.command(view.again(), &document.reproduce);
    }
    if let Some(command) = view.explain() {
        page.command("See why, round by round, with", &command);
    }
    page.list("Warnings", Emphasis::Doubt, &document.warnings);
    differences(&mut page, ("Also differs between base and head", Emphasis::Plain), &noted);
    if let Some(code) = &view.code {
        let (limit, max_named) = if all { (usize::MAX, usize::MAX) } else { (MAX_ROWS, MAX_NAMED) };
        code.terminal(&mut page, limit, max_named);
    }
    suites(&mut page, view);
    SweepTables::overview(document).terminal(if all { usize::MAX } else { MAX_VALUES }, &mut page);
    let title = view.unchanged_title();
    match (view.unchanged.is_empty(), all) {
        (true, _) => {}
        (_, true) => {
            page.heading(&title, Emphasis::Good);
            rows(&mut page, &view.unchanged, usize::MAX);
        }
        (_, false) => page.heading(&format!("{title} (listed with --all)"), Emphasis::Good),
    }
    if let Some(in_rounds) = &document.method.rounds {
        page.list("What was checked", Emphasis::Plain, method::checks(document, in_rounds));
    }
    page.heading("How it was decided", Emphasis::Plain);
    page.note("", &view.method());
    page.into_text()
}

/// A table of rows with their notes; rows beyond `limit` are counted. Notes that several rows share are printed once,
/// below.
fn rows(page: &mut TerminalLayout, lines: &[RowView], limit: usize) {
    let max_named = if limit == usize::MAX { limit } else { MAX_NAMED };
    let (lines, left) = lines.split_at(lines.len().min(limit));
    let shape = Shape { p_values: false, ..Shape::new(lines) };
    let notes = lines.iter().flat_map(|line| line.notes().into_iter().map(move |note| (note, line)));
    let shared: Vec<_> = together(notes).into_iter().filter(|(_, lines)| lines.len() > 1).collect();
    let is_shared = |note: &(&str, String)| shared.iter().any(|(known, _)| known == note);
    let rows = lines.iter().map(|line| GridRow {
        cells: std::iter::once(stacked([&line.name, &line.row.metric]))
            .chain(shape.cells(line).iter().map(|[above, below]| stacked([above, below])))
            .collect(),
        notes: line.notes().into_iter().filter(|note| !is_shared(note)).collect(),
    });
    page.grid(&shape.columns(), rows);
    for ((label, text), of) in &shared {
        let whose = if of.len() == lines.len() {
            "for each".to_owned()
        } else {
            let names: Vec<String> = of.iter().map(|line| line.title()).collect();
            format!("for {}: {}", of.len(), named(&names, max_named))
        };
        page.note(label, &format!("({whose}) {text}"));
    }
    if !left.is_empty() {
        page.note("", &format!("and {} more (listed with --all)", left.len()));
    }
}

fn stacked(lines: [&str; 2]) -> String {
    // Line breaks separate the lines of a cell, so a name must not contain any.
    let [above, below] = lines.map(|text| text.replace('\n', " "));
    if below.is_empty() { above } else { format!("{above}\n{below}") }
}

fn differences(page: &mut TerminalLayout, heading: (&str, Emphasis), differences: &[&Difference]) {
    let shown = |value: &str| if value.is_empty() { "(none)".to_owned() } else { value.replace('\n', " ") };
    let row = |it: &&Difference| [it.field.replace('\n', " "), shown(&it.base), shown(&it.head)];
    page.section(heading, &["field", "base", "head"], differences.iter().map(row));
}

fn suites(page: &mut TerminalLayout, view: &VerdictView) {
    if view.suites.len() > 1 {
        page.heading("Suites", Emphasis::Plain);
        let rows = view.suites.iter().map(|suite| {
            [
                suite.name.clone(),
                suite.conclusion().into_str().to_uppercase(),
                suite.rows().to_string(),
                counts_text(&suite.counts),
                suite.speedup.as_ref().map_or(String::new(), |speedup| number::times(speedup.geometric_mean)),
            ]
        });
        page.grid(&["suite", "status", "rows", "of these", "speedup"], rows);
    }
    if let Some(speedup) = view.speedup.as_ref().filter(|speedup| speedup.rows > 1) {
        page.heading("Speed of head against base, above 1 is faster", Emphasis::Plain);
        let mean = number::times(speedup.geometric_mean);
        page.note("mean", &format!("{mean} (geometric, over {})", speedup.over_what()));
        for (label, (factor, name)) in [("worst", &speedup.worst), ("best", &speedup.best)] {
            page.note(label, &format!("{} {name}", number::times(*factor)));
        }
    }
}
