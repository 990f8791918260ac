//! Rows of a verdict as a Markdown table: base, head, the change with its interval, the verdict with its margin.

use super::view::{RowView, SideView};
use crate::layout::emphasis::Emphasis;
use crate::layout::markdown::stacked;
use gbench_compare::Verdict;
use gbench_model::text::percent;

/// The columns of a table beside case, base and head; and what stands below their figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub changes: bool,
    /// With the p-value below the change, beside its interval.
    pub p_values: bool,
    pub verdicts: bool,
    /// How many decided, and how much they differ among each other.
    pub rounds: bool,
    /// The spread below base and head.
    pub spreads: bool,
}

impl Shape {
    /// Of a table of everything that is known of the rows.
    pub(crate) fn new(lines: &[RowView]) -> Self {
        let changes = lines.iter().any(|line| !line.change.is_empty());
        let rounds = lines.iter().any(|line| !line.rounds.is_empty());
        Self { changes, p_values: true, verdicts: false, rounds, spreads: true }
    }

    pub(crate) fn head(self) -> String {
        let mut words = String::from("| case, metric | base | head |");
        let mut lines = String::from("|:--|--:|--:|");
        for (present, word) in
            [(self.changes, " change |"), (self.verdicts, " verdict |"), (self.rounds, " rounds |")]
        {
            if present {
                words += word;
                lines += ":--|";
            }
        }
        format!("{words}\n{lines}\n")
    }

    /// One row; `case` and what `figure` gives are Markdown.
    pub(crate) fn row(self, case: &str, line: &RowView, figure: impl Fn(&str) -> String) -> String {
        let side = |side: &SideView| {
            let spread = if self.spreads { figure(&side.spread) } else { String::new() };
            stacked(&figure(&side.value), &spread)
        };
        let mut row = format!("| {case} | {} | {} |", side(&line.base), side(&line.head));
        if self.changes {
            let decided = matches!(line.row.verdict, Verdict::Regressed | Verdict::Improved);
            let mark = if decided && !line.change.is_empty() { "**" } else { "" };
            let change = format!("{mark}{}{mark}", figure(&line.change));
            let evidence = if self.p_values { line.evidence() } else { line.interval.clone() };
            row += &format!(" {} |", stacked(&change, &figure(&evidence)));
        }
        if self.verdicts {
            let sign = Emphasis::from(line.row.verdict).look().sign;
            let margin =
                line.row.change.as_ref().map(|_| figure(&format!("margin {}", percent(margin(line)))));
            let verdict = format!("{sign}\u{a0}{}", line.row.verdict.into_str());
            row += &format!(" {} |", stacked(&verdict, &margin.unwrap_or_default()));
        }
        if self.rounds {
            row += &format!(" {} |", stacked(&figure(&line.rounds), &figure(&line.noise)));
        }
        row + "\n"
    }
}

/// The margin of the verdict: in rounds, the change that a regression must lie beyond, and for the rest the target.
pub(crate) fn margin(line: &RowView) -> f64 {
    match (&line.row.sequence, line.row.verdict) {
        (Some(sequence), Verdict::Regressed | Verdict::Improved) => sequence.min_effect,
        _ => line.row.threshold,
    }
}
