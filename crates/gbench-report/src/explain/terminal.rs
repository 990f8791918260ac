//! Each row's explanation for a terminal: the sentences, then the pictures, then a table of the rounds.

use std::io;

use super::sentences::{Explained, Rowless};
use super::{picture, sentences, steps};
use crate::layout::emphasis::Emphasis;
use crate::layout::number;
use crate::layout::terminal::{Style, TerminalLayout};
use gbench_compare::DecisionTrace;
use gbench_model::text::capitalized;

/// Writes the explanation of every row. `all`: with a table of all rounds. Errors: those of `out`.
pub fn terminal(
    rows: &[Explained],
    rowless: &[Rowless],
    style: Style,
    all: bool,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = TerminalLayout::new(style);
    for (index, explained) in rows.iter().enumerate() {
        if index > 0 {
            page.blank();
            page.rule();
        }
        one(explained, style, all, &mut page);
    }
    for (index, case) in rowless.iter().enumerate() {
        if index + rows.len() > 0 {
            page.blank();
        }
        page.headline("NOT JUDGED", &format!("{}: {}", case.case, case.reason), Emphasis::Doubt);
    }
    out.write_all(page.into_text().as_bytes())
}

fn one(explained: &Explained, style: Style, all: bool, page: &mut TerminalLayout) {
    let verdict = explained.row.verdict;
    let sentence = format!("{} {}", explained.name(), sentences::headline(explained));
    page.headline(&verdict.into_str().to_uppercase(), &sentence, verdict.into());
    page.heading("What was measured", Emphasis::Plain);
    sentences::measured(explained).iter().for_each(|(label, text)| page.note(label, text));
    let steps = steps::trace(explained);
    page.list("Why this verdict", Emphasis::Plain, steps.iter().map(|step| capitalized(step)));
    if let Some(trace) = explained.trace {
        page.list("How the noise was judged", Emphasis::Plain, sentences::noise(explained, trace));
        page.list("What was checked", Emphasis::Plain, sentences::validity(explained, trace));
    }
    page.heading("What to do", Emphasis::Plain);
    page.note("", &capitalized(&sentences::next(explained)));
    let Some(trace) = explained.trace.filter(|trace| !trace.measured_rounds.is_empty()) else { return };
    let panels = [
        Some(picture::differences(trace, style)),
        picture::evidence(trace, style),
        picture::clocks(trace, style),
    ];
    for (title, lines) in panels.into_iter().flatten() {
        page.heading(&title, Emphasis::Plain);
        lines.iter().for_each(|line| page.verbatim(line));
    }
    if all {
        page.heading("Every round", Emphasis::Plain);
        every_round(explained, trace, page);
    }
}

/// Round, order of the sides, both figures, their difference, and the e-value so far.
fn every_round(explained: &Explained, trace: &DecisionTrace, page: &mut TerminalLayout) {
    let (side, _) = sentences::side_of(trace);
    let rows = trace.measured_rounds.iter().enumerate().map(|(at, turn)| {
        let step = trace.steps.iter().find(|step| step.rounds == at + 1);
        let e_value = match step {
            _ if at < trace.screened() => "screen".to_owned(),
            Some(step) => sentences::e_value(side.log10(step)),
            // The first round is half a bet.
            None if at < trace.result.rounds => String::new(),
            None => "decided".to_owned(),
        };
        let (base, head) = number::pair(turn.base, turn.head, &explained.row.unit);
        let first = match turn.base_first {
            Some(true) => "base",
            Some(false) => "head",
            None => "",
        };
        let disturbed = if trace.rounds.disturbed[at] { " (disturbed)" } else { "" };
        let difference = sentences::slowdown(trace, trace.rounds.differences[at]);
        [format!("{}{disturbed}", turn.round + 1), first.to_owned(), base, head, difference, e_value]
    });
    page.grid(&["round", "first", "base", "head", "change", "e-value"], rows);
}
