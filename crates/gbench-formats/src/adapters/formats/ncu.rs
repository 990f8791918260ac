//! Nsight Compute: the CSV of `ncu --csv`, a row per metric, and of `--page raw`, a row per launch. A launch is a case.
//! <https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html>.
//!
//! The output of `ncu` and of the program may interrupt the table. A kernel that is launched several times is several
//! cases with the parameter `launch`, from 0, per kernel and grid: each launch is profiled once, with other data in its
//! caches, so they are not samples of one quantity.
//!
//! The long table has no end mark, so an incomplete one looks complete: only the duration is read from it. The wide table
//! provides each metric. `ncu` locks the clocks and clears the caches by default: its durations are not comparable with
//! those of a timer.
//!
//! `ncu` writes numbers in the current locale, with at most two decimals. A comma followed by three digits separates
//! thousands. Any other comma separates decimals; points may then separate thousands, so such a file is refused.

mod figure;

use std::collections::{BTreeMap, HashSet};

use self::figure::Figure;
use super::interface::prelude::*;
use gbench_model::profiler_csv::{NCU_HEADER, ProfilerRecord, is_ncu_header, ncu_records};

const DURATIONS: [&str; 3] = ["Duration", "gpu__time_duration.sum", "gpu__time_duration.avg"];
const KEYS: [(&str, &str); 3] = [("Block Size", "block"), ("Grid Size", "grid"), ("Device", "device")];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "ncu",
    title: "Nsight Compute `ncu --csv`",
    versions: "2020 to 2025: the long table, and `--page raw` with its row of units",
    fields: "`ID`, `Process ID`, `Kernel Name`, `Block Size`, `Grid Size`, `Device`; `Process Name`, `CC` of the run; `Duration` or `gpu__time_duration` of the long table, \
             each metric of the wide one",
    direction: "durations lower; all else is shown",
    failures: "`n/a` in place of a duration, or one of 0; no table, no launch with a duration, or decimals behind a comma \
             (refused)",
    tried: &["2025.3.1", "2025.3.1-raw"],
    recognises: |file| file.any_line(NCU_HEADER, is_ncu_header),
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let records = ncu_records(text).map_err(|damage| file.line(damage.line, damage.what))?;
    let mut records = records.into_iter();
    let Some(header) = records.next() else {
        let said = text.lines().find(|line| line.starts_with("==ERROR==") || line.starts_with("==WARNING=="));
        return Err(
            file.wrong(format!("it contains no table: {}", said.unwrap_or("no line begins with `\"ID\"`")))
        );
    };
    let records: Vec<ProfilerRecord> = records.collect();
    let columns = Columns(&header.cells);
    let readings = match columns.of("Metric Name") {
        Some(_) => long(file, &columns, &records)?,
        None => wide(file, &columns, &records)?,
    };
    let of_column = |name: &str| {
        let column = columns.of(name);
        let mut found: Vec<&str> = records.iter().map(|record| record.cell(column)).collect();
        found.retain(|cell| !cell.is_empty());
        found.sort_unstable();
        found.dedup();
        found
    };
    let run = RunReading::from(readings);
    Ok(vec![run.also("compute_capability", of_column("CC")).also("process", of_column("Process Name"))])
}

struct Columns<'a>(&'a [String]);

impl Columns<'_> {
    fn of(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|column| column == name)
    }

    fn need(&self, file: &ResultFile, name: &str) -> Result<Option<usize>, ReadError> {
        self.of(name).map(Some).ok_or_else(|| file.wrong(format!("it has no column `{name}`")))
    }
}

#[derive(Default)]
struct Launches(BTreeMap<(String, Params), i64>);

impl Launches {
    fn next(&mut self, columns: &Columns, record: &ProfilerRecord) -> Reading {
        let kernel = record.cell(columns.of("Kernel Name")).to_owned();
        let mut params = Params::new();
        for (column, name) in KEYS {
            let value = record.cell(columns.of(column));
            if !value.is_empty() {
                params.insert(name.to_owned(), shape(value));
            }
        }
        let before = self.0.entry((kernel.clone(), params.clone())).or_default();
        params.insert("launch".to_owned(), ParamValue::Int(*before));
        *before += 1;
        named(&kernel, params)
    }
}

/// `(384, 1, 1)` as `384x1x1`.
fn shape(text: &str) -> ParamValue {
    let parts = text.trim_matches(['(', ')']).split(',').map(str::trim);
    param(&parts.collect::<Vec<_>>().join("x"))
}

/// A row per metric: the durations.
fn long(file: &ResultFile, columns: &Columns, records: &[ProfilerRecord]) -> Result<Vec<Reading>, ReadError> {
    let (name, unit) = (columns.need(file, "Metric Name")?, columns.need(file, "Metric Unit")?);
    let (value, id) = (columns.need(file, "Metric Value")?, columns.of("ID"));
    let process = columns.of("Process ID");
    let (mut readings, mut launches, mut seen) = (Vec::new(), Launches::default(), HashSet::new());
    for record in records.iter().filter(|record| record.cell(id).parse::<u64>().is_ok()) {
        let figure = Figure::of(record.cell(value));
        figure.refuse_comma(file, record)?;
        let is_duration = DURATIONS.contains(&record.cell(name));
        if is_duration && seen.insert((record.cell(process), record.cell(id))) {
            let mut reading = launches.next(columns, record);
            duration(file, record, &mut reading, record.cell(unit), figure)?;
            readings.push(reading);
        }
    }
    if readings.is_empty() {
        return Err(
            file.wrong("no launch has a `Duration`: `ncu --page raw --csv` gives all metrics of each launch")
        );
    }
    Ok(readings)
}

/// A row per launch, below a row of units.
fn wide(file: &ResultFile, columns: &Columns, records: &[ProfilerRecord]) -> Result<Vec<Reading>, ReadError> {
    let [units, rows @ ..] = records else { return Err(file.wrong("it contains no row of units")) };
    let is_of_units = units.cell(columns.of("ID")).is_empty() && units.cells.len() == columns.0.len();
    if !is_of_units {
        return Err(file.line(units.line, "no row of units: the units are unknown"));
    }
    let (mut readings, mut launches) = (Vec::new(), Launches::default());
    for record in rows {
        if record.cells.len() != columns.0.len() {
            let what =
                format!("it has {} cells, and the header names {}", record.cells.len(), columns.0.len());
            return Err(file.line(record.line, what));
        }
        let mut reading = launches.next(columns, record);
        for ((name, unit), text) in columns.0.iter().zip(&units.cells).zip(&record.cells) {
            let figure = Figure::of(text);
            if !is_metric(name) {
                continue;
            }
            figure.refuse_comma(file, record)?;
            if DURATIONS.contains(&name.as_str()) {
                duration(file, record, &mut reading, unit, figure)?;
            } else if let Figure::Number(value) = figure {
                shown(&mut reading, name, unit, value);
            }
        }
        reading.metrics.sort_by_key(|metric| metric.name != "time");
        readings.push(reading);
    }
    Ok(readings)
}

/// Only metrics have `__` in their names; those of the device are the same for all its launches.
fn is_metric(column: &str) -> bool {
    let is_name = column.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    is_name && column.contains("__") && !column.starts_with("device__attribute")
}

fn duration(
    file: &ResultFile,
    record: &ProfilerRecord,
    reading: &mut Reading,
    unit: &str,
    figure: Figure,
) -> Result<(), ReadError> {
    let unit = match unit {
        "ns" | "nsecond" => "ns",
        "us" | "usecond" => "us",
        "ms" | "msecond" => "ms",
        "s" | "second" => "s",
        other => return Err(file.line(record.line, format!("`{other}` is not a unit of a duration"))),
    };
    match figure {
        Figure::Number(value) if value > 0.0 => {
            measured(reading, "time", unit, value);
        }
        Figure::Number(_) => reading.end = failed("its duration is not above zero"),
        Figure::None => reading.end = failed("`ncu` gives no duration of it"),
        Figure::Comma | Figure::Text => return Err(file.line(record.line, "its duration is not a number")),
    }
    Ok(())
}
