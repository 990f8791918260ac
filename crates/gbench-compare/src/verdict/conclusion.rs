//! Conclusions from rows: their order, their counts, one conclusion and one exit code. The same code for a comparison,
//! for several that become one, and for a document from elsewhere.

use std::collections::BTreeMap;

use gbench_model::{
    Better, Exit, SPEEDUP_UNIT, SequentialRuleName, direction_of_unit, error_of_result, is_counted, is_time,
};

use super::change::Change;
use super::curves;
use super::document::{Method, Row, RowSide, VerdictDocument};
use super::outcome::{Conclusion, Verdict};
use super::policy::Policy;
use crate::evidence::samples::is_instructions;
use crate::evidence::scale::sign;
use crate::wording::reason::Reason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FailurePolicy {
    pub inconclusive_fails: bool,
    pub failed_fails: bool,
    /// So do cases that are broken on both sides.
    pub broken_fails: bool,
    /// A row that is probably worse, impossible or far noisier than base is never passed over, nor that no time was
    /// decided. Not so under the rule `seq-e`, whose stored verdicts keep their exit code.
    pub doubt_fails: bool,
    /// A commit was compared with itself for want of another: nothing is decided about it, whatever its rows.
    pub no_reference: bool,
}

impl From<&Policy> for FailurePolicy {
    fn from(policy: &Policy) -> Self {
        Self {
            inconclusive_fails: policy.inconclusive_fails,
            failed_fails: policy.failed_fails,
            broken_fails: policy.broken_fails,
            doubt_fails: policy.doubt_fails,
            no_reference: policy.no_reference.is_some(),
        }
    }
}

impl From<&Method> for FailurePolicy {
    fn from(method: &Method) -> Self {
        Self {
            inconclusive_fails: method.inconclusive_fails,
            failed_fails: method.failed_fails,
            broken_fails: method.broken_fails,
            doubt_fails: method.rule != SequentialRuleName::SeqE.into_str(),
            no_reference: method.no_reference.is_some(),
        }
    }
}

/// Conclusion and exit code of rows. `comparable`: no field that must agree differs anywhere; `in_the_dark`: a row is
/// inconclusive for want of a history.
pub(crate) fn conclude(
    comparable: bool,
    rows: &[Row],
    in_the_dark: bool,
    failure_policy: FailurePolicy,
) -> (Conclusion, Exit) {
    let any = |verdict| rows.iter().any(|row| row.verdict == verdict);
    let compared = rows.iter().filter(|row| was_compared(row)).count();
    let doubtful = rows.iter().filter(|row| row.verdict == Verdict::Inconclusive).count();
    let failed = any(Verdict::Invalid) || any(Verdict::Missing);
    let broken = any(Verdict::Broken);
    let nothing_compared = compared == 0;
    let only_base_failed = broken || any(Verdict::Mended);
    let doubt_fails = doubtful > 0
        && (failure_policy.inconclusive_fails
            || in_the_dark
            || doubtful == compared
            || failure_policy.doubt_fails && (rows.iter().any(is_suspicious) || no_time_decided(rows)));
    let of_doubt = if doubt_fails { Exit::Inconclusive } else { Exit::Pass };
    let (mut conclusion, mut exit) = if any(Verdict::Regressed) {
        (Conclusion::Regressed, Exit::Regression)
    } else if failed && failure_policy.failed_fails || broken && failure_policy.broken_fails {
        (Conclusion::Failed, Exit::Failed)
    } else if nothing_compared && only_base_failed && !failed {
        // Never green, but what was broken before is not a failure of this change.
        (Conclusion::Inconclusive, Exit::Inconclusive)
    } else if nothing_compared {
        (Conclusion::Failed, Exit::Failed)
    } else if failed {
        (Conclusion::Failed, of_doubt)
    } else if doubtful > 0 || broken {
        (Conclusion::Inconclusive, of_doubt)
    } else {
        (Conclusion::Pass, Exit::Pass)
    };
    let mut at_least = |least, code: Exit| {
        (conclusion, exit) = (most_severe(conclusion, least), exit.most_severe(code));
    };
    if failure_policy.no_reference {
        at_least(Conclusion::Inconclusive, Exit::Inconclusive);
    }
    if !comparable {
        at_least(Conclusion::Incomparable, Exit::Machine);
    }
    (conclusion, exit)
}

/// Not decided, and all of its range lies beyond the threshold on the worse side: only the evidence is short. For a row
/// that is judged by an absolute difference, the difference itself is used.
pub(crate) fn is_probably_worse(row: &Row) -> bool {
    let beyond = match (&row.change, row.margin) {
        (Some(change), _) => change.low > row.threshold,
        (None, Some(margin)) => worse_by(row).is_some_and(|difference| difference > margin),
        (None, None) => false,
    };
    row.verdict == Verdict::Inconclusive && beyond
}

/// How much worse head lies than base, in the metric's unit.
pub(crate) fn worse_by(row: &Row) -> Option<f64> {
    let centre = |side: &Option<RowSide>| side.as_ref().and_then(|side| side.centre);
    let difference = centre(&row.head)? - centre(&row.base)?;
    Some(sign(row.better?) * difference)
}

fn is_suspicious(row: &Row) -> bool {
    let impossible =
        row.verdict == Verdict::Inconclusive && row.change.as_ref().is_some_and(Change::is_impossible);
    impossible || is_probably_worse(row) || varies_more(row)
}

pub(crate) fn varies_more(row: &Row) -> bool {
    matches!(row.why, Some(Reason::HeadVariesMore { .. }))
}

/// Times, rates or counts of instructions were compared, and not one of them was decided: rows that come along by
/// themselves, such as memory and errors, say nothing of what was measured.
pub(crate) fn no_time_decided(rows: &[Row]) -> bool {
    let is_work = |row: &&Row| is_speed(row) || is_instructions(&row.case, &row.unit);
    let compared: Vec<&Row> = rows.iter().filter(|row| was_compared(row)).filter(is_work).collect();
    !compared.is_empty() && compared.iter().all(|row| row.verdict == Verdict::Inconclusive)
}

/// True if a row shows the speed of head: a time, a rate, or another figure of the work except a size, a count, an energy and
/// an error of its result. The speedup of a pair is not a speed of head.
pub fn is_speed(row: &Row) -> bool {
    let is_size = is_counted(&row.unit) || direction_of_unit(&row.unit) == Some(Better::Lower);
    (is_time(&row.unit) || !is_size)
        && row.unit != SPEEDUP_UNIT
        && !row.counted
        && !row.metric.is_empty()
        && error_of_result(&row.metric).is_none()
}

/// The one of two conclusions that speaks for both, in the order of [`Exit::most_severe`].
pub(crate) fn most_severe(one: Conclusion, other: Conclusion) -> Conclusion {
    if severity(one) < severity(other) { other } else { one }
}

pub(crate) fn severity(conclusion: Conclusion) -> u8 {
    match conclusion {
        Conclusion::Pass => 0,
        Conclusion::Inconclusive => 1,
        Conclusion::Failed => 2,
        Conclusion::Incomparable => 3,
        Conclusion::Regressed => 4,
    }
}

/// Verdict to number of rows; see [`Verdict::tally`].
pub(crate) fn counts(rows: &[Row]) -> BTreeMap<Verdict, u32> {
    Verdict::tally(|verdict| rows.iter().filter(|row| row.verdict == verdict).count() as u32)
}

/// By verdict, then the larger change first, then by identity.
pub(crate) fn severity_order(a: &Row, b: &Row) -> std::cmp::Ordering {
    let size = |row: &Row| row.change.as_ref().map_or(f64::INFINITY, |change| change.slowdown.abs());
    a.verdict
        .cmp(&b.verdict)
        .then_with(|| size(b).total_cmp(&size(a)))
        .then_with(|| a.case.cmp(&b.case))
        .then_with(|| a.metric.cmp(&b.metric))
}

/// The conclusion of a document's rows, and the exit codes that may follow from them. There are several where a rule asks
/// for a history, because the document does not say of each row whether it had enough, and for stored records.
pub(crate) fn derived(document: &VerdictDocument) -> (Conclusion, Vec<Exit>) {
    let comparable = !document.differences.iter().any(|difference| difference.strict);
    let failure_policy = FailurePolicy::from(&document.method);
    let of = |in_the_dark| conclude(comparable, &document.rows, in_the_dark, failure_policy);
    let (conclusion, exit) = of(false);
    let sessions = document.method.sessions.as_ref();
    let mut exits = match sessions {
        Some(sessions) if sessions.runs < sessions.needed => vec![of(true).1],
        Some(_) => vec![exit, of(true).1],
        None => vec![exit],
    };
    // Versions before passed over what is probably worse in stored records, and everywhere that no time was decided;
    // their verdicts name the same rule.
    if document.method.rounds.is_none() || !document.rows.iter().any(is_suspicious) {
        let lenient = FailurePolicy { doubt_fails: false, ..failure_policy };
        exits.push(conclude(comparable, &document.rows, false, lenient).1);
    }
    (conclusion, exits)
}

/// Checks a verdict against its rows. Errors: the first contradiction, in one sentence without a period.
pub fn check_consistency(document: &VerdictDocument) -> Result<(), String> {
    let (conclusion, exits) = derived(document);
    check_says(document, conclusion, &exits)
}

/// Checks that a verdict has this conclusion and one of these exit codes; the error names the first of them.
pub(crate) fn check_says(
    document: &VerdictDocument,
    conclusion: Conclusion,
    exits: &[Exit],
) -> Result<(), String> {
    if document.counts != counts(&document.rows) {
        return Err("its counts are not those of its rows".into());
    }
    if document.curves != curves::judged_by(&document.rows, &document.curves) {
        return Err("the verdicts of its curves are not those of its rows".into());
    }
    if document.conclusion != conclusion {
        return Err(format!("its rows give {conclusion:?}, and the verdict has {:?}", document.conclusion));
    }
    match Exit::from_repr(document.exit_code) {
        Some(exit) if exits.contains(&exit) => Ok(()),
        _ => Err(format!(
            "its rows give exit code {}, and the verdict has {}",
            exits[0].code(),
            document.exit_code
        )),
    }
}

pub(crate) fn was_compared(row: &Row) -> bool {
    use Verdict::{Improved, Inconclusive, Regressed, Unchanged};
    matches!(row.verdict, Regressed | Improved | Unchanged | Inconclusive)
}
