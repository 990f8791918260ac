//! Makes a case of each row, as the description says.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use serde_json_path::JsonPath;

use super::description::{Derived, Described, DescribedMetric, RowLayout, template_fields};
use super::field::{FieldPath, FieldValue, field_name};
use super::source::{self, DerivedRow, ListedObject, SourceRow, failed_row};
use super::text;
use crate::adapters::formats::interface::format::{
    DeclaredFormat, FormatAbout, ResultFile, ResultFormat, RunReading,
};
use crate::adapters::formats::interface::repeats::join;
use crate::adapters::formats::readers::table::no_value;
use crate::adapters::formats::readers::values::unknown;
use crate::adapters::interface::adapter::{End, MetricReading, Reading, Reads};
use crate::adapters::interface::case::{ended, fail, failed, metric_name, named, skipped, summary};
use crate::adapters::interface::output::ReadError;
use gbench_model::{ParamValue, Params, Unread, direction_of_unit};

const ROWS: &str = "rows";

impl ResultFormat for Described {
    fn name(&self) -> &'static str {
        ROWS
    }

    fn about(&self) -> FormatAbout {
        FormatAbout { title: "rows as described", reads: Reads::Samples, ..DeclaredFormat::SUMMARY.about() }
    }

    fn recognises(&self, _file: &ResultFile) -> bool {
        false
    }

    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        let plan = ReadingPlan::of(self).map_err(|(_, what)| file.wrong(what))?;
        let mut runs = Runs::default();
        let texts = plan.texts(file)?;
        let mut unread = plan.each_row(file, &mut |row| match self.derived.as_slice() {
            [] => plan.add(row, &mut runs),
            derived => plan.add(&DerivedRow { row, fields: plan.derived(row, derived, &texts) }, &mut runs),
        })?;
        unread.fields(std::mem::take(&mut runs.others));
        if let Some(run) = runs.runs.first_mut() {
            run.unread.extend(unread);
        }
        for reading in runs.runs.iter_mut().flat_map(|run| &mut run.readings) {
            if reading.end != End::Measured {
                reading.metrics.clear();
            } else if reading.metrics.is_empty() && !self.absent_words.is_empty() {
                reading.end = skipped("nothing was measured");
            }
        }
        if runs.runs.is_empty() && !self.conditions.is_empty() {
            return Err(file.wrong("no row fulfils the conditions"));
        }
        Ok(runs.runs)
    }

    fn read_samples(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        Self { samples: true, ..self.clone() }.read(file)
    }
}

/// A description whose fields are parsed.
pub(super) struct ReadingPlan<'d> {
    described: &'d Described,
    path: Option<JsonPath>,
    fields: HashMap<&'d str, FieldPath>,
}

impl<'d> ReadingPlan<'d> {
    /// Errors: a field that is not a valid JSON path, and why.
    pub(super) fn of(described: &'d Described) -> Result<Self, (String, String)> {
        let path = match &described.layout {
            RowLayout::Json(path) => Some(
                JsonPath::parse(path)
                    .map_err(|error| (path.clone(), format!("`{path}` is not a JSON path: {error}")))?,
            ),
            RowLayout::Auto | RowLayout::Csv | RowLayout::Text(_) => None,
        };
        let parsed = |name: &'d str| {
            FieldPath::parse(name).map(|field| (name, field)).map_err(|what| (name.to_owned(), what))
        };
        let fields = described.named_fields().map(parsed).collect::<Result<_, _>>()?;
        Ok(Self { described, path, fields })
    }

    fn each_row(&self, file: &ResultFile, sink: source::Sink) -> Result<Unread, ReadError> {
        let text = file.text()?;
        let outward = self.fields.values().any(FieldPath::leaves_the_row);
        let is_json = text.trim_start().starts_with(['{', '[']);
        match &self.described.layout {
            RowLayout::Json(_) => source::json(file, self.path.as_ref(), outward, sink)?,
            RowLayout::Auto if is_json => source::json(file, None, outward, sink)?,
            RowLayout::Auto | RowLayout::Csv => {
                let needed = self.described.needed();
                let columns: Vec<&FieldPath> = needed.filter_map(|name| self.fields.get(name)).collect();
                source::table(file, text, &columns, sink)?;
            }
            RowLayout::Text(layout) => return text::rows(file, text, layout, sink),
        }
        Ok(Unread::default())
    }

    /// The value of a field that the description names.
    fn cell<'r>(&self, row: &'r dyn SourceRow, name: &str) -> Option<FieldValue<'r>> {
        row.cell(self.fields.get(name)?)
    }

    /// The texts of the fields whose parts depend on other rows.
    fn texts(&self, file: &ResultFile) -> Result<HashSet<String>, ReadError> {
        let mut texts = HashSet::new();
        let fields: Vec<&str> = self
            .described
            .derived
            .iter()
            .filter(|it| !it.companions.is_empty())
            .map(|it| it.field.as_str())
            .collect();
        if !fields.is_empty() {
            self.each_row(file, &mut |row| {
                texts.extend(fields.iter().filter_map(|field| self.text(row, field)));
                Ok(())
            })?;
        }
        Ok(texts)
    }

    fn derived(
        &self,
        row: &dyn SourceRow,
        derived: &[Derived],
        texts: &HashSet<String>,
    ) -> HashMap<String, String> {
        let mut fields = HashMap::new();
        for Derived { field, groups, companions } in derived {
            let Some(text) = self.text(row, field) else { continue };
            let Some(found) = groups.0.captures(&text) else { continue };
            let case = found.name("case").map_or("", |case| case.as_str());
            if !companions.iter().all(|end| texts.contains(&format!("{case}{end}"))) {
                fields.insert("case".to_owned(), text);
                continue;
            }
            let named = groups.0.capture_names().flatten();
            fields.extend(
                named.filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().to_owned()))),
            );
        }
        fields
    }

    fn text(&self, row: &dyn SourceRow, name: &str) -> Option<String> {
        Some(self.cell(row, name)?.text().into_owned())
    }

    /// The values of the fields that the row has, by their names; of `tags.*` all that nothing else names.
    fn values<'r>(
        &self,
        row: &'r dyn SourceRow,
        names: &'r [String],
    ) -> impl Iterator<Item = (String, ParamValue)> + use<'_, 'r, 'd> {
        names.iter().flat_map(move |name| {
            let Some(prefix) = name.strip_suffix('*') else {
                let value = self.cell(row, name).and_then(|cell| cell.param());
                return value.map(|value| (field_name(name), value)).into_iter().collect::<Vec<_>>();
            };
            let object =
                prefix.strip_suffix('.').and_then(|object| row.cell(&FieldPath::parse(object).ok()?));
            let names: Vec<String> = match &object {
                Some(FieldValue::Json(Value::Object(entries))) => entries.keys().cloned().collect(),
                _ => {
                    row.names().iter().filter_map(|own| own.strip_prefix(prefix)).map(str::to_owned).collect()
                }
            };
            names.into_iter().filter_map(|name| self.unnamed(row, prefix, name)).collect()
        })
    }

    /// A field that nothing names, by its name after a prefix, and its value.
    fn unnamed(&self, row: &dyn SourceRow, prefix: &str, name: String) -> Option<(String, ParamValue)> {
        let whole = format!("{prefix}{name}");
        let is_named = self.fields.values().any(|field| field.text == whole);
        let value = row.cell(&FieldPath::parse(&whole).ok()?)?.param()?;
        let is_empty = matches!(&value, ParamValue::Text(text) if text.is_empty());
        (!is_named && !is_empty).then_some((name, value))
    }

    /// The same as facts: a version such as `5.10` is not the number 5.1.
    fn facts<'r>(
        &self,
        row: &'r dyn SourceRow,
        names: &'r [String],
    ) -> impl Iterator<Item = (String, Value)> + use<'_, 'r, 'd> {
        self.values(row, names).map(move |(name, value)| {
            let field = names.iter().find(|field| field_name(field) == name);
            let text =
                field.and_then(|field| self.text(row, field)).filter(|text| *text != value.to_string());
            (name, text.map_or_else(|| json!(value), |text| json!(text)))
        })
    }

    fn is_one_of(&self, row: &dyn SourceRow, name: &str, values: &[String]) -> bool {
        self.cell(row, name).is_some_and(|cell| values.iter().any(|value| *value == cell.text()))
    }

    /// A text whose `{fields}` are replaced. Errors: the row lacks one.
    fn filled(&self, row: &dyn SourceRow, template: &str) -> Result<String, ReadError> {
        template_fields(template).try_fold(template.to_owned(), |text, name| {
            let value = self.text(row, name).ok_or_else(|| row.wrong(format!("the row has no `{name}`")))?;
            Ok(text.replace(&format!("{{{name}}}"), &value))
        })
    }

    /// Adds the case of a row to the run of its commit and its facts.
    fn add(&self, row: &dyn SourceRow, runs: &mut Runs) -> Result<(), ReadError> {
        let described = self.described;
        let fits = |(name, value): (&String, &String)| {
            self.cell(row, name).is_some_and(|cell| cell.text() == value.as_str())
        };
        let is_excepted = described.except.iter().any(|(name, values)| self.is_one_of(row, name, values));
        if is_excepted || !described.conditions.iter().all(fits) {
            return Ok(());
        }
        let mut reading = self.reading(row)?;
        if let Some(message) = row.object().and_then(failed_row) {
            reading = reading.with_end(failed(message));
        }
        let run = runs.run(self, row);
        let of_row = |names: &[String]| -> Vec<(String, Value)> { self.facts(row, names).collect() };
        run.also_of_row(of_row(&described.row_facts));
        run.settings_of_row(of_row(&described.settings));
        let others = row.object().filter(|_| described.keeps_others).into_iter().flatten();
        let others =
            unknown(others.map(|(name, value)| (name.as_str(), value)), |name| described.knows(name));
        run.also_of_row(others);
        if described.keeps_others {
            for name in row.numbers() {
                if !runs.seen.contains(name) {
                    runs.seen.insert(name.to_owned());
                    runs.others.extend(Some(name).filter(|name| !described.knows(name)).map(str::to_owned));
                }
            }
        }
        let of_samples: Vec<&str> = described
            .metrics
            .iter()
            .filter(|metric| metric.of_samples && self.is_for(row, metric))
            .map(|metric| metric.name.as_str())
            .collect();
        runs.add(ended(reading), described, &of_samples);
        Ok(())
    }

    fn reading(&self, row: &dyn SourceRow) -> Result<Reading, ReadError> {
        let described = self.described;
        let mut params = Params::new();
        for name in &described.parameters {
            let found = self.cell(row, name).ok_or_else(|| row.wrong(format!("the row has no `{name}`")))?;
            let value = found.param().ok_or_else(|| {
                row.wrong(format!("`{name}` is an object, and a parameter is a value or a list of values"))
            })?;
            params.insert(field_name(name), value);
        }
        params.extend(self.values(row, &described.optional_parameters));
        let case = self.filled(row, &described.case)?;
        let mut reading = named(if case.is_empty() { ROWS } else { &case }, params);
        reading.case.case = case;
        for name in &described.notes {
            reading.note(&field_name(name), self.cell(row, name).and_then(|cell| Some(json!(cell.param()?))));
        }
        let is_failed = described.failed.iter().find(|(name, values)| self.is_one_of(row, name, values));
        if let Some((name, _)) = is_failed {
            let message = format!("`{name}` is {}", self.text(row, name).unwrap_or_default());
            return Ok(reading.with_end(failed(message)));
        }
        let is_skipped = described.skipped.iter().find(|(name, values)| self.is_one_of(row, name, values));
        if let Some((name, _)) = is_skipped {
            let reason = format!("`{name}` is {}", self.text(row, name).unwrap_or_default());
            return Ok(reading.with_end(skipped(reason)));
        }
        if let Some(message) = self.failure(row)? {
            return Ok(reading.with_end(failed(message)));
        }
        for metric in &described.metrics {
            // Several descriptions of a metric are alternatives: the first one that the row has.
            let Some(list) = &metric.list else {
                self.metrics(row, metric, &mut reading)?;
                continue;
            };
            match self.cell(row, list) {
                Some(FieldValue::Json(Value::Array(objects))) => {
                    for object in objects {
                        self.metrics(&ListedObject { row, object }, metric, &mut reading)?;
                    }
                }
                Some(_) => return Err(row.wrong(format!("`{list}` is not a list"))),
                None if metric.optional => {}
                None => return Err(row.wrong(format!("the row has no `{list}`"))),
            }
        }
        Ok(reading)
    }

    fn is_for(&self, row: &dyn SourceRow, metric: &DescribedMetric) -> bool {
        let is_so = |(name, values): (&String, &Vec<String>)| self.is_one_of(row, name, values);
        metric.when.iter().all(is_so) && !metric.unless.iter().any(is_so)
    }

    /// Why a row has no measurement, according to its own fields. Errors: the field with its outcome is missing.
    fn failure(&self, row: &dyn SourceRow) -> Result<Option<String>, ReadError> {
        let Described { errors, positive, zero, equal, passed, .. } = self.described;
        if let Some(line) = row.failed() {
            return Ok(Some(line.to_owned()));
        }
        let mut messages = errors.iter().filter_map(|name| self.text(row, name));
        if let Some(message) = messages.find(|text| !["", "{}", "[]", "false"].contains(&text.trim())) {
            return Ok(Some(message));
        }
        for (name, values) in passed {
            let found = self.text(row, name);
            let found = found.ok_or_else(|| {
                row.wrong(format!("the row has no `{name}`, the field of its outcome: it is incomplete"))
            })?;
            if !values.contains(&found) {
                return Ok(Some(format!("`{name}` is {found}")));
            }
        }
        // Missing or not a number: the metric that needs it decides.
        let not = |names: &[String], is_fine: fn(f64) -> bool, what: &str| {
            names.iter().find_map(|name| {
                let found = self.cell(row, name)?;
                let is_wrong = !found.numbers()?.into_iter().all(is_fine);
                is_wrong.then(|| format!("`{name}` is {}, which is not {what}", found.text()))
            })
        };
        let differs = || {
            equal.iter().find_map(|[one, other]| {
                let (first, second) = (self.cell(row, one)?, self.cell(row, other)?);
                let is_same = first.number()? == second.number()?;
                (!is_same).then(|| format!("`{one}` is {}, and `{other}` is {}", first.text(), second.text()))
            })
        };
        let any_of_several = |names: &[String]| {
            names.iter().find_map(|name| {
                let found = self.cell(row, name)?;
                let values = found.numbers()?;
                let is_fine = values.iter().all(|value| *value > 0.0);
                (!is_fine).then(|| format!("`{name}` is {}, which is not above zero", found.text()))
            })
        };
        Ok(any_of_several(positive).or_else(|| not(zero, |value| value == 0.0, "zero")).or_else(differs))
    }

    /// A metric, or those whose names an expression matches.
    fn metrics(
        &self,
        row: &dyn SourceRow,
        metric: &DescribedMetric,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        if !self.is_for(row, metric) {
            return Ok(());
        }
        let Some(fields) = &metric.fields else { return self.metric(row, metric, &metric.field, reading) };
        for name in row.names() {
            let Some(found) = fields.0.captures(&name) else { continue };
            let group = |group| found.name(group).map(|found| found.as_str().to_owned());
            let template = if metric.name.is_empty() { "{name}" } else { &metric.name };
            let groups = fields.0.capture_names().flatten();
            let named = groups.fold(template.to_owned(), |text, name| {
                text.replace(&format!("{{{name}}}"), &group(name).unwrap_or_default())
            });
            let own = DescribedMetric {
                name: metric_name(&named),
                unit: group("unit").unwrap_or_else(|| metric.unit.clone()),
                fields: None,
                ..metric.clone()
            };
            self.metric(row, &own, &name, reading)?;
        }
        Ok(())
    }

    fn metric(
        &self,
        row: &dyn SourceRow,
        metric: &DescribedMetric,
        field: &str,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        let parsed;
        let place = match self.fields.get(field) {
            Some(place) => place,
            None => {
                // It is a name of the row, found by an expression.
                parsed = FieldPath::parse(field).map_err(|what| row.wrong(what))?;
                &parsed
            }
        };
        let Some(found) = row.cell(place) else {
            match row.blank(place) {
                _ if metric.optional => {}
                Some(message) => fail(reading, message),
                None => return Err(row.wrong(format!("the row has no `{field}`"))),
            }
            return Ok(());
        };
        let is_word = |words: &[String]| words.iter().any(|word| word.eq_ignore_ascii_case(&found.text()));
        if is_word(&self.described.absent_words) {
            return Ok(());
        }
        if is_word(&self.described.failed_words) {
            fail(reading, format!("`{field}` is {}", found.text()));
            return Ok(());
        }
        if found.has_gap() {
            fail(reading, format!("a measurement is missing in `{field}`"));
            return Ok(());
        }
        let plain = self.described.grouping.map(|between| found.text().replace(between, ""));
        let values = plain
            .as_deref()
            .map_or_else(|| found.numbers(), |text| FieldValue::of_text(text)?.numbers())
            .or_else(|| found.clock().filter(|_| metric.clock).map(|value| vec![value]));
        // The author of a format knows its words.
        let word = no_value(&found.text()).filter(|_| !self.described.keeps_others);
        if let (None, Some(word)) = (&values, word) {
            fail(reading, format!("`{field}`: {word}"));
            return Ok(());
        }
        let Some(values) = values else {
            if self.described.texts_fail {
                fail(reading, found.text());
                return Ok(());
            }
            return Err(row.wrong(format!("`{field}` is `{}`, which is not a number", found.text())));
        };
        if metric.zero_is_absent && values.iter().all(|value| *value == 0.0) {
            return Ok(());
        }
        let unit = metric.unit_field.as_ref().and_then(|name| self.text(row, name));
        let mut unit = unit.unwrap_or_else(|| metric.unit.clone());
        let mut name = self.filled(row, &metric.name)?;
        if let Some(found) = metric.split.as_ref().and_then(|split| split.0.captures(&name)) {
            let group = |group| found.name(group).map(|found| found.as_str().to_owned());
            unit = group("unit").unwrap_or(unit);
            name = group("name").unwrap_or_else(|| name.clone());
        }
        let unit = self.described.units.get(&unit).unwrap_or(&unit);
        let name = if name == metric.name { name } else { metric_name(&name) };
        if reading.metrics.iter().any(|other| other.name == name) {
            return Ok(());
        }
        let read = reading.metric(&name, unit, metric.better);
        match (&metric.summary, values.as_slice()) {
            (Some(beside), [value]) => {
                let number = |name: &Option<String>| self.cell(row, name.as_ref()?)?.number();
                let count = number(&beside.count).map(|count| count as u64);
                // One measurement has none, whatever the tool writes.
                let deviation = number(&beside.deviation).filter(|_| count != Some(1));
                read.summary = Some(summary(*value, deviation, count));
            }
            _ => read.values.extend(values),
        }
        // The description cannot know the direction of a unit that the file names.
        let is_of_file = metric.unit_field.is_some() || metric.fields.is_some() || metric.split.is_some();
        let is_unknown = is_of_file && metric.better.is_none() && direction_of_unit(unit).is_none();
        read.judged &= !metric.shown && !is_unknown;
        Ok(())
    }
}

/// The runs of a file, and the places of their cases.
#[derive(Default)]
struct Runs {
    runs: Vec<RunReading>,
    /// The values that distinguish each run from others of its commit and facts.
    keys: Vec<Vec<Option<String>>>,
    /// The run of the last row.
    last: usize,
    /// Fields with numbers that a format does not know.
    others: Vec<String>,
    /// The fields that were looked at for that.
    seen: HashSet<String>,
    /// Only for rows of which several are one case.
    cases: HashMap<(usize, String), usize>,
}

impl Runs {
    fn run(&mut self, plan: &ReadingPlan, row: &dyn SourceRow) -> &mut RunReading {
        let described = plan.described;
        let commit = described.commit.as_ref().and_then(|name| plan.text(row, name));
        let started = described.started.as_ref().and_then(|name| plan.cell(row, name)?.moment());
        let facts: BTreeMap<String, Value> = plan.facts(row, &described.facts).collect();
        let key: Vec<Option<String>> = described.runs.iter().map(|name| plan.text(row, name)).collect();
        let is_same = |(run, other): (&RunReading, &Vec<Option<String>>)| {
            run.commit == commit && run.facts == facts && *other == key
        };
        let place = self.runs.iter().zip(&self.keys).position(is_same).unwrap_or(self.runs.len());
        if place == self.runs.len() {
            self.runs.push(RunReading { commit, facts, ..RunReading::default() });
            self.keys.push(key);
        }
        self.last = place;
        let run = &mut self.runs[place];
        // The run began with its first row.
        run.started = run.started.take().into_iter().chain(started).min();
        run
    }

    /// Adds a case to the run of the last row. `of_samples`: metrics that the row has only if the case has no samples.
    fn add(&mut self, mut reading: Reading, described: &Described, of_samples: &[&str]) {
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
                reading.metrics.retain(|metric| {
                    let is_known = known.metrics.iter().any(|other| other.name == metric.name);
                    !(is_known && of_samples.contains(&metric.name.as_str()))
                });
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
