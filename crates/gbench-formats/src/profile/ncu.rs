//! Nsight Compute: `ncu --import X --csv` with `--page raw`, a row per launch below a row of units, and with `--page
//! details`, a row per metric. <https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html>.
//!
//! Neither table has an end mark. A text that ends within a row is refused, and one that ends between the rows of a
//! launch, if another launch of the same kernel has metrics that the last one lacks.

use std::collections::HashMap;

use super::ProfileReadError;
use super::figures::{NamedMetric, figures_of};
use super::kernels::{LaunchFigures, WatchedKernels};
use super::number::{CellKind, NumberStyle, kind, style_of};
use super::unit::scale;
use gbench_model::profiler_csv::{ProfilerRecord, ncu_records};
use gbench_model::{KernelProfile, RawMetric};

/// The metrics of each launch include facts of the card.
const OF_THE_CARD: &str = "device__attribute";

struct NcuLaunch {
    kernel: String,
    line: usize,
    metrics: Vec<NcuMetric>,
}

struct NcuMetric {
    name: String,
    unit: String,
    text: String,
    line: usize,
}

impl NcuMetric {
    /// `Memory Throughput` in percent and in bytes per second are two metrics; in `Gbyte/s` and `Tbyte/s` it is one.
    fn is_same(&self, other: &Self) -> bool {
        let base = |metric: &Self| scale(&metric.unit).map(|(_, base)| base);
        self.name == other.name && (self.unit == other.unit || base(self) == base(other))
    }
}

/// The kernels in the output of `ncu --csv`, with means over their launches; sorted by total time, the longest first.
/// Lines of the program and of `ncu` may precede, interrupt and follow the table. Errors: no launch; an incomplete row,
/// or one whose length differs from the header's; an ambiguous number.
pub fn read_ncu_csv(text: &[u8]) -> Result<Vec<KernelProfile>, ProfileReadError> {
    let text = String::from_utf8_lossy(text);
    let records = ncu_records(&text)?;
    let mut launches = Vec::new();
    for table in records.chunk_by(|_, next| !is_header(next)) {
        let [header, rows @ ..] = table else { continue };
        launches.extend(if column(header, "Metric Name").is_some() {
            long(header, rows)?
        } else {
            wide(header, rows)?
        });
    }
    if launches.is_empty() {
        let said = text.lines().find_map(|line| line.strip_prefix("==ERROR==")).map(str::trim);
        let failed = said.filter(|_| records.is_empty());
        return Err(
            failed.map_or(ProfileReadError::Nothing, |said| ProfileReadError::Said { said: said.to_owned() })
        );
    }
    let metrics = || launches.iter().flat_map(|launch| &launch.metrics);
    let cells: Vec<(usize, &str)> = metrics().map(|metric| (metric.line, metric.text.as_str())).collect();
    let style = style_of(&cells)?;
    let mut kernels = WatchedKernels::default();
    for launch in launches {
        let metrics = launch.metrics.into_iter().filter_map(|metric| named(metric, style)).collect();
        let (figures, raw) = figures_of(metrics);
        kernels.add(&launch.kernel, LaunchFigures { count: 1.0, figures, raw });
    }
    Ok(kernels.finish())
}

fn is_header(record: &ProfilerRecord) -> bool {
    record.cells.first().is_some_and(|cell| cell == "ID")
}

fn column(header: &ProfilerRecord, name: &str) -> Option<usize> {
    header.cells.iter().position(|column| column == name)
}

fn need(header: &ProfilerRecord, name: &str) -> Result<usize, ProfileReadError> {
    let missing = || ProfileReadError::line(header.line, format!("no column `{name}`"));
    column(header, name).ok_or_else(missing)
}

/// A metric with its number; `None`: its value is a text, or `ncu` has none.
fn named(metric: NcuMetric, style: NumberStyle) -> Option<NamedMetric> {
    let value = match kind(&metric.text) {
        CellKind::Scaled(value) => value,
        CellKind::Number => style.read(&metric.text)?,
        CellKind::Other => return None,
    };
    Some((metric.name, RawMetric { value, unit: metric.unit }))
}

fn long(header: &ProfilerRecord, rows: &[ProfilerRecord]) -> Result<Vec<NcuLaunch>, ProfileReadError> {
    let (id, process) = (need(header, "ID")?, need(header, "Process ID")?);
    let (kernel, name) = (need(header, "Kernel Name")?, need(header, "Metric Name")?);
    let (unit, value) = (need(header, "Metric Unit")?, need(header, "Metric Value")?);
    let mut launches: Vec<NcuLaunch> = Vec::new();
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    for row in rows {
        if row.cells.len() <= value {
            let what = format!("it has {} cells, and its value is the {}th", row.cells.len(), value + 1);
            return Err(ProfileReadError::line(row.line, what));
        }
        let cell = |column: usize| row.cell(Some(column));
        let place = *places.entry((cell(process), cell(id))).or_insert_with(|| {
            let kernel = cell(kernel).to_owned();
            launches.push(NcuLaunch { kernel, line: row.line, metrics: Vec::new() });
            launches.len() - 1
        });
        let Some(launch) = launches.get_mut(place).filter(|_| !cell(name).is_empty()) else { continue };
        let metric = NcuMetric {
            name: cell(name).to_owned(),
            unit: cell(unit).to_owned(),
            text: cell(value).to_owned(),
            line: row.line,
        };
        // A metric may appear in several sections.
        if !launch.metrics.iter().any(|known| known.is_same(&metric)) {
            launch.metrics.push(metric);
        }
        launch.line = row.line;
    }
    whole(&launches)?;
    Ok(launches)
}

/// Errors: another launch of the kernel has metrics after the last one of the last launch: the text ends within it. A
/// metric that is missing in between was not counted.
fn whole(launches: &[NcuLaunch]) -> Result<(), ProfileReadError> {
    let Some((last, before)) = launches.split_last() else { return Ok(()) };
    let end = last.metrics.last();
    let behind = |other: &NcuLaunch| {
        let place = match end {
            None => 0,
            Some(end) => 1 + other.metrics.iter().position(|metric| metric.is_same(end))?,
        };
        other.metrics.get(place).map(|metric| metric.name.clone())
    };
    let mut same = before.iter().filter(|launch| launch.kernel == last.kernel);
    match same.find_map(behind) {
        Some(missing) => Err(ProfileReadError::line(
            last.line,
            format!(
                "the table is incomplete: this launch has no `{missing}`, which others of its kernel have"
            ),
        )),
        None => Ok(()),
    }
}

fn wide(header: &ProfilerRecord, rows: &[ProfilerRecord]) -> Result<Vec<NcuLaunch>, ProfileReadError> {
    let kernel = need(header, "Kernel Name")?;
    let [units, rows @ ..] = rows else {
        return Err(ProfileReadError::line(header.line, "no row of units follows the header"));
    };
    if !units.cells.first().is_some_and(String::is_empty) {
        return Err(ProfileReadError::line(units.line, "no row of units: the units are unknown"));
    }
    let columns = header.cells.len();
    let launch = |row: &ProfilerRecord| {
        let metrics = header.cells.iter().zip(&units.cells).zip(&row.cells);
        let metrics = metrics.filter(|((name, _), _)| is_metric(name)).map(|((name, unit), text)| {
            NcuMetric { name: name.clone(), unit: unit.clone(), text: text.clone(), line: row.line }
        });
        NcuLaunch { kernel: row.cell(Some(kernel)).to_owned(), line: row.line, metrics: metrics.collect() }
    };
    match [units].into_iter().chain(rows).find(|row| row.cells.len() != columns) {
        Some(row) => {
            let what = format!("it has {} cells, and the header names {columns}", row.cells.len());
            Err(ProfileReadError::line(row.line, what))
        }
        None => Ok(rows.iter().map(launch).collect()),
    }
}

/// Only metrics have `__` in their names.
fn is_metric(column: &str) -> bool {
    column.contains("__") && !column.contains(' ') && !column.starts_with(OF_THE_CARD)
}
