//! One run for a terminal or a CI log: first the failures, then the measurements, then the warnings.

use super::view::environment::environment;
use super::view::metric::Rank;
use super::view::run::{RunView, UnmeasuredCases};
use crate::layout::emphasis::Emphasis;
use crate::layout::grouped::{MAX_NAMED, named};
use crate::layout::terminal::{Style, TerminalLayout};
use crate::profile::kernels::RunProfiles;
use gbench_model::text::count;

const MAX_PROBLEMS: usize = 20;

/// The report. `all`: includes each case's resources, and the command of the run.
pub(super) fn render(view: &RunView, style: Style, all: bool) -> String {
    let mut page = TerminalLayout::new(style);
    let max_named = if all { usize::MAX } else { MAX_NAMED };
    let (word, emphasis) = view.status().shown();
    page.headline(word, &format!("{}.", view.sentence()), emphasis);
    page.blank();
    page.facts(&view.context());
    if !view.troubled.is_empty() {
        page.heading("Not measured", Emphasis::Bad);
    }
    for UnmeasuredCases { outcome, names, trace } in view.troubles() {
        let (who, names) = match names.as_slice() {
            [only] => ((*only).to_owned(), String::new()),
            several => (count(several.len(), "case"), named(several, max_named)),
        };
        page.note("", &format!("{who} - {}", outcome.into_str()));
        let (trace, next) = (trace.unwrap_or_default(), outcome.advice().to_owned());
        for (label, text) in [("why", outcome.cause()), ("trace", trace), ("next", next), ("cases", names)] {
            if !text.is_empty() {
                page.inner_note(label, &text);
            }
        }
    }
    let (lines, left_out) = view.shown_lines(all);
    if !lines.is_empty() {
        page.heading("Measured", Emphasis::Good);
        let rows = lines.iter().map(|line| {
            let name = line.title().replace('\n', " ");
            [name, line.median.clone(), line.spread_text(), line.effort.clone()]
        });
        page.grid(&["case, metric", "median", "spread", "samples"], rows);
        page.note("", "Median over processes, spread between processes, processes x samples of each.");
        if let Some(text) = view.left_out(left_out) {
            page.note("", &text);
        }
    }
    view.tables.iter().for_each(|table| table.terminal(&mut page, usize::MAX));
    let max_problems = if all { usize::MAX } else { MAX_PROBLEMS };
    for problem in view.problems.iter().take(max_problems) {
        page.heading(&format!("Ranking: {}", problem.title), Emphasis::Plain);
        let rows = problem.entries.iter().map(|entry| {
            let line = &view.lines[entry.line];
            let place = line.place.as_ref().map_or(String::new(), Rank::text);
            [entry.name.clone(), line.median.clone(), line.spread_text(), place]
        });
        page.grid(&["case", "median", "spread", "vs best"], rows);
        page.note("", &format!("{}.", problem.conclusion));
    }
    if let Some(more) = view.problems.len().checked_sub(max_problems).filter(|more| *more > 0) {
        page.blank();
        page.line(&format!("{} more with a ranking: `--all` shows them.", count(more, "problem")));
    }
    if !view.findings.is_empty() {
        page.heading("To know before trusting these figures", Emphasis::Doubt);
    }
    for finding in &view.findings {
        page.note("-", &finding.fact);
        page.note("next", &finding.next);
    }
    page.list("Warnings", Emphasis::Doubt, view.warnings(max_named));
    if all && !view.resources.is_empty() {
        page.heading("Resources", Emphasis::Plain);
        let rows = view.resources.iter().map(|case| case.row(case.name.replace('\n', " ")));
        page.grid(&["case", "resident set", "device memory", "CPU time", "energy"], rows);
        page.note("", &view.of_resources());
    }
    if let Some(table) = view.telemetry.as_ref().filter(|_| all || view.is_monitored()) {
        table.terminal(&mut page, usize::MAX);
    }
    RunProfiles::of(view.record).terminal(&mut page, all, &str::to_owned);
    let environment = environment(view.record);
    if all && !environment.is_empty() {
        page.heading("Environment", Emphasis::Plain);
        page.facts(&environment);
    }
    if all && !view.record.command.is_empty() {
        page.command("Run again with", &view.command());
    }
    page.into_text()
}
