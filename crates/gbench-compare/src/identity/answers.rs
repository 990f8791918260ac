//! Checks that both sides compute the same: a faster program that computes something else is not an improvement.

use gbench_model::{CaseRecord, error_of_result};

use super::measurement::other_settings;
use crate::wording::reason::Reason;

/// The first output that head computes otherwise than base. An output that base's processes compute differently shows nothing,
/// and neither do others if a check of base's suite decides. `in_rounds`: one version of the gate measured both sides.
pub(crate) fn other_answer(base: &CaseRecord, head: &CaseRecord, in_rounds: bool) -> Option<Reason> {
    let is_checked = base.metrics.iter().any(|metric| error_of_result(&metric.name).is_some());
    // Another seed makes other inputs.
    if is_checked || base.answer.is_empty() || other_settings(base, head).is_some() {
        return None;
    }
    base.answer.iter().filter(|(_, values)| !values.varies).find_map(|(output, values)| {
        let output = output.clone();
        match head.answer.get(&output) {
            None => in_rounds.then_some(Reason::AnswerMissing { output }),
            Some(of_head) if of_head.varies => Some(Reason::AnswerVaries { output }),
            Some(of_head) => {
                let difference = values.difference(of_head)?;
                let difference = Some(difference).filter(|difference| difference.is_finite());
                Some(Reason::AnswerDiffers { output, difference })
            }
        }
    })
}
