//! Between the rounds: which cases another one could still decide.

use std::collections::HashMap;

use gbench_model::{CaseId, INSTRUCTIONS, Result};

use super::document::Row;
use super::policy::{Policy, SideInput};
use super::rows::prepare;
use crate::identity::cases::pair;
use crate::identity::units::in_units_of_head;
use crate::rules::rule::{ProgramDecision, Rule};
use crate::rules::seq_e::SeqE;
use crate::variants::speedups::Speedups;
use crate::wording::reason::Reason;

/// One case after the rounds so far.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseProgress {
    pub case: CaseId,
    /// One of its judged metrics is not decided yet and may still be.
    pub open: bool,
    /// One of its open metrics looks changed: its interval excludes "no change".
    pub looks_changed: bool,
    /// Its executions are counted, and what they show is decided: no further count is needed.
    pub counts_decided: bool,
    pub rounds: u32,
    /// Further rounds that the slowest of its metrics probably needs; `None` where no number of rounds is in sight.
    pub more_rounds: Option<u32>,
    /// How clearly one of its open metrics changed: the change, in halves of its interval. 0 where nothing is known.
    pub clarity: f64,
    /// Its program as a whole is red.
    pub of_red_program: bool,
}

/// Every case that both sides have measured, in the order of the base's record, by the same rule that gives the verdict:
/// what is not open here is decided there.
pub fn case_progress(
    rule: &SeqE,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
) -> Result<Vec<CaseProgress>> {
    let (of_base, _) = in_units_of_head(rule, base, head)?;
    let base = SideInput { record: &of_base, name: base.name.clone() };
    let pairs = pair(&base, head, rule)?;
    let speedups = if rule.pairs { Speedups::of(&pairs, true) } else { Speedups::default() };
    let prepared = prepare(&pairs, &speedups, policy, false, rule);
    let output = rule.judge(&prepared.evidence);
    let of_red = |program: &ProgramDecision| &prepared.evidence[program.likeliest].case.benchmark;
    let red_programs: Vec<_> = output.programs.iter().map(of_red).collect();
    let mut progress: Vec<CaseProgress> = Vec::new();
    let mut known: HashMap<CaseId, usize> = HashMap::new();
    for (index, decision) in prepared.open.iter().zip(&output.decisions) {
        let Some(index) = index else { continue };
        let Row { case, metric, .. } = &prepared.rows[*index];
        let baseline = prepared.members.get(index).map(|members| members.baseline);
        let is_count = metric == INSTRUCTIONS;
        let rounds = decision.sequence.as_ref().map_or(0, |sequence| sequence.rounds);
        let change = decision.change.as_ref().filter(|_| decision.open);
        // A change without a ratio, such as from zero, is known by what it waits for.
        let waits = decision.open && matches!(decision.reason, Some(Reason::FewOwnProcesses { .. }));
        let clarity = change.map_or(0.0, |change| {
            let clarity = (change.low + change.high).abs() / (change.high - change.low);
            if clarity.is_finite() { clarity } else { 0.0 }
        });
        let looks_changed = waits || change.is_some_and(|change| change.low > 0.0 || change.high < 0.0);
        let more =
            decision.sequence.as_ref().and_then(|sequence| sequence.more_rounds).or(decision.wants_rounds);
        // A speedup is known better only where both members of its pair are measured again.
        for case in [Some(case), baseline].into_iter().flatten() {
            let at = *known.entry(case.clone()).or_insert(progress.len());
            match progress.get_mut(at) {
                Some(of_case) => {
                    of_case.looks_changed |= looks_changed;
                    of_case.counts_decided |= is_count && !decision.open;
                    of_case.rounds = of_case.rounds.max(rounds);
                    of_case.clarity = of_case.clarity.max(clarity);
                    if decision.open {
                        of_case.more_rounds = if of_case.open {
                            of_case.more_rounds.zip(more).map(|(a, b)| a.max(b))
                        } else {
                            more
                        };
                    }
                    of_case.open |= decision.open;
                }
                None => progress.push(CaseProgress {
                    case: case.clone(),
                    open: decision.open,
                    looks_changed,
                    counts_decided: is_count && !decision.open,
                    rounds,
                    more_rounds: more.filter(|_| decision.open),
                    clarity,
                    of_red_program: red_programs.contains(&&case.benchmark),
                }),
            }
        }
    }
    Ok(progress)
}
