//! The seam between evidence and verdict. A rule sees the whole suite at once, because the chance of a false
//! alarm belongs to the suite and not to a row.

use crate::evidence::samples::Evidence;
use crate::verdict::change::Change;
use crate::verdict::document::{RoundsMethod, Row, Sequence, Sessions};
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;
use crate::wording::warning::Warning;

/// Decides every row of a suite.
pub trait Rule {
    /// As the document names it: `process-welch-holm-4`.
    fn name(&self) -> &str;

    /// Chance of any false red in the whole suite.
    fn alpha(&self) -> f64;

    /// One decision for each piece of evidence, in the same order. Pure: the same evidence gives the same
    /// decisions, bit for bit.
    fn decide(&self, evidence: &[Evidence]) -> Vec<RowDecision>;

    /// True if the rule would need a longer history to call this row green. Such an inconclusive row is never passed
    /// over.
    fn lacks_history(&self, _evidence: &Evidence) -> bool {
        false
    }

    /// The stored sessions that the rule uses; `None` where it uses none.
    fn sessions(&self) -> Option<Sessions> {
        None
    }

    /// True if a change of any size is believed; see [`Change::is_impossible`]. Only for the rule `seq-e`, so that its
    /// kept verdicts stay.
    fn believes_any_change(&self) -> bool {
        false
    }

    /// It looks at rounds, so that what cases that broke showed before counts for the prior, and `target` is what rows
    /// show as their threshold.
    fn over_rounds(&self) -> bool {
        false
    }

    /// True of the rules before `seq-e-5`, whose kept verdicts stay: they know counts by their unit alone
    /// (`evidence::quantized::are_counts`), and a case that base breaks is invalid, whatever head makes of it.
    fn precedes_seq_e_5(&self) -> bool {
        false
    }

    /// True if the speedups of pairs are rows. False for comparisons in rounds that were begun before speedups were rows.
    fn judges_pairs(&self) -> bool {
        true
    }

    /// [`Rule::decide`] with what the rule has to say of the suite as a whole.
    fn judge(&self, evidence: &[Evidence]) -> RuleOutput {
        RuleOutput { decisions: self.decide(evidence), ..RuleOutput::default() }
    }
}

/// The output of a rule for a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleOutput {
    /// One for each piece of evidence, in the same order.
    pub decisions: Vec<RowDecision>,
    /// Programs that regressed though none of their rows did for certain.
    pub programs: Vec<ProgramDecision>,
    pub rounds: Option<RoundsMethod>,
    pub warnings: Vec<Warning>,
}

/// The output of a rule for a program as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramDecision {
    /// The row of it that changed most clearly, by its place among the evidence; the figures are of it.
    pub likeliest: usize,
    pub decision: RowDecision,
}

/// The output of a rule for one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowDecision {
    /// Regressed, improved, unchanged or inconclusive.
    pub verdict: Verdict,
    pub reason: Option<Reason>,
    pub next: Option<Advice>,
    pub change: Option<Change>,
    /// The centres of base and head over the rounds of the change, where that is not of all their processes.
    pub centres: Option<[f64; 2]>,
    pub sequence: Option<Sequence>,
    /// The row took part in the correction for many comparisons.
    pub tested: bool,
    /// Further rounds may still decide it.
    pub open: bool,
    /// Rounds that a row still needs which rests on no chance; of one that does, [`Sequence::more_rounds`] says it.
    pub wants_rounds: Option<u32>,
}

impl RowDecision {
    /// One that rests on no chance and no interval.
    pub(crate) fn plain(verdict: Verdict, reason: Option<Reason>, next: Option<Advice>) -> Self {
        Self {
            verdict,
            reason,
            next,
            change: None,
            centres: None,
            sequence: None,
            tested: false,
            open: false,
            wants_rounds: None,
        }
    }

    pub(crate) fn undecided(reason: Reason, next: Advice) -> Self {
        Self::plain(Verdict::Inconclusive, Some(reason), Some(next))
    }

    /// Undecided until it has so many rounds `more`, which make `rounds` in all.
    pub(crate) fn waiting(change: Option<Change>, reason: Reason, more: u32, rounds: u32) -> Self {
        let next = Advice::Resume { more_rounds: more, rounds };
        Self { change, open: true, wants_rounds: Some(more), ..Self::undecided(reason, next) }
    }

    /// Writes the decision into its row, with its text.
    pub(crate) fn settle(self, row: &mut Row) {
        row.verdict = self.verdict;
        row.explain(self.reason, self.next);
        row.change = self.change;
        row.sequence = self.sequence;
        /// Two figures that differ by less are the same, rounded otherwise.
        const ROUNDED: f64 = 1e-9;
        let sides = [&mut row.base, &mut row.head];
        for (side, of_change) in sides.into_iter().zip(self.centres.into_iter().flatten()) {
            if let Some(side) = side
                && side.centre.is_none_or(|centre| (centre - of_change).abs() > ROUNDED * centre.abs())
            {
                side.change_centre = Some(of_change);
            }
        }
    }
}
