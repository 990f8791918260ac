//! The whole argument for one verdict: every step of a row through the rounds.

use std::f64::consts::LN_10;

use gbench_model::{CaseId, Result};
use gbench_stats::seq_e::{self, SequentialLimits, SequentialResult, Version};

pub use gbench_stats::seq_e::{Basis, SequentialStep};

use super::document::Row;
use super::outcome::Verdict;
use super::policy::{Policy, SideInput};
use super::rows::prepare;
use crate::evidence::rounds::RoundDifferences;
use crate::evidence::rounds::{MeasuredRound, measured_rounds};
use crate::identity::cases::pair;
use crate::identity::units::in_units_of_head;
use crate::rules::seq_e::SeqE;
use crate::rules::seq_e::state::{results, row_states};
use crate::variants::speedups::Speedups;

/// One row's way to its decision.
#[derive(Clone, Debug)]
pub struct DecisionTrace {
    pub case: CaseId,
    pub metric: String,
    /// Differences of every round that is there, also those after the decision.
    pub rounds: RoundDifferences,
    /// The figures of both sides in each of these rounds, in the same order.
    pub measured_rounds: Vec<MeasuredRound>,
    /// From the second round to the decision.
    pub steps: Vec<SequentialStep>,
    pub result: SequentialResult,
    pub limits: SequentialLimits,
    /// M: rows of the whole suite that share the error rate.
    pub candidates: usize,
    /// Both in the scale of the differences, absolute margins accounted for.
    pub target: f64,
    pub min_effect: f64,
}

impl DecisionTrace {
    /// The rule's result on the rounds alone, before any doubt.
    pub fn ruled(&self) -> Verdict {
        self.result.status.into()
    }

    /// Rounds that only screen: those of the screen, and all in processes that were shared with other cases.
    pub fn screened(&self) -> usize {
        self.result.confirms_from.min(self.measured_rounds.len())
    }

    /// Rounds of the screen are evidence, and all rows share the error rate; so from `seq-e-3` on.
    pub fn counts_all_rounds(&self) -> bool {
        self.limits.version == Version::Three
    }

    /// Certified by ranks or by the orders, and not by its range of Student's t.
    pub fn certified_by(&self) -> Option<Basis> {
        self.result.certified.map(|interval| interval.basis)
    }

    /// log10 of the e-value that a red needs.
    pub fn log10_red(&self) -> f64 {
        self.result.ln_needed_worse / LN_10
    }

    /// log10 of the e-value that "improved" needs.
    pub fn log10_improved(&self) -> f64 {
        self.result.ln_needed_better / LN_10
    }
}

/// The arguments of every judged row of each case that is `wanted`: the suite is judged once for all of them.
pub fn decision_traces(
    rule: &SeqE,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
    wanted: impl Fn(&CaseId) -> bool,
) -> Result<Vec<DecisionTrace>> {
    let (of_base, _) = in_units_of_head(rule, base, head)?;
    let base = SideInput { record: &of_base, name: base.name.clone() };
    let pairs = pair(&base, head, rule)?;
    let speedups = if rule.pairs { Speedups::of(&pairs, true) } else { Speedups::default() };
    let prepared = prepare(&pairs, &speedups, policy, false, rule);
    let limits = rule.limits();
    let states = row_states(&prepared.evidence, &limits);
    let (screen, results) = results(&states, &limits);
    let rows = prepared.open.iter().enumerate();
    let rows = rows.filter_map(|(at, row)| Some((at, &prepared.rows[(*row)?])));
    let trace = |(at, row): (usize, &Row)| {
        let state = &states[at];
        Some(DecisionTrace {
            case: row.case.clone(),
            metric: row.metric.clone(),
            rounds: state.rounds.clone(),
            measured_rounds: measured_rounds(state.evidence),
            steps: seq_e::steps(&state.series(&state.all_rounds()), results[at].as_ref()?, &screen, &limits),
            result: results[at].clone()?,
            limits,
            candidates: screen.candidates,
            target: state.target,
            min_effect: state.min_effect,
        })
    };
    Ok(rows.filter(|(_, row)| wanted(&row.case)).filter_map(trace).collect())
}
