//! Makes a case of each row, as the description says.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::description::{Derived, Described, RowLayout};
use super::field::{FieldPath, FieldValue};
use super::plan::{FieldChoice, PlannedMetric, ReadingPlan};
use super::runs::Runs;
use super::source::{self, DerivedRow, ListedObject, SourceRow, TableColumns, failed_row};
use super::text;
use crate::adapters::formats::interface::format::{
    DeclaredFormat, FormatAbout, ResultFile, ResultFormat, RunReading,
};
use crate::adapters::formats::readers::table::no_value;
use crate::adapters::interface::adapter::{End, Reading, Reads};
use crate::adapters::interface::case::{ended, fail, failed, metric_name, named, skipped, summary};
use crate::adapters::interface::output::ReadError;
use gbench_model::{Params, Unread, direction_of_unit};

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
        let mut unread = plan.each_row(file, &mut |row| {
            if plan.derived.is_empty() {
                return plan.add(row, &mut runs);
            }
            plan.add(&DerivedRow { row, fields: plan.derived(row, &texts) }, &mut runs)
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
        Self { samples: true, repeats: true, ..self.clone() }.read(file)
    }
}

impl ReadingPlan<'_> {
    fn each_row(&self, file: &ResultFile, sink: source::Sink) -> Result<Unread, ReadError> {
        let text = file.text()?;
        let is_json = text.trim_start().starts_with(['{', '[']);
        match &self.described.layout {
            RowLayout::Json(_) => source::json(file, self.path.as_ref(), &self.outward, sink)?,
            RowLayout::Auto if is_json => source::json(file, None, &self.outward, sink)?,
            RowLayout::Auto | RowLayout::Csv => {
                let needed = self.described.needed().filter_map(|name| FieldPath::parse(name).ok());
                let columns = TableColumns {
                    needed: needed.collect(),
                    is_read: &|name| self.knows(name),
                    short: self.described.short,
                };
                source::table(file, text, &columns, sink)?;
            }
            RowLayout::Text(layout) => return text::rows(file, text, layout, sink),
        }
        Ok(Unread::default())
    }

    /// The texts of the fields whose parts depend on other rows.
    fn texts(&self, file: &ResultFile) -> Result<HashSet<String>, ReadError> {
        let mut texts = HashSet::new();
        let depends = |derived: &Derived| {
            let ends: Vec<&str> = derived.companions.iter().map(String::as_str).collect();
            !ends.is_empty() && file.holds(&ends)
        };
        let fields: Vec<&FieldPath> =
            self.derived.iter().filter(|(_, derived)| depends(derived)).map(|(field, _)| field).collect();
        if !fields.is_empty() {
            self.each_row(file, &mut |row| {
                texts.extend(fields.iter().filter_map(|field| Some(row.text(field)?.into_owned())));
                Ok(())
            })?;
        }
        Ok(texts)
    }

    fn derived<'p>(&'p self, row: &dyn SourceRow, texts: &HashSet<String>) -> Vec<(&'p str, String)> {
        let mut fields: Vec<(&str, String)> = Vec::new();
        let mut set = |name: &'p str, text: String| match fields.iter_mut().find(|(known, _)| *known == name)
        {
            Some((_, known)) => *known = text,
            None => fields.push((name, text)),
        };
        for (field, Derived { groups, companions, .. }) in &self.derived {
            let Some(text) = row.text(field) else { continue };
            // Most files have no such rows.
            if texts.is_empty() && !companions.is_empty() {
                if groups.0.is_match(&text) {
                    set("case", text.into_owned());
                }
                continue;
            }
            let Some(found) = groups.0.captures(&text) else { continue };
            let case = found.name("case").map_or("", |case| case.as_str());
            if !companions.iter().all(|end| texts.contains(&format!("{case}{end}"))) {
                drop(found);
                set("case", text.into_owned());
                continue;
            }
            for (group, name) in groups.0.capture_names().enumerate() {
                if let (Some(name), Some(found)) = (name, found.get(group)) {
                    set(name, found.as_str().to_owned());
                }
            }
        }
        fields
    }

    fn add(&self, row: &dyn SourceRow, runs: &mut Runs) -> Result<(), ReadError> {
        let is_excepted = self.except.iter().any(|choice| choice.is_made(row));
        if is_excepted || !self.conditions.iter().all(|choice| choice.is_made(row)) {
            return Ok(());
        }
        if self.described.samples && !self.described.repeats && !runs.is_of_list(row.list()) {
            let what = "a second list begins: the file has several runs; give each its own file";
            return Err(row.wrong(what.into()));
        }
        let mut reading = self.reading(row)?;
        if let Some(message) = row.object().and_then(failed_row) {
            reading = reading.with_end(failed(message));
        }
        runs.add(self, row, ended(reading));
        Ok(())
    }

    fn reading(&self, row: &dyn SourceRow) -> Result<Reading, ReadError> {
        let mut params = Params::new();
        for field in &self.parameters {
            let text = &field.field.text;
            let found =
                row.cell(&field.field).ok_or_else(|| row.wrong(format!("the row has no `{text}`")))?;
            let value = found.param().ok_or_else(|| {
                row.wrong(format!("`{text}` is an object, and a parameter is a value or a list of values"))
            })?;
            params.insert(field.name.clone(), value);
        }
        for field in &self.optional_parameters {
            self.values(row, field, &mut |name, cell| {
                params.extend(cell.param().map(|value| (name, value)));
            });
        }
        let case = self.case.filled(row)?;
        let mut reading = named(if case.is_empty() { ROWS } else { &case }, params);
        reading.case.case = case.into_owned();
        for note in &self.notes {
            let value = row.cell(&note.field).and_then(|cell| Some(json!(cell.param()?)));
            reading.note(&note.name, value);
        }
        let made = |choices: &[FieldChoice]| {
            choices.iter().find_map(|choice| {
                let text = choice.made(row)?;
                Some(format!("`{}` is {text}", choice.field.text))
            })
        };
        if let Some(message) = made(&self.failed) {
            return Ok(reading.with_end(failed(message)));
        }
        if let Some(reason) = made(&self.skipped) {
            return Ok(reading.with_end(skipped(reason)));
        }
        if let Some(message) = self.failure(row)? {
            return Ok(reading.with_end(failed(message)));
        }
        for metric in &self.metrics {
            // Several descriptions of a metric are alternatives: the first one that the row has.
            let Some(list) = &metric.list else {
                self.metrics(row, metric, &mut reading)?;
                continue;
            };
            match row.cell(list) {
                Some(FieldValue::Json(Value::Array(objects))) => {
                    for object in objects {
                        self.metrics(&ListedObject { row, object }, metric, &mut reading)?;
                    }
                }
                Some(_) => return Err(row.wrong(format!("`{}` is not a list", list.text))),
                None if metric.described.optional => {}
                None => return Err(row.wrong(format!("the row has no `{}`", list.text))),
            }
        }
        Ok(reading)
    }

    /// Why a row has no measurement, according to its own fields. Errors: the field with its outcome is missing.
    fn failure(&self, row: &dyn SourceRow) -> Result<Option<String>, ReadError> {
        if let Some(line) = row.failed() {
            return Ok(Some(line.to_owned()));
        }
        let mut messages = self.errors.iter().filter_map(|field| row.text(field));
        if let Some(message) = messages.find(|text| !["", "{}", "[]", "false"].contains(&text.trim())) {
            return Ok(Some(message.into_owned()));
        }
        for choice in &self.passed {
            let name = &choice.field.text;
            let found = row.text(&choice.field).ok_or_else(|| {
                row.wrong(format!("the row has no `{name}`, the field of its outcome: it is incomplete"))
            })?;
            if !choice.has(&found) {
                return Ok(Some(format!("`{name}` is {found}")));
            }
        }
        // Missing or not a number: the metric that needs it decides.
        let not = |fields: &[FieldPath], is_fine: fn(f64) -> bool, what: &str| {
            fields.iter().find_map(|field| {
                let found = row.cell(field)?;
                let is_wrong = !found.numbers()?.into_iter().all(is_fine);
                is_wrong.then(|| format!("`{}` is {}, which is not {what}", field.text, found.text()))
            })
        };
        let differs = || {
            self.equal.iter().find_map(|[one, other]| {
                let (first, second) = (row.cell(one)?, row.cell(other)?);
                let is_same = first.number()? == second.number()?;
                let (one, other) = (&one.text, &other.text);
                (!is_same).then(|| format!("`{one}` is {}, and `{other}` is {}", first.text(), second.text()))
            })
        };
        Ok(not(&self.positive, |value| value > 0.0, "above zero")
            .or_else(|| not(&self.zero, |value| value == 0.0, "zero"))
            .or_else(differs))
    }

    /// A metric, or those whose names an expression matches.
    fn metrics(
        &self,
        row: &dyn SourceRow,
        metric: &PlannedMetric,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        if !metric.is_for(row) {
            return Ok(());
        }
        let described = metric.described;
        let Some(fields) = &described.fields else {
            let named = NamedMetric { name: None, unit: &described.unit, field: &metric.field };
            return self.metric(row, metric, named, reading);
        };
        for name in row.names() {
            let Some(found) = fields.0.captures(&name) else { continue };
            let group = |group| found.name(group).map_or("", |found| found.as_str());
            let template = if described.name.is_empty() { "{name}" } else { &described.name };
            let groups = fields.0.capture_names().flatten();
            let named = groups
                .fold(template.to_owned(), |text, name| text.replace(&format!("{{{name}}}"), group(name)));
            let unit = found.name("unit").map_or(described.unit.as_str(), |found| found.as_str());
            let field = &FieldPath::parse(&name).map_err(|what| row.wrong(what))?;
            let named = NamedMetric { name: Some(named), unit, field };
            self.metric(row, metric, named, reading)?;
        }
        Ok(())
    }

    fn metric(
        &self,
        row: &dyn SourceRow,
        metric: &PlannedMetric,
        named: NamedMetric,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        let described = metric.described;
        let field = &named.field.text;
        let Some(found) = row.cell(named.field) else {
            if !described.optional {
                let message = row.blank(named.field);
                fail(reading, message.ok_or_else(|| row.wrong(format!("the row has no `{field}`")))?);
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
            .or_else(|| found.clock().filter(|_| described.clock).map(|value| vec![value]));
        let Some(values) = values else {
            // The author of a format knows its words.
            if let Some(word) = no_value(&found.text()).filter(|_| !self.described.keeps_others) {
                fail(reading, format!("`{field}`: {word}"));
                return Ok(());
            }
            if self.described.texts_fail {
                fail(reading, found.text());
                return Ok(());
            }
            return Err(row.wrong(format!("`{field}` is `{}`, which is not a number", found.text())));
        };
        if described.zero_is_absent && values.iter().all(|value| *value == 0.0) {
            return Ok(());
        }
        let unit = metric.unit.as_ref().and_then(|field| row.text(field));
        let mut unit = unit.unwrap_or(Cow::Borrowed(named.unit));
        let mut is_of_row = named.name.is_some() || metric.name.has_fields();
        let mut name = named.name.map_or_else(|| metric.name.filled(row), |name| Ok(Cow::Owned(name)))?;
        if let Some(found) = described.split.as_ref().and_then(|split| split.0.captures(&name)) {
            let group = |group| found.name(group).map(|found| found.as_str().to_owned());
            unit = group("unit").map_or(unit, Cow::Owned);
            let own = group("name");
            drop(found);
            (name, is_of_row) = (own.map_or(name, Cow::Owned), true);
        }
        // A metric has fewer characters.
        if is_of_row {
            name = Cow::Owned(metric_name(&name));
        }
        let unit = self.described.units.get(&*unit).map_or(&*unit, String::as_str);
        if reading.metrics.iter().any(|other| other.name == name) {
            return Ok(());
        }
        let read = reading.metric(&name, unit, described.better);
        match (&described.summary, values.as_slice()) {
            (Some(_), [value]) => {
                let number = |field: &Option<FieldPath>| row.cell(field.as_ref()?)?.number();
                let count = number(&metric.count).map(|count| count as u64);
                // One measurement has none, whatever the tool writes.
                let deviation = number(&metric.deviation).filter(|_| count != Some(1));
                read.summary = Some(summary(*value, deviation, count));
            }
            _ => read.values.extend(values),
        }
        // The description cannot know the direction of a unit that the file names.
        let is_of_file = metric.unit.is_some() || described.fields.is_some() || described.split.is_some();
        let is_unknown = is_of_file && described.better.is_none() && direction_of_unit(unit).is_none();
        read.judged &= !described.shown && !is_unknown;
        Ok(())
    }
}

struct NamedMetric<'a> {
    /// The name that an expression found; `None`: the name that the description states.
    name: Option<String>,
    unit: &'a str,
    field: &'a FieldPath,
}
