//! Checks records to resume from, and determines their state.

use std::time::SystemTime;

use super::stopping_policy::PairState;
use crate::run::record::arm::ArmRecorder;
use gbench_model::text::count;
use gbench_model::{CaseId, CaseRecord, Comparison, Fault, Origin, RecordState, Result, RunRecord};
use gbench_suite::plan::{PlannedCase, PlannedPair, RoundsPlan, RunOrder};

/// The records to resume from, checked against the current state and updated. The caller compares the machine, because it
/// knows the match key.
///
/// Errors: another suite file, other cases or settings, other commits, another seed or rule.
pub(super) fn checked(
    plan: &RoundsPlan,
    headers: Vec<RunRecord>,
    records: Vec<RunRecord>,
) -> Result<Vec<RunRecord>> {
    let sides = [records.len(), headers.len()];
    let resumed = humantime::format_rfc3339_millis(SystemTime::now());
    let mut taken = Vec::new();
    for (arm, (header, mut record)) in headers.into_iter().zip(records).enumerate() {
        if let Some(what) = difference(plan, arm, &header, &record) {
            return Err(refused(&record, what));
        }
        let rounds = record.cases.iter().map(|case| case.processes.len()).max().unwrap_or(0);
        if record.state == RecordState::Interrupted {
            // The warning about the early end, which `ArmRecorder::finish` writes last.
            record.warnings.pop();
            record.cut_short = None;
        }
        record.warnings.push(format!("resumed at {resumed}, after {}", count(rounds, "round")));
        if let (Some(before), Some(now)) = (&mut record.comparison, header.comparison) {
            before.budget = now.budget;
            before.policy = now.policy;
            before.rule.most_rounds = now.rule.most_rounds;
        }
        taken.push(record);
    }
    if sides[0] != sides[1] {
        return Err(refused(
            &taken[0],
            format!("it has {} sides, and this comparison {}", sides[0], sides[1]),
        ));
    }
    Ok(taken)
}

fn difference(plan: &RoundsPlan, arm: usize, header: &RunRecord, record: &RunRecord) -> Option<String> {
    if header.side != record.side || plan.arms[arm].side != record.side {
        return Some("its sides are others".into());
    }
    if (&header.source.suite, &header.source.sha256) != (&record.source.suite, &record.source.sha256) {
        return Some("the suite file has changed since".into());
    }
    let commit = |record: &RunRecord| record.manifest.git.known().and_then(|git| git.commit.clone());
    if let (Some(now), Some(before)) = (commit(header), commit(record))
        && now != before
    {
        return Some(format!("it measured commit {before}, and this is {now}"));
    }
    if let Some(what) = other_comparison(header.comparison.as_deref(), record.comparison.as_deref()) {
        return Some(what.into());
    }
    if record.comparison.as_ref().is_some_and(|comparison| RunOrder::of(comparison) != plan.order) {
        return Some("its random order has another seed".into());
    }
    let planned = |id: &CaseId| CaseId { device: "host".into(), ..id.clone() };
    let same =
        record.cases.iter().map(|case| planned(&case.id)).eq(plan.of_arm(arm).map(|case| case.id.clone()));
    if !same {
        return Some("it has other cases".into());
    }
    plan.of_arm(arm).zip(&record.cases).find_map(|(planned, case)| other_setting(planned, case))
}

/// The first setting of a case that has changed. Settings that the program reported at run time override both.
fn other_setting(planned: &PlannedCase, case: &CaseRecord) -> Option<String> {
    let now = planned.benchmark.settings.shown();
    case.config.iter().find_map(|(name, before)| {
        let now = now.get(name).filter(|now| now.value != before.value)?;
        let by_program = before.origin == Origin::Benchmark;
        (!by_program).then(|| format!("`{name}` of {} was {} and is {}", case.id, before.value, now.value))
    })
}

/// Budget, policy and the most rounds may change: they do not affect a round's measurements, and more rounds never undo a
/// decision of this rule.
fn other_comparison(now: Option<&Comparison>, before: Option<&Comparison>) -> Option<&'static str> {
    let (now, before) = match (now, before) {
        (None, None) => return None,
        (Some(now), Some(before)) => (now, before),
        _ => return Some("one of them is not a comparison in rounds"),
    };
    let levels =
        |it: &Comparison| (it.rule.name, it.rule.alpha, it.rule.alpha_improved, it.rule.screen_rounds);
    match () {
        () if now.id != before.id => Some("it is another comparison"),
        () if (&now.base, &now.head) != (&before.base, &before.head) => Some("its base or head is another"),
        () if now.seed != before.seed => Some("its random order has another seed"),
        () if now.interleaving != before.interleaving => Some("its rounds are measured in another way"),
        () if levels(now) != levels(before) => Some("its rule has other levels or another screen"),
        () => None,
    }
}

fn refused(record: &RunRecord, what: String) -> Fault {
    let id = record.comparison.as_ref().map_or(&record.run_id, |comparison| &comparison.id);
    let next = "resume with the suite, commits and options that it began with, or begin a new comparison";
    Fault::at(format!("comparison {id}"), format!("cannot be resumed: {what}"), next)
}

/// A pair's state from its records, not yet opened. `next`: by arm, the number of cases of the previous pairs.
pub(super) fn state_of(pair: &PlannedPair, next: &mut [usize], arms: &[ArmRecorder]) -> PairState {
    let mut state = PairState::default();
    let mut rounds = [0; 2];
    for case in &pair.cases {
        let index = next[case.arm];
        next[case.arm] += 1;
        state.cases[case.arm] = Some(index);
        let processes = &arms[case.arm].case(index).processes;
        state.seconds += processes.iter().map(|process| process.seconds).sum::<f64>();
        if let Some(rounds) = rounds.get_mut(case.arm) {
            *rounds = processes.iter().filter(|process| process.outcome.is_measured()).count() as u32;
        }
    }
    state.rounds = if pair.is_comparable() { rounds[0].min(rounds[1]) } else { 0 };
    state
}
