//! One run for a terminal or a CI log: what failed first, then what was measured, then what to mistrust.

use std::io;

use super::metric::Rank;
use super::ranking::Problem;
use super::view::{RunStatus, RunView, UnmeasuredCases};
use crate::model::text::count;
use crate::report::layout::grouped::{MOST_NAMED, named};
use crate::report::layout::terminal::{Emphasis, Grid, GridRow, Style, TerminalLayout};

/// Writes the report. `all`: with what each case took of the machine and the command that was run.
pub(in crate::report) fn render(
    view: &RunView,
    style: Style,
    all: bool,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let mut page = TerminalLayout::new(out, style);
    let most_named = if all { usize::MAX } else { MOST_NAMED };
    let (mark, word, emphasis) = match view.status() {
        RunStatus::Failed => ('✗', "FAILED", Emphasis::Bad),
        RunStatus::Incomplete => ('?', "INCOMPLETE", Emphasis::Doubt),
        RunStatus::Measured => ('✓', "MEASURED", Emphasis::Good),
    };
    page.headline(mark, word, &format!("{}.", view.sentence()), emphasis)?;
    page.blank()?;
    page.facts(&view.context())?;
    if !view.troubled.is_empty() {
        page.heading("Not measured", Emphasis::Bad)?;
        for UnmeasuredCases { outcome, names, trace } in view.troubles() {
            let (who, names) = match names.as_slice() {
                [only] => ((*only).to_owned(), String::new()),
                several => (count(several.len(), "case"), named(several, most_named)),
            };
            page.note("", &format!("{who} - {}", outcome.into_str()))?;
            let (trace, next) = (trace.unwrap_or_default(), outcome.advice().to_owned());
            for (label, text) in
                [("why", outcome.cause()), ("trace", trace), ("next", next), ("cases", names)]
            {
                if !text.is_empty() {
                    page.inner_note(label, &text)?;
                }
            }
        }
    }
    if !view.lines.is_empty() {
        page.heading("Measured", Emphasis::Good)?;
        page.grid(&table(view))?;
        page.note("", "Median over processes, spread between processes, processes x samples of each.")?;
    }
    for problem in &view.problems {
        page.heading(&format!("Ranking: {}", problem.title), Emphasis::Plain)?;
        page.grid(&ranking(view, problem))?;
        page.note("", &format!("{}.", problem.conclusion))?;
    }
    if !view.findings.is_empty() {
        page.heading("To know before trusting these figures", Emphasis::Doubt)?;
        for finding in &view.findings {
            page.note("-", &finding.fact)?;
            page.note("next", &finding.next)?;
        }
    }
    let warnings = view.warnings(most_named);
    if !warnings.is_empty() {
        page.heading("Warnings", Emphasis::Doubt)?;
        for warning in &warnings {
            page.note("-", warning)?;
        }
    }
    if all && !view.resources.is_empty() {
        page.heading("Resources", Emphasis::Plain)?;
        page.grid(&resources(view))?;
        page.note("", &view.of_resources())?;
    }
    if all && !view.record.command.is_empty() {
        page.heading("Run again with", Emphasis::Plain)?;
        page.command(&view.command())?;
    }
    Ok(())
}

fn table(view: &RunView) -> Grid {
    let rows = view.lines.iter().map(|line| {
        let name = line.title().replace('\n', " ");
        row([name, line.median.clone(), line.spread_text(), line.effort.clone()])
    });
    Grid { header: vec!["case, metric", "median", "spread", "samples"], rows: rows.collect() }
}

fn ranking(view: &RunView, problem: &Problem) -> Grid {
    let rows = problem.entries.iter().map(|entry| {
        let line = &view.lines[entry.line];
        let place = line.place.as_ref().map_or(String::new(), Rank::text);
        row([entry.name.clone(), line.median.clone(), line.spread_text(), place])
    });
    Grid { header: vec!["case", "median", "spread", "vs best"], rows: rows.collect() }
}

fn resources(view: &RunView) -> Grid {
    let rows = view.resources.iter().map(|case| {
        row([case.name.replace('\n', " "), case.resident.clone(), case.device.clone(), case.cpu.clone()])
    });
    Grid { header: vec!["case", "resident set", "device memory", "CPU time"], rows: rows.collect() }
}

fn row<const N: usize>(cells: [String; N]) -> GridRow {
    GridRow { cells: cells.into(), notes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::layout::width::width;
    use crate::report::record::test_support as records;

    fn rendered(record: &crate::model::RunRecord, style: Style, all: bool) -> String {
        let mut out = Vec::new();
        render(&RunView::new(record), style, all, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_run_reads_well_at_eighty_columns() {
        insta::assert_snapshot!("mixed", rendered(&records::record(), Style::PLAIN, false));
        insta::assert_snapshot!("mixed_all", rendered(&records::record(), Style::PLAIN, true));
        insta::assert_snapshot!("quiet", rendered(&records::quiet(), Style::PLAIN, false));
        insta::assert_snapshot!("contested", rendered(&records::contested(), Style::PLAIN, false));
        insta::assert_snapshot!("wasteful", rendered(&records::wasteful(), Style::PLAIN, true));
        insta::assert_snapshot!("killed", rendered(&records::killed(), Style::PLAIN, false));
    }

    #[test]
    fn a_ranking_reads_well_at_sixty_columns() {
        let narrow = Style { width: 60, ..Style::PLAIN };
        insta::assert_snapshot!("contested_narrow", rendered(&records::contested(), narrow, true));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_ascii_stays_ascii() {
        let kinds = [records::record(), records::quiet(), records::killed(), records::hostile()];
        for record in kinds.into_iter().chain([records::contested(), records::wasteful()]) {
            for columns in [60, 80, 120] {
                let style = Style { width: columns, color: false, unicode: columns != 80 };
                let text = rendered(&record, style, true);
                assert!(!text.contains('\u{1b}'));
                assert!(style.unicode || text.is_ascii(), "{text}");
                for line in text.lines() {
                    assert!(width(line) <= usize::from(columns), "at {columns}: {line}");
                }
            }
        }
    }
}
