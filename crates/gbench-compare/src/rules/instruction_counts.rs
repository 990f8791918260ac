//! Counts of executed instructions: figures that no noise of the machine reaches, and that agree from process to process
//! but for what the harness itself does.
//!
//! ```text
//!  -10 spreads  head  +10 spreads        min_effect
//!       |---------x---------|                |          unchanged: all of it within the target, the change within min_effect
//!                     |---------x---------|             neither: the ordinary rule, with more rounds
//!                                            |  |---x---|  changed, from so many processes a side on
//! ```
//!
//! It could be misled by a program whose count has two states by chance, such as one that sometimes takes another path:
//! with equal odds six processes a side are each in one state, and the sides in different ones, in 2 of 4096 comparisons
//! of nothing.

use std::collections::HashMap;

use gbench_stats as stats;

use super::rule::RowDecision;
use crate::evidence::samples::Evidence;
use crate::evidence::samples::is_instructions;
use crate::verdict::change::Change;
use crate::verdict::document::Row;
use crate::verdict::outcome::Verdict;
use crate::wording::reason::Reason;
use gbench_model::{Better, CaseId};

/// Processes a side that a change takes, by the rules before SEQ-E 3.
pub(crate) const MIN_PROCESSES: usize = 6;
/// Counts of one side that differ by more, largest less smallest as a share of their mean, are not exact.
const MAX_SPREAD: f64 = 5e-4;
/// A change must be so many times the spread.
const BEYOND: f64 = 10.0;

struct Counts {
    mean: f64,
    spread: f64,
    processes: usize,
}

impl Counts {
    /// `None`: too few, not above zero, or too different.
    fn of(values: &[f64], least: usize) -> Option<Self> {
        let mean = stats::mean(values).filter(|mean| *mean > 0.0 && values.len() >= least)?;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread = (high - low) / mean;
        (low > 0.0 && spread <= MAX_SPREAD).then_some(Self { mean, spread, processes: values.len() })
    }
}

/// The decision of a row whose counts agree so nearly that nothing is left to chance: also one that waits for more
/// processes, and meanwhile is not a candidate. `least` and `differing`: processes a side that "unchanged" and a change
/// take. `None`: the ordinary rule decides.
pub(crate) fn known(evidence: &Evidence, least: usize, differing: usize) -> Option<RowDecision> {
    let limits = evidence.limits;
    if !evidence.counted || !evidence.exact || limits.absolute {
        return None;
    }
    let base = Counts::of(&evidence.base.centres, least)?;
    let head = Counts::of(&evidence.head.centres, least)?;
    let worse = match evidence.better {
        Better::Lower => head.mean / base.mean,
        Better::Higher => base.mean / head.mean,
    };
    let (spread, size) = (base.spread.max(head.spread), worse.ln().abs());
    let within_margin = limits.margin.is_some_and(|margin| (head.mean - base.mean).abs() <= margin);
    let min_effect = limits.min_effect.ln_1p();
    let change = Some(Change::known(head.mean / base.mean, worse - 1.0));
    if within_margin || (size <= min_effect && size + BEYOND * spread <= limits.target.ln_1p()) {
        return Some(RowDecision { change, ..RowDecision::plain(Verdict::Unchanged, None, None) });
    }
    if size <= min_effect || size <= BEYOND * spread {
        return None;
    }
    let processes = base.processes.min(head.processes);
    let missing = differing.saturating_sub(processes) as u32;
    if missing > 0 {
        let reason = Reason::FewCounts { processes: processes as u32, needed: differing as u32 };
        return Some(RowDecision::waiting(change, reason, missing, differing as u32));
    }
    let reason =
        Reason::CountsAgree { base: base.mean, head: head.mean, spread, processes: processes as u32 };
    let verdict = if worse > 1.0 { Verdict::Regressed } else { Verdict::Improved };
    Some(RowDecision { change, ..RowDecision::plain(verdict, Some(reason), None) })
}

/// Adds the verdict on the case's time to every row of executed instructions that changed.
pub(crate) fn tell_of_time(rows: &mut [Row]) {
    let of_time = |row: &&Row| row.metric == "time";
    let times: Vec<(CaseId, Verdict)> =
        rows.iter().filter(of_time).map(|row| (row.case.clone(), row.verdict)).collect();
    let times: HashMap<&CaseId, Verdict> = times.iter().map(|(case, verdict)| (case, *verdict)).collect();
    for row in rows.iter_mut().filter(|row| is_instructions(&row.case, &row.unit)) {
        if matches!(row.verdict, Verdict::Regressed | Verdict::Improved)
            && let Some(verdict) = times.get(&row.case)
        {
            row.time_verdict = Some(*verdict);
        }
    }
}
