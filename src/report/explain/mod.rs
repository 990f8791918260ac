//! Why one row has its verdict: the whole argument, for a person, as a picture and as numbers.
//!
//! ```text
//! words     the figures, the noise, the doubts and the advice, in sentences
//! steps     the way to the verdict, likewise
//! plot      where a number falls on an axis
//! picture   differences and e-values by round, in characters
//! svg       the same two panels as an image
//! json      every step as a number
//! ```

mod json;
mod picture;
mod plot;
mod steps;
mod svg;
#[cfg(test)]
mod tests;
mod words;

use std::io;

use super::page::{Grid, GridRow, Page, Style, Tint};
use super::rows::{Names, capitalized};
use super::{number, rounds};
use crate::compare::{DecisionTrace, Row, Verdict, VerdictDocument};
use crate::model::CaseId;

pub use json::render as json;
pub use svg::render as svg;

/// One row of a verdict with its argument.
#[derive(Clone, Copy)]
pub struct Explained<'a> {
    pub document: &'a VerdictDocument,
    pub row: &'a Row,
    /// Absent where no rounds decided it.
    pub trace: Option<&'a DecisionTrace>,
}

impl Explained<'_> {
    /// `kernels/gemm time`.
    fn name(&self) -> String {
        let names = Names::new(self.document.rows.iter().map(|row| &row.case));
        format!("{} {}", names.of(&self.row.case), self.row.metric).trim_end().to_owned()
    }
}

/// A case of the records of which the verdict has no row.
pub struct Rowless<'a> {
    pub case: &'a CaseId,
    /// Why, in one sentence.
    pub reason: String,
}

/// Writes the argument of every row, one after the other. `all`: with a table of all rounds.
pub fn terminal(
    rows: &[Explained],
    rowless: &[Rowless],
    style: Style,
    all: bool,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let mut page = Page::new(out, style);
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
        page.headline('?', "NOT JUDGED", &format!("{}: {}", case.case, case.reason), Tint::Doubt)?;
    }
    Ok(())
}

fn one<W: io::Write + ?Sized>(
    explained: &Explained,
    style: Style,
    all: bool,
    page: &mut Page<W>,
) -> io::Result<()> {
    let row = explained.row;
    let (mark, tint) = match row.verdict {
        Verdict::Regressed | Verdict::Invalid | Verdict::Missing => ('✗', Tint::Bad),
        Verdict::Inconclusive => ('?', Tint::Doubt),
        Verdict::Improved | Verdict::Unchanged => ('✓', Tint::Good),
        Verdict::New => ('+', Tint::Plain),
    };
    let word = row.verdict.word().to_uppercase();
    page.headline(mark, &word, &format!("{} {}", explained.name(), words::headline(explained)), tint)?;
    page.heading("What was measured", Tint::Plain)?;
    words::measured(explained).iter().try_for_each(|(label, text)| page.note(label, text))?;
    page.heading("Why this verdict", Tint::Plain)?;
    steps::trace(explained).iter().try_for_each(|text| page.note("-", &capitalized(text)))?;
    if let Some(trace) = explained.trace {
        page.heading("How the noise was judged", Tint::Plain)?;
        words::noise(explained, trace).iter().try_for_each(|text| page.note("-", text))?;
        page.heading("What was checked", Tint::Plain)?;
        words::doubts(explained, trace).iter().try_for_each(|text| page.note("-", text))?;
    }
    page.heading("What to do", Tint::Plain)?;
    page.note("", &capitalized(&words::next(explained)))?;
    let Some(trace) = explained.trace.filter(|trace| !trace.measured_rounds.is_empty()) else {
        return Ok(());
    };
    page.heading(&picture::differences_title(trace, style), Tint::Plain)?;
    picture::differences(trace, style).iter().try_for_each(|line| page.verbatim(line))?;
    if let Some(title) = picture::evidence_title(trace) {
        page.heading(&title, Tint::Plain)?;
        picture::evidence(trace, style).iter().try_for_each(|line| page.verbatim(line))?;
    }
    if all {
        page.heading("Every round", Tint::Plain)?;
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

/// `0.25 %`, as the least effect is usually set.
fn percent(fraction: f64) -> String {
    rounds::fine(fraction)
}
