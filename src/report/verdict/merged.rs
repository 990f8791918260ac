//! Several verdicts as one report: what holds for all first, then each machine under its label, in the same way as alone.
//! A document of one machine without a label and without gaps reads as that machine's own.

use std::collections::BTreeMap;
use std::io;

use quick_junit::TestCase;

use super::status::{conclusion_mark, conclusion_sign, conclusion_word, counts_text, emphasis_of};
use super::view::VerdictView;
use super::{csv, jsonl, junit, markdown, single, terminal};
use crate::compare::{Group, Merged};
use crate::model::text::{capitalized, count};
use crate::report::format::{Format, Options};
use crate::report::layout::escape::{markdown as prose, markdown_code as code, visible};
use crate::report::layout::json;
use crate::report::layout::junit as junit_document;
use crate::report::layout::terminal::{Emphasis, Grid, GridRow, Style, TerminalLayout};

/// The label of a machine without one.
const NAMELESS: &str = "(no label)";

/// Writes the verdicts of several machines. Errors: only those of `out`.
pub fn merged(merged: &Merged, options: &Options, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let views: Vec<(&str, VerdictView)> =
        merged.groups.iter().map(|group| (called(group), VerdictView::new(&group.verdict))).collect();
    if let [(_, only)] = views.as_slice()
        && is_plain(merged)
        && options.format != Format::Json
    {
        return single::verdict(only.document, options, out);
    }
    match options.format {
        Format::Terminal => to_terminal(merged, &views, options, out),
        Format::Markdown => {
            let page = |limit| to_markdown(merged, &views, limit);
            let page = if options.all { page(usize::MAX) } else { markdown::fitted(page) };
            out.write_all(page.as_bytes())
        }
        Format::Json => json::render(merged, out),
        Format::Jsonl => merged
            .groups
            .iter()
            .try_for_each(|group| jsonl::render_labelled(Some(&group.label), &group.verdict, out)),
        Format::Csv => {
            let labels = merged.groups.iter().map(|group| &*group.label);
            csv::render_labelled(labels.zip(views.iter().map(|(_, view)| view)), out)
        }
        Format::Junit => to_junit(merged, &views, out),
    }
}

/// One machine without a name, and nothing missing.
fn is_plain(merged: &Merged) -> bool {
    merged.warnings.is_empty() && matches!(merged.groups.as_slice(), [only] if only.label.is_empty())
}

fn called(group: &Group) -> &str {
    if group.label.is_empty() { NAMELESS } else { &group.label }
}

/// `24 rows of 2 machines: 1 regressed, 23 unchanged`.
fn counts(merged: &Merged) -> String {
    let rows: u32 = merged.counts.values().sum();
    let counts = counts_text(&merged.counts);
    let colon = if counts.is_empty() { "" } else { ": " };
    format!("{} of {}{colon}{counts}", count(rows as usize, "row"), count(merged.groups.len(), "machine"))
}

fn to_terminal(
    merged: &Merged,
    views: &[(&str, VerdictView)],
    options: &Options,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let style: Style = options.style;
    let mut page = TerminalLayout::new(&mut *out, style);
    let conclusion = merged.conclusion;
    page.headline(
        conclusion_mark(conclusion),
        conclusion_word(conclusion),
        &merged.sentence,
        emphasis_of(conclusion),
    )?;
    page.blank()?;
    page.line(&capitalized(&counts(merged)))?;
    if !merged.warnings.is_empty() {
        page.heading("Missing", Emphasis::Bad)?;
        merged.warnings.iter().try_for_each(|warning| page.note("-", warning))?;
    }
    page.heading("Machines", Emphasis::Plain)?;
    let rows = views.iter().map(|(label, view)| GridRow {
        cells: vec![
            label.replace('\n', " "),
            conclusion_word(view.document.conclusion).to_owned(),
            view.document.rows.len().to_string(),
            counts_text(&view.document.counts),
        ],
        notes: Vec::new(),
    });
    let header = vec!["machine", "status", "rows", "of these"];
    page.grid(&Grid { header, rows: rows.collect() })?;
    for (label, view) in views {
        let mut page = TerminalLayout::new(&mut *out, style);
        page.blank()?;
        page.rule()?;
        page.line(label)?;
        page.blank()?;
        terminal::render(view, style, options.all, &mut *out)?;
    }
    Ok(())
}

fn to_markdown(merged: &Merged, views: &[(&str, VerdictView)], limit: usize) -> String {
    let (sign, word) = (conclusion_sign(merged.conclusion), conclusion_word(merged.conclusion));
    let mut page = format!("# {sign} {word}\n\n**{}**\n\n", prose(&capitalized(&merged.sentence)));
    page += &format!("{}.\n\n", prose(&capitalized(&counts(merged))));
    if !merged.warnings.is_empty() {
        let warnings = merged.warnings.iter().map(|warning| format!("- {}\n", prose(warning)));
        page += &format!("### Missing\n\n{}\n", warnings.collect::<String>());
    }
    page += "| machine | status | rows | of these |\n|:--|:--|--:|:--|\n";
    for (label, view) in views {
        let document = view.document;
        let (sign, word) = (conclusion_sign(document.conclusion), conclusion_word(document.conclusion));
        let counts = prose(&counts_text(&document.counts));
        page += &format!("| {} | {sign} {word} | {} | {counts} |\n", code(label), document.rows.len());
    }
    for (label, view) in views {
        page += &format!("\n# {}\n\n{}", code(label), markdown::text(view, limit));
    }
    page
}

/// Suites are called after their machine; what is missing is an error of its own.
fn to_junit(
    merged: &Merged,
    views: &[(&str, VerdictView)],
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let mut named: BTreeMap<String, Vec<TestCase>> = BTreeMap::new();
    for (label, view) in views {
        for (suite, cases) in junit::suites(view) {
            named.entry(format!("{label}: {suite}")).or_default().extend(cases);
        }
    }
    let missing = merged
        .warnings
        .iter()
        .map(|warning| TestCase::new("parts", junit_document::error(warning, "missing")));
    let missing: Vec<TestCase> = missing.collect();
    if !missing.is_empty() {
        named.entry("gbench-ci merge".into()).or_default().extend(missing);
    }
    let visible: BTreeMap<String, Vec<TestCase>> =
        named.into_iter().map(|(name, cases)| (visible(&name).into_owned(), cases)).collect();
    junit_document::write(visible.iter().map(|(name, cases)| (name.as_str(), cases.clone())).collect(), out)
}
