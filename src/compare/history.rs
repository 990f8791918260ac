//! What stored records say of the past: the figures of each case, session after session.
//!
//! A *session* is one run: whatever the machine kept from its start to its end, it shares. Two sessions of one program
//! differ by more than their processes let expect; how much more, only other sessions show.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{CaseId, CaseRecord, RunId, RunRecord, Side, Strictness};

use super::comparability::differences;
use super::evidence::MeasuredSide;
use super::key::other_settings;

/// The past of one comparison: what stored records of comparable machines hold of each case and metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Stored runs that were taken in.
    pub runs: u32,
    pub pasts: Vec<Past>,
    #[serde(skip)]
    places: HashMap<CaseId, Vec<usize>>,
    #[serde(skip)]
    seen: HashSet<String>,
}

/// The past of one case and metric: by the name under which the runs are stored, in order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Past {
    pub case: CaseId,
    pub metric: String,
    pub unit: String,
    pub sequences: BTreeMap<String, Vec<Session>>,
}

/// One run's figures of one case and metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub run_id: RunId,
    /// The median of each process, in the metric's unit.
    pub centres: Vec<f64>,
}

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
        for case in record.cases.iter().filter(alike) {
            for metric in &case.metrics {
                let Ok(measured) = MeasuredSide::of(case, metric, &mut scratch) else { continue };
                let centres = measured.centres;
                let past = self.past(&case.id, &metric.name, &metric.unit);
                let session = Session { run_id: record.run_id.clone(), centres };
                past.sequences.entry(name.to_owned()).or_default().push(session);
            }
        }
    }

    fn past(&mut self, case: &CaseId, metric: &str, unit: &str) -> &mut Past {
        let fits = |past: &Past| past.metric == metric && past.unit == unit;
        let known = self.places.get(case).into_iter().flatten().find(|at| fits(&self.pasts[**at])).copied();
        let at = known.unwrap_or_else(|| {
            self.places.entry(case.clone()).or_default().push(self.pasts.len());
            let (metric, unit) = (metric.to_owned(), unit.to_owned());
            self.pasts.push(Past { case: case.clone(), metric, unit, sequences: BTreeMap::new() });
            self.pasts.len() - 1
        });
        &mut self.pasts[at]
    }

    /// The past of a case and metric in this unit. A history that was read back from JSON is searched from its start.
    pub fn of(&self, case: &CaseId, metric: &str, unit: &str) -> Option<&Past> {
        let fits = |past: &&Past| past.metric == metric && past.unit == unit;
        match self.places.is_empty() {
            true => self.pasts.iter().filter(|past| past.case == *case).find(fits),
            false => self.places.get(case)?.iter().map(|at| &self.pasts[*at]).find(fits),
        }
    }
}

/// Whether two records are of one session: the same run, or base and head of one interleaved run, which took turns by
/// one coin. Whatever a session does to its figures, it does to both alike.
pub fn same_session(one: &RunRecord, other: &RunRecord) -> bool {
    one.run_id == other.run_id || session_of(one) == session_of(other)
}

/// Whether the two records are the sides of one interleaved run.
pub fn one_session(base: &RunRecord, head: &RunRecord) -> bool {
    let sides = (base.side, head.side) == (Some(Side::Base), Some(Side::Head));
    base.run_id == head.run_id || sides && same_session(base, head)
}

/// Records with the same text are of one session.
fn session_of(record: &RunRecord) -> String {
    let coin = record.config.get("coin_seed").filter(|_| record.side.is_some());
    let in_rounds = || {
        let mut processes = record.cases.iter().flat_map(|case| &case.processes);
        processes.all(|process| process.round.is_some())
    };
    match coin {
        Some(coin) if in_rounds() => format!("{} {}", record.started, coin.value),
        _ => record.run_id.to_string(),
    }
}
