//! A GPU whose clocks were held down while processes ran: the warning, and the verdicts that are not believed because of
//! it.
//!
//! If one side alone met it, it is a disturbance like any other; see `rounds`. A power limit on both sides is how the
//! card works, and is only reported. Where the *hardware* slows a card down, for heat, its power supply or a fault, its
//! clocks jump, no two processes meet the same card, and the figures are not those of the card: such rounds decide
//! nothing, unless the suite declares this the card's usual state.

use std::collections::{BTreeMap, BTreeSet};

use gbench_model::{CLOCK_DROP, CaseRecord, ProcessRecord, RunRecord};

use super::samples::{Evidence, MeasuredSide, ProcessValues};
use crate::rules::rule::RowDecision;
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;
use crate::wording::row::SlowedClocks;
use crate::wording::warning::{HeldDown, Warning};

/// The setting by which a suite declares that its card is always so.
const USUAL: &str = "usual_slowdown";

/// NVML's names of the reasons that come from the card itself.
const BY_HARDWARE: &str = "hw_";

impl ProcessValues<'_> {
    pub fn is_slowed_by_hardware(&self) -> bool {
        by_hardware(self.reasons).is_some()
    }
}

fn by_hardware(reasons: &[String]) -> Option<&String> {
    reasons.iter().find(|reason| reason.starts_with(BY_HARDWARE) || *reason == CLOCK_DROP)
}

/// Why a process of a case shows nothing: the card itself held its clocks down, and the suite does not call that usual.
pub(super) fn slowed_by_hardware<'r>(case: &CaseRecord, process: &'r ProcessRecord) -> Option<&'r str> {
    let reasons = process.conditions.as_ref().map(|conditions| conditions.throttled.as_slice());
    by_hardware(reasons.filter(|_| !is_usual(case))?).map(String::as_str)
}

/// True if the suite declares for a case that hardware slowdown is the card's usual state.
pub(crate) fn is_usual(case: &CaseRecord) -> bool {
    case.config.get(USUAL).and_then(|shown| shown.value.as_bool()) == Some(true)
}

/// The names of a power limit that lowers clocks: NVML's, and the gate's where only the driver's counter shows it.
const BY_POWER_LIMIT: [&str; 2] = ["sw_power_cap", "power_violation"];

/// At less than this share of the other side's clock a side met a slower card.
const MIN_CLOCK: f64 = 0.95;

/// True if the card was slower on one side for no known reason: heat, other settings, another tenant. Where the power
/// limit lowers a side's clock, the code itself may draw more, and is slower for that.
pub(crate) fn is_slower_card(base: &ProcessValues, head: &ProcessValues) -> bool {
    let (Some(base_clock), Some(head_clock)) = (base.clock, head.clock) else { return false };
    let slower = if base_clock < head_clock { base } else { head };
    let by_power = slower.reasons.iter().any(|reason| BY_POWER_LIMIT.contains(&reason.as_str()));
    !by_power && base_clock.min(head_clock) < MIN_CLOCK * base_clock.max(head_clock)
}

/// True if a round shows nothing because both sides met a hardware slowdown.
pub(crate) fn spoils(evidence: &Evidence, base: &ProcessValues, head: &ProcessValues) -> bool {
    !evidence.limits.usual_slowdown && base.is_slowed_by_hardware() && head.is_slowed_by_hardware()
}

/// Why the rounds of a row do not show what they seem to, where hardware slowed both sides down, and what to do. `shown`:
/// what they seem to show; `rounds`: how many there are.
pub(crate) fn doubt_of_rounds(evidence: &Evidence, shown: Verdict, rounds: u32) -> Option<(Reason, Advice)> {
    let slowed = evidence.turns().iter().filter(|[base, head]| spoils(evidence, base, head)).count() as u32;
    let reason = Reason::HardwareSlowdownInRounds { slowed, rounds, shown };
    (slowed > 0).then_some((reason, Advice::CoolTheCard {}))
}

/// Weakens the decision between records of different runs where hardware slowed a card down on either side. Counts do not
/// depend on the clock.
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

/// For a comparison as a whole: the reasons that held clocks down, and the number of processes that met them.
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
