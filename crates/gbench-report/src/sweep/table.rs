//! Tables of a sweep, whatever they are about, in each format.

use std::io;

use serde_json::{Map, Value, json};

use crate::layout::emphasis::Emphasis;
use crate::layout::escape::{csv as csv_cell, markdown as prose, markdown_code as code};
use crate::layout::terminal::{GridRow, TerminalLayout};
use crate::{Format, Options};

/// One table, and what may be said of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SweepTable {
    /// `operation=LayerNorm: time by sequence_length`.
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// Of its figures; `None`: they are factors.
    pub unit: Option<String>,
    /// Sentences below it, without their periods.
    pub notes: Vec<String>,
}

/// A cell, for readers and for programs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub text: String,
    pub value: Value,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { value: text.clone().into(), text }
    }

    pub(super) fn count(count: usize) -> Self {
        Self { text: count.to_string(), value: count.into() }
    }

    pub(super) fn number(text: String, value: f64) -> Self {
        Self { text, value: json!(value) }
    }

    pub(super) fn none() -> Self {
        Self { text: String::new(), value: Value::Null }
    }
}

/// Rows of a table before the rest is only counted.
const MAX_ROWS: usize = 40;

/// Writes tables as the options say. Errors: only those of `out`.
pub(crate) fn write(tables: &[SweepTable], options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    let limit = if options.all { usize::MAX } else { MAX_ROWS };
    match options.format {
        Format::Markdown => tables.iter().try_for_each(|table| {
            let page = format!("### {}\n\n{}\n", prose(&table.title), markdown(table, limit));
            out.write_all(page.as_bytes())
        }),
        Format::Json => {
            let list: Vec<Value> = tables.iter().map(document).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({ "schema": SCHEMA, "tables": list }))?;
            writeln!(out)
        }
        Format::Jsonl => tables.iter().try_for_each(|table| {
            objects(table).into_iter().try_for_each(|mut object| {
                object.insert("table".into(), table.title.clone().into());
                object.insert("unit".into(), table.unit.clone().into());
                serde_json::to_writer(&mut *out, &object)?;
                writeln!(out)
            })
        }),
        Format::Csv => tables.iter().enumerate().try_for_each(|(index, table)| {
            // One table after the other, each under its own header, with an empty line between.
            if index > 0 {
                writeln!(out)?;
            }
            let mut writer = csv::Writer::from_writer(&mut *out);
            let unit = |text: &str| table.unit.as_ref().map(|_| csv_cell(text));
            writer.write_record(table.columns.iter().map(|name| csv_cell(name)).chain(unit("unit")))?;
            for row in &table.rows {
                let cells = row.iter().map(|cell| match &cell.value {
                    Value::String(text) => csv_cell(text),
                    Value::Null => String::new(),
                    other => other.to_string(),
                });
                writer.write_record(cells.chain(unit(table.unit.as_deref().unwrap_or_default())))?;
            }
            writer.flush()
        }),
        // A sweep has no test cases: the caller refuses this format.
        Format::Junit => Ok(()),
        Format::Terminal => {
            let mut page = TerminalLayout::new(options.style);
            terminal(tables, limit, &mut page);
            out.write_all(page.into_text().as_bytes())
        }
    }
}

const SCHEMA: &str = "gbench-ci/sweep/v1";

/// Adds the tables to a page.
pub(crate) fn terminal(tables: &[SweepTable], limit: usize, page: &mut TerminalLayout) {
    for table in tables {
        page.heading(&table.title, Emphasis::Plain);
        if table.rows.is_empty() {
            notes(table, limit).iter().for_each(|note| page.note("", &format!("{note}.")));
            continue;
        }
        let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        let rows = table.rows.iter().take(limit).map(|row| GridRow {
            cells: row.iter().map(|cell| cell.text.replace('\n', " ")).collect(),
            notes: Vec::new(),
        });
        page.grid(&header, rows);
        for note in notes(table, limit) {
            page.note("", &format!("{note}."));
        }
    }
}

/// The table with its notes.
pub(crate) fn markdown(table: &SweepTable, limit: usize) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut page = line(table.columns.iter().map(|name| prose(name)).collect());
    page += &line(vec![":--".to_owned(); table.columns.len()]);
    for row in table.rows.iter().take(limit) {
        let cell = |(index, cell): (usize, &Cell)| match index {
            0 if !cell.text.is_empty() => code(&cell.text),
            _ => prose(&cell.text),
        };
        page += &line(row.iter().enumerate().map(cell).collect());
    }
    for note in notes(table, limit) {
        page += &format!("\n{}.\n", prose(&note));
    }
    page
}

fn notes(table: &SweepTable, limit: usize) -> Vec<String> {
    let mut notes = table.notes.clone();
    if let Some(more) = table.rows.len().checked_sub(limit).filter(|more| *more > 0) {
        notes.insert(0, format!("{more} more rows: `--all` shows them"));
    }
    notes
}

fn document(table: &SweepTable) -> Value {
    json!({ "title": table.title, "unit": table.unit, "columns": table.columns, "rows": objects(table), "notes": table.notes })
}

fn objects(table: &SweepTable) -> Vec<Map<String, Value>> {
    let object = |row: &Vec<Cell>| {
        table.columns.iter().cloned().zip(row.iter().map(|cell| cell.value.clone())).collect()
    };
    table.rows.iter().map(object).collect()
}
