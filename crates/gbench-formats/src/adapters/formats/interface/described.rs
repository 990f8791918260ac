//! Rows of a JSON document, of JSON lines or of a table, as the user describes them: for files of unknown formats.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

use super::format::{DeclaredFormat, FormatAbout, ResultFile, ResultFormat, RunReading};
use crate::adapters::formats::readers::table::{CsvTable, number, param};
use crate::adapters::formats::readers::values::{param_of, unknown};
use crate::adapters::interface::adapter::{Reading, Reads};
use crate::adapters::interface::case::{fail, failed, named, summary};
use crate::adapters::interface::output::ReadError;
use crate::adapters::readers::loose_json::standard_json;
use gbench_model::{Better, ParamValue, Params};

const ROWS: &str = "rows";

/// The rows of a file, their names and their measured fields. A field is a key, a column, or, beginning with `$`, a JSON path
/// within the row.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Described {
    pub layout: RowLayout,
    /// Only rows whose fields have these values.
    pub conditions: BTreeMap<String, String>,
    /// Fields that distinguish the rows.
    pub parameters: Vec<String>,
    /// The same for fields that rows may lack.
    pub optional_parameters: Vec<String>,
    /// Fields about the machine and the software: rows that differ in one are of different runs.
    pub facts: Vec<String>,
    /// The field with the measured commit.
    pub commit: Option<String>,
    /// Fields of a row that are shown and identify nothing.
    pub notes: Vec<String>,
    /// Fields with the reason of a failure, if they are not empty.
    pub errors: Vec<String>,
    /// Fields that are above zero in a row that was measured.
    pub positive: Vec<String>,
    pub metrics: Vec<DescribedMetric>,
    /// Texts and flags of a row that nothing above names are facts of the run.
    #[serde(skip)]
    pub keeps_others: bool,
    /// The name of the cases; empty if they are named by their parameters alone.
    pub case: String,
}

/// The place of the rows in a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowLayout {
    /// Determined by the content: JSON if it begins as JSON, else a table.
    #[default]
    Auto,
    /// The nodes of a JSON path (RFC 9535), in each document of the file.
    Json(String),
    Csv,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DescribedMetric {
    pub name: String,
    pub field: String,
    pub unit: String,
    pub better: Option<Better>,
    /// Rows may lack it.
    pub optional: bool,
    /// The field is a summary of several measurements.
    pub summary: Option<DescribedSummary>,
    /// It follows from another metric, or describes the run: not judged.
    pub shown: bool,
    /// Zero means that it was not measured.
    pub zero_is_absent: bool,
}

/// Fields next to a summary, if the tool states them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DescribedSummary {
    pub deviation: Option<String>,
    pub count: Option<String>,
}

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
        let text = file.text()?;
        let is_json = text.trim_start().starts_with(['{', '[']);
        let runs = match &self.layout {
            RowLayout::Json(path) => self.json(file, Some(path))?,
            RowLayout::Csv => self.csv(file, text)?,
            RowLayout::Auto if is_json => self.json(file, None)?,
            RowLayout::Auto => self.csv(file, text)?,
        };
        if runs.is_empty() && !self.conditions.is_empty() {
            return Err(file.wrong("no row fulfils the conditions"));
        }
        Ok(runs)
    }
}

impl Described {
    /// One or several documents, as in JSON lines. `path`: `None` for the elements of a list, else the document itself.
    fn json(&self, file: &ResultFile, path: Option<&str>) -> Result<Vec<RunReading>, ReadError> {
        let path = path.map(|path| {
            let broken = |error| file.wrong(format!("`{path}` is not a JSON path: {error}"));
            JsonPath::parse(path).map_err(broken)
        });
        let path = path.transpose()?;
        let mut runs = Vec::new();
        let text = standard_json(file.bytes);
        let documents = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
        let mut count = 0;
        for document in documents {
            let document = document.map_err(|error| {
                let words = error.to_string();
                let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what);
                let what = if error.is_eof() { "the last document is incomplete" } else { what };
                file.line(error.line().max(1), format!("it cannot be read as JSON: {what}"))
            })?;
            count += 1;
            let rows: Vec<&Value> = match (&path, &document) {
                (Some(path), document) => path.query(document).all(),
                (None, Value::Array(rows)) => rows.iter().collect(),
                (None, document) => vec![document],
            };
            for (index, row) in rows.into_iter().enumerate() {
                let place = format!("document {count}, row {}", index + 1);
                let field = |name: &str| json_field(row, name);
                let blank = |name: &str| row.get(name)?.is_null().then(|| format!("`{name}` is null"));
                let read = self.row(&field, &blank, &|what| file.at(place.clone(), what))?;
                if let Some(reading) = read {
                    let reading = match row.as_object().and_then(failed_row) {
                        Some(message) => reading.with_end(failed(message)),
                        None => reading,
                    };
                    let others = row.as_object().filter(|_| self.keeps_others).into_iter().flatten();
                    let others =
                        unknown(others.map(|(name, value)| (name.as_str(), value)), |name| self.knows(name));
                    self.add(&mut runs, &field, reading).also_of_row(others);
                }
            }
        }
        Ok(runs)
    }

    fn csv(&self, file: &ResultFile, text: &str) -> Result<Vec<RunReading>, ReadError> {
        let table = CsvTable::read(*file, text, 1, b',')?;
        let named = self.parameters.iter().chain(self.conditions.keys());
        for column in named {
            table.need(column)?;
        }
        let mut runs = Vec::new();
        for row in &table.rows {
            let field = |name: &str| {
                let cell = row.cells.get(table.column(name)?)?;
                (!cell.is_empty()).then(|| match number(cell) {
                    // As it is written: `007` is text, not 7.
                    Some(value) if cell.parse::<f64>().is_ok() => {
                        Field { values: vec![value], param: Some(param(cell)), text: cell.clone() }
                    }
                    _ => Field { values: Vec::new(), param: Some(param(cell)), text: cell.clone() },
                })
            };
            let blank = |name: &str| {
                let is_empty = row.cells.get(table.column(name)?)?.is_empty();
                is_empty.then(|| format!("the cell of `{name}` in line {} is empty", row.line))
            };
            if let Some(reading) = self.row(&field, &blank, &|what| file.line(row.line, what))? {
                self.add(&mut runs, &field, reading);
            }
        }
        Ok(runs)
    }

    /// True if a field of this name is read.
    fn knows(&self, name: &str) -> bool {
        let lists = [
            &self.parameters,
            &self.optional_parameters,
            &self.facts,
            &self.notes,
            &self.errors,
            &self.positive,
        ];
        let of_metric = |metric: &DescribedMetric| {
            let beside = metric.summary.iter().flat_map(|it| [&it.deviation, &it.count]).flatten();
            std::iter::once(&metric.field).chain(beside).any(|field| field == name)
        };
        lists.into_iter().flatten().chain(&self.commit).any(|field| field == name)
            || self.conditions.contains_key(name)
            || self.metrics.iter().any(of_metric)
    }

    /// The run of its commit and facts, to which this row is added.
    fn add<'r>(
        &self,
        runs: &'r mut Vec<RunReading>,
        field: &dyn Fn(&str) -> Option<Field>,
        reading: Reading,
    ) -> &'r mut RunReading {
        let commit = self.commit.as_deref().and_then(field).map(|found| found.text);
        let fact = |name: &String| Some((field_name(name), json!(field(name)?.param?)));
        let facts: BTreeMap<String, Value> = self.facts.iter().filter_map(fact).collect();
        let place = runs.iter().position(|run| run.commit == commit && run.facts == facts);
        let place = place.unwrap_or_else(|| {
            runs.push(RunReading { commit, facts, ..RunReading::default() });
            runs.len() - 1
        });
        runs[place].readings.push(reading);
        &mut runs[place]
    }

    /// The fields that are read, for the documentation.
    pub(crate) fn documented(&self) -> String {
        let names = |fields: &[String]| {
            let quoted: Vec<String> = fields.iter().map(|name| format!("`{}`", field_name(name))).collect();
            quoted.join(", ")
        };
        let measured: Vec<String> = self
            .metrics
            .iter()
            .flat_map(|metric| {
                let beside = metric.summary.iter().flat_map(|it| [&it.deviation, &it.count]).flatten();
                std::iter::once(&metric.field).chain(beside).cloned()
            })
            .collect();
        let unique: Vec<String> = measured
            .iter()
            .enumerate()
            .filter(|(at, name)| !measured[..*at].contains(name))
            .map(|(_, name)| name.clone())
            .collect();
        let run: Vec<String> = self.facts.iter().chain(&self.commit).cloned().collect();
        let parameters = [self.parameters.as_slice(), &self.optional_parameters].concat();
        let mut text = format!("{} as parameters; {}", names(&parameters), names(&unique));
        if !run.is_empty() {
            text += &format!("; {} of the run", names(&run));
        }
        text
    }

    /// Why a row has no measurement, according to its own fields.
    fn failure(&self, field: &dyn Fn(&str) -> Option<Field>) -> Option<String> {
        let mut messages = self.errors.iter().filter_map(|name| field(name).map(|found| found.text));
        if let Some(message) = messages.find(|text| !text.trim().is_empty()) {
            return Some(message);
        }
        self.positive.iter().find_map(|name| match field(name) {
            // Missing or not a number: the metric that needs it decides.
            None => None,
            Some(found) if found.values.is_empty() || found.values.iter().all(|it| *it > 0.0) => None,
            Some(found) => Some(format!("`{name}` is {}, which is not above zero", found.text)),
        })
    }

    /// One row; `None` if the conditions exclude it. `blank`: the reason to fail a row in which a field has no value, as
    /// tools leave it where a case failed.
    fn row(
        &self,
        field: &dyn Fn(&str) -> Option<Field>,
        blank: &dyn Fn(&str) -> Option<String>,
        wrong: &dyn Fn(String) -> ReadError,
    ) -> Result<Option<Reading>, ReadError> {
        let fits = |(name, value): (&String, &String)| field(name).is_some_and(|found| found.text == *value);
        if !self.conditions.iter().all(fits) {
            return Ok(None);
        }
        let mut params = Params::new();
        for name in &self.parameters {
            let found = field(name).ok_or_else(|| wrong(format!("the row has no `{name}`")))?;
            let value = found.param.ok_or_else(|| {
                wrong(format!("`{name}` is an object, and a parameter is a value or a list of values"))
            })?;
            params.insert(field_name(name), value);
        }
        let optional = self.optional_parameters.iter();
        params.extend(optional.filter_map(|name| Some((field_name(name), field(name)?.param?))));
        let mut reading = named(if self.case.is_empty() { ROWS } else { &self.case }, params);
        reading.case.case.clone_from(&self.case);
        for name in &self.notes {
            reading.note(&field_name(name), field(name).and_then(|found| Some(json!(found.param?))));
        }
        if let Some(message) = self.failure(field) {
            return Ok(Some(reading.with_end(failed(message))));
        }
        for metric in &self.metrics {
            match field(&metric.field) {
                Some(found) if metric.zero_is_absent && found.values.iter().all(|value| *value == 0.0) => {}
                None if metric.optional => {}
                None => match blank(&metric.field) {
                    Some(message) => fail(&mut reading, message),
                    None => return Err(wrong(format!("the row has no `{}`", metric.field))),
                },
                Some(found) if found.values.is_empty() => {
                    return Err(wrong(format!(
                        "`{}` is `{}`, which is not a number",
                        metric.field, found.text
                    )));
                }
                Some(found) => {
                    let read = reading.metric(&metric.name, &metric.unit, metric.better);
                    match (&metric.summary, found.values.as_slice()) {
                        (Some(beside), [value]) => {
                            let number =
                                |name: &Option<String>| field(name.as_ref()?)?.values.first().copied();
                            let count = number(&beside.count).map(|count| count as u64);
                            read.summary = Some(summary(*value, number(&beside.deviation), count));
                        }
                        _ => read.values.extend(found.values),
                    }
                    read.judged &= !metric.shown;
                }
            }
        }
        Ok(Some(reading))
    }
}

/// The name of a field given by its name or by its JSON path: `config.seq` for `$.config.seq`.
fn field_name(field: &str) -> String {
    field.trim_start_matches(['$', '.']).to_owned()
}

/// Keys that well-known tools write next to the numbers of a failed run.
pub fn failed_row(entry: &Map<String, Value>) -> Option<String> {
    // Google Benchmark.
    for key in ["error_occurred", "skipped"] {
        if entry.get(key) == Some(&Value::Bool(true)) {
            let message =
                ["error_message", "skip_message"].into_iter().find_map(|key| entry.get(key)?.as_str());
            let message = message.map_or(String::new(), |message| {
                format!(": {}", message.chars().take(200).collect::<String>())
            });
            return Some(format!("`{key}` is true, despite the number{message}"));
        }
    }
    // hyperfine with `--ignore-failure`.
    let codes = entry.get("exit_codes")?.as_array()?;
    let bad = codes.iter().find(|code| code.as_i64() != Some(0))?;
    let bad =
        if bad.is_null() { "ended by a signal".to_owned() } else { format!("ended with exit code {bad}") };
    Some(format!("its `exit_codes` say that the command {bad}"))
}

struct Field {
    values: Vec<f64>,
    /// As a parameter; `None` for an object.
    param: Option<ParamValue>,
    text: String,
}

fn json_field(row: &Value, name: &str) -> Option<Field> {
    let by_path = || JsonPath::parse(name).ok()?.query(row).exactly_one().ok();
    let value = if name.starts_with('$') { by_path()? } else { row.get(name)? };
    let text = scalar_text(value);
    let values = match value {
        Value::Number(value) => value.as_f64().into_iter().collect(),
        Value::Array(list) => {
            let numbers: Option<Vec<f64>> = list.iter().map(Value::as_f64).collect();
            numbers.unwrap_or_default()
        }
        _ => Vec::new(),
    };
    (!value.is_null()).then(|| Field { values, param: param_of(value), text })
}

fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(_) => param_of(value).map_or_else(|| value.to_string(), |value| value.to_string()),
        other => other.to_string(),
    }
}
