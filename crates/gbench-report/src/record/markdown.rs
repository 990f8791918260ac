//! One run in GitHub-flavoured Markdown, in the order of the terminal's report.

use std::fmt::Write;

use super::metric::{MetricView, Rank};
use super::view::{RunView, UnmeasuredCases};
use crate::layout::escape::{markdown as prose, markdown_block, markdown_code as code};
use crate::layout::grouped::{MAX_NAMED, named};
use crate::layout::markdown::{bullets, details, facts, table};
use crate::layout::table::Table;
use gbench_model::text::{capitalized, count};

/// Rows of a table before the rest is only counted.
const MAX_ROWS: usize = 100;

/// Problems whose ranking is shown before the rest is only counted.
const MAX_PROBLEMS: usize = 20;

/// How much of a run stands on its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageExtent {
    /// Tables are cut after so many rows.
    Cut,
    /// Of every case what a comparison judges, and what many cases share said once.
    Kept,
    /// Nothing is cut.
    All,
}

/// The report.
pub(super) fn text(view: &RunView, extent: PageExtent) -> String {
    let all = extent == PageExtent::All;
    let (word, emphasis) = view.status().shown();
    let [max_rows, max_problems] =
        [MAX_ROWS, MAX_PROBLEMS].map(|max| if extent == PageExtent::Cut { max } else { usize::MAX });
    let max_named = if all { usize::MAX } else { MAX_NAMED };
    let sentence = prose(&capitalized(&view.sentence()));
    let mut page = format!("## {} {word}\n\n**{sentence}.**\n\n", emphasis.look().sign);
    page += &facts(&view.context(), prose);
    if !view.troubled.is_empty() {
        let troubles = view.troubles();
        let rows = troubles.iter().map(|UnmeasuredCases { outcome, names, trace }| {
            let trace = trace.as_ref().map_or(String::new(), |trace| format!("; trace: {}", prose(trace)));
            let codes: Vec<String> = names.iter().map(|name| code(name)).collect();
            let who = match codes.as_slice() {
                [only] => only.clone(),
                several => format!("{}: {}", count(several.len(), "case"), named(several, max_named)),
            };
            let why = format!("{}{trace}", prose(&outcome.cause()));
            [who, outcome.into_str().to_owned(), why, prose(outcome.advice())]
        });
        page += "\n### Not measured\n\n";
        page += &table("| case | outcome | why | next |\n|:--|:--|:--|:--|", rows);
    }
    let (lines, left_out) = view.shown_lines(all);
    if !lines.is_empty() {
        let _ = write!(page, "\n### Measured\n\n{}", metrics(&lines, max_rows));
        if let Some(text) = view.left_out(left_out) {
            let _ = write!(page, "\n{text}\n");
        }
    }
    for table in &view.tables {
        let _ = write!(page, "\n### {}\n\n{}", prose(&table.title), body(table, max_rows));
    }
    if !view.problems.is_empty() {
        page += &ranking(view, max_problems);
    }
    if !view.findings.is_empty() {
        page += "\n### To know before trusting these figures\n\n";
        for finding in &view.findings {
            let _ = writeln!(page, "- {}. **Next:** {}.", prose(&finding.fact), prose(&finding.next));
        }
    }
    let warnings = view.warnings(max_named);
    if !warnings.is_empty() {
        let _ = write!(page, "\n### Warnings\n\n{}", bullets(&warnings));
    }
    if !view.resources.is_empty() {
        let _ = write!(page, "\n{}", details("Resources", &resources(view, max_rows)));
    }
    if let Some(table) = &view.telemetry {
        let _ = write!(page, "\n{}", details(&table.title, &body(table, max_rows)));
    }
    if !view.profiles.is_empty() {
        let _ = write!(page, "\n{}", details("Profiles", &view.profiles.markdown()));
    }
    if !view.environment.is_empty() {
        let _ = write!(page, "\n{}", details("Environment", &facts(&view.environment, prose)));
    }
    if !view.record.command.is_empty() {
        let block = markdown_block("sh", &view.command());
        let _ = write!(page, "\n{}", details("Run again with", &block));
    }
    page
}

/// What stands below the title of a table of figures.
fn body(table: &Table, limit: usize) -> String {
    let rule = format!("|:--|{}", "--:|".repeat(table.columns.len() - 1));
    let mut page = if table.rows.is_empty() { String::new() } else { table.markdown(&rule, limit) };
    if let Some(more) = table.rows.len().checked_sub(limit).filter(|more| *more > 0) {
        let _ = write!(page, "\nand {more} more rows, in the report with `--all`.\n");
    }
    page.extend(table.notes.iter().map(|note| format!("\n{}.\n", prose(note))));
    page
}

fn metrics(lines: &[&MetricView], limit: usize) -> String {
    let rows = lines.iter().take(limit).map(|line| {
        let effort = line.effort.replace(" x ", " × ");
        [code(&line.name), prose(&line.metric.name), prose(&line.median), line.spread_text(), effort]
    });
    table("| case | metric | median | spread | samples |\n|:--|:--|--:|--:|--:|", rows)
        + &rest(lines.len(), limit, "metric", "JSON document")
        + "\nMedian over processes, spread between processes, processes × samples of each.\n"
}

fn ranking(view: &RunView, limit: usize) -> String {
    let mut out = String::from("\n### Ranking\n");
    for problem in view.problems.iter().take(limit) {
        let rows = problem.entries.iter().map(|entry| {
            let line = &view.lines[entry.line];
            let place = match &line.place {
                Some(place) if place.rank == 1 => format!("**{}**", place.text()),
                place => place.as_ref().map_or(String::new(), Rank::text),
            };
            [code(&entry.name), prose(&line.median), line.spread_text(), place]
        });
        let answers = table("| case | median | spread | vs best |\n|:--|--:|--:|:--|", rows);
        out += &format!("\n**{}**\n\n{answers}\n{}.\n", prose(&problem.title), prose(&problem.conclusion));
    }
    out + &rest(view.problems.len(), limit, "problem", "CSV table")
}

fn resources(view: &RunView, limit: usize) -> String {
    let rows = view.resources.iter().take(limit).map(|case| case.row(code(&case.name)));
    table("| case | resident set | device memory | CPU time | energy |\n|:--|--:|--:|--:|--:|", rows)
        + &rest(view.resources.len(), limit, "case", "JSON document")
        + &format!("\n{}\n", view.of_resources())
}

/// Where to find what `limit` keeps off the page; nothing where all of it is there.
fn rest(total: usize, limit: usize, noun: &str, place: &str) -> String {
    match total.checked_sub(limit) {
        None | Some(0) => String::new(),
        Some(more) => format!("\nand {} more, in the {place}.\n", count(more, noun)),
    }
}
