//! One run in GitHub-flavoured Markdown, in the order of the terminal's report.

use std::fmt::Write;
use std::io;

use super::{Digest, MOST_NAMED, Place, Standing, Trouble};
use crate::report::alike::named;
use crate::report::escape::{markdown as prose, markdown_block, markdown_code as code};
use crate::report::markdown::details;
use crate::report::rows::{capitalized, plural};

/// Rows of a table before the rest is only counted.
const ROWS: usize = 100;

/// Problems whose ranking is shown before the rest is only counted.
const PROBLEMS: usize = 20;

/// Writes the report. `all`: nothing is cut.
pub fn render(digest: &Digest, all: bool, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    out.write_all(text(digest, all).as_bytes())
}

fn text(digest: &Digest, all: bool) -> String {
    let (sign, word) = match digest.standing() {
        Standing::Failed => ("❌", "FAILED"),
        Standing::Incomplete => ("⚠️", "INCOMPLETE"),
        Standing::Measured => ("✅", "MEASURED"),
    };
    let most_named = if all { usize::MAX } else { MOST_NAMED };
    let mut page = format!("## {sign} {word}\n\n**{}.**\n\n", prose(&capitalized(&digest.sentence())));
    for (label, text) in digest.context() {
        let _ = writeln!(page, "- **{label}**: {}", prose(&text));
    }
    if !digest.troubled.is_empty() {
        page += "\n### Not measured\n\n| case | outcome | why | next |\n|:--|:--|:--|:--|\n";
        for Trouble { outcome, names, trace } in digest.troubles() {
            let (mut why, next) = (prose(&outcome.cause()), prose(outcome.advice()));
            if let Some(trace) = trace {
                why += &format!("; trace: {}", prose(&trace));
            }
            let codes: Vec<String> = names.iter().map(|name| code(name)).collect();
            let who = match codes.as_slice() {
                [only] => only.clone(),
                several => format!("{}: {}", plural(several.len(), "case"), named(several, most_named)),
            };
            let _ = writeln!(page, "| {who} | {} | {why} | {next} |", outcome.word());
        }
    }
    if !digest.lines.is_empty() {
        let _ = write!(page, "\n### Measured\n\n{}", table(digest, if all { usize::MAX } else { ROWS }));
    }
    if !digest.problems.is_empty() {
        page += &ranking(digest, if all { usize::MAX } else { PROBLEMS });
    }
    if !digest.findings.is_empty() {
        page += "\n### To know before trusting these figures\n\n";
        for finding in &digest.findings {
            let _ = writeln!(page, "- {}. **Next:** {}.", prose(&finding.fact), prose(&finding.next));
        }
    }
    let warnings = digest.warnings(most_named);
    if !warnings.is_empty() {
        page += "\n### Warnings\n\n";
        for warning in &warnings {
            let _ = writeln!(page, "- {}", prose(warning));
        }
    }
    if !digest.resources.is_empty() {
        let table = resources(digest, if all { usize::MAX } else { ROWS });
        let _ = write!(page, "\n{}", details("Resources", &table));
    }
    if !digest.record.command.is_empty() {
        let block = markdown_block("sh", &digest.command());
        let _ = write!(page, "\n{}", details("Run again with", &block));
    }
    page
}

fn table(digest: &Digest, limit: usize) -> String {
    let mut out = String::from("| case | metric | median | spread | samples |\n|:--|:--|--:|--:|--:|\n");
    for line in digest.lines.iter().take(limit) {
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
    out += &rest(digest.lines.len(), limit, "metric", "JSON document");
    out + "\nMedian over processes, spread between processes, processes × samples of each.\n"
}

fn ranking(digest: &Digest, limit: usize) -> String {
    let mut out = String::from("\n### Ranking\n");
    for problem in digest.problems.iter().take(limit) {
        let _ = write!(out, "\n**{}**\n\n", prose(&problem.title));
        out += "| case | median | spread | vs best |\n|:--|--:|--:|:--|\n";
        for entry in &problem.entries {
            let line = &digest.lines[entry.line];
            let (median, spread) = (prose(&line.median), line.spread_text());
            let place = match &line.place {
                Some(place) if place.rank == 1 => format!("**{}**", place.text()),
                place => place.as_ref().map_or(String::new(), Place::text),
            };
            let _ = writeln!(out, "| {} | {median} | {spread} | {place} |", code(&entry.name));
        }
        let _ = write!(out, "\n{}.\n", prose(&problem.conclusion));
    }
    out + &rest(digest.problems.len(), limit, "problem", "CSV table")
}

fn resources(digest: &Digest, limit: usize) -> String {
    let mut out = String::from("| case | resident set | device memory | CPU time |\n|:--|--:|--:|--:|\n");
    for case in digest.resources.iter().take(limit) {
        let (resident, device, cpu) = (&case.resident, &case.device, &case.cpu);
        let _ = writeln!(out, "| {} | {resident} | {device} | {cpu} |", code(&case.name));
    }
    out += &rest(digest.resources.len(), limit, "case", "JSON document");
    out + &format!("\n{}\n", digest.of_resources())
}

/// Where to find what `limit` keeps off the page; nothing where all of it is there.
fn rest(count: usize, limit: usize, noun: &str, place: &str) -> String {
    match count.checked_sub(limit) {
        None | Some(0) => String::new(),
        Some(more) => format!("\nand {} more, in the {place}.\n", plural(more, noun)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::test_support as records;

    #[test]
    fn a_run_has_its_page() {
        insta::assert_snapshot!("mixed", text(&Digest::new(&records::record()), false));
        insta::assert_snapshot!("contested", text(&Digest::new(&records::contested()), false));
        insta::assert_snapshot!("wasteful", text(&Digest::new(&records::wasteful()), false));
        insta::assert_snapshot!("killed", text(&Digest::new(&records::killed()), false));
        insta::assert_snapshot!("hostile", text(&Digest::new(&records::hostile()), false));
    }
}
