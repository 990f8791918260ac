//! `nsys stats`: its summaries as CSV (`--format csv`), of kernels, copies and calls. A row is a case, named by the
//! kernel or function. <https://docs.nvidia.com/nsight-systems/UserGuide/index.html#statistical-analysis>.
//!
//! Older versions have other names for the same columns, and no median. All times are nanoseconds. An empty line
//! separates several tables.

use std::collections::HashSet;

use super::interface::prelude::*;
use gbench_model::UnreadKind;
use gbench_model::profiler_csv::nsys::{COUNTS, MAX, MEAN, MEDIAN, MIN, NAMES, SHARE, STDDEV, TOTAL};
use gbench_model::profiler_csv::{is_nsys_header, nsys_tables};

/// Columns that do not identify the case, or change from run to run.
const OTHERS: [&str; 3] = [TOTAL, "PID", "TID"];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "nsys-stats",
    title: "Nsight Systems `nsys stats`",
    versions: "CSV summaries of 2020 to 2025: `cuda_gpu_kern_sum`, `cuda_api_sum`, `cuda_gpu_mem_time_sum`, `osrt_sum`, `nvtx_sum`",
    fields: "`Name`, `Operation` or `Range`; `Instances`, `Num Calls` or `Count`; total, average, median, minimum, maximum and standard \
             deviation; columns such as `GridXYZ` as parameters",
    direction: "times lower: the median is judged, or the average where there is none",
    failures: "a count of 0; an empty cell or a word such as `N/A` under the median, or under the average if there is no median",
    recognises: |file| file.any_line(TOTAL, is_nsys_header),
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let tables = nsys_tables(text).map_err(|damage| file.line(damage.line, damage.what))?;
    if tables.is_empty() {
        return Err(file.wrong(format!("no line names the columns `Time (%)` and `{TOTAL}`")));
    }
    let (mut readings, mut read) = (Vec::new(), HashSet::new());
    for (first, part) in tables {
        read.extend(first..first + part.lines().count());
        let table = CsvTable::read(*file, &part, first, b',')?;
        for row in &table.rows {
            readings.push(reading(file, &table, row)?);
        }
    }
    // Rows of other tables, such as those of sizes.
    let mut run = RunReading::from(readings);
    for (at, line, _) in lines(text).filter(|(at, ..)| !read.contains(at)) {
        if line.split(',').filter(|cell| number(cell).is_some()).count() > 3 {
            run.unread.line(UnreadKind::Row, at, line);
        }
    }
    Ok(vec![run])
}

fn reading(file: &ResultFile, table: &CsvTable, row: &CsvRow) -> Result<Reading, ReadError> {
    let of = |names: &[&str]| names.iter().find_map(|name| table.column(name));
    let cell = |names: &[&str]| of(names).filter(|column| no_value(row.cell(*column)).is_none());
    let number = |names: &[&str]| cell(names).map(|column| table.number(row, column)).transpose();
    let name = of(&NAMES).map_or("", |column| row.cell(column));
    if name.is_empty() {
        return Err(file.line(row.line, "a row without a name"));
    }
    let known = [SHARE.as_slice(), &COUNTS, &NAMES, &MEAN, &MEDIAN, &MIN, &MAX, &STDDEV, &OTHERS].concat();
    let params: Params = table
        .header
        .iter()
        .zip(&row.cells)
        .filter(|(column, value)| !known.contains(&column.as_str()) && !value.is_empty())
        .map(|(column, value)| {
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            (column.to_ascii_lowercase().replace(' ', "_"), param(&value))
        })
        .collect();
    let mut reading = named(name, params);
    let count = number(&COUNTS)?.unwrap_or(0.0);
    if count < 1.0 {
        return Ok(reading.with_end(failed("it never ran")));
    }
    let (mean, median) = (number(&MEAN)?, number(&MEDIAN)?);
    let column = of(&MEDIAN).or(of(&MEAN));
    let column = column.ok_or_else(|| file.line(row.line, "it has neither median nor average"))?;
    let Some(value) = median.or(mean.filter(|_| of(&MEDIAN).is_none())) else {
        let what = no_value(row.cell(column)).unwrap_or_default();
        let name = table.header.get(column).map_or("", String::as_str);
        return Ok(reading.with_end(failed(format!("line {}: {what} under `{name}`", row.line))));
    };
    let stddev = number(&STDDEV)?.filter(|stddev| count > 1.0 && *stddev > 0.0);
    summarised(&mut reading, "time", "ns", summary(value, stddev, Some(count as u64)));
    if let Some(mean) = mean.filter(|_| median.is_some()) {
        summarised(&mut reading, "time_mean", "ns", alone(mean)).judged = false;
    }
    let figures =
        [("time_min", number(&MIN)?), ("time_max", number(&MAX)?), ("time_total", number(&[TOTAL])?)];
    for (name, value) in figures {
        shown(&mut reading, name, "ns", value);
    }
    shown(&mut reading, "count", "count", count);
    Ok(reading)
}
