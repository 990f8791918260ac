//! What a reader should know beside the rows. A warning travels in the document, so that every report shows it.

use std::collections::HashMap;

use crate::model::{RecordState, Side};

use super::pairing::CasePair;
use super::policy::has_bad_threshold;
use super::rows::PreparedRows;
use super::{SideInput, key};
use crate::model::text::{count, list};

/// Different warnings of cases that are quoted; the records hold them all.
const MOST_QUOTED: usize = 10;

/// Names that one warning lists.
const MOST_NAMED: usize = 5;

/// Of the comparison as such.
pub fn of_comparison(
    base: &SideInput,
    head: &SideInput,
    pairs: &[CasePair],
    prepared: &PreparedRows,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if base.record.run_id == head.record.run_id {
        let id = &base.record.run_id;
        warnings.push(match base.record == head.record {
            true => format!("the record of run {id} was compared with itself: unchanged means nothing here"),
            false => format!("both records carry the run id {id} and yet differ: one of them was edited"),
        });
    }
    let named = [
        (&prepared.unmeasured, "without a measurement on either side"),
        (&prepared.ungated, "shown and not judged (`gate = false`)"),
        (&prepared.absent, "optional and on one side only, so that nothing was compared"),
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
    // The same words of several cases are one warning.
    let mut of_cases: Vec<(String, Vec<String>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for case in &input.record.cases {
        let signs = case.nothing_measured.iter().filter(|_| case.outcome.is_measured());
        let signs = signs.map(|sign| format!("{}; next: {}", sign.sentence(), sign.next()));
        for warning in signs.chain(case.warnings.iter().cloned()) {
            let at = *known.entry(warning.clone()).or_insert(of_cases.len());
            if at == of_cases.len() {
                of_cases.push((warning, Vec::new()));
            }
            of_cases[at].1.push(case.id.to_string());
        }
    }
    let quoted = of_cases.iter().take(MOST_QUOTED).map(|(warning, cases)| match cases.as_slice() {
        [only] => format!("{word}: {only}: {warning}"),
        several => {
            let cases = count(several.len(), "case");
            format!("{word}: {cases}: {warning}: {}", list(several, MOST_NAMED))
        }
    });
    warnings.extend(quoted);
    if let more @ 1.. = of_cases.len().saturating_sub(MOST_QUOTED) {
        warnings.push(format!("{word}: {more} more of single cases, in its record"));
    }
    warnings
}
