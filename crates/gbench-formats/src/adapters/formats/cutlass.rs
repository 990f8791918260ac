//! CUTLASS profiler: the CSV of `--output`, or the output below `CSV Results:`. A row is a case.
//! <https://docs.nvidia.com/cutlass/media/docs/cpp/profiler.html>.
//!
//! The columns of arguments differ by operation and version: they are those between `Status` and `Bytes`, and the user's
//! tags before `Problem`. The column `GB/s` contains GiB/s, as the profiler's text output shows. The problem's number
//! depends on the other problems, and identifies nothing.

use super::interface::prelude::*;
use gbench_model::UnreadKind;

const START: &str = "Problem,Provider,OperationKind,Operation,Disposition,Status";
const FIGURES: [(&str, &str, &str); 3] =
    [("Runtime", "time", "ms"), ("GB/s", "bandwidth", "GiB/s"), ("GFLOPs", "gflops", "GFLOP/s")];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "cutlass",
    title: "CUTLASS profiler",
    versions: "2.x to 4.x",
    fields: "`Provider`, `OperationKind`, `Operation`, `Disposition`, `Status`, the arguments, tags, `Runtime`, `GB/s` (which is GiB/s), \
             `GFLOPs`",
    direction: "times lower; bandwidths and rates follow from them and are shown",
    failures: "`Status` other than `success`; `Disposition` other than `passed` and `not_verified`; `not_run` and \
             `not_supported` (skipped); no `Runtime`, or one of 0; a row that is cut off (refused)",
    recognises: |file| file.any_line(START, is_header),
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let (first, ..) = lines(text)
        .find(|(_, line, _)| is_header(line))
        .ok_or_else(|| file.wrong(format!("no line begins with `{START}`")))?;
    let part: Vec<&str> =
        text.split_inclusive('\n').skip(first - 1).take_while(|line| !line.trim().is_empty()).collect();
    if part.last().is_some_and(|line| !line.ends_with('\n')) {
        return Err(file.line(first + part.len() - 1, "the row is incomplete"));
    }
    let table = CsvTable::read(*file, &part.concat(), first, b',')?;
    let columns = Columns::of(&table)?;
    let readings: Result<Vec<Reading>, ReadError> =
        table.rows.iter().map(|row| columns.reading(&table, row)).collect();
    // Rows of another table, or behind an empty line.
    let mut run = RunReading::from(readings?);
    let behind = lines(text).skip(first - 1 + part.len());
    for (at, line, _) in behind.filter(|(_, line, _)| !is_header(line)) {
        if line.split(',').filter(|cell| number(cell).is_some()).count() > FIGURES.len() {
            run.unread.line(UnreadKind::Row, at, line);
        }
    }
    Ok(vec![run])
}

fn is_header(line: &str) -> bool {
    let is_start =
        line.starts_with(START) || line.split_once(START).is_some_and(|(tags, _)| tags.ends_with(','));
    is_start && FIGURES.iter().all(|(name, ..)| line.split(',').any(|column| column.trim() == *name))
}

struct Columns {
    operation: usize,
    disposition: usize,
    status: usize,
    keys: Vec<usize>,
}

impl Columns {
    fn of(table: &CsvTable) -> Result<Self, ReadError> {
        let (problem, provider, kind) =
            (table.need("Problem")?, table.need("Provider")?, table.need("OperationKind")?);
        let (status, bytes) = (table.need("Status")?, table.need("Bytes")?);
        let keys = (0..problem).chain([provider, kind]).chain(status + 1..bytes).collect();
        let (operation, disposition) = (table.need("Operation")?, table.need("Disposition")?);
        Ok(Self { operation, disposition, status, keys })
    }

    fn reading(&self, table: &CsvTable, row: &CsvRow) -> Result<Reading, ReadError> {
        let cell = |column: usize| row.cell(column);
        let keys = self.keys.iter();
        let params = params_of(keys.filter_map(|key| Some((table.header.get(*key)?.as_str(), cell(*key)))));
        let mut reading = named(cell(self.operation), params);
        reading.metadata.insert("disposition".into(), cell(self.disposition).into());
        reading.end = end(cell(self.disposition), cell(self.status));
        if reading.end != End::Measured {
            return Ok(reading);
        }
        for (column, name, unit) in FIGURES {
            let column = table.need(column)?;
            // Cells are empty if it was verified but not timed.
            let value = if no_value(cell(column)).is_some() { 0.0 } else { table.number(row, column)? };
            if name != "time" {
                shown(&mut reading, name, unit, value);
                continue;
            }
            measured(&mut reading, name, unit, value);
            if let Some(word) = no_value(cell(column)).filter(|_| !cell(column).is_empty()) {
                reading.end = failed(format!("it was not timed: {word} under `Runtime`"));
            } else if value <= 0.0 {
                reading.end = failed("it was not timed: its runtime is not above zero");
            }
        }
        Ok(reading)
    }
}

/// The outcome of the row's run; `not_verified` means that the result was not compared with a reference.
fn end(disposition: &str, status: &str) -> End {
    let (fate, state) = (disposition.to_ascii_lowercase(), status.to_ascii_lowercase());
    let message = || format!("its disposition is `{disposition}`, its status `{status}`");
    match (fate.as_str(), state.as_str()) {
        ("passed" | "not_verified", "success") => End::Measured,
        ("not_run" | "not_supported", _) => skipped(message()),
        _ => failed(message()),
    }
}
