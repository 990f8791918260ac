//! Rows of results: base, head, the change with its interval, the verdict with its margin.

use super::budget::{ShortNames, figure, prose};
use crate::compare::Verdict;
use crate::model::text::percent;
use crate::report::layout::markdown::stacked;
use crate::report::verdict::view::{RowView, SideView};

/// How much of a name a table shows: so many characters, and whether those of a long one are on several lines. That reads
/// better, and takes more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width {
    pub columns: usize,
    pub folding: bool,
}

impl Width {
    /// The names of a table's rows, cut to this width.
    pub fn names<'l, 'r: 'l>(self, lines: impl Iterator<Item = &'l RowView<'r>>) -> ShortNames {
        ShortNames::new(lines.map(|line| line.name.as_str()), self.columns)
    }
}

/// Which columns a table has beside case, base and head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    changes: bool,
    verdicts: bool,
    /// How many decided, and how much they differ among each other; below base and head, the spread.
    rounds: bool,
    spreads: bool,
}

impl Shape {
    /// Of a table of what changed.
    pub fn of_changes(lines: &[&RowView]) -> Self {
        let changes = lines.iter().any(|line| !line.change.is_empty());
        Self { changes, verdicts: true, rounds: false, spreads: false }
    }

    /// Of a table for those who want to know all.
    pub fn of_results(lines: &[RowView]) -> Self {
        let changes = lines.iter().any(|line| !line.change.is_empty());
        let rounds = lines.iter().any(|line| !line.rounds.is_empty());
        Self { changes, verdicts: false, rounds, spreads: true }
    }

    pub fn head(self) -> String {
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

    /// One row. `names`: as [`Width::names`] makes them for the table.
    pub fn row(self, line: &RowView, folding: bool, names: &ShortNames) -> String {
        let name = if folding { names.name_in_cell(&line.name) } else { names.name(&line.name) };
        let case = stacked(&name, &prose(&line.row.metric, 120));
        let side = |side: &SideView| {
            let spread = if self.spreads { figure(&side.spread) } else { String::new() };
            stacked(&figure(&side.value), &spread)
        };
        let mut row = format!("| {case} | {} | {} |", side(&line.base), side(&line.head));
        if self.changes {
            let decided = matches!(line.row.verdict, Verdict::Regressed | Verdict::Improved);
            let mark = if decided && !line.change.is_empty() { "**" } else { "" };
            let change = format!("{mark}{}{mark}", figure(&line.change));
            row += &format!(" {} |", stacked(&change, &figure(&line.interval)));
        }
        if self.verdicts {
            row += &format!(" {} |", verdict(line));
        }
        if self.rounds {
            row += &format!(" {} |", stacked(&figure(&line.rounds), &figure(&line.noise)));
        }
        row + "\n"
    }
}

fn verdict(line: &RowView) -> String {
    let word = format!("{}\u{a0}{}", sign(line.row.verdict), line.row.verdict.into_str());
    match line.row.change {
        Some(_) => stacked(&word, &figure(&format!("margin {}", percent(margin(line))))),
        None => word,
    }
}

/// The margin of the verdict: in rounds, the change that a regression must lie beyond, and for the rest the target.
pub(super) fn margin(line: &RowView) -> f64 {
    match (&line.row.sequence, line.row.verdict) {
        (Some(sequence), Verdict::Regressed | Verdict::Improved) => sequence.min_effect,
        _ => line.row.threshold,
    }
}

fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed | Verdict::Invalid | Verdict::Missing => "❌",
        Verdict::Inconclusive => "⚠️",
        Verdict::Improved | Verdict::Unchanged => "✅",
        Verdict::New => "🆕",
    }
}
