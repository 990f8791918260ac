//! How stored runs become a history: which of them may be compared, and which are of one session.

use std::collections::{BTreeMap, HashMap};

use gbench_model::{CaseId, CaseRecord, RunRecord, SPEEDUP, Side, Strictness};

use super::history::{History, Session};
use super::samples::MeasuredSide;
use crate::identity::machines::{differences, host_of};
use crate::identity::measurement::other_settings;
use crate::variants::speedups::speedup_case;
use crate::variants::{PairMetric, VariantPair, VariantPairs};

impl History {
    /// Takes in a run that is stored under `name`. Runs of one name are to come oldest first. Passed over without a word:
    /// a run that is known already, the head of the comparison, and any that may not be compared with both sides.
    pub fn add(
        &mut self,
        name: &str,
        record: &RunRecord,
        (base, head): (&RunRecord, &RunRecord),
        match_key: &BTreeMap<String, Strictness>,
    ) {
        let strict = |side| differences(side, record, match_key).iter().any(|difference| difference.strict);
        if same_session(record, head) || strict(base) || strict(head) {
            return;
        }
        // The arms of one interleaved run are one session, whatever they are called.
        if !self.seen.insert(session_of(record)) {
            return;
        }
        self.runs += 1;
        let mut scratch = Vec::new();
        let now: HashMap<&CaseId, &CaseRecord> = head.cases.iter().map(|case| (&case.id, case)).collect();
        let alike = |case: &&CaseRecord| {
            case.outcome.is_measured()
                && now.get(&case.id).is_none_or(|now| other_settings(case, now).is_none())
        };
        let host = host_of(record);
        let speedups = speedups_of(&record.cases);
        for case in record.cases.iter().chain(&speedups).filter(alike) {
            for metric in &case.metrics {
                let Ok(measured) = MeasuredSide::of(case, metric, &mut scratch) else { continue };
                let centres = measured.centres;
                let past = self.past(&case.id, &metric.name, &metric.unit);
                let session = Session { run_id: record.run_id.clone(), centres, host: host.clone() };
                past.sequences.entry(name.to_owned()).or_default().push(session);
            }
        }
    }
}

pub(crate) fn speedups_of(cases: &[CaseRecord]) -> Vec<CaseRecord> {
    let pairs = VariantPairs::of(cases.iter().map(|case| &case.id)).pairs;
    let speedup = |pair: VariantPair| {
        let members = [&cases[pair.baseline], &cases[pair.optimized]];
        let metric = PairMetric::of(members[0], members[1])?;
        speedup_case(members, &metric, false)
            .filter(|_| members[1].metrics.iter().all(|metric| metric.name != SPEEDUP))
    };
    pairs.into_iter().filter_map(speedup).collect()
}

fn same_session(one: &RunRecord, other: &RunRecord) -> bool {
    one.run_id == other.run_id || session_of(one) == session_of(other)
}

/// True if the two records are the sides of one interleaved run.
pub fn one_session(base: &RunRecord, head: &RunRecord) -> bool {
    let sides = (base.side, head.side) == (Some(Side::Base), Some(Side::Head));
    base.run_id == head.run_id || sides && same_session(base, head)
}

fn session_of(record: &RunRecord) -> String {
    let seed = record.config.get("coin_seed").filter(|_| record.side.is_some());
    let in_rounds = || {
        let mut processes = record.cases.iter().flat_map(|case| &case.processes);
        processes.all(|process| process.round.is_some())
    };
    match seed {
        Some(seed) if in_rounds() => format!("{} {}", record.started, seed.value),
        _ => record.run_id.to_string(),
    }
}
