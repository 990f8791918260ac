//! The two panels in characters: the difference of each round, and the evidence over the rounds.
//!
//! ```text
//! +2.0 % ┄┄┄┄┄┄┄┄┄┄┄┄┄  target: a dot for each round, worse above the line of zero
//!    0 % ──◆─◆────●───
//! ```

use super::plot::{clock_span, evidence_span, fresh_steps, reach, share};
use super::sentences::{e_value, side_of, slowdown};
use crate::layout::terminal::Style;
use gbench_compare::DecisionTrace;

const DIFFERENCE_LINES: usize = 13;
const EVIDENCE_LINES: usize = 9;
const CLOCK_LINES: usize = 7;
/// Columns for the figures on the left, and for the legend on the right.
const LABEL: usize = 9;
const LEGEND: usize = 14;
const MAX_COLUMNS: usize = 4;

struct Glyphs {
    dot: char,
    screen: char,
    disturbed: char,
    zero: char,
    dashed: char,
    dotted: char,
}

const UNICODE: Glyphs =
    Glyphs { dot: '●', screen: '◆', disturbed: '○', zero: '─', dashed: '╌', dotted: '┈' };
const ASCII: Glyphs = Glyphs { dot: 'o', screen: '*', disturbed: 'x', zero: '-', dashed: '=', dotted: '.' };

fn glyphs(style: Style) -> Glyphs {
    if style.unicode { UNICODE } else { ASCII }
}

/// A title, and each round's difference as a dot between the lines of zero, least effect and target.
pub(super) fn differences(trace: &DecisionTrace, style: Style) -> (String, Vec<String>) {
    let ink = glyphs(style);
    let mut signs = Vec::new();
    if trace.screened() > 0 {
        signs.extend([format!("{} screen", ink.screen), format!("{} later", ink.dot)]);
    }
    if trace.rounds.disturbed.contains(&true) {
        signs.push(format!("{} busy or throttled", ink.disturbed));
    }
    let signs = if signs.is_empty() { String::new() } else { format!(" ({})", signs.join(", ")) };
    let title = format!("Change in each round, worse is up{signs}");
    let reach = reach(trace);
    let mut canvas = Canvas::new(DIFFERENCE_LINES, trace.rounds.differences.len(), style);
    let at = |difference: f64| share(difference, -reach, reach);
    for (level, ink, legend) in
        [(trace.target, ink.dashed, "target"), (trace.min_effect, ink.dotted, "least effect")]
    {
        canvas.line(at(level), ink, slowdown(trace, level), legend);
        canvas.line(at(-level), ink, slowdown(trace, -level), legend);
    }
    canvas.line(at(0.0), ink.zero, "0 %".into(), "no change");
    for (round, difference) in trace.rounds.differences.iter().enumerate() {
        let calm = if round < trace.screened() { ink.screen } else { ink.dot };
        let dot = if trace.rounds.disturbed[round] { ink.disturbed } else { calm };
        canvas.dot(round, at(*difference), dot);
    }
    (title, canvas.finish())
}

/// A title, and log10 of the e-value over the rounds, with the required level. `None` if the screen decided: there is no
/// evidence to draw.
pub(super) fn evidence(trace: &DecisionTrace, style: Style) -> Option<(String, Vec<String>)> {
    fresh_steps(trace).next()?;
    let ink = glyphs(style);
    let (side, needed) = side_of(trace);
    let title =
        format!("Evidence for {}: the e-value after each round, on a logarithmic scale", side.into_str());
    let (low, high) = evidence_span(fresh_steps(trace).map(|step| side.log10(step)), needed);
    let mut canvas = Canvas::new(EVIDENCE_LINES, trace.rounds.differences.len(), style);
    let at = |log10: f64| share(log10, low, high);
    canvas.line(at(0.0), ink.zero, "1".into(), "even odds");
    canvas.line(at(needed), ink.dashed, e_value(needed), "needed");
    for step in fresh_steps(trace) {
        canvas.dot(step.rounds - 1, at(side.log10(step)), ink.dot);
    }
    Some((title, canvas.finish()))
}

/// A title, and the GPU's clock in each round on both sides, if it was sampled.
pub(super) fn clocks(trace: &DecisionTrace, style: Style) -> Option<(String, Vec<String>)> {
    let (low, high) = clock_span(trace)?;
    let ink = glyphs(style);
    let title = format!("Clock of the GPU in each round, in MHz ({} base, {} head)", ink.disturbed, ink.dot);
    let mut canvas = Canvas::new(CLOCK_LINES, trace.measured_rounds.len(), style);
    let at = |clock: f64| share(clock, low, high);
    for level in [high, low] {
        canvas.line(at(level), ink.dotted, format!("{level:.0}"), "");
    }
    for (round, turn) in trace.measured_rounds.iter().enumerate() {
        for (clock, dot) in turn.clocks.into_iter().zip([ink.disturbed, ink.dot]) {
            clock.into_iter().for_each(|clock| canvas.dot(round, at(clock), dot));
        }
    }
    Some((title, canvas.finish()))
}

/// One line of a panel: its label on the left, its characters, and its legend on the right.
#[derive(Clone)]
struct CanvasLine {
    label: String,
    cells: Vec<char>,
    legend: &'static str,
}

/// Characters on a grid; the first line is the top.
struct Canvas {
    lines: Vec<CanvasLine>,
    rounds: usize,
    /// Columns of one round; below 1 if several rounds share a column.
    pace: f64,
    columns: usize,
}

impl Canvas {
    fn new(lines: usize, rounds: usize, style: Style) -> Self {
        let room = usize::from(style.width.max(Style::MIN_WIDTH)) - LABEL - LEGEND - 4;
        let each = (room / rounds.max(1)).min(MAX_COLUMNS);
        let (pace, columns) = match each {
            0 => (room as f64 / rounds as f64, room),
            each => (each as f64, each * rounds.max(1)),
        };
        let line = CanvasLine { label: String::new(), cells: vec![' '; columns], legend: "" };
        Self { lines: vec![line; lines], rounds, pace, columns }
    }

    fn line_at(&mut self, share: f64) -> &mut CanvasLine {
        let last = self.lines.len() - 1;
        &mut self.lines[last - (share * last as f64).round() as usize]
    }

    /// A level over the whole width; it is omitted if it coincides with another line.
    fn line(&mut self, share: f64, ink: char, label: String, legend: &'static str) {
        let line = self.line_at(share);
        line.cells.fill(ink);
        (line.label, line.legend) = (label, legend);
    }

    fn dot(&mut self, round: usize, share: f64, ink: char) {
        let column = ((round as f64 * self.pace) as usize).min(self.columns - 1);
        self.line_at(share).cells[column] = ink;
    }

    /// The lines, with the numbers of some rounds below.
    fn finish(self) -> Vec<String> {
        let line = |CanvasLine { label, cells, legend }: &CanvasLine| {
            let text: String = cells.iter().collect();
            format!("{label:>LABEL$} {text} {legend}").trim_end().to_owned()
        };
        let mut lines: Vec<String> = self.lines.iter().map(line).collect();
        let mut axis: Vec<char> = vec![' '; self.columns + 4];
        let step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
        let step = step.into_iter().find(|step| *step as f64 * self.pace >= 6.0).unwrap_or(1000);
        for round in (1..=self.rounds).filter(|round| *round == 1 || round % step == 0) {
            let column = ((round - 1) as f64 * self.pace) as usize;
            for (offset, digit) in round.to_string().chars().enumerate() {
                if let Some(cell) = axis.get_mut(column + offset) {
                    *cell = digit;
                }
            }
        }
        let axis: String = axis.into_iter().collect();
        lines.push(format!("{:>LABEL$} {axis}", "round").trim_end().to_owned());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::width::width;

    #[test]
    fn a_picture_keeps_within_its_width_for_any_number_of_rounds() {
        for columns in [60, 80, 120] {
            for rounds in [1, 2, 3, 7, 17, 40, 66, 211, 1000] {
                let mut canvas = Canvas::new(5, rounds, Style { width: columns, ..Style::PLAIN });
                canvas.line(0.5, '-', "+100.0 %".into(), "least effect");
                (0..rounds).for_each(|round| canvas.dot(round, round as f64 / rounds as f64, 'o'));
                for line in canvas.finish() {
                    assert!(width(&line) <= usize::from(columns), "{rounds} at {columns}: {line}");
                }
            }
        }
    }
}
