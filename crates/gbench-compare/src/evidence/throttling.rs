//! What is said of a GPU whose clocks were held down while processes ran, and when a verdict is not believed because of it.
//!
//! That one side alone met it is a disturbance like any other; see `rounds`. What both sides met is their common lot: a
//! power limit is how the card works, and is only said. Where the *hardware* slows a card down, for heat, its power supply
//! or a fault, its clocks jump, no two processes meet the same card, and what was measured is not what the card can do:
//! such rounds decide nothing, unless the suite says that this is the card's usual state.

use std::collections::{BTreeMap, BTreeSet};

use gbench_model::{CLOCK_DROP, CaseRecord, ProcessRecord, RunRecord};

use super::samples::{Evidence, MeasuredSide, ProcessValues};
use crate::rules::rule::RowDecision;
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;
use crate::wording::row::SlowedClocks;
use crate::wording::warning::{HeldDown, Warning};

/// The setting by which a suite says that its card is always so.
const USUAL: &str = "usual_slowdown";

/// NVML's names of the reasons that come from the card itself.
const BY_HARDWARE: &str = "hw_";

impl ProcessValues<'_> {
    /// The card itself held its clocks down meanwhile.
    pub fn is_slowed_by_hardware(&self) -> bool {
        by_hardware(self.reasons).is_some()
    }
}

/// Of the reasons why clocks were held down, the first that comes from the card itself.
fn by_hardware(reasons: &[String]) -> Option<&String> {
    reasons.iter().find(|reason| reason.starts_with(BY_HARDWARE) || *reason == CLOCK_DROP)
}

/// Why a process of a case shows nothing: the card itself held its clocks down, and the suite does not call that usual.
pub fn slowed_by_hardware<'r>(case: &CaseRecord, process: &'r ProcessRecord) -> Option<&'r str> {
    let reasons = process.conditions.as_ref().map(|conditions| conditions.throttled.as_slice());
    by_hardware(reasons.filter(|_| !is_usual(case))?).map(String::as_str)
}

/// Whether the suite says of a case that hardware slowdown is the card's usual state.
pub(crate) fn is_usual(case: &CaseRecord) -> bool {
    case.config.get(USUAL).and_then(|shown| shown.value.as_bool()) == Some(true)
}

/// What NVML, and the gate where only the driver's count tells, call a limit of power that lowers clocks.
const BY_POWER_LIMIT: [&str; 2] = ["sw_power_cap", "power_violation"];

/// At less than this share of the other side's clock a side met a slower card.
const MIN_CLOCK: f64 = 0.95;

/// Whether the card was slower on one side, for no reason that anybody tells: heat, other settings, another tenant. Where the limit of
/// power lowers a side's clock, the code itself may draw more, and is slower for that.
pub(crate) fn is_slower_card(base: &ProcessValues, head: &ProcessValues) -> bool {
    let (Some(base_clock), Some(head_clock)) = (base.clock, head.clock) else { return false };
    let slower = if base_clock < head_clock { base } else { head };
    let by_power = slower.reasons.iter().any(|reason| BY_POWER_LIMIT.contains(&reason.as_str()));
    !by_power && base_clock.min(head_clock) < MIN_CLOCK * base_clock.max(head_clock)
}

/// Whether a round shows nothing because of what both of its sides met.
pub(crate) fn spoils(evidence: &Evidence, base: &ProcessValues, head: &ProcessValues) -> bool {
    !evidence.limits.usual_slowdown && base.is_slowed_by_hardware() && head.is_slowed_by_hardware()
}

/// Why the rounds of a row do not show what they seem to, where hardware slowed both sides down, and what to do. `shown`:
/// what they seem to show; `rounds`: how many there are.
pub(crate) fn doubt_of_rounds(evidence: &Evidence, shown: Verdict, rounds: u32) -> Option<(Reason, Advice)> {
    let head = |base: &ProcessValues| evidence.head.processes.iter().find(|head| head.round == base.round);
    let both = evidence.base.processes.iter().filter_map(|base| Some((base, head(base)?)));
    let slowed = both.filter(|(base, head)| spoils(evidence, base, head)).count() as u32;
    let reason = Reason::HardwareSlowdownInRounds { slowed, rounds, shown };
    (slowed > 0).then_some((reason, Advice::CoolTheCard {}))
}

/// Weakens what records that were measured apart seem to show, where hardware slowed a card down on either side. What is
/// counted is counted at any clock.
pub(crate) fn doubt_apart(evidence: &Evidence, decision: &mut RowDecision) {
    let slowed = |side: &MeasuredSide| side.processes.iter().filter(|it| it.is_slowed_by_hardware()).count();
    let (base, head) = (slowed(&evidence.base), slowed(&evidence.head));
    let decided = matches!(decision.verdict, Verdict::Regressed | Verdict::Improved | Verdict::Unchanged);
    if evidence.limits.usual_slowdown || evidence.exact || !decided || base + head == 0 {
        return;
    }
    let (processes, shown) = ((base + head) as u32, decision.verdict);
    decision.reason = Some(Reason::HardwareSlowdown { processes, shown });
    decision.verdict = Verdict::Inconclusive;
    decision.next = Some(Advice::CoolTheCard {});
}

/// The remark on a row that is not plainly unchanged; `None` where nothing was held down.
pub(crate) fn held_clocks(evidence: &Evidence) -> Option<SlowedClocks> {
    let held = |side: &MeasuredSide| {
        let held = side.processes.iter().filter(|process| process.throttled).count();
        (held, side.processes.len())
    };
    let processes = evidence.base.processes.iter().chain(&evidence.head.processes);
    let reasons: BTreeSet<&String> = processes.flat_map(|process| process.reasons).collect();
    let reasons: Vec<String> = reasons.into_iter().cloned().collect();
    let (base, head) = (held(&evidence.base), held(&evidence.head));
    (!reasons.is_empty()).then_some(SlowedClocks { reasons, base, head })
}

/// Of a comparison as a whole: what held clocks down while its processes ran, and how many of them.
pub(crate) fn warning(base: &RunRecord, head: &RunRecord) -> Option<Warning> {
    let mut met: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    let mut all = [0; 2];
    for (side, record) in [base, head].into_iter().enumerate() {
        for process in record.cases.iter().flat_map(|case| &case.processes) {
            all[side] += 1;
            let reasons = process.conditions.iter().flat_map(|conditions| &conditions.throttled);
            reasons.for_each(|reason| met.entry(reason).or_default()[side] += 1);
        }
    }
    let held = |(reason, [base, head]): (&str, [u32; 2])| HeldDown { reason: reason.to_owned(), base, head };
    let reasons: Vec<HeldDown> = met.into_iter().map(held).collect();
    let [base_processes, head_processes] = all;
    (!reasons.is_empty()).then_some(Warning::ClocksHeldDown { reasons, base_processes, head_processes })
}
