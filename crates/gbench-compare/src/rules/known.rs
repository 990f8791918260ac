//! Rows that are known without chance: exact values, and counts that agree. Processes that a case shares with others
//! screen here as everywhere: a change that they alone show waits for the case's own processes.

use super::rule::RowDecision;
use super::{instruction_counts, row_test};
use crate::evidence::samples::{Evidence, MeasuredSide};
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// Processes a side that the decision of a row takes whose figures leave nothing to chance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    /// To say that the sides agree.
    pub agreeing: usize,
    /// To say that they differ: in a value that every process of a side gives alike, and in counts of instructions.
    pub differing: usize,
    pub counts: usize,
}

impl Needed {
    /// By the rules before SEQ-E 3.
    pub(crate) fn before_seq_e_3(screen_rounds: usize) -> Self {
        Self { agreeing: screen_rounds, differing: screen_rounds, counts: instruction_counts::MIN_PROCESSES }
    }
}

/// The decision of a row whose figures leave nothing to chance; also one that waits, and is open meanwhile. `None`: the
/// ordinary rule decides.
pub(crate) fn known(evidence: &Evidence, needed: &Needed) -> Option<RowDecision> {
    let least = needed.agreeing;
    let by = |evidence: &Evidence| {
        let exactly = row_test::known_exactly(evidence, least, evidence.limits.min_effect);
        let differing = if evidence.of_code { least } else { needed.differing };
        let exactly = exactly.map(|decision| enough(evidence, decision, differing));
        exactly.or_else(|| instruction_counts::known(evidence, least, needed.counts))
    };
    let screens = |side: &MeasuredSide| side.processes.iter().any(|process| process.screens);
    if !screens(&evidence.base) && !screens(&evidence.head) {
        return by(evidence);
    }
    let [shared, own] = [true, false].map(|screens| evidence.of_processes(screens));
    let changed = |decision: &RowDecision| decision.verdict != Verdict::Unchanged;
    let of_shared = by(&shared).filter(changed);
    let processes = own.base.centres.len().min(own.head.centres.len());
    if processes < least {
        let all = by(evidence);
        let suspected = of_shared.or_else(|| all.clone().filter(changed));
        return suspected.map_or(all, |suspected| Some(waits(evidence, suspected, processes, least)));
    }
    let mut decision = by(&own)?;
    if let Some(suspected) = of_shared
        && decision.verdict == Verdict::Unchanged
    {
        let slowdown = |decision: &RowDecision| decision.change.as_ref().map(|change| change.slowdown);
        let reason = Reason::SharedProcessesDiffer {
            shared: slowdown(&suspected),
            shared_rounds: shared.base.centres.len() as u32,
            own: slowdown(&decision),
            own_rounds: processes as u32,
        };
        decision = RowDecision {
            change: decision.change,
            ..RowDecision::undecided(reason, Advice::LookForInteraction {})
        };
    }
    Some(decision)
}

fn enough(evidence: &Evidence, decision: RowDecision, least: usize) -> RowDecision {
    let processes = evidence.base.centres.len().min(evidence.head.centres.len());
    if decision.verdict == Verdict::Unchanged || processes >= least {
        return decision;
    }
    let reason = Reason::FewThatDiffer { processes: processes as u32, needed: least as u32 };
    RowDecision::waiting(decision.change, reason, (least - processes) as u32, least as u32)
}

fn waits(evidence: &Evidence, suspected: RowDecision, processes: usize, least: usize) -> RowDecision {
    let more = (least - processes) as u32;
    let reason = Reason::FewOwnProcesses { processes: processes as u32, needed: least as u32 };
    RowDecision::waiting(suspected.change, reason, more, evidence.base.centres.len() as u32 + more)
}
