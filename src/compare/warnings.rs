//! What a reader should know beside the rows. A warning travels in the document, so that every report shows it.

use crate::model::{RecordState, Side};

use super::pairing::Pair;
use super::policy::has_bad_threshold;
use super::rows::Draft;
use super::words::{count, list};
use super::{SideInput, key};

/// Warnings of single cases that are quoted; the records hold them all.
const MOST_QUOTED: usize = 10;

/// Names that one warning lists.
const MOST_NAMED: usize = 5;

/// Of the comparison as such.
pub fn of_comparison(base: &SideInput, head: &SideInput, pairs: &[Pair], draft: &Draft) -> Vec<String> {
    let mut warnings = Vec::new();
    if base.record.run_id == head.record.run_id {
        let id = &base.record.run_id;
        warnings.push(match base.record == head.record {
            true => format!("the record of run {id} was compared with itself: unchanged means nothing here"),
            false => format!("both records carry the run id {id} and yet differ: one of them was edited"),
        });
    }
    let named = [
        (&draft.unmeasured, "without a measurement on either side"),
        (&draft.ungated, "shown and not judged (`gate = false`)"),
    ];
    for (names, what) in named.into_iter().filter(|(names, _)| !names.is_empty()) {
        warnings.push(format!("{} {what}: {}", names.len(), list(names, MOST_NAMED)));
    }
    warnings.extend(key::warnings(pairs));
    let bad = pairs.iter().filter_map(|pair| pair.head.filter(|case| has_bad_threshold(case)));
    let bad: Vec<String> = bad.map(|case| case.id.to_string()).collect();
    if !bad.is_empty() {
        let what = "state a threshold that is no relative change, which was passed over";
        warnings.push(format!("{} {what}: {}", count(bad.len(), "case"), list(&bad, MOST_NAMED)));
    }
    warnings
}

/// Of one record: its state and what it says itself.
pub fn of_side(side: Side, input: &SideInput) -> Vec<String> {
    let word = side.word();
    let mut warnings = Vec::new();
    match input.record.state {
        RecordState::Complete => {}
        RecordState::Interrupted => {
            warnings
                .push(format!("{word} was interrupted: it may hold fewer cases and processes than selected"));
        }
        RecordState::Recovered => {
            warnings
                .push(format!("{word} was recovered from a run that was killed: later cases are not in it"));
        }
    }
    warnings.extend(input.record.warnings.iter().map(|warning| format!("{word}: {warning}")));
    let quoted = input.record.cases.iter();
    let quoted = quoted.flat_map(|case| {
        let signs = case.nothing_measured.iter().filter(|_| case.outcome.is_measured());
        let signs = signs.map(|sign| format!("{}; next: {}", sign.sentence(), sign.next()));
        signs.chain(case.warnings.iter().cloned()).map(move |warning| (&case.id, warning))
    });
    let total = quoted.clone().count();
    warnings.extend(quoted.take(MOST_QUOTED).map(|(id, warning)| format!("{word}: {id}: {warning}")));
    if total > MOST_QUOTED {
        warnings.push(format!("{word}: {} more of single cases, in its record", total - MOST_QUOTED));
    }
    warnings
}
