//! A verdict as a table for spreadsheets: one line per row of the document. The columns keep their order for as long as
//! the verdict's schema is v2; v1 ended with `next`. Figures are in the metric's unit.

use std::io;

use super::view::VerdictView;
use crate::layout::csv::{Column, Line, number, optional, text, write};
use crate::layout::escape::csv as cell;
use gbench_compare::{Change, Row, RowSide, Sequence};

fn columns<'a>() -> [Column<'a, &'a Row>; 34] {
    [
        ("metric", |line| cell(&line.of.metric)),
        ("unit", |line| cell(&line.of.unit)),
        ("better", |line| text(line.of.better.map(|better| better.into_str()))),
        ("verdict", |line| line.of.verdict.into_str().to_owned()),
        ("base_outcome", |line| outcome(line.of.base.as_ref())),
        ("base_centre", |line| optional(line.of.centres()[0])),
        ("base_spread", |line| optional(line.of.base.as_ref().and_then(|side| side.spread))),
        ("base_processes", |line| text(line.of.base.as_ref().map(|side| side.processes))),
        ("base_samples", |line| text(line.of.base.as_ref().map(|side| side.samples))),
        ("head_outcome", |line| outcome(line.of.head.as_ref())),
        ("head_centre", |line| optional(line.of.centres()[1])),
        ("head_spread", |line| optional(line.of.head.as_ref().and_then(|side| side.spread))),
        ("head_processes", |line| text(line.of.head.as_ref().map(|side| side.processes))),
        ("head_samples", |line| text(line.of.head.as_ref().map(|side| side.samples))),
        ("ratio", |line| change(line.of, |change| Some(change.ratio))),
        ("slowdown", |line| change(line.of, |change| Some(change.slowdown))),
        ("slowdown_low", |line| change(line.of, |change| Some(change.low))),
        ("slowdown_high", |line| change(line.of, |change| Some(change.high))),
        ("confidence", |line| change(line.of, |change| Some(change.confidence))),
        ("adjusted_p", |line| change(line.of, |change| change.adjusted_p)),
        ("threshold", |line| number(line.of.threshold)),
        ("reason", |line| cell(&line.of.reason)),
        ("next", |line| cell(&line.of.next)),
        ("rounds", |line| text(line.of.sequence.as_ref().map(|sequence| sequence.rounds))),
        ("round_noise", |line| sequence(line.of, |sequence| Some(sequence.noise))),
        ("min_effect", |line| sequence(line.of, |sequence| Some(sequence.min_effect))),
        ("at_least", |line| sequence(line.of, |sequence| sequence.at_least)),
        ("detectable", |line| change(line.of, |change| change.detectable)),
        ("log10_e_worse", |line| sequence(line.of, |sequence| Some(sequence.log10_worse))),
        ("log10_e_better", |line| sequence(line.of, |sequence| Some(sequence.log10_better))),
        ("log10_e_needed", |line| sequence(line.of, |sequence| Some(sequence.log10_needed))),
        ("more_rounds", |line| text(line.of.sequence.as_ref().and_then(|sequence| sequence.more_rounds))),
        ("device_code", |line| text(line.of.device_code.map(|state| state.into_str()))),
        ("reason_code", |line| text(line.of.why.as_ref().map(<&'static str>::from))),
    ]
}

fn outcome(side: Option<&RowSide>) -> String {
    text(side.map(|side| side.outcome.into_str()))
}

fn change(row: &Row, part: fn(&Change) -> Option<f64>) -> String {
    optional(row.change.as_ref().and_then(part))
}

fn sequence(row: &Row, part: fn(&Sequence) -> Option<f64>) -> String {
    optional(row.sequence.as_ref().and_then(part))
}

/// Writes the header and one line per row. `labelled`: the label of each machine is the first column.
pub(super) fn render(
    machines: &[(&str, VerdictView)],
    labelled: bool,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let lines = machines.iter().flat_map(|(source, view)| {
        view.lines().map(|line| Line { source, case: &line.row.case, name: &line.name, of: line.row })
    });
    write(labelled.then_some("label"), &columns(), lines, out)
}
