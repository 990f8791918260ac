//! Warnings about two records, in addition to their rows.

use std::collections::HashMap;

use gbench_model::{CaseRecord, Ingested, RecordState, Side};

use super::policy::SideInput;
use super::policy::has_bad_threshold;
use super::rows::PreparedRows;
use crate::identity::cases::PairedCase;
use crate::identity::measurement;
use crate::wording::parts::counted;
use crate::wording::warning::Warning;

const MAX_QUOTED: usize = 10;

const MAX_NAMED: usize = 5;

pub(crate) fn of_comparison(
    base: &SideInput,
    head: &SideInput,
    pairs: &[PairedCase],
    prepared: &PreparedRows,
    precedes_seq_e_5: bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if base.record.run_id == head.record.run_id {
        let run = base.record.run_id.to_string();
        let same = base.record == head.record;
        warnings.push(if same { Warning::SameRecord { run } } else { Warning::EditedRecord { run } });
    }
    let bad = pairs.iter().filter_map(|pair| pair.head.filter(|case| has_bad_threshold(case)));
    let bad: Vec<String> = bad.map(|case| case.id.to_string()).collect();
    let named = |names: &[String], warning: fn(u32, Vec<String>) -> Warning| {
        let (count, named) = counted(names, MAX_NAMED);
        (count > 0).then(|| warning(count, named))
    };
    warnings.extend(prepared.unmeasured.iter().map(|(why, names)| {
        let (count, named) = counted(names, MAX_NAMED);
        Warning::Unmeasured { count, named, why: why.clone() }
    }));
    warnings.extend(named(&prepared.ungated, |count, named| Warning::NotJudged { count, named }));
    warnings.extend(named(&prepared.absent, |count, named| Warning::OptionalOnOneSide { count, named }));
    warnings.extend(measurement::warnings(pairs));
    let renamed = head.record.comparison.iter().flat_map(|comparison| &comparison.renamed);
    let renamed: Vec<String> = renamed.map(|(now, before)| format!("{now} (on base {before})")).collect();
    warnings.extend(named(&renamed, |count, named| Warning::Renamed { count, named }));
    let redefined = head.record.comparison.as_ref().map_or(&[][..], |comparison| &comparison.redefined);
    warnings.extend(named(redefined, |count, named| Warning::DefinedOtherwise { count, named }));
    let autotuned = |case: Option<&CaseRecord>| case.and_then(|case| case.metadata.get("autotuned").cloned());
    let apart = pairs.iter().filter(|pair| {
        autotuned(pair.base).zip(autotuned(pair.head)).is_some_and(|(base, head)| base != head)
    });
    let apart: Vec<String> = apart.map(|pair| pair.id.to_string()).collect();
    warnings.extend(named(&apart, |count, named| Warning::AutotunedApart { count, named }));
    let apart = pairs.iter().filter(|pair| !precedes_seq_e_5 && calls_are_apart(pair));
    let apart: Vec<String> = apart.map(|pair| pair.id.to_string()).collect();
    warnings.extend(named(&apart, |count, named| Warning::CallsApart { count, named }));
    warnings.extend(named(&bad, |count, named| Warning::BadThreshold { count, named }));
    warnings
}

/// The two sides had other numbers of calls in a sample, and few enough that it shows.
fn calls_are_apart(pair: &PairedCase) -> bool {
    const FEW: u64 = 8;
    let calls =
        |case: Option<&CaseRecord>| case.and_then(|case| case.metadata.get("calls_per_sample")?.as_u64());
    calls(pair.base).zip(calls(pair.head)).is_some_and(|(base, head)| base != head && base.min(head) < FEW)
}

/// `converted`: see [`crate::identity::units`].
pub(crate) fn of_units(converted: &[String]) -> Option<Warning> {
    let (count, named) = counted(converted, MAX_NAMED);
    (count > 0).then_some(Warning::UnitsConverted { count, named })
}

pub(crate) fn of_side(side: Side, input: &SideInput) -> Vec<Warning> {
    let mut warnings = Vec::new();
    match input.record.state {
        RecordState::Complete => {}
        RecordState::Interrupted => warnings.push(Warning::Interrupted { side }),
        RecordState::Recovered => warnings.push(Warning::Recovered { side }),
    }
    let unread = input.record.ingested.as_deref().map(Ingested::unread).unwrap_or_default();
    let unread = unread.into_values().map(|sentences| {
        let more = sentences.len().saturating_sub(MAX_NAMED);
        let shown = counted(&sentences, MAX_NAMED).1.join("; ");
        if more > 0 { format!("{shown}; and {more} files more") } else { shown }
    });
    let own = input.record.warnings.iter().cloned().chain(unread);
    warnings.extend(own.map(|text| Warning::OfRecord { side, text }));
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
    let more = of_cases.len().saturating_sub(MAX_QUOTED) as u32;
    warnings.extend(of_cases.into_iter().take(MAX_QUOTED).map(|(text, cases)| {
        let (count, named) = counted(&cases, MAX_NAMED);
        Warning::OfCases { side, text, count, named }
    }));
    warnings.extend((more > 0).then_some(Warning::MoreOfCases { side, count: more }));
    warnings
}
