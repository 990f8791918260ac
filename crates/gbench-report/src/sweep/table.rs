//! Tables of a sweep in each format.

use std::io;

use serde_json::{Map, Value, json};

use crate::format::{Format, Options};
use crate::layout::escape::{csv as csv_cell, markdown as prose};
use crate::layout::json;
use crate::layout::table::ReportTable;
use crate::layout::terminal::TerminalLayout;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SweepTable {
    /// `operation=LayerNorm: time by sequence_length`.
    pub table: ReportTable<Cell>,
    /// The figures' unit; `None` for factors.
    pub unit: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    /// In one line.
    text: String,
    value: Value,
}

impl AsRef<str> for Cell {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl Cell {
    pub(super) fn new(text: impl AsRef<str>, value: impl Into<Value>) -> Self {
        Self { text: text.as_ref().replace('\n', " "), value: value.into() }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(&text, text.as_str())
    }

    pub(super) fn count(count: usize) -> Self {
        Self::new(count.to_string(), count)
    }

    pub(super) fn shown(value: Option<f64>, text: impl FnOnce(f64) -> String) -> Self {
        value.map_or(Self::none(), |value| Self::new(text(value), value))
    }

    pub(super) fn none() -> Self {
        Self::new("", Value::Null)
    }
}

const MAX_ROWS: usize = 40;
const SCHEMA: &str = "gbench-ci/sweep/v1";

/// Errors: only those of `out`.
pub(crate) fn write(tables: &[SweepTable], options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    let limit = if options.all { usize::MAX } else { MAX_ROWS };
    match options.format {
        Format::Markdown => tables
            .iter()
            .try_for_each(|it| write!(out, "### {}\n\n{}\n", prose(&it.table.title), it.markdown(limit))),
        Format::Json => {
            let list: Vec<Value> = tables.iter().map(SweepTable::document).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({ "schema": SCHEMA, "tables": list }))?;
            writeln!(out)
        }
        Format::Jsonl => tables.iter().try_for_each(|it| {
            it.objects().into_iter().try_for_each(|mut object| {
                object.insert("table".into(), it.table.title.clone().into());
                object.insert("unit".into(), it.unit.clone().into());
                json::line(&object, out)
            })
        }),
        Format::Csv => tables.iter().enumerate().try_for_each(|(index, it)| {
            // One table after the other, each with its header, separated by an empty line.
            if index > 0 {
                writeln!(out)?;
            }
            let mut writer = csv::Writer::from_writer(&mut *out);
            let unit = |text: &str| it.unit.as_ref().map(|_| csv_cell(text));
            writer.write_record(it.table.columns.iter().map(|name| csv_cell(name)).chain(unit("unit")))?;
            for row in &it.table.rows {
                let cells = row.iter().map(|cell| match &cell.value {
                    Value::String(text) => csv_cell(text),
                    Value::Null => String::new(),
                    other => other.to_string(),
                });
                writer.write_record(cells.chain(unit(it.unit.as_deref().unwrap_or_default())))?;
            }
            writer.flush()
        }),
        // A sweep has no test cases: the caller refuses this format.
        Format::Junit => Ok(()),
        Format::Terminal => {
            let mut page = TerminalLayout::new(options.style);
            tables.iter().for_each(|it| it.table.terminal(&mut page, limit));
            out.write_all(page.into_text().as_bytes())
        }
    }
}

impl SweepTable {
    pub(super) fn of_factors(
        title: String,
        columns: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<Cell>>,
        note: &str,
    ) -> Self {
        Self { table: ReportTable::new(title, columns, rows, vec![note.to_owned()]), unit: None }
    }

    pub(super) fn of_nothing(title: String) -> Self {
        Self { table: ReportTable::new(title, [""; 0], [], Vec::new()), unit: None }
    }

    pub(super) fn markdown(&self, limit: usize) -> String {
        let rule = format!("| {} |", vec![":--"; self.table.columns.len()].join(" | "));
        let notes = self.table.sentences(limit).into_iter().map(|note| format!("\n{}.\n", prose(&note)));
        self.table.markdown(&rule, limit) + &notes.collect::<String>()
    }

    fn document(&self) -> Value {
        let ReportTable { title, columns, notes, .. } = &self.table;
        json!({ "title": title, "unit": self.unit, "columns": columns, "rows": self.objects(), "notes": notes })
    }

    fn objects(&self) -> Vec<Map<String, Value>> {
        let values = |row: &Vec<Cell>| row.iter().map(|cell| cell.value.clone()).collect::<Vec<_>>();
        let object = |row| self.table.columns.iter().cloned().zip(values(row)).collect();
        self.table.rows.iter().map(object).collect()
    }
}
