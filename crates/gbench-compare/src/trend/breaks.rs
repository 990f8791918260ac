//! The breaks of a series: two successive runs whose figures may not be compared. A difference across a break is never a
//! change of the code.

use std::collections::{BTreeMap, HashMap};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::encoding::Dictionary;
use super::table::{TrendSeries, TrendTable};
use crate::identity::machines::strictness;
use gbench_model::Strictness;

/// Two points next to each other that may not be set side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1Break {
    /// Index in `points` of the first one after it.
    pub at: u32,
    pub fields: Vec<V1BrokenField>,
}

/// A fact that differs between the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1BrokenField {
    /// A field of `[gate.match]`, or `settings`.
    pub field: String,
    pub before: String,
    pub after: String,
}

const SETTINGS: &str = "settings";

pub(super) struct BreakFinder<'t> {
    table: &'t TrendTable,
    dictionary: &'t Dictionary,
    match_key: &'t BTreeMap<String, Strictness>,
    /// The facts of a machine that must agree, by its number.
    strict: HashMap<u32, Vec<(u32, u32)>>,
}

impl<'t> BreakFinder<'t> {
    /// `match_key`: the suite's `[gate.match]`.
    pub(super) fn new(
        table: &'t TrendTable,
        dictionary: &'t Dictionary,
        match_key: &'t BTreeMap<String, Strictness>,
    ) -> Self {
        Self { table, dictionary, match_key, strict: HashMap::new() }
    }

    /// Every break of a series, in order. A fact that a run does not tell is as it was last told: a night on which one
    /// query failed breaks nothing, and hides no break.
    pub(super) fn of(&mut self, series: &TrendSeries) -> Vec<V1Break> {
        let mut found = Vec::new();
        let mut known: HashMap<u32, u32> = HashMap::new();
        let mut before: Option<(u32, u32)> = None;
        for (at, point) in series.points.iter().enumerate() {
            let now = (self.table.machine(point.run), series.settings(point.run));
            if before == Some(now) {
                continue;
            }
            let mut fields = Vec::new();
            for (name, value) in self.strict_facts(now.0).to_vec() {
                if let Some(before) = known.insert(name, value).filter(|before| *before != value) {
                    fields.push(self.field(self.dictionary.text(name), before, value));
                }
            }
            if let Some((_, settings)) = before.filter(|before| before.1 != now.1) {
                fields.push(self.field(SETTINGS, settings, now.1));
            }
            before = Some(now);
            if !fields.is_empty() {
                found.push(V1Break { at: at as u32, fields });
            }
        }
        found
    }

    fn field(&self, field: &str, before: u32, after: u32) -> V1BrokenField {
        let [before, after] = [before, after].map(|text| self.dictionary.text(text).to_owned());
        V1BrokenField { field: field.to_owned(), before, after }
    }

    fn strict_facts(&mut self, machine: u32) -> &[(u32, u32)] {
        let (table, dictionary, match_key) = (self.table, self.dictionary, self.match_key);
        self.strict.entry(machine).or_insert_with(|| {
            let is_strict = |name: u32| strictness(dictionary.text(name), match_key) == Strictness::Strict;
            table.facts(machine).iter().copied().filter(|(name, _)| is_strict(*name)).collect()
        })
    }
}
