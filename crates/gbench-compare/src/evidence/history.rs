//! The past, as stored records have it: the figures of each case, session after session.
//!
//! A *session* is one run: whatever the machine kept from its start to its end, it shares. Two sessions of one program
//! differ by more than their processes let expect; how much more, only other sessions show.

use std::collections::{BTreeMap, HashMap, HashSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use gbench_model::{CaseId, RunId, convert};

/// The past of one comparison: what stored records of comparable machines hold of each case and metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Stored runs that were taken in.
    pub runs: u32,
    pub pasts: Vec<Past>,
    #[serde(skip)]
    places: HashMap<CaseId, Vec<usize>>,
    #[serde(skip)]
    pub(crate) seen: HashSet<String>,
}

/// The past of one case and metric: by the name under which the runs are stored, in order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Past {
    pub case: CaseId,
    pub metric: String,
    pub unit: String,
    pub sequences: BTreeMap<String, Vec<Session>>,
}

/// One run's figures of one case and metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub run_id: RunId,
    /// The median of each process, in the metric's unit.
    pub centres: Vec<f64>,
    /// Which machine of its model it ran on, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl History {
    pub(crate) fn past(&mut self, case: &CaseId, metric: &str, unit: &str) -> &mut Past {
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
        self.find(case, |past| past.metric == metric && past.unit == unit)
    }

    /// Likewise in any unit of one kind: the ratios are the same.
    pub(crate) fn in_ratios(&self, case: &CaseId, metric: &str, unit: &str) -> Option<&Past> {
        let is_of_kind = |past: &Past| {
            past.metric == metric && !past.unit.is_empty() && convert(1.0, &past.unit, unit).is_some()
        };
        self.of(case, metric, unit).or_else(|| self.find(case, is_of_kind))
    }

    fn find(&self, case: &CaseId, fits: impl Fn(&Past) -> bool) -> Option<&Past> {
        if self.places.is_empty() {
            return self.pasts.iter().find(|past| past.case == *case && fits(past));
        }
        self.places.get(case)?.iter().map(|at| &self.pasts[*at]).find(|past| fits(past))
    }
}
