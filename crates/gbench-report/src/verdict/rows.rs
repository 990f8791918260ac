//! Rows of a verdict as a Markdown table: base, head, the change with its interval, the verdict with its margin.

use super::view::{RowView, SideView};
use crate::layout::emphasis::Emphasis;
use crate::layout::markdown::stacked;
use gbench_compare::Verdict;
use gbench_model::text::percent;

/// The columns of a table in addition to case, base and head, and the second lines of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub changes: bool,
    /// With the p-value below the change, next to its interval.
    pub p_values: bool,
    pub verdicts: bool,
    /// The number of rounds, and their spread.
    pub rounds: bool,
    /// The spread below base and head.
    pub spreads: bool,
}

impl Shape {
    pub(crate) fn new(lines: &[RowView]) -> Self {
        let changes = lines.iter().any(|line| !line.change.is_empty());
        let rounds = lines.iter().any(|line| !line.rounds.is_empty());
        Self { changes, p_values: true, verdicts: false, rounds, spreads: true }
    }

    pub(crate) fn columns(self) -> Vec<&'static str> {
        let optional =
            [(self.changes, "change"), (self.verdicts, "verdict"), (self.rounds, "rounds")].into_iter();
        let shown = optional.filter(|(is_shown, _)| *is_shown).map(|(_, word)| word);
        ["case, metric", "base", "head"].into_iter().chain(shown).collect()
    }

    /// The cells of a row after its case: each a text with its second line.
    pub(crate) fn cells(self, line: &RowView) -> Vec<[String; 2]> {
        let side = |side: &SideView| {
            [side.value.clone(), if self.spreads { side.spread.clone() } else { String::new() }]
        };
        let mut cells = vec![side(&line.base), side(&line.head)];
        if self.changes {
            let evidence = if self.p_values { line.evidence() } else { line.interval.clone() };
            cells.push([line.change.clone(), evidence]);
        }
        if self.verdicts {
            let margin = line.row.change.as_ref().map(|_| format!("margin {}", percent(margin(line))));
            cells.push([line.row.verdict.into_str().to_owned(), margin.unwrap_or_default()]);
        }
        cells.extend(self.rounds.then(|| [line.rounds.clone(), line.noise.clone()]));
        cells
    }

    pub(crate) fn head(self) -> String {
        let columns = self.columns();
        let rules = ":--|".repeat(columns.len() - 3);
        format!("| {} |\n|:--|--:|--:|{rules}\n", columns.join(" | "))
    }

    /// One row in Markdown. `case`: its first cell, in Markdown; `figure` converts the others to Markdown.
    pub(crate) fn row(self, case: &str, line: &RowView, figure: impl Fn(&str) -> String) -> String {
        let decided = matches!(line.row.verdict, Verdict::Regressed | Verdict::Improved);
        let sign = Emphasis::from(line.row.verdict).look().sign;
        let columns = self.columns();
        let cell = |(at, [above, below]): (usize, &[String; 2])| {
            let above = match columns[at + 1] {
                "change" if decided && !above.is_empty() => format!("**{}**", figure(above)),
                "verdict" => format!("{sign}\u{a0}{}", figure(above)),
                _ => figure(above),
            };
            format!(" {} |", stacked(&above, &figure(below)))
        };
        format!("| {case} |{}\n", self.cells(line).iter().enumerate().map(cell).collect::<String>())
    }
}

/// The margin of the verdict: in rounds, the least change of a regression, and otherwise the target.
pub(crate) fn margin(line: &RowView) -> f64 {
    match (&line.row.sequence, line.row.verdict) {
        (Some(sequence), Verdict::Regressed | Verdict::Improved) => sequence.min_effect,
        _ => line.row.threshold,
    }
}
