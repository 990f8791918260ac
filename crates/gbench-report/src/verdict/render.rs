//! One verdict, or those of several machines, in the requested format. A merged report begins with the common facts; then
//! each machine follows under its label, as in a single report.

use std::io;

use quick_junit::{NonSuccessKind, TestCase};

use super::markdown::heading;
use super::summary::counts_text;
use super::view::VerdictView;
use super::{csv, jsonl, junit, markdown, terminal};
use crate::format::{Format, Options};
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::{markdown as prose, markdown_code as code};
use crate::layout::json;
use crate::layout::junit as junit_document;
use crate::layout::markdown::{bullets, fitted, part, table};
use crate::layout::terminal::{Style, TerminalLayout};
use gbench_compare::{Group, Merged, VerdictDocument};
use gbench_model::text::{capitalized, count};

/// Writes the verdict of a comparison. Errors: only those of `out`.
pub fn verdict(document: &VerdictDocument, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    let view = VerdictView::new(document);
    match options.format {
        Format::Terminal => out.write_all(terminal::render(&view, options.style, options.all).as_bytes()),
        Format::Markdown => {
            let page = fitted(options.all, markdown::MAX_ROWS, |limit| markdown::text(&view, limit));
            out.write_all(page.as_bytes())
        }
        Format::Json => json::render(document, out),
        Format::Jsonl => jsonl::render(None, document, out),
        Format::Csv => csv::render(&[("", view)], false, out),
        Format::Junit => junit_document::write(junit::cases(&view), out),
    }
}

/// Writes the verdicts of several machines; a single one without a label and without gaps is written as that machine's
/// verdict. Errors: only those of `out`.
pub fn merged(merged: &Merged, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    if let [only] = merged.groups.as_slice()
        && only.label.is_empty()
        && merged.warnings.is_empty()
        && options.format != Format::Json
    {
        return verdict(&only.verdict, options, out);
    }
    let views: Vec<(&str, VerdictView)> =
        merged.groups.iter().map(|group| (called(group), VerdictView::new(&group.verdict))).collect();
    match options.format {
        Format::Terminal => out.write_all(to_terminal(merged, &views, options.style, options.all).as_bytes()),
        Format::Markdown => {
            let page = fitted(options.all, markdown::MAX_ROWS, |limit| to_markdown(merged, &views, limit));
            out.write_all(page.as_bytes())
        }
        Format::Json => json::render(merged, out),
        Format::Jsonl => {
            let mut groups = merged.groups.iter();
            groups.try_for_each(|group| jsonl::render(Some(&group.label), &group.verdict, out))
        }
        Format::Csv => {
            let labels = merged.groups.iter().map(|group| &*group.label);
            let machines: Vec<_> = labels.zip(views.into_iter().map(|(_, view)| view)).collect();
            csv::render(&machines, true, out)
        }
        Format::Junit => junit_document::write(test_cases(merged, &views), out),
    }
}

fn called(group: &Group) -> &str {
    if group.label.is_empty() { "(no label)" } else { &group.label }
}

fn counts(merged: &Merged) -> String {
    let rows: u32 = merged.counts.values().sum();
    let counts = counts_text(&merged.counts);
    let colon = if counts.is_empty() { "" } else { ": " };
    format!("{} of {}{colon}{counts}", count(rows as usize, "row"), count(merged.groups.len(), "machine"))
}

fn to_terminal(merged: &Merged, views: &[(&str, VerdictView)], style: Style, all: bool) -> String {
    let mut page = TerminalLayout::new(style);
    let word = merged.conclusion.into_str().to_uppercase();
    page.headline(&word, &merged.sentence, merged.conclusion.into());
    page.blank();
    page.line(&capitalized(&counts(merged)));
    page.list("Missing", Emphasis::Bad, &merged.warnings);
    page.heading("Machines", Emphasis::Plain);
    let rows = views.iter().map(|(label, VerdictView { document, .. })| {
        [
            label.replace('\n', " "),
            document.conclusion.into_str().to_uppercase(),
            document.rows.len().to_string(),
            counts_text(&document.counts),
        ]
    });
    page.grid(&["machine", "status", "rows", "of these"], rows);
    for (label, view) in views {
        page.blank();
        page.rule();
        page.line(label);
        page.blank();
        page.insert(&terminal::render(view, style, all));
    }
    page.into_text()
}

fn to_markdown(merged: &Merged, views: &[(&str, VerdictView)], limit: usize) -> String {
    let sentence = prose(&capitalized(&merged.sentence));
    let mut page = format!("# {}\n\n**{sentence}**\n\n", heading(merged.conclusion));
    page += &format!("{}.\n\n", prose(&capitalized(&counts(merged))));
    part(&mut page, "Missing", &bullets(&merged.warnings));
    page += &table(
        "| machine | status | rows | of these |\n|:--|:--|--:|:--|",
        views.iter().map(|(label, VerdictView { document, .. })| {
            let counts = prose(&counts_text(&document.counts));
            [code(label), heading(document.conclusion), document.rows.len().to_string(), counts]
        }),
    );
    for (label, view) in views {
        page += &format!("\n# {}\n\n{}", code(label), markdown::text(view, limit));
    }
    page
}

/// Suites are named after their machine; a missing machine is a separate error.
fn test_cases(merged: &Merged, views: &[(&str, VerdictView)]) -> Vec<(String, TestCase)> {
    let of_machine = |(label, view): &(&str, VerdictView)| {
        let named = |(suite, case)| (format!("{label}: {suite}"), case);
        junit::cases(view).into_iter().map(named).collect::<Vec<_>>()
    };
    let missing = merged.warnings.iter().map(|warning| {
        let status = junit_document::non_success(NonSuccessKind::Error, warning, "missing");
        ("gbench-ci merge".to_owned(), TestCase::new("parts", status))
    });
    views.iter().flat_map(of_machine).chain(missing).collect()
}
