//! One run in GitHub-flavoured Markdown, in the order of the terminal's report.

use std::fmt::Write;

use super::metric::Rank;
use super::view::{RunView, UnmeasuredCases};
use crate::model::text::{capitalized, count};
use crate::report::layout::escape::{markdown as prose, markdown_block, markdown_code as code};
use crate::report::layout::grouped::{MAX_NAMED, named};
use crate::report::layout::markdown::{bullets, details, facts};

/// Rows of a table before the rest is only counted.
const MAX_ROWS: usize = 100;

/// Problems whose ranking is shown before the rest is only counted.
const MAX_PROBLEMS: usize = 20;

/// The report. `all`: nothing is cut.
pub(super) fn text(view: &RunView, all: bool) -> String {
    let (word, emphasis) = view.status().shown();
    let [max_rows, max_problems, max_named] =
        [MAX_ROWS, MAX_PROBLEMS, MAX_NAMED].map(|max| if all { usize::MAX } else { max });
    let sentence = prose(&capitalized(&view.sentence()));
    let mut page = format!("## {} {word}\n\n**{sentence}.**\n\n", emphasis.sign());
    page += &facts(&view.context(), prose);
    if !view.troubled.is_empty() {
        page += "\n### Not measured\n\n| case | outcome | why | next |\n|:--|:--|:--|:--|\n";
        for UnmeasuredCases { outcome, names, trace } in view.troubles() {
            let (mut why, next) = (prose(&outcome.cause()), prose(outcome.advice()));
            if let Some(trace) = trace {
                why += &format!("; trace: {}", prose(&trace));
            }
            let codes: Vec<String> = names.iter().map(|name| code(name)).collect();
            let who = match codes.as_slice() {
                [only] => only.clone(),
                several => format!("{}: {}", count(several.len(), "case"), named(several, max_named)),
            };
            let _ = writeln!(page, "| {who} | {} | {why} | {next} |", outcome.into_str());
        }
    }
    if !view.lines.is_empty() {
        let _ = write!(page, "\n### Measured\n\n{}", table(view, max_rows));
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
    if !view.record.command.is_empty() {
        let block = markdown_block("sh", &view.command());
        let _ = write!(page, "\n{}", details("Run again with", &block));
    }
    page
}

fn table(view: &RunView, limit: usize) -> String {
    let mut out = String::from("| case | metric | median | spread | samples |\n|:--|:--|--:|--:|--:|\n");
    for line in view.lines.iter().take(limit) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            code(&line.name),
            prose(&line.metric.name),
            prose(&line.median),
            line.spread_text(),
            line.effort.replace(" x ", " × "),
        );
    }
    out += &rest(view.lines.len(), limit, "metric", "JSON document");
    out + "\nMedian over processes, spread between processes, processes × samples of each.\n"
}

fn ranking(view: &RunView, limit: usize) -> String {
    let mut out = String::from("\n### Ranking\n");
    for problem in view.problems.iter().take(limit) {
        let _ = write!(out, "\n**{}**\n\n", prose(&problem.title));
        out += "| case | median | spread | vs best |\n|:--|--:|--:|:--|\n";
        for entry in &problem.entries {
            let line = &view.lines[entry.line];
            let (median, spread) = (prose(&line.median), line.spread_text());
            let place = match &line.place {
                Some(place) if place.rank == 1 => format!("**{}**", place.text()),
                place => place.as_ref().map_or(String::new(), Rank::text),
            };
            let _ = writeln!(out, "| {} | {median} | {spread} | {place} |", code(&entry.name));
        }
        let _ = write!(out, "\n{}.\n", prose(&problem.conclusion));
    }
    out + &rest(view.problems.len(), limit, "problem", "CSV table")
}

fn resources(view: &RunView, limit: usize) -> String {
    let mut out = String::from("| case | resident set | device memory | CPU time |\n|:--|--:|--:|--:|\n");
    for case in view.resources.iter().take(limit) {
        let (resident, device, cpu) = (&case.resident, &case.device, &case.cpu);
        let _ = writeln!(out, "| {} | {resident} | {device} | {cpu} |", code(&case.name));
    }
    out += &rest(view.resources.len(), limit, "case", "JSON document");
    out + &format!("\n{}\n", view.of_resources())
}

/// Where to find what `limit` keeps off the page; nothing where all of it is there.
fn rest(total: usize, limit: usize, noun: &str, place: &str) -> String {
    match total.checked_sub(limit) {
        None | Some(0) => String::new(),
        Some(more) => format!("\nand {} more, in the {place}.\n", count(more, noun)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::test_support as records;

    #[test]
    fn a_run_has_its_page() {
        insta::assert_snapshot!("mixed", text(&RunView::new(&records::record()), false));
        insta::assert_snapshot!("contested", text(&RunView::new(&records::contested()), false));
        insta::assert_snapshot!("wasteful", text(&RunView::new(&records::wasteful()), false));
        insta::assert_snapshot!("killed", text(&RunView::new(&records::killed()), false));
        insta::assert_snapshot!("hostile", text(&RunView::new(&records::hostile()), false));
    }
}
