//! The work of a GPU, as Nsight Systems and rocprofv3 print it: columns by their names, units by the header.

use crate::adapters::interface::output::OutputFiles;
use crate::adapters::interface::prelude::*;
use gbench_model::profiler_csv::{cells, lines};

/// The table of Nsight Systems, whose report has a name since 2023 and another one before.
const TRACE: &str = "trace.csv";

/// Rows of one table; each takes about a kilobyte while it is read.
const MAX_LAUNCHES: usize = 1_000_000;

/// The line that the script adds to a table that the tracer has completed.
const END: &str = "# end of trace";

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GpuTrace {
    /// In the order of their starts.
    pub work: Vec<TracedWork>,
    /// As the tracer names itself.
    pub tracer: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TracedWork {
    /// Nanoseconds on the tracer's clock.
    pub start: i64,
    /// Nanoseconds.
    pub duration: i64,
    pub kind: WorkKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum WorkKind {
    Kernel(TracedLaunch),
    /// A copy or a fill; `megabytes` if the tracer prints them.
    Transfer {
        name: String,
        megabytes: Option<f64>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TracedLaunch {
    pub name: String,
    /// In blocks.
    pub grid: [u64; 3],
    /// In threads.
    pub block: [u64; 3],
}

impl GpuTrace {
    /// Each launch with its nanoseconds.
    pub(super) fn launches(&self) -> impl Iterator<Item = (&TracedLaunch, i64)> {
        self.work.iter().filter_map(|work| match &work.kind {
            WorkKind::Kernel(launch) => Some((launch, work.duration)),
            WorkKind::Transfer { .. } => None,
        })
    }
}

/// Errors: no complete table; a needed column or a number is missing.
pub(super) fn read(files: &OutputFiles) -> Result<GpuTrace, ReadError> {
    let mut trace = GpuTrace::default();
    let of_rocprof: Vec<_> = files.ending("_trace.csv").collect();
    if of_rocprof.is_empty() {
        let table = TraceTable::read(TRACE, files.need(TRACE)?, "CorrId", "Nsight Systems")?;
        for row in &table.rows {
            trace.work.push(table.of_nsys(row)?);
        }
        trace.tracer = table.tracer;
    }
    for (file, bytes) in of_rocprof {
        let table = TraceTable::read(file, bytes, "Start_Timestamp", "rocprofv3")?;
        for row in &table.rows {
            trace.work.push(table.of_rocprof(row)?);
        }
        trace.tracer = table.tracer;
    }
    trace.work.sort_by_key(|work| work.start);
    Ok(trace)
}

struct TraceTable<'f> {
    file: &'f str,
    tracer: String,
    header: Vec<String>,
    rows: Vec<TraceRow>,
}

struct TraceRow {
    line: usize,
    cells: Vec<String>,
}

impl<'f> TraceTable<'f> {
    /// `mark`: a column that no line before the header names. `tracer`: the program; a line before the header may have its
    /// version. A table without a header has no rows.
    fn read(file: &'f str, bytes: &[u8], mark: &str, tracer: &str) -> Result<Self, ReadError> {
        let of_file = |what: String| ReadError::new(Place::File(file.to_owned()), what);
        let text =
            std::str::from_utf8(bytes).map_err(|error| of_file(format!("it is not UTF-8: {error}")))?;
        let mut table = Self { file, tracer: tracer.to_owned(), header: Vec::new(), rows: Vec::new() };
        let mut is_complete = false;
        for (number, line, is_whole) in lines(text) {
            is_complete = line == END && is_whole;
            if is_complete || line.trim().is_empty() {
                continue;
            }
            if table.header.is_empty() && !line.contains(mark) {
                if line.contains(tracer) {
                    line.clone_into(&mut table.tracer);
                }
                continue;
            }
            let cells = cells(line).ok_or_else(|| table.wrong(number, "it is not comma-separated values"))?;
            if table.header.is_empty() {
                table.header = cells;
            } else if table.rows.len() == MAX_LAUNCHES {
                let what = format!(
                    "more than {MAX_LAUNCHES} launches and copies: let the program run for a shorter time"
                );
                return Err(table.wrong(number, what));
            } else if cells.len() == table.header.len() {
                table.rows.push(TraceRow { line: number, cells });
            } else {
                let what =
                    format!("it has {} cells, and the header names {}", cells.len(), table.header.len());
                return Err(table.wrong(number, what));
            }
        }
        is_complete.then_some(table).ok_or_else(|| of_file("the tracer did not complete this table".into()))
    }

    fn wrong(&self, line: usize, what: impl Into<String>) -> ReadError {
        ReadError::new(Place::Line { file: Some(self.file.to_owned()), line }, what)
    }

    /// A column by its name, which a unit in parentheses may follow.
    fn column(&self, name: &str) -> Option<(usize, &str)> {
        self.header.iter().enumerate().find_map(|(at, cell)| {
            let unit = cell.strip_prefix(name)?.trim();
            let inner = unit.strip_prefix('(').and_then(|unit| unit.strip_suffix(')'));
            Some((at, inner.unwrap_or(unit))).filter(|_| unit.is_empty() || inner.is_some())
        })
    }

    fn need(&self, name: &str) -> Result<(usize, &str), ReadError> {
        self.column(name).ok_or_else(|| {
            let what = format!(
                "its table has no column `{name}`: {} prints another one than this version of gbench-ci knows; install \
                 a version of the tracer that docs/harnesses.md names, or report it",
                self.tracer
            );
            ReadError::new(Place::File(self.file.to_owned()), what)
        })
    }

    fn text<'r>(&self, row: &'r TraceRow, name: &str) -> Result<&'r str, ReadError> {
        Ok(&row.cells[self.need(name)?.0])
    }

    /// `None`: the cell is empty, as that of a copy's grid.
    fn number(&self, row: &TraceRow, name: &str) -> Result<Option<f64>, ReadError> {
        match self.text(row, name)? {
            "" | "None" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
                _ => Err(self.wrong(row.line, format!("`{text}` is not a number of `{name}`"))),
            },
        }
    }

    fn needed(&self, row: &TraceRow, name: &str) -> Result<f64, ReadError> {
        self.number(row, name)?.ok_or_else(|| self.wrong(row.line, format!("`{name}` is empty")))
    }

    fn axes(&self, row: &TraceRow, names: [&str; 3]) -> Result<[u64; 3], ReadError> {
        let [x, y, z] = names.map(|name| self.needed(row, name).map(|value| value as u64));
        Ok([x?, y?, z?])
    }

    /// A time in whole nanoseconds, which is what both tracers count.
    fn time(&self, row: &TraceRow, name: &str) -> Result<i64, ReadError> {
        let (_, unit) = self.need(name)?;
        let scale = match unit {
            "" | "ns" | "nsec" => 1.0,
            "us" | "usec" | "μs" | "µs" => 1e3,
            "ms" | "msec" => 1e6,
            "s" | "sec" => 1e9,
            other => return Err(self.wrong(row.line, format!("`{other}` is not a unit of `{name}`"))),
        };
        let text = self.text(row, name)?;
        // Times since 1970 are beyond the whole numbers of an `f64`.
        let exact = text.parse::<i64>().ok().filter(|value| *value >= 0 && scale == 1.0);
        let nanoseconds = match exact {
            Some(value) => value,
            None => (self.needed(row, name)? * scale).round() as i64,
        };
        // The sum of two of them is a time, too.
        let is_time = nanoseconds < i64::MAX / 2;
        is_time.then_some(nanoseconds).ok_or_else(|| self.wrong(row.line, format!("`{text}` is not a time")))
    }

    fn of_nsys(&self, row: &TraceRow) -> Result<TracedWork, ReadError> {
        let name = self.text(row, "Name")?.to_owned();
        let kind = if name.starts_with('[') {
            let unit = self.column("Bytes").map_or("", |(_, unit)| unit);
            let megabytes = match unit {
                "MB" => self.number(row, "Bytes")?,
                "B" => self.number(row, "Bytes")?.map(|bytes| bytes / 1e6),
                _ => None,
            };
            WorkKind::Transfer { name, megabytes }
        } else {
            let grid = self.axes(row, ["GrdX", "GrdY", "GrdZ"])?;
            WorkKind::Kernel(TracedLaunch { name, grid, block: self.axes(row, ["BlkX", "BlkY", "BlkZ"])? })
        };
        Ok(TracedWork { start: self.time(row, "Start")?, duration: self.time(row, "Duration")?, kind })
    }

    /// A grid is counted in threads.
    fn of_rocprof(&self, row: &TraceRow) -> Result<TracedWork, ReadError> {
        let [start, end] = ["Start_Timestamp", "End_Timestamp"].map(|name| self.time(row, name));
        let (start, end) = (start?, end?);
        let kind = if self.column("Direction").is_some() {
            let name = self.text(row, "Direction")?.to_owned();
            WorkKind::Transfer { name, megabytes: None }
        } else {
            let axes = |of: &str| ["X", "Y", "Z"].map(|axis| format!("{of}_Size_{axis}"));
            let [block, threads] = [axes("Workgroup"), axes("Grid")];
            let block = self.axes(row, block.each_ref().map(String::as_str))?;
            let threads = self.axes(row, threads.each_ref().map(String::as_str))?;
            let grid = [0, 1, 2].map(|axis| threads[axis].div_ceil(block[axis].max(1)));
            WorkKind::Kernel(TracedLaunch { name: self.text(row, "Kernel_Name")?.to_owned(), grid, block })
        };
        if end < start {
            return Err(self.wrong(row.line, "it ends before it starts"));
        }
        Ok(TracedWork { start, duration: end - start, kind })
    }
}
