//! NVBench's tables: `--csv`, and `--md`, which is what it prints. They have no samples, unlike its JSON.
//! <https://github.com/NVIDIA/nvbench>.
//!
//! A column `Noise` is the relative deviation of the column before it, and columns of one name appear several times: they are
//! read by their order. Parameters are the columns before `Skipped`, or before `Samples`. A power of two has two columns, or two
//! numbers.
//!
//! A benchmark's own summary may come before `Samples` too. The log names the axes of each benchmark; without it, a column such as
//! `Duration (s)` with `10.1 ms` is not an axis.

use super::interface::prelude::*;

const CSV: &str = "Benchmark,Device,Device Name,";
const SKIPPED: &str = "Skipped";
const SAMPLES: &str = "Samples";
const NOISE: &str = "Noise";
const RESULTS: &str = "# Benchmark Results";

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "nvbench-table",
    title: "NVBench `--csv` and `--md`",
    versions: "the CSV, and the Markdown that it prints",
    fields: "`Benchmark`, the axes; `GPU Time`, `CPU Time`, `Noise`, `Samples`, `Batch GPU`, the rates; `Skipped`, or `Skip:` and `Fail:` of the log; \
             `Device Name`",
    direction: "the time of the GPU lower, or that of the CPU where there is none; rates and the others are shown",
    failures: "`Fail:` in the log; a time of 0; `Yes` as `Skipped`, or `Skip:` in the log (skipped); a row that is cut off \
             (refused)",
    recognises: |file| {
        let is_csv = |line: &str| line.starts_with(CSV) && line.split(',').any(|name| name == SKIPPED);
        is_csv(&file.first_line())
            || file.any_line(RESULTS, |line| line.trim() == RESULTS)
                && file.any_line(" Time ", |line| is_heading(&cells(line)))
    },
    read,
    ..DeclaredFormat::SUMMARY
};

/// A row of either table.
struct Row<'a> {
    benchmark: &'a str,
    /// Its number and its name.
    device: (&'a str, &'a str),
    axes: Vec<(&'a str, &'a str)>,
    /// Column and cell.
    figures: Vec<(&'a str, &'a str)>,
    end: End,
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    if !text.ends_with('\n') {
        return Err(file.wrong("its last line is incomplete"));
    }
    let rows = if text.trim_start().starts_with(CSV) { csv(file, text)? } else { markdown(file, text)? };
    let mut devices: Vec<(&str, &str)> =
        rows.iter().map(|row| row.device).filter(|(_, name)| !name.is_empty()).collect();
    devices.sort_unstable();
    devices.dedup();
    let several = devices.len() > 1;
    let readings: Vec<Reading> =
        rows.iter().map(|row| reading(file, row, several)).collect::<Result<_, _>>()?;
    let names: Vec<&str> = devices.iter().map(|(_, name)| *name).collect();
    Ok(vec![RunReading::from(readings).fact("devices", names)])
}

fn csv<'a>(file: &ResultFile, text: &'a str) -> Result<Vec<Row<'a>>, ReadError> {
    let mut all = lines(text).filter(|(_, line, _)| !line.trim().is_empty());
    let header: Vec<&str> = all.next().map(|(_, line, _)| line.split(',').collect()).unwrap_or_default();
    let end = header
        .iter()
        .position(|name| *name == SKIPPED)
        .ok_or_else(|| file.wrong("it has no column `Skipped`"))?;
    all.map(|(at, line, _)| {
        let cells: Vec<&str> = line.split(',').collect();
        let [benchmark, number, device, ..] = cells.as_slice() else {
            return Err(file.line(at, "the row is incomplete"));
        };
        if cells.len() != header.len() {
            let what = format!("it has {} cells, and the header names {}", cells.len(), header.len());
            return Err(file.line(at, what));
        }
        let pairs: Vec<(&str, &str)> = header.iter().copied().zip(cells.iter().copied()).collect();
        let is_skipped = cells.get(end) == Some(&"Yes");
        Ok(Row {
            benchmark,
            device: (number, device),
            axes: pairs.get(3..end).unwrap_or_default().to_vec(),
            figures: pairs.get(end + 1..).unwrap_or_default().to_vec(),
            end: if is_skipped { skipped("the benchmark skipped it") } else { End::Measured },
        })
    })
    .collect()
}

/// The cells of `| a | b |`; nothing for another line.
fn cells(line: &str) -> Vec<&str> {
    let inside = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    inside.map_or(Vec::new(), |inside| inside.split('|').map(str::trim).collect())
}

fn is_heading(cells: &[&str]) -> bool {
    cells.contains(&SAMPLES) && cells.iter().any(|cell| cell.ends_with(" Time"))
}

fn markdown<'a>(file: &ResultFile, text: &'a str) -> Result<Vec<Row<'a>>, ReadError> {
    let (mut benchmark, mut device, mut header): (&str, (&str, &str), Vec<&str>) = ("", ("", ""), Vec::new());
    let mut rows = Vec::new();
    let mut state = None;
    let logged: Vec<Row> = text.lines().filter_map(|line| state_of(line.strip_prefix("Run:")?)).collect();
    for (at, line, _) in lines(text) {
        if let Some(run) = line.strip_prefix("Run:") {
            state = state_of(run);
        } else if let Some(skip) = line.strip_prefix("Skip:") {
            let reason = skip.split_once("]: ").map_or("the benchmark skipped it", |(_, reason)| reason);
            rows.extend(state_of(skip).map(|row| Row { end: skipped(reason.trim()), ..row }));
        } else if let Some(error) = line.strip_prefix("Fail:") {
            rows.extend(state.take().map(|row| Row { end: failed(error.trim()), ..row }));
        } else if let Some(found) = line.strip_prefix("### [") {
            device = found.split_once("] ").map_or(("", found), |(number, name)| (number, name.trim()));
            header.clear();
        } else if let Some(found) = line.strip_prefix("## ") {
            benchmark = found.trim();
            header.clear();
        } else if is_heading(&cells(line)) {
            header = cells(line);
        } else if !header.is_empty() && line.starts_with('|') && !line.starts_with("|-") {
            let cells = cells(line);
            if cells.len() != header.len() {
                let what = format!("it has {} cells, and the header names {}", cells.len(), header.len());
                return Err(file.line(at, what));
            }
            let pairs: Vec<(&str, &str)> = header.iter().copied().zip(cells).collect();
            let end = header.iter().position(|name| *name == SAMPLES).unwrap_or_default();
            let (before, behind) = pairs.split_at(end);
            let state = logged.iter().find(|state| state.benchmark == benchmark);
            let (axes, own) = before.iter().partition(|pair| is_axis(pair, state));
            let mut figures: Vec<(&str, &str)> = own;
            figures.extend(behind);
            rows.push(Row { benchmark, device, axes, figures, end: End::Measured });
        }
    }
    Ok(rows)
}

/// A column before `Samples`: false for a figure that the benchmark reports itself. `state`: of the log.
fn is_axis((column, cell): &(&str, &str), state: Option<&Row>) -> bool {
    let Some((_, unit)) = figure(cell) else { return true };
    match state {
        Some(state) => state.axes.iter().any(|(name, _)| name == column),
        None => unit.is_empty() || !column.ends_with(')') || !column.contains(" ("),
    }
}

/// ` [3/3] copy_bench [Device=0 T=F64 Elements=2^34]: ...`.
fn state_of(line: &str) -> Option<Row<'_>> {
    let (_, rest) = line.split_once("] ")?;
    let (benchmark, rest) = rest.split_once(" [")?;
    let (state, _) = rest.split_once(']')?;
    let mut pairs: Vec<(&str, &str)> = state.split(' ').filter_map(|pair| pair.split_once('=')).collect();
    let number = pairs.iter().find(|(name, _)| *name == "Device").map_or("", |(_, number)| *number);
    pairs.retain(|(name, _)| *name != "Device");
    Some(Row { benchmark, device: (number, ""), axes: pairs, figures: Vec::new(), end: End::Measured })
}

fn reading(file: &ResultFile, row: &Row, several: bool) -> Result<Reading, ReadError> {
    let is_doubled = |name: &str| {
        let plain = name.strip_suffix(" (pow2)");
        plain.is_some_and(|plain| row.axes.iter().any(|(other, _)| *other == plain))
    };
    let axes = row.axes.iter().filter(|(name, cell)| !is_doubled(name) && !cell.is_empty());
    let mut params: Params = axes.map(|(name, cell)| ((*name).to_owned(), axis(cell))).collect();
    if several {
        params.insert("device".into(), param(row.device.0));
    }
    let mut reading = named(row.benchmark, params);
    if row.end != End::Measured {
        return Ok(reading.with_end(row.end.clone()));
    }
    let wrong = |name: &str, cell: &str| {
        file.at(format!("{}[].{name}", row.benchmark), format!("`{cell}` is not a number"))
    };
    let mut count = None;
    let has_gpu = row.figures.iter().any(|(name, _)| name.starts_with("GPU Time"));
    for (at, (column, cell)) in row.figures.iter().enumerate() {
        if cell.is_empty() || *column == NOISE {
            continue;
        }
        let (name, unit) =
            column.strip_suffix(')').and_then(|name| name.split_once(" (")).unwrap_or((column, ""));
        let (value, cell_unit) = figure(cell).ok_or_else(|| wrong(column, cell))?;
        let unit = match (unit, cell_unit) {
            ("sec", _) => "s",
            ("bytes/sec", _) => "B/s",
            ("elem/sec", _) => "elem/s",
            (unit, "") => unit,
            (_, unit) => unit,
        };
        if name == SAMPLES {
            count = count.or(Some(value as u64));
            continue;
        }
        let is_main = name == "GPU Time" || name == "CPU Time" && !has_gpu;
        // That of a mean: an extreme may come between them.
        let next = row.figures.get(at + 1).filter(|_| name == "GPU Time" || name == "CPU Time");
        let noise = next.filter(|(next, _)| *next == NOISE).and_then(|(_, cell)| figure(cell));
        let deviation = noise.map(|(noise, unit)| value * if unit == "%" { noise / 100.0 } else { noise });
        let metric = match name {
            _ if is_main => "time".to_owned(),
            "CPU Time" => "cpu_time".into(),
            "Batch GPU" => "batch_time".into(),
            "GlobalMem BW" => "bandwidth".into(),
            other => metric_name(other),
        };
        if is_main && value <= 0.0 {
            return Ok(reading.with_end(failed(format!("`{name}` is {cell}"))));
        }
        summarised(&mut reading, &metric, unit, summary(value, deviation, count.filter(|_| is_main)))
            .judged = is_main;
    }
    Ok(reading)
}

/// `2^20 = 1048576`, `2^20` and `1048576` are the same.
fn axis(cell: &str) -> ParamValue {
    let cell = cell.rsplit_once(" = ").map_or(cell, |(_, number)| number);
    let power = cell.strip_prefix("2^").and_then(|power| 2_i64.checked_pow(power.parse().ok()?));
    power.map_or_else(|| param(cell), ParamValue::Int)
}

/// `18.200 us`, `2.11%`, `57.614G`, `2048x`.
fn figure(cell: &str) -> Option<(f64, &str)> {
    let end = cell.find(|c: char| !c.is_ascii_digit() && !"+-.e".contains(c)).unwrap_or(cell.len());
    let (value, unit) = cell.split_at(end);
    let value = number(value)?;
    Some(match unit.trim() {
        "K" => (value * 1e3, ""),
        "M" => (value * 1e6, ""),
        "G" => (value * 1e9, ""),
        "T" => (value * 1e12, ""),
        "x" => (value, ""),
        unit => (value, unit),
    })
}
