//! Rows that a person accepts: slower, or gone, by so much and no more. The measured figures stay as they are; an
//! acceptance only takes the row out of the conclusion and the exit code.
//!
//! A slowdown is accepted up to the upper end of the interval that was shown, and to twice itself at most: a very wide
//! interval must not let everything pass. A later measurement of the same row, of the next push or of the night after the
//! merge, is covered while its own slowdown is not beyond that.

use std::collections::BTreeSet;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conclusion::{counts, derived, most_severe, worse_by};
use super::curves;
use super::document::{Row, VerdictDocument};
use super::outcome::Verdict;
use crate::merge::document::{Absence, Group, Merged};
use crate::merge::document::{counts_of, most_severe_of};
use gbench_model::{CaseId, Exit};

pub const SCHEMA_ACCEPTANCES: &str = "gbench-ci/acceptances/v1";

/// A slowdown is accepted up to so many times itself, however wide its interval is.
const MOST: f64 = 2.0;

pub const SCHEMA_ACCEPTED: &str = "gbench-ci/accepted/v1";

/// Everything that was decided about the rows of one pull request, the first decision first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AcceptanceLedger {
    /// `gbench-ci/acceptances/v1`.
    pub schema: String,
    /// Name of the gate.
    pub gate: String,
    /// Number of the pull request.
    pub pull: u64,
    /// The last one decides.
    pub decisions: Vec<AcceptanceDecision>,
}

/// One command that a person gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AcceptanceDecision {
    pub kind: DecisionKind,
    /// Number of the comment with the command.
    pub comment: u64,
    /// Login of its author.
    pub by: String,
    /// When it was written, RFC 3339.
    pub at: String,
    /// Full id of the commit whose verdict it is about.
    pub head: String,
    /// Empty where a revocation gives none.
    pub reason: String,
    pub rows: Vec<AcceptedRow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    Accept,
    Revoke,
}

/// A row, and what of it is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AcceptedRow {
    /// The machine's label; empty for the only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    pub case: CaseId,
    /// Empty where the case as a whole is gone.
    pub metric: String,
    pub finding: AcceptedFinding,
}

/// How a row is worse. Only this can be accepted: a benchmark that failed, or of which nothing could be decided, is not
/// slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum AcceptedFinding {
    /// By a share, as [`crate::Change`] has it; accepted up to `high`.
    Slower { slowdown: f64, low: f64, high: f64 },
    /// By a difference in the metric's unit, where that is what was judged; accepted up to `at_most`.
    Larger { difference: f64, at_most: f64, unit: String },
    /// The head has it no more.
    Missing {},
}

impl AcceptedFinding {
    /// `None` of a row about which there is nothing to accept.
    pub fn of(row: &Row) -> Option<Self> {
        match (row.verdict, &row.change) {
            (Verdict::Missing, _) => Some(Self::Missing {}),
            (Verdict::Regressed, Some(change)) => {
                let finite = [change.slowdown, change.low, change.high].iter().all(|share| share.is_finite());
                let (slowdown, low) = (change.slowdown, change.low);
                let high = change.high.min(MOST * slowdown).max(slowdown);
                finite.then_some(Self::Slower { slowdown, low, high })
            }
            (Verdict::Regressed, None) => {
                let difference = worse_by(row).filter(|difference| difference.is_finite())?;
                let at_most = difference + row.margin.unwrap_or(0.0);
                Some(Self::Larger { difference, at_most, unit: row.unit.clone() })
            }
            _ => None,
        }
    }
}

/// One accepted row, and the person who accepted it.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingAcceptance {
    pub pull: u64,
    pub comment: u64,
    pub by: String,
    pub head: String,
    pub reason: String,
    pub row: AcceptedRow,
}

impl StandingAcceptance {
    fn is_of(&self, label: &str, row: &Row) -> bool {
        self.row.label == label && self.row.case == row.case && self.row.metric == row.metric
    }
}

impl AcceptanceLedger {
    pub fn new(gate: &str, pull: u64) -> Self {
        Self { schema: SCHEMA_ACCEPTANCES.into(), gate: gate.to_owned(), pull, decisions: Vec::new() }
    }

    /// The last decision on each row.
    pub fn standing(&self) -> Vec<StandingAcceptance> {
        let mut standing: Vec<StandingAcceptance> = Vec::new();
        for decision in &self.decisions {
            let is_about = |row: &AcceptedRow| {
                let same = |own: &AcceptedRow| {
                    (&own.label, &own.case, &own.metric) == (&row.label, &row.case, &row.metric)
                };
                decision.rows.iter().any(same)
            };
            standing.retain(|earlier| !is_about(&earlier.row));
            if decision.kind == DecisionKind::Accept {
                standing.extend(decision.rows.iter().map(|row| StandingAcceptance {
                    pull: self.pull,
                    comment: decision.comment,
                    by: decision.by.clone(),
                    head: decision.head.clone(),
                    reason: decision.reason.clone(),
                    row: row.clone(),
                }));
            }
        }
        standing
    }
}

/// One decision of a pull request that was merged, as a history keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LandedDecision {
    /// `gbench-ci/accepted/v1`.
    pub schema: String,
    pub gate: String,
    pub pull: u64,
    /// Full id of the commit with which the pull request came to its branch.
    pub merged_as: String,
    pub decision: AcceptanceDecision,
}

/// A red row of a verdict about which a person has decided.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedRow {
    pub label: String,
    pub case: CaseId,
    pub metric: String,
    pub finding: AcceptedFinding,
    /// At least one; several where several pull requests made it slower.
    pub acceptances: Vec<StandingAcceptance>,
}

impl DecidedRow {
    fn is(&self, label: &str, row: &Row) -> bool {
        self.label == label && self.case == row.case && self.metric == row.metric
    }
}

/// The effect of acceptances on a verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppliedAcceptances {
    pub covered: Vec<DecidedRow>,
    pub exceeded: Vec<DecidedRow>,
}

/// Compares the red rows of a verdict with the acceptances. `standing`: those that apply to a machine's part of it.
pub fn apply_acceptances(
    merged: &Merged,
    standing: impl Fn(&Group) -> Vec<StandingAcceptance>,
) -> AppliedAcceptances {
    let mut applied = AppliedAcceptances::default();
    for group in &merged.groups {
        let standing = standing(group);
        for row in &group.verdict.rows {
            let Some(finding) = AcceptedFinding::of(row) else { continue };
            let mine = standing.iter().filter(|acceptance| acceptance.is_of(&group.label, row));
            let acceptances: Vec<StandingAcceptance> = mine.cloned().collect();
            if acceptances.is_empty() {
                continue;
            }
            let is_covered = covers(&acceptances, &finding);
            let decided = DecidedRow {
                label: group.label.clone(),
                case: row.case.clone(),
                metric: row.metric.clone(),
                finding,
                acceptances,
            };
            if is_covered { applied.covered.push(decided) } else { applied.exceeded.push(decided) }
        }
    }
    applied
}

/// Slowdowns of several changes add up, as factors; the others as differences.
fn covers(acceptances: &[StandingAcceptance], finding: &AcceptedFinding) -> bool {
    let findings = || acceptances.iter().map(|acceptance| &acceptance.row.finding);
    match finding {
        AcceptedFinding::Missing {} => findings().any(|it| *it == AcceptedFinding::Missing {}),
        AcceptedFinding::Slower { slowdown, .. } => {
            let factor = |finding: &AcceptedFinding| match finding {
                AcceptedFinding::Slower { high, .. } => Some(1.0 + high),
                AcceptedFinding::Larger { .. } | AcceptedFinding::Missing {} => None,
            };
            let factors: Vec<f64> = findings().filter_map(factor).collect();
            !factors.is_empty() && 1.0 + slowdown <= factors.iter().product::<f64>()
        }
        AcceptedFinding::Larger { difference, unit, .. } => {
            let most = |finding: &AcceptedFinding| match finding {
                AcceptedFinding::Larger { at_most, unit: own, .. } if own == unit => Some(*at_most),
                AcceptedFinding::Larger { .. }
                | AcceptedFinding::Slower { .. }
                | AcceptedFinding::Missing {} => None,
            };
            let differences: Vec<f64> = findings().filter_map(most).collect();
            !differences.is_empty() && *difference <= differences.iter().sum::<f64>()
        }
    }
}

impl AppliedAcceptances {
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty() && self.exceeded.is_empty()
    }

    /// The acceptances that cover some of these rows, by the numbers of pull request and comment, each once.
    pub fn accepted_in<'r>(&self, label: &str, rows: impl Iterator<Item = &'r Row>) -> BTreeSet<(u64, u64)> {
        let covering = rows.filter_map(|row| self.covered.iter().find(|decided| decided.is(label, row)));
        covering.flat_map(|decided| &decided.acceptances).map(|it| (it.pull, it.comment)).collect()
    }

    pub fn covers(&self, label: &str, row: &Row) -> bool {
        self.covered.iter().any(|decided| decided.is(label, row))
    }

    /// The verdict for the conclusion: covered rows are unchanged in it, and cases that are rightly gone are left out.
    /// Nothing else is judged more leniently, and reports show the verdict itself.
    pub fn settled(&self, merged: &Merged) -> Merged {
        if self.covered.is_empty() {
            return merged.clone();
        }
        let groups: Vec<Group> = merged.groups.iter().map(|group| self.settled_group(group)).collect();
        let (conclusion, exit) = most_severe_of(&groups, merged.absence());
        let counts = counts_of(&groups);
        Merged { conclusion, exit_code: exit.code(), counts, groups, ..merged.clone() }
    }

    fn settled_group(&self, group: &Group) -> Group {
        let mut verdict: VerdictDocument = group.verdict.clone();
        verdict.rows.retain(|row| row.verdict != Verdict::Missing || !self.covers(&group.label, row));
        for row in &mut verdict.rows {
            if self.covers(&group.label, row) {
                row.verdict = Verdict::Unchanged;
            }
        }
        if verdict.rows == group.verdict.rows {
            return group.clone();
        }
        verdict.curves = curves::judged_by(&verdict.rows, &verdict.curves);
        verdict.counts = counts(&verdict.rows);
        let (conclusion, exits) = derived(&verdict);
        // The document leaves several codes possible: the most severe is taken.
        let exit = exits.into_iter().fold(Exit::Pass, Exit::most_severe);
        let gaps = Absence::of_warnings(&verdict.warnings, &verdict.warning_codes, false);
        let least = Absence::least(gaps);
        let (conclusion, exit) = (most_severe(conclusion, least.0), exit.most_severe(least.1));
        (verdict.conclusion, verdict.exit_code) = (conclusion, exit.code());
        Group { label: group.label.clone(), verdict }
    }
}
