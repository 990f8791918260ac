//! The whole argument for one verdict: every step of a row through the rounds.

use std::f64::consts::LN_10;

use crate::model::{CaseId, Result};
use crate::stats::seq_e::{self, Limits, Ruling, Status};

pub use crate::stats::seq_e::Step;

use super::pairing::pair;
use super::rounds::{Turn, turns};
use super::rows::draft;
use super::seq_e::{lines, rulings};
use super::{Policy, Rounds, SeqE, SideInput, Verdict};

/// One row's way to its decision.
#[derive(Clone, Debug)]
pub struct Argument {
    pub case: CaseId,
    pub metric: String,
    /// Differences of every round that is there, also those after the decision.
    pub rounds: Rounds,
    /// What both sides of each of these rounds measured, in the same order.
    pub turns: Vec<Turn>,
    /// From the second round to the decision.
    pub steps: Vec<Step>,
    pub ruling: Ruling,
    pub limits: Limits,
    /// M: rows of the whole suite that share the error rate.
    pub suspects: usize,
    /// Both in the scale of the differences, absolute margins accounted for.
    pub target: f64,
    pub min_effect: f64,
}

impl Argument {
    /// What the rounds by themselves say, before any doubt.
    pub fn ruled(&self) -> Verdict {
        match self.ruling.status {
            Status::Regressed => Verdict::Regressed,
            Status::Improved => Verdict::Improved,
            Status::Unchanged => Verdict::Unchanged,
            Status::Open | Status::Exhausted => Verdict::Inconclusive,
        }
    }

    /// log10 of the e-value that a red needs.
    pub fn log10_red(&self) -> f64 {
        self.limits.ln_red(self.suspects) / LN_10
    }

    /// log10 of the e-value that "improved" needs.
    pub fn log10_improved(&self) -> f64 {
        self.limits.ln_improved(self.suspects) / LN_10
    }
}

/// The arguments of every judged row of a case, by metric. Empty where the case has no row that rounds decide.
pub fn arguments(
    rule: &SeqE,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
    case: &CaseId,
) -> Result<Vec<Argument>> {
    arguments_of(rule, base, head, policy, |id| id == case)
}

/// [`arguments`] of every case that is `wanted`: the suite is judged once for all of them.
pub fn arguments_of(
    rule: &SeqE,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
    wanted: impl Fn(&CaseId) -> bool,
) -> Result<Vec<Argument>> {
    let pairs = pair(base, head)?;
    let draft = draft(&pairs, policy, false, true);
    let limits = rule.limits();
    let lines = lines(&draft.evidence, &limits);
    let (screen, rulings) = rulings(&lines, &limits);
    let rows = draft.open.iter().enumerate();
    let rows = rows.filter_map(|(at, row)| Some((at, &draft.rows[(*row)?])));
    let argument = |(at, row): (usize, &super::Row)| {
        let line = &lines[at];
        Some(Argument {
            case: row.case.clone(),
            metric: row.metric.clone(),
            rounds: line.rounds.clone(),
            turns: turns(line.evidence),
            steps: seq_e::steps(&line.series(&line.rounds.differences), &screen, &limits),
            ruling: rulings[at].clone()?,
            limits,
            suspects: screen.suspects,
            target: line.target,
            min_effect: line.min_effect,
        })
    };
    Ok(rows.filter(|(_, row)| wanted(&row.case)).filter_map(argument).collect())
}
