//! One run in GitHub-flavoured Markdown, in the order of the terminal's report.

use std::fmt::Write;
use std::io;

use super::{Digest, Standing};
use crate::report::escape::{markdown as prose, markdown_block, markdown_code as code};
use crate::report::markdown::details;
use crate::report::rows::{capitalized, plural};

/// Rows of the table before the rest is only counted.
const ROWS: usize = 100;

/// Writes the report. `all`: the table is not cut.
pub fn render(digest: &Digest, all: bool, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    out.write_all(text(digest, all).as_bytes())
}

fn text(digest: &Digest, all: bool) -> String {
    let (sign, word) = match digest.standing() {
        Standing::Failed => ("❌", "FAILED"),
        Standing::Incomplete => ("⚠️", "INCOMPLETE"),
        Standing::Measured => ("✅", "MEASURED"),
    };
    let mut page = format!("## {sign} {word}\n\n**{}.**\n\n", prose(&capitalized(&digest.sentence())));
    for (label, text) in digest.context() {
        let _ = writeln!(page, "- **{label}**: {}", prose(&text));
    }
    if !digest.troubled.is_empty() {
        page += "\n### Not measured\n\n| case | outcome | why | next |\n|:--|:--|:--|:--|\n";
        for (case, name) in &digest.troubled {
            let outcome = &case.outcome;
            let (why, next) = (prose(&outcome.cause()), prose(outcome.advice()));
            let _ = writeln!(page, "| {} | {} | {why} | {next} |", code(name), outcome.word());
        }
    }
    if !digest.lines.is_empty() {
        let _ = write!(page, "\n### Measured\n\n{}", table(digest, if all { usize::MAX } else { ROWS }));
    }
    if !digest.findings.is_empty() {
        page += "\n### To know before trusting these figures\n\n";
        for finding in &digest.findings {
            let _ = writeln!(page, "- {}. **Next:** {}.", prose(&finding.fact), prose(&finding.next));
        }
    }
    let warnings = digest.warnings();
    if !warnings.is_empty() {
        page += "\n### Warnings\n\n";
        for warning in &warnings {
            let _ = writeln!(page, "- {}", prose(warning));
        }
    }
    if !digest.record.command.is_empty() {
        let block = markdown_block("sh", &digest.command());
        let _ = write!(page, "\n{}", details("Run again with", &block));
    }
    page
}

fn table(digest: &Digest, limit: usize) -> String {
    let mut out =
        String::from("| case | metric | median | spread | samples | memory |\n|:--|:--|--:|--:|--:|--:|\n");
    for line in digest.lines.iter().take(limit) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            code(&line.name),
            prose(&line.metric.name),
            prose(&line.median),
            line.spread_text(),
            line.effort.replace(" x ", " × "),
            line.memory,
        );
    }
    if digest.lines.len() > limit {
        let more = digest.lines.len() - limit;
        let _ = writeln!(out, "\nand {} more, in the JSON document.", plural(more, "metric"));
    }
    out + "\nMedian over processes, spread between processes, processes × samples of each, largest resident set.\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::test_support as records;

    #[test]
    fn a_run_has_its_page() {
        insta::assert_snapshot!("mixed", text(&Digest::new(&records::record()), false));
        insta::assert_snapshot!("killed", text(&Digest::new(&records::killed()), false));
        insta::assert_snapshot!("hostile", text(&Digest::new(&records::hostile()), false));
    }
}
