//! One run in GitHub-flavoured Markdown, in the order of the terminal's report.

use std::fmt::Write;

use super::view::environment::environment;
use super::view::findings::RunFinding;
use super::view::metric::{MetricView, Rank};
use super::view::ranking::Problem;
use super::view::run::{RunView, UnmeasuredCases};
use crate::layout::escape::{markdown as prose, markdown_code as code};
use crate::layout::grouped::{MAX_NAMED, named};
use crate::layout::markdown::{bullets, command, facts, fitted, fold, part, table};
use crate::layout::table::ReportTable;
use crate::profile::kernels::RunProfiles;
use gbench_model::text::{capitalized, count};

const MAX_ROWS: usize = 100;

const MAX_PROBLEMS: usize = 20;

/// How much of a run its page contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageExtent {
    Cut,
    /// The judged metrics of every case as far as the page's limit allows, and shared facts once.
    Kept,
    All,
}

pub(super) fn text(view: &RunView, extent: PageExtent) -> String {
    let most = if extent == PageExtent::Cut { MAX_ROWS } else { usize::MAX };
    fitted(extent == PageExtent::All, most, |limit| cut_to(view, extent, limit))
}

/// `limit`: the most rows of a table.
fn cut_to(view: &RunView, extent: PageExtent, limit: usize) -> String {
    let all = extent == PageExtent::All;
    let (word, emphasis) = view.status().shown();
    let max_problems = if extent == PageExtent::Cut { limit.min(MAX_PROBLEMS) } else { limit };
    let max_named = if all { usize::MAX } else { MAX_NAMED };
    let sentence = prose(&capitalized(&view.sentence()));
    let mut page = format!("## {} {word}\n\n**{sentence}.**\n\n", emphasis.look().sign);
    page += &format!("{}\n", facts(&view.context(), prose));
    part(&mut page, "Not measured", &troubles(view, max_named, limit));
    let (lines, left_out) = view.shown_lines(all);
    let left_out = view.left_out(left_out).map_or(String::new(), |text| format!("\n{text}\n"));
    part(&mut page, "Measured", &(metrics(&lines, limit) + &left_out));
    for table in view.tables.iter().take(limit) {
        part(&mut page, &prose(&table.title), &body(table, limit));
    }
    page += &rest(view.tables.len(), limit, "table", "JSON document");
    part(&mut page, "Ranking", &ranking(view, max_problems, limit));
    let finding = |it: &RunFinding| format!("- {}. **Next:** {}.\n", prose(&it.fact), prose(&it.next));
    let findings: String = view.findings.iter().map(finding).collect();
    part(&mut page, "To know before trusting these figures", &findings);
    let warnings = view.warnings(max_named);
    let told = bullets(&warnings[..warnings.len().min(limit)]);
    part(&mut page, "Warnings", &(told + &rest(warnings.len(), limit, "warning", "JSON document")));
    fold(&mut page, "Resources", &resources(view, limit));
    if let Some(table) = &view.telemetry {
        fold(&mut page, &table.title, &body(table, limit));
    }
    fold(&mut page, "Profiles", &RunProfiles::of(view.record).markdown());
    fold(&mut page, "Environment", &facts(&environment(view.record), prose));
    if !view.record.command.is_empty() {
        fold(&mut page, "Run again with", &command(&view.command()));
    }
    page.trim_end().to_owned() + "\n"
}

/// The cases that did not end well, as a table; empty if there are none.
fn troubles(view: &RunView, max_named: usize, limit: usize) -> String {
    let row = |UnmeasuredCases { outcome, names, trace }: &UnmeasuredCases| {
        let trace = trace.as_ref().map_or(String::new(), |trace| format!("; trace: {}", prose(trace)));
        let codes: Vec<String> = names.iter().map(|name| code(name)).collect();
        let who = match codes.as_slice() {
            [only] => only.clone(),
            several => format!("{}: {}", count(several.len(), "case"), named(several, max_named)),
        };
        let why = format!("{}{trace}", prose(&outcome.cause()));
        [who, outcome.into_str().to_owned(), why, prose(outcome.advice())]
    };
    let troubles = view.troubles();
    if troubles.is_empty() {
        return String::new();
    }
    table("| case | outcome | why | next |\n|:--|:--|:--|:--|", troubles.iter().take(limit).map(row))
        + &rest(troubles.len(), limit, "reason", "JSON document")
}

fn body(table: &ReportTable, limit: usize) -> String {
    let rule = format!("|:--|{}", "--:|".repeat(table.columns.len() - 1));
    let mut page = if table.rows.is_empty() { String::new() } else { table.markdown(&rule, limit) };
    if let Some(more) = table.rows.len().checked_sub(limit).filter(|more| *more > 0) {
        let _ = write!(page, "\nand {more} more rows, in the report with `--all`.\n");
    }
    page.extend(table.notes.iter().map(|note| format!("\n{}.\n", prose(note))));
    page
}

fn metrics(lines: &[&MetricView], limit: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let rows = lines.iter().take(limit).map(|line| {
        let effort = line.effort.replace(" x ", " × ");
        [code(&line.name), prose(&line.metric.name), prose(&line.median), line.spread_text(), effort]
    });
    table("| case | metric | median | spread | samples |\n|:--|:--|--:|--:|--:|", rows)
        + &rest(lines.len(), limit, "metric", "JSON document")
        + "\nMedian over processes, spread between processes, processes × samples of each.\n"
}

fn ranking(view: &RunView, max_problems: usize, limit: usize) -> String {
    let problem = |problem: &Problem| {
        let rows = problem.entries.iter().take(limit).map(|entry| {
            let line = &view.lines[entry.line];
            let place = match &line.place {
                Some(place) if place.rank == 1 => format!("**{}**", place.text()),
                place => place.as_ref().map_or(String::new(), Rank::text),
            };
            [code(&entry.name), prose(&line.median), line.spread_text(), place]
        });
        let answers = table("| case | median | spread | vs best |\n|:--|--:|--:|:--|", rows);
        let more = rest(problem.entries.len(), limit, "answer", "CSV table");
        format!("**{}**\n\n{answers}{more}\n{}.\n", prose(&problem.title), prose(&problem.conclusion))
    };
    let problems: Vec<String> = view.problems.iter().take(max_problems).map(problem).collect();
    problems.join("\n") + &rest(view.problems.len(), max_problems, "problem", "CSV table")
}

fn resources(view: &RunView, limit: usize) -> String {
    if view.resources.is_empty() {
        return String::new();
    }
    let rows = view.resources.iter().take(limit).map(|case| case.row(code(&case.name)));
    table("| case | resident set | device memory | CPU time | energy |\n|:--|--:|--:|--:|--:|", rows)
        + &rest(view.resources.len(), limit, "case", "JSON document")
        + &format!("\n{}\n", view.of_resources())
}

/// Where to find the rows beyond `limit`; empty if there are none.
fn rest(total: usize, limit: usize, noun: &str, place: &str) -> String {
    match total.checked_sub(limit) {
        None | Some(0) => String::new(),
        Some(more) => format!("\nand {} more, in the {place}.\n", count(more, noun)),
    }
}
