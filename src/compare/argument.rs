//! The whole argument for one verdict: every step of a row through the rounds.

use crate::model::{CaseId, Result};
use crate::stats::seq_e::{self, Limits, Ruling, Series, Step};

use super::pairing::pair;
use super::rows::draft;
use super::seq_e::lines;
use super::{Policy, Rounds, SeqE, SideInput};

/// One row's way to its decision.
#[derive(Clone, Debug)]
pub struct Argument {
    pub case: CaseId,
    pub metric: String,
    /// Differences of every round that is there, also those after the decision.
    pub rounds: Rounds,
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

/// The arguments of every judged row of a case, by metric. Empty where the case has no row that rounds decide.
pub fn arguments(
    rule: &SeqE,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
    case: &CaseId,
) -> Result<Vec<Argument>> {
    let pairs = pair(base, head)?;
    let draft = draft(&pairs, policy, false, true);
    let limits = rule.limits();
    let lines = lines(&draft.evidence, limits.screen_rounds);
    let series: Vec<Series> = lines.iter().map(|line| line.series(&line.rounds.differences)).collect();
    let (screen, rulings) = seq_e::decide(&series, &limits);
    let rows = draft.open.iter().enumerate();
    let rows = rows.filter_map(|(at, row)| Some((at, &draft.rows[(*row)?])));
    let argument = |(at, row): (usize, &super::Row)| Argument {
        case: row.case.clone(),
        metric: row.metric.clone(),
        rounds: lines[at].rounds.clone(),
        steps: seq_e::steps(&series[at], &screen, &limits),
        ruling: rulings[at].clone(),
        limits,
        suspects: screen.suspects,
        target: lines[at].target,
        min_effect: lines[at].min_effect,
    };
    Ok(rows.filter(|(_, row)| row.case == *case).map(argument).collect())
}
