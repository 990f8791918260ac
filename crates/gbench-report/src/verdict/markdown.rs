//! A verdict for a pull request or a summary page, in GitHub-flavoured Markdown. The same order as in a terminal; details
//! are folded. Every text from the document passes through `escape`.

use super::curves::CurveView;
use super::method;
use super::rows::Shape;
use super::summary::{Speedup, left_out};
use super::view::{RowView, VerdictGroup, VerdictView};
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::{markdown as prose, markdown_code as code};
use crate::layout::grouped::{named, together};
use crate::layout::markdown::{
    self, MarkdownStyle, bullets, command, facts, fold, kernel_name, part, stacked,
};
use crate::layout::number;
use crate::profile::moved;
use crate::sweep::SweepTables;
use gbench_compare::{Conclusion, Difference, Verdict};
use gbench_model::text::{capitalized, count};

/// Rows of one table if the page is short enough; the others are counted.
pub(super) const MAX_ROWS: usize = 60;

pub(crate) const MAX_NAMED: usize = 10;

pub(super) fn heading(conclusion: Conclusion) -> String {
    format!("{} {}", Emphasis::from(conclusion).look().sign, conclusion.into_str().to_uppercase())
}

pub(super) fn text(view: &VerdictView, limit: usize) -> String {
    let document = view.document;
    let mut page = format!("## {}\n\n", heading(document.conclusion));
    page += &format!("**{}**\n\n", prose(&capitalized(&document.sentence)));
    page += &format!("{}.\n\n{}\n", prose(&capitalized(&view.counts())), facts(&view.facts(), prose));
    let (strict, noted) = view.differences();
    part(&mut page, "Differs, and must agree for a comparison", &differences(&strict));
    for group in &view.groups {
        part(&mut page, &group.title(), &section(group, limit));
    }
    let of_loads = CurveView::all(document);
    part(&mut page, &CurveView::heading(&of_loads), &curves(&of_loads, limit));
    if let Some(profiles) = &view.profiles {
        let style = MarkdownStyle { name: &kernel_name, prose: &prose, rows: limit, max_named: MAX_NAMED };
        part(&mut page, moved::TITLE, &profiles.markdown(&style));
    }
    part(&mut page, view.again(), &command(&document.reproduce));
    part(&mut page, "See why, round by round, with", &command(&view.explain().unwrap_or_default()));
    part(&mut page, "Warnings", &bullets(&document.warnings));
    if let Some(code) = &view.code {
        let max_named = if limit == usize::MAX { limit } else { MAX_NAMED };
        let style = MarkdownStyle { name: &self::code, prose: &prose, rows: limit, max_named };
        fold(&mut page, &code.title(), &code.markdown(&style));
    }
    fold(&mut page, &view.unchanged_title(), &table(&view.unchanged, limit));
    fold(&mut page, "Suites and speed", &suites(view));
    for (title, table) in SweepTables::overview(document).markdown(limit) {
        fold(&mut page, &capitalized(&prose(&title)), &table);
    }
    let environment = format!("Environment: {}", count(noted.len(), "difference"));
    fold(&mut page, &environment, &differences(&noted));
    if let Some(in_rounds) = &document.method.rounds {
        fold(&mut page, "What was checked", &bullets(&method::checks(document, in_rounds)));
    }
    fold(&mut page, "How it was decided", &format!("{}\n", prose(&view.method())));
    page.trim_end().to_owned() + "\n"
}

fn curves(curves: &[CurveView], limit: usize) -> String {
    let style = MarkdownStyle { name: &code, prose: &prose, rows: limit, max_named: MAX_NAMED };
    let mut ordered: Vec<&CurveView> = curves.iter().collect();
    if ordered.len() > limit {
        ordered.sort_by_key(|curve| curve.curve.verdict);
    }
    let mut text: String = ordered.iter().take(limit).map(|curve| curve.markdown(&style)).collect();
    if curves.len() > limit {
        text += &format!("\nand {} more, in the JSON document.\n", count(curves.len() - limit, "curve"));
    }
    text
}

fn section(group: &VerdictGroup, limit: usize) -> String {
    let shown: Vec<&RowView> = group.shown.iter().take(limit).collect();
    let max_named = if limit == usize::MAX { limit } else { MAX_NAMED };
    let notes = Notes::new(&shown, &MarkdownStyle { name: &code, prose: &prose, rows: limit, max_named });
    table(&group.shown, limit) + &notes.text()
}

fn table(lines: &[RowView], limit: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let shape = Shape::new(lines);
    // The spread between rounds is a share of the figures: it is meaningless if no row has a relative change.
    let shape = Shape { rounds: shape.rounds && shape.changes, ..shape };
    let mut out = shape.head();
    for line in lines.iter().take(limit) {
        out += &shape.row(&stacked(&code(&line.name), &prose(&line.row.metric)), line, prose);
    }
    if lines.len() > limit {
        let more = lines.len() - limit;
        out += &format!("\nand {} more, in the JSON document.\n", count(more, "row"));
    }
    out
}

/// Reasons and next steps, with equal ones grouped: paragraphs and items of a list, in order.
#[derive(Default)]
pub(crate) struct Notes {
    pub items: Vec<String>,
    /// The note for all rows, or empty.
    pub together: String,
}

impl Notes {
    pub(crate) fn new(lines: &[&RowView], style: &MarkdownStyle) -> Self {
        let told: Vec<(&RowView, String)> = lines
            .iter()
            .map(|line| (*line, sentence(line, true, style)))
            .filter(|(_, said)| !said.is_empty())
            .collect();
        let [(first, whole), others @ ..] = told.as_slice() else { return Self::default() };
        if others.is_empty() || told.len() == lines.len() && others.iter().all(|(_, said)| said == whole) {
            let each = if others.is_empty() { "" } else { "For each: " };
            return Self { items: Vec::new(), together: format!("{each}{whole}\n") };
        }
        let same_next = others.iter().all(|(line, _)| line.row.next == first.row.next);
        let called = |line: &RowView| {
            format!("{} {}", (style.name)(&line.name), (style.prose)(&line.row.metric)).trim_end().to_owned()
        };
        let said = told.iter().map(|(line, _)| (sentence(line, !same_next, style), called(line)));
        let item = |(said, names): (String, Vec<String>)| {
            (!said.is_empty()).then(|| match names.as_slice() {
                [only] => format!("- {only}: {said}\n"),
                several => {
                    let rows = count(several.len(), "row");
                    format!("- {said} That holds for {rows}: {}.\n", named(several, style.max_named))
                }
            })
        };
        let next_of_all = if same_next && !first.row.next.is_empty() {
            format!("{}\n", next(&first.row.next, style))
        } else {
            String::new()
        };
        Self { items: together(said).into_iter().filter_map(item).collect(), together: next_of_all }
    }

    pub(crate) fn text(&self) -> String {
        let parts = [self.items.concat(), self.together.clone()];
        parts.iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}")).collect()
    }
}

fn sentence(line: &RowView, with_next: bool, style: &MarkdownStyle) -> String {
    let mut parts = Vec::new();
    if !line.row.reason.is_empty() {
        parts.push(format!("{}.", end(&line.row.reason, style)));
    }
    if let Some(trace) = line.row.trace() {
        parts.push(format!("Trace: {}.", end(trace, style)));
    }
    if with_next && !line.row.next.is_empty() {
        parts.push(next(&line.row.next, style));
    }
    parts.join(" ")
}

fn next(text: &str, style: &MarkdownStyle) -> String {
    format!("**Next:** {}.", end(text, style))
}

fn end(text: &str, style: &MarkdownStyle) -> String {
    (style.prose)(&capitalized(text.trim_end_matches('.')))
}

/// Fields in which the machines differ, as a table; empty if there are none.
pub(crate) fn differences(differences: &[&Difference]) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let shown = |value: &str| if value.is_empty() { "(none)".to_owned() } else { code(value) };
    let row = |it: &&Difference| [code(&it.field), shown(&it.base), shown(&it.head)];
    markdown::table("| field | base | head |\n|:--|:--|:--|", differences.iter().map(row))
}

/// The suites as a table, and the total speed in a sentence; empty if there are none.
pub(crate) fn suites(view: &VerdictView) -> String {
    if view.suites.is_empty() {
        return String::new();
    }
    let rows = view.suites.iter().map(|suite| {
        let count = |verdict| suite.count(verdict).to_string();
        let speed = suite.speedup.as_ref();
        let times =
            |part: fn(&Speedup) -> f64| speed.map_or(String::new(), |speed| number::times(part(speed)));
        [
            code(&suite.name),
            suite.conclusion().into_str().to_uppercase(),
            suite.rows().to_string(),
            count(Verdict::Regressed),
            count(Verdict::Improved),
            count(Verdict::Unchanged),
            count(Verdict::Inconclusive),
            suite.failed().to_string(),
            [Verdict::Mended, Verdict::Gone, Verdict::New]
                .map(|verdict| suite.count(verdict))
                .iter()
                .sum::<u32>()
                .to_string(),
            times(|speed| speed.geometric_mean),
            times(|speed| speed.worst.0),
            times(|speed| speed.best.0),
        ]
    });
    let mut out = markdown::table(
        "| suite | status | rows | regressed | improved | unchanged | inconclusive | failed | new | speedup | worst | best |\n\
         |:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        rows,
    );
    if let Some(Speedup { rows, unknown, geometric_mean, worst, best }) = &view.speedup {
        let extreme = |(factor, name): &(f64, String)| format!("{} ({})", number::times(*factor), code(name));
        let left_out = left_out(*unknown).map_or(String::new(), |left_out| format!("; {left_out}"));
        out += &format!(
            "\nSpeed of head against base, above 1 is faster: {} in the geometric mean over {}, worst {}, best {}{left_out}.\n",
            number::times(*geometric_mean),
            count(*rows as usize, "row"),
            extreme(worst),
            extreme(best),
        );
    }
    out
}
