//! A guessed description as the text of a file.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Guess;
use super::roles::FieldRole;
use crate::adapters::formats::rows::description::{Described, DescribedMetric, RowLayout};
use gbench_model::direction_of_unit;

impl Guess {
    /// The description as a file for `--format`; `None`: no field looks like a figure.
    pub fn toml(&self, name: &str) -> Option<String> {
        let described = self.described.as_ref()?;
        let mut out = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(described, name, &mut out);
        Some(out)
    }

    fn write(&self, described: &Described, name: &str, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "# How gbench-ci reads {}: a guess from its content. Check each line.",
            one_line(name)
        )?;
        writeln!(out, "# All keys: docs/formats.md, \"A file of no known format\".")?;
        if let Some(obstacle) = &self.obstacle {
            writeln!(out, "# It does not read this file yet: {}", one_line(obstacle))?;
        }
        writeln!(out)?;
        match &described.layout {
            RowLayout::Json(path) => writeln!(out, "layout.json = {}", quoted(path))?,
            RowLayout::Csv => writeln!(out, "layout = \"table\"")?,
            RowLayout::Text(layout) => {
                let row: Vec<String> = layout.row.iter().map(|pattern| pattern.0.to_string()).collect();
                list(
                    out,
                    "layout.text.row",
                    &row,
                    "Each line that this matches is a row; its named groups are fields.",
                )?;
            }
            RowLayout::Auto => {}
        }
        writeln!(out, "case = {}", quoted(&described.case))?;
        list(
            out,
            "parameters",
            &described.parameters,
            "These distinguish rows: what is measured, never how well.",
        )?;
        list(out, "optional_parameters", &described.optional_parameters, "The same; some rows lack them.")?;
        if self.repeats {
            writeln!(
                out,
                "# Rows repeat: add a parameter, or read them with `--repeats samples` or `--repeats processes`."
            )?;
        }
        list(
            out,
            "facts",
            &described.facts,
            "About the machine and the software; a difference between sides is reported.",
        )?;
        list(out, "settings", &described.settings, "How often, or how long, it measured.")?;
        for (key, field) in [("commit", &described.commit), ("started", &described.started)] {
            if let Some(field) = field {
                writeln!(out, "{key} = {}", quoted(field))?;
            }
        }
        list(out, "errors", &described.errors, "A row with a text here has failed.")?;
        list(out, "zero", &described.zero, "A row in which these are above zero has failed.")?;
        if !described.passed.is_empty() {
            writeln!(out, "# A row with another value here has failed.")?;
            if described.passed.values().any(Vec::is_empty) {
                writeln!(out, "# No row of this file passed: name the values of a row that did.")?;
            }
            writeln!(out, "passed = {}", table(&described.passed))?;
        }
        if !described.failed.is_empty() {
            writeln!(out, "# A row with one of these values has failed; some rows lack the field.")?;
            writeln!(out, "failed = {}", table(&described.failed))?;
        }
        list(out, "failed_words", &described.failed_words, "Instead of a number: the row has failed.")?;
        list(
            out,
            "absent_words",
            &described.absent_words,
            "Instead of a number: it was not measured. A row without any figure is skipped.",
        )?;
        if described.joins {
            writeln!(out, "# Rows of one case with different metrics are one case.\njoins = true")?;
        }
        let unknown = self.fields.iter().filter(|field| field.role == FieldRole::Unknown);
        let unknown: Vec<String> = unknown.map(|field| one_line(&field.name)).collect();
        if !unknown.is_empty() {
            writeln!(out, "# Not used; move what is a part of the workload to `parameters`:")?;
            unknown.chunks(8).try_for_each(|names| writeln!(out, "#   {}", names.join(", ")))?;
        }
        described.metrics.iter().try_for_each(|it| metric(out, it))
    }
}

fn metric(out: &mut String, metric: &DescribedMetric) -> std::fmt::Result {
    writeln!(out, "\n[[metrics]]")?;
    writeln!(out, "name = {}\nfield = {}", quoted(&metric.name), quoted(&metric.field))?;
    match &metric.unit_field {
        Some(field) => writeln!(out, "unit_field = {}", quoted(field))?,
        None => writeln!(out, "unit = {}", quoted(&metric.unit))?,
    }
    let is_open = metric.unit_field.is_some() || direction_of_unit(&metric.unit).is_none();
    if metric.shown && is_open {
        writeln!(out, "# Shown and not judged. To judge it, instead: better = \"lower\", or \"higher\".")?;
    } else if metric.shown {
        writeln!(out, "# A spread, an extreme or a second statistic: shown and not judged.")?;
    }
    if metric.shown {
        writeln!(out, "shown = true")?;
    }
    if metric.optional {
        writeln!(out, "# Some rows lack it.\noptional = true")?;
    }
    match metric.summary.as_ref().map(|summary| &summary.deviation) {
        Some(Some(field)) => writeln!(out, "summary.deviation = {}", quoted(field)),
        Some(None) => writeln!(out, "summary = {{}}"),
        None => Ok(()),
    }
}

fn list(out: &mut String, key: &str, values: &[String], comment: &str) -> std::fmt::Result {
    if values.is_empty() {
        return Ok(());
    }
    writeln!(out, "# {comment}\n{key} = {}", texts(values))
}

fn texts(values: &[String]) -> String {
    format!("[{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
}

fn table(table: &BTreeMap<String, Vec<String>>) -> String {
    let pairs: Vec<String> =
        table.iter().map(|(key, values)| format!("{} = {}", quoted(key), texts(values))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A text of TOML: its escapes are those of JSON, which does not need one for the character of deletion.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// For a comment, which ends with its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
