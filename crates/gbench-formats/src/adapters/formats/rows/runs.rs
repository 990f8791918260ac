//! The runs of a file, and the cases of each.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::field::FieldValue;
use super::plan::{NamedField, PlannedMetric, ReadingPlan};
use super::source::SourceRow;
use crate::adapters::formats::interface::format::RunReading;
use crate::adapters::formats::interface::repeats::join;
use crate::adapters::formats::readers::values::unknown;
use crate::adapters::interface::adapter::{MetricReading, Reading};

/// The runs of a file, and the places of their cases.
#[derive(Default)]
pub(super) struct Runs {
    pub runs: Vec<RunReading>,
    /// The place of each run, by its commit, its facts and the values that distinguish it.
    places: HashMap<String, usize>,
    /// The run of the last row.
    last: usize,
    /// The list of the rows.
    list: Option<usize>,
    /// Fields with numbers that a format does not know.
    pub others: Vec<String>,
    /// Only for rows of which several are one case.
    cases: HashMap<(usize, String), usize>,
}

impl Runs {
    /// Adds the case of a row to the run of its commit and its facts.
    pub(super) fn add(&mut self, plan: &ReadingPlan, row: &dyn SourceRow, reading: Reading) {
        let described = plan.described;
        let run = self.run(plan, row);
        run.also_of_row(facts(plan, row, &plan.row_facts));
        run.settings_of_row(facts(plan, row, &plan.settings));
        if described.keeps_others {
            let others = row.object().into_iter().flatten();
            let others = others.map(|(name, value)| (name.as_str(), value));
            run.also_of_row(unknown(others, |name| plan.knows(name)));
            for name in row.other_numbers(&|name| plan.knows(name)) {
                if !self.others.iter().any(|other| other == name) {
                    self.others.push(name.to_owned());
                }
            }
        }
        self.add_case(reading, plan, row);
    }

    /// True if a row is in the list of the rows before it.
    pub(super) fn is_of_list(&mut self, list: Option<usize>) -> bool {
        let before = self.list.replace(list.unwrap_or_default());
        before.is_none_or(|before| Some(before) == self.list)
    }

    fn run(&mut self, plan: &ReadingPlan, row: &dyn SourceRow) -> &mut RunReading {
        let text = |field| row.text(field).map(std::borrow::Cow::into_owned);
        let commit = plan.commit.as_ref().and_then(text);
        let started = plan.started.as_ref().and_then(|field| row.cell(field)?.moment());
        let facts: BTreeMap<String, Value> = facts(plan, row, &plan.facts).into_iter().collect();
        let key: Vec<Option<String>> = plan.runs.iter().map(text).collect();
        let place = *self.places.entry(format!("{commit:?}{facts:?}{key:?}")).or_insert(self.runs.len());
        if place == self.runs.len() {
            self.runs.push(RunReading { commit, facts, ..RunReading::default() });
        }
        self.last = place;
        let run = &mut self.runs[place];
        // The run began with its first row.
        run.started = run.started.take().into_iter().chain(started).min();
        run
    }

    /// Adds a case to the run of the last row.
    fn add_case(&mut self, mut reading: Reading, plan: &ReadingPlan, row: &dyn SourceRow) {
        let described = plan.described;
        let readings = &mut self.runs[self.last].readings;
        if !(described.joins || described.samples) {
            readings.push(reading);
            return;
        }
        match self.cases.entry((self.last, reading.case.native.clone())) {
            Entry::Vacant(place) => {
                place.insert(readings.len());
                readings.push(reading);
            }
            Entry::Occupied(mut place) => {
                let known = &mut readings[*place.get()];
                // A case has these only if it has no samples.
                let of_samples = plan.metrics.iter().filter(|it| it.described.of_samples && it.is_for(row));
                for PlannedMetric { described, .. } in of_samples {
                    let is_known = known.metrics.iter().any(|other| other.name == described.name);
                    reading.metrics.retain(|metric| !is_known || metric.name != described.name);
                }
                let is_new =
                    |metric: &MetricReading| known.metrics.iter().all(|other| other.name != metric.name);
                let fits = described.samples || reading.metrics.iter().all(is_new);
                if fits {
                    joined(known, reading);
                } else {
                    // The rows after it belong to the new one.
                    place.insert(readings.len());
                    readings.push(reading);
                }
            }
        }
    }
}

/// Adds the metrics of another row to a case. Summaries of several rows are values.
fn joined(known: &mut Reading, mut again: Reading) {
    known.metadata.append(&mut again.metadata);
    join(known, again);
}

/// The values of fields as facts: a version such as `5.10` is not the number 5.1.
fn facts(plan: &ReadingPlan, row: &dyn SourceRow, named: &[NamedField]) -> Vec<(String, Value)> {
    let mut facts = Vec::new();
    for field in named {
        plan.values(row, field, &mut |name, cell: FieldValue| {
            let Some(value) = cell.param() else { return };
            let text = cell.into_text();
            let is_same = field.is_every() || text == value.to_string();
            facts.push((name, if is_same { json!(value) } else { json!(text) }));
        });
    }
    facts
}
