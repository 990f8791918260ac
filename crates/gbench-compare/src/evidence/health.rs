//! A GPU with a fault while processes ran: a sick card is not a regression.
//!
//! Figures from processes in which a GPU had an uncorrected memory error, a pending or failed remap, or an Xid error that
//! is not the program's decide nothing, on whichever side. Where the PCIe link differed between the sides under load, the
//! round is disturbed like one with a throttled GPU on one side. All else that drivers count (corrected errors, replays) is
//! only reported. Older records have none of it.

use std::collections::BTreeMap;

use gbench_model::{CaseRecord, Conditions, GpuSign, HealthSign, ProcessRecord, RunRecord};

use super::samples::{Evidence, MeasuredSide, ProcessValues};
use super::throttling;
use crate::rules::rule::RowDecision;
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;
use crate::wording::warning::{HeldDown, Warning};

impl<'a> ProcessValues<'a> {
    pub(crate) fn faults(&self) -> impl Iterator<Item = HealthSign> + use<'a> {
        let met = self.conditions.into_iter().flat_map(Conditions::health_of_used);
        met.map(|met| met.sign).filter(|sign| sign.is_fault())
    }
}

fn is_sick(process: &ProcessValues) -> bool {
    process.faults().next().is_some()
}

/// True if a round shows nothing because a GPU had a fault.
pub(crate) fn spoils(base: &ProcessValues, head: &ProcessValues) -> bool {
    is_sick(base) || is_sick(head)
}

/// Why a process of a case shows nothing: its card had a fault, or held its clocks down itself.
pub fn spoilt_by_card(case: &CaseRecord, process: &ProcessRecord) -> Option<String> {
    let mut met = process.conditions.iter().flat_map(Conditions::health_of_used);
    let fault = met.find(|met| met.sign.is_fault()).map(|met| met.to_string());
    fault.or_else(|| throttling::slowed_by_hardware(case, process).map(str::to_owned))
}

/// True if both sides were sampled under load, on links that differ.
pub(crate) fn links_differ(base: &ProcessValues, head: &ProcessValues) -> bool {
    base.link.zip(head.link).is_some_and(|(base, head)| base != head)
}

/// Why the rounds of a row do not show what they seem to, where a GPU had a fault or the links differed, and what to do.
/// `shown`: what they seem to show; `rounds`: how many there are.
pub(crate) fn doubt_of_rounds(evidence: &Evidence, shown: Verdict, rounds: u32) -> Option<(Reason, Advice)> {
    let (mut sick, mut apart, mut faults) = (0, 0, Vec::new());
    for [base, head] in evidence.turns() {
        sick += u32::from(spoils(base, head));
        apart += u32::from(links_differ(base, head));
        faults.extend(base.faults().chain(head.faults()));
    }
    if sick > 0 {
        return Some((
            Reason::SickCardInRounds { sick, rounds, faults: named(faults), shown },
            Advice::LookAtTheCard {},
        ));
    }
    (apart > 0).then_some((Reason::LinksDifferInRounds { apart, rounds, shown }, Advice::LookAtTheLink {}))
}

/// Weakens the decision between records of different runs where a GPU of either had a fault.
pub(crate) fn doubt_apart(evidence: &Evidence, decision: &mut RowDecision) {
    let sick = |side: &MeasuredSide| side.processes.iter().filter(|process| is_sick(process)).count() as u32;
    let processes = sick(&evidence.base) + sick(&evidence.head);
    let decided = matches!(decision.verdict, Verdict::Regressed | Verdict::Improved | Verdict::Unchanged);
    if evidence.exact || !decided || processes == 0 {
        return;
    }
    let met = evidence.base.processes.iter().chain(&evidence.head.processes);
    let faults = named(met.flat_map(ProcessValues::faults).collect());
    decision.reason = Some(Reason::SickCard { processes, faults, shown: decision.verdict });
    decision.verdict = Verdict::Inconclusive;
    decision.next = Some(Advice::LookAtTheCard {});
}

fn named(mut faults: Vec<HealthSign>) -> Vec<HealthSign> {
    faults.sort_unstable();
    faults.dedup();
    faults
}

/// For a comparison as a whole: the signs that drivers gave, and the number of processes that met them.
pub(crate) fn warning(base: &RunRecord, head: &RunRecord) -> Option<Warning> {
    let mut met: BTreeMap<GpuSign, [u32; 2]> = BTreeMap::new();
    let mut all = [0; 2];
    for (side, record) in [base, head].into_iter().enumerate() {
        for process in record.cases.iter().flat_map(|case: &CaseRecord| &case.processes) {
            all[side] += 1;
            let signs = process.conditions.iter().flat_map(|conditions| &conditions.health);
            signs.for_each(|sign| met.entry(*sign).or_default()[side] += 1);
        }
    }
    let counted =
        |(sign, [base, head]): (GpuSign, [u32; 2])| HeldDown { reason: sign.to_string(), base, head };
    let signs: Vec<HeldDown> = met.into_iter().map(counted).collect();
    let [base_processes, head_processes] = all;
    (!signs.is_empty()).then_some(Warning::GpuHealth { signs, base_processes, head_processes })
}
