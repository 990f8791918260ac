//! Rows that are known without chance: exact values, and counts that agree. Processes that a case shares with others screen here
//! as everywhere: what they alone show to be changed waits for processes of its own.

use super::{Advice, Evidence, MeasuredSide, Reason, RowDecision, Verdict, counts, test};

/// The decision of a row whose figures leave nothing to chance; also one that waits, and is open meanwhile. `least`: processes a
/// side that are needed at all. `None`: the ordinary rule decides.
pub(crate) fn known(evidence: &Evidence, least: usize) -> Option<RowDecision> {
    let by = |evidence: &Evidence| {
        test::known_exactly(evidence, least, evidence.limits.min_effect)
            .or_else(|| counts::known(evidence, least))
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
            ..RowDecision::plain(Verdict::Inconclusive, Some(reason), Some(Advice::LookForInteraction {}))
        };
    }
    Some(decision)
}

/// What shared processes show to be changed, until the case has processes of its own.
fn waits(evidence: &Evidence, suspected: RowDecision, processes: usize, least: usize) -> RowDecision {
    let more = (least - processes) as u32;
    let reason = Reason::FewOwnProcesses { processes: processes as u32, needed: least as u32 };
    let rounds = evidence.base.centres.len() as u32 + more;
    RowDecision {
        change: suspected.change,
        open: true,
        wants_rounds: Some(more),
        ..RowDecision::plain(
            Verdict::Inconclusive,
            Some(reason),
            Some(Advice::Resume { more_rounds: more, rounds }),
        )
    }
}
