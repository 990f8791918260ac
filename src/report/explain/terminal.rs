//! The whole argument of each row for a terminal: the words, then the pictures, then a table of the rounds.

use std::io;

use super::row::{Explained, Rowless};
use super::{picture, steps, words};
use crate::compare::{DecisionTrace, Row, Verdict};
use crate::model::text::capitalized;
use crate::report::layout::number;
use crate::report::layout::terminal::{Emphasis, Grid, GridRow, Style, TerminalLayout};

/// Writes the argument of every row, one after the other. `all`: with a table of all rounds.
pub fn terminal(
    rows: &[Explained],
    rowless: &[Rowless],
    style: Style,
    all: bool,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let mut page = TerminalLayout::new(out, style);
    for (index, explained) in rows.iter().enumerate() {
        if index > 0 {
            page.blank()?;
            page.rule()?;
        }
        one(explained, style, all, &mut page)?;
    }
    for (index, case) in rowless.iter().enumerate() {
        if index + rows.len() > 0 {
            page.blank()?;
        }
        page.headline('?', "NOT JUDGED", &format!("{}: {}", case.case, case.reason), Emphasis::Doubt)?;
    }
    Ok(())
}

fn one<W: io::Write + ?Sized>(
    explained: &Explained,
    style: Style,
    all: bool,
    page: &mut TerminalLayout<W>,
) -> io::Result<()> {
    let row = explained.row;
    let (mark, emphasis) = match row.verdict {
        Verdict::Regressed | Verdict::Invalid | Verdict::Missing => ('✗', Emphasis::Bad),
        Verdict::Inconclusive => ('?', Emphasis::Doubt),
        Verdict::Improved | Verdict::Unchanged => ('✓', Emphasis::Good),
        Verdict::New => ('+', Emphasis::Plain),
    };
    let word = row.verdict.into_str().to_uppercase();
    page.headline(mark, &word, &format!("{} {}", explained.name(), words::headline(explained)), emphasis)?;
    page.heading("What was measured", Emphasis::Plain)?;
    words::measured(explained).iter().try_for_each(|(label, text)| page.note(label, text))?;
    page.heading("Why this verdict", Emphasis::Plain)?;
    steps::trace(explained).iter().try_for_each(|text| page.note("-", &capitalized(text)))?;
    if let Some(trace) = explained.trace {
        page.heading("How the noise was judged", Emphasis::Plain)?;
        words::noise(explained, trace).iter().try_for_each(|text| page.note("-", text))?;
        page.heading("What was checked", Emphasis::Plain)?;
        words::doubts(explained, trace).iter().try_for_each(|text| page.note("-", text))?;
    }
    page.heading("What to do", Emphasis::Plain)?;
    page.note("", &capitalized(&words::next(explained)))?;
    let Some(trace) = explained.trace.filter(|trace| !trace.measured_rounds.is_empty()) else {
        return Ok(());
    };
    page.heading(&picture::differences_title(trace, style), Emphasis::Plain)?;
    picture::differences(trace, style).iter().try_for_each(|line| page.verbatim(line))?;
    if let Some(title) = picture::evidence_title(trace) {
        page.heading(&title, Emphasis::Plain)?;
        picture::evidence(trace, style).iter().try_for_each(|line| page.verbatim(line))?;
    }
    if all {
        page.heading("Every round", Emphasis::Plain)?;
        page.grid(&table(row, trace))?;
    }
    Ok(())
}

/// Round, who went first, both places, their difference, and the e-value so far.
fn table(row: &Row, trace: &DecisionTrace) -> Grid {
    let (side, _) = words::side_of(trace);
    let rows = trace.measured_rounds.iter().enumerate().map(|(at, turn)| {
        let step = trace.steps.iter().find(|step| step.rounds == at + 1);
        let screened = at < trace.limits.screen_rounds;
        let e_value = match step {
            Some(step) if !screened => words::e_value(side.log10(step)),
            _ if screened => "screen".to_owned(),
            _ => "decided".to_owned(),
        };
        let (base, head) = number::pair(turn.base, turn.head, &row.unit);
        let first = match turn.base_first {
            Some(true) => "base",
            Some(false) => "head",
            None => "",
        };
        let disturbed = if trace.rounds.disturbed[at] { " (disturbed)" } else { "" };
        let difference = words::slowdown(trace, trace.rounds.differences[at]);
        GridRow {
            cells: vec![
                format!("{}{disturbed}", turn.round + 1),
                first.to_owned(),
                base,
                head,
                difference,
                e_value,
            ],
            notes: Vec::new(),
        }
    });
    let header = vec!["round", "first", "base", "head", "change", "e-value"];
    Grid { header, rows: rows.collect() }
}
