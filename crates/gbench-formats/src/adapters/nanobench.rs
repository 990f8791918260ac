//! nanobench: the output of one of the library's templates, which the program's author chooses; there are no flags.
//! <https://nanobench.ankerl.com/tutorial.html#rendering-mustache-like-templates>.
//!
//! The JSON template has every epoch as a sample; the CSV template and the default table have only medians. All are read
//! from standard output, in this order of preference, and JSON also from any `.json` file in our folder. A time is that
//! of one unit: of one iteration divided by the batch, as in the table.

use std::collections::BTreeMap;

use super::interface::prelude::*;
use super::source::cpp::{self, Library};
use crate::adapters::formats::readers::values::has_number;
use gbench_model::Unread;

pub(crate) struct Nanobench;

const LIBRARY: Library = Library {
    title: "nanobench",
    headers: &["nanobench.h"],
    words: &["nanobench::Bench"],
    targets: &["nanobench::nanobench"],
    flag: "",
    compiled: |tree, path, text| {
        // The library is one header, and one source has to contain its code.
        let header = tree.files().iter().find(|path| super::source::paths::leaf(path) == "nanobench.h")?;
        let folder = super::source::paths::folder(header);
        let include = if folder.is_empty() { "." } else { folder };
        let whole = text.contains("ANKERL_NANOBENCH_IMPLEMENT") && path != header;
        whole.then(|| format!("-I {}", super::source::quoting::quoted(include)))
    },
    gpu: false,
};

impl Adapter for Nanobench {
    fn about(&self) -> About {
        About {
            name: "nanobench",
            title: "nanobench",
            language: Language::Cpp,
            lists: Lists::ByRunning,
            reads: Reads::Samples,
            per_operation: true,
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        cpp::detect(tree, &LIBRARY)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("NANOBENCH_SUPPRESS_WARNINGS") && program.holds("medianAbsolutePercentError")
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        self.run(ask)
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let nothing: [String; 0] = [];
        Some(Invocation::of(ask.command, nothing).env("NANOBENCH_SUPPRESS_WARNINGS", "1"))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        Ok(read(output)?.0)
    }
}

/// The cases, and the fields with numbers that are not known here.
pub(crate) fn read(output: &HarnessOutput) -> Result<(Vec<Reading>, Unread), ReadError> {
    let (mut readings, mut unknown) = (Vec::new(), Vec::new());
    for (path, bytes) in output.files.ending(".json") {
        readings.extend(documents(Some(path), bytes, &mut unknown)?);
    }
    if readings.is_empty() {
        readings = documents(None, output.stdout, &mut unknown)?;
    }
    if readings.is_empty() {
        let text = output.text()?;
        let is_csv = text.lines().any(|line| line.starts_with(CSV));
        let rows = if is_csv { rows_of_csv } else { rows_of_table };
        readings = rows(text, &mut unknown)?;
    }
    let mut unread = Unread::default();
    unread.fields(unknown);
    Ok((readings, unread))
}

/// Figures other than the time: name, unit, and their spellings without blanks in JSON, CSV and the table.
const FIGURES: [(&str, &str, &[&str]); 8] = [
    ("instructions", "", &["instructions", "ins"]),
    ("cpu_cycles", "", &["cpucycles", "cyc"]),
    ("ipc", "", &["IPC"]),
    ("branches", "", &["branchinstructions", "branches", "bra"]),
    ("branch_misses", "", &["branchmisses"]),
    ("branch_miss_rate", "%", &["miss%"]),
    ("page_faults", "", &["pagefaults"]),
    ("context_switches", "", &["contextswitches"]),
];

/// The name and unit of a figure by its field or column: `branch misses`, `ins/op`.
fn figure(column: &str) -> Option<(&'static str, &'static str)> {
    let column = column.replace(' ', "");
    let spelling = column.split_once('/').map_or(&*column, |(what, _)| what);
    let (name, unit, _) = FIGURES.iter().find(|(_, _, spellings)| spellings.contains(&spelling))?;
    Some((name, unit))
}

/// Adds a figure of a row, which is the median of one unit. Counters are shown and not judged.
fn add_figure(reading: &mut Reading, (name, unit): (&str, &str), value: f64) {
    summarised(reading, name, unit, alone(value)).judged = false;
}

fn case_name(title: &str, name: &str) -> CaseName {
    CaseName::plain(format!("{title} / {name}"))
}

#[derive(Deserialize)]
struct Report {
    results: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    title: String,
    name: String,
    unit: String,
    batch: f64,
    measurements: Vec<Measurement>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Measurement {
    iterations: f64,
    elapsed: f64,
    instructions: Option<f64>,
    cpucycles: Option<f64>,
    branchinstructions: Option<f64>,
    branchmisses: Option<f64>,
    pagefaults: Option<f64>,
    contextswitches: Option<f64>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Numbers of a result that are settings or medians of its measurements.
const KNOWN: [&str; 11] = [
    "complexityN",
    "epochs",
    "clockResolution",
    "clockResolutionMultiple",
    "maxEpochTime",
    "minEpochTime",
    "minEpochIterations",
    "epochIterations",
    "warmup",
    "relative",
    "totalTime",
];

/// Each document at the beginning of a line. Tables and other text may surround them.
fn documents(file: Option<&str>, bytes: &[u8], unknown: &mut Vec<String>) -> Result<Vec<Reading>, ReadError> {
    let mut readings = Vec::new();
    let mut at = 0;
    while let Some(begin) = beginning(bytes, at) {
        let mut stream = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter::<Report>();
        let report =
            stream.next().unwrap_or_else(|| Ok(Report { results: Vec::new() })).map_err(|error| {
                let before = memchr::memchr_iter(b'\n', &bytes[..begin]).count();
                let (line, column) = (before + error.line(), error.column());
                let text = error.to_string();
                let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what).to_owned();
                ReadError::new(Place::Column { file: file.map(str::to_owned), line, column }, what)
            })?;
        at = begin + stream.byte_offset().max(1);
        for run in report.results {
            let is_median = |name: &str| name.starts_with("median");
            let own =
                run.others.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()) && !is_median(name));
            let fields = own.chain(run.measurements.iter().flat_map(|measurement| &measurement.others));
            unknown.extend(fields.filter(|(_, value)| has_number(value)).map(|(name, _)| name.clone()));
            readings.push(reading(run)?);
        }
    }
    Ok(readings)
}

fn beginning(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    memchr::memchr_iter(b'{', rest)
        .map(|at| from + at)
        .find(|at| *at == 0 || bytes.get(at - 1) == Some(&b'\n'))
}

fn reading(run: Run) -> Result<Reading, ReadError> {
    let name = case_name(&run.title, &run.name);
    let refused = |what: &str| Err(ReadError::case(&name.native, what));
    if run.batch.is_nan() || run.batch <= 0.0 {
        return refused("`batch` is not a positive number");
    }
    if run.measurements.iter().any(|measurement| measurement.iterations < 1.0) {
        return refused("an epoch has no iteration");
    }
    let mut reading = Reading::new(name);
    let each = |value: f64| value / run.batch;
    let values = run.measurements.iter().map(|measurement| each(measurement.elapsed)).collect();
    reading.metric("time", "s", None).values = values;
    type Counter = fn(&Measurement) -> Option<f64>;
    let counters: [(&str, Counter); 6] = [
        ("instructions", |measurement| measurement.instructions),
        ("cpu_cycles", |measurement| measurement.cpucycles),
        ("branches", |measurement| measurement.branchinstructions),
        ("branch_misses", |measurement| measurement.branchmisses),
        ("page_faults", |measurement| measurement.pagefaults),
        ("context_switches", |measurement| measurement.contextswitches),
    ];
    for (name, counter) in counters {
        let values: Vec<f64> = run.measurements.iter().filter_map(counter).map(each).collect();
        // Without access to the processor's counters each is 0.
        if values.len() == run.measurements.len() && values.iter().any(|value| *value > 0.0) {
            let metric = reading.metric(name, "", None);
            metric.judged = false;
            metric.values = values;
        }
    }
    reading.metadata.insert("unit".into(), run.unit.into());
    reading.metadata.insert("batch".into(), run.batch.into());
    Ok(reading)
}

const CSV: &str = "\"title\";\"name\";\"unit\";\"batch\";\"elapsed\";";

fn rows_of_csv(text: &str, unknown: &mut Vec<String>) -> Result<Vec<Reading>, ReadError> {
    let mut readings = Vec::new();
    // The columns of the header behind those of its beginning.
    let mut header: Option<Vec<&str>> = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let refused = |what: &str| Err(ReadError::line(index + 1, what));
        if let Some(columns) = line.strip_prefix(CSV) {
            header = Some(columns.trim_end().split(';').map(|name| name.trim_matches('"')).collect());
            continue;
        }
        let Some(header) = header.as_ref().filter(|_| !line.trim().is_empty()) else { continue };
        if !line.ends_with('\n') {
            return refused("the row ends too early");
        }
        let mut rows = csv::ReaderBuilder::new();
        let mut rows = rows.delimiter(b';').has_headers(false).from_reader(line.as_bytes());
        let Some(Ok(row)) = rows.records().next() else { return refused("not a row of CSV") };
        if row.len() != 5 + header.len() {
            return refused("the row has not as many columns as its header");
        }
        let number = |place: usize| row[place].trim().parse::<f64>().ok();
        let (Some(batch), Some(elapsed)) = (number(3).filter(|batch| *batch > 0.0), number(4)) else {
            return refused("`batch` or `elapsed` is not a number");
        };
        let mut reading = Reading::new(case_name(&row[0], &row[1]));
        summarised(&mut reading, "time", "s", alone(elapsed / batch));
        for (place, column) in header.iter().enumerate() {
            match (figure(column), number(5 + place)) {
                // Without access to the processor's counters each is 0.
                (Some(figure), Some(value)) if value != 0.0 => {
                    add_figure(&mut reading, figure, value / batch);
                }
                (Some(_), None) => return refused(&format!("`{column}` is not a number")),
                (None, Some(_)) if !["error %", "total"].contains(column) => {
                    unknown.push((*column).to_owned());
                }
                _ => {}
            }
        }
        reading.metadata.insert("unit".into(), row[2].into());
        reading.metadata.insert("batch".into(), batch.into());
        readings.push(reading);
    }
    Ok(readings)
}

/// A table of the library: its title, its other columns, and the one of the time.
struct Table<'t> {
    title: &'t str,
    column: usize,
    columns: Vec<&'t str>,
    unit: &'t str,
}

/// `|  7.81 |  128,048,583.31 |  0.0% |  0.00 | `name`` below `|  ns/op |  op/s |  err% |  total | title`.
fn rows_of_table(text: &str, unknown: &mut Vec<String>) -> Result<Vec<Reading>, ReadError> {
    let mut readings = Vec::new();
    let mut table: Option<Table> = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let refused = |what: &str| Err(ReadError::line(index + 1, what));
        let Some(row) = line.strip_prefix('|') else { continue };
        if !line.ends_with('\n') {
            return refused("the row ends too early");
        }
        if row.starts_with("--") {
            continue;
        }
        if let Some(header) = header(row) {
            table = Some(header);
            continue;
        }
        let Some(table) = &table else { continue };
        let cells: Vec<&str> = row.trim_end().splitn(table.columns.len() + 1, '|').map(str::trim).collect();
        let Some((last, cells)) = cells.split_last().filter(|(_, cells)| cells.len() == table.columns.len())
        else {
            return refused("the row has not as many columns as its table");
        };
        // Text around the name marks an unstable measurement.
        let name = last.split_once('`').and_then(|(_, rest)| {
            rest.split_once("` (Unstable with ").or_else(|| rest.rsplit_once('`')).map(|(name, _)| name)
        });
        let Some(name) = name else { return refused("the last column has no name") };
        let Ok(value) = cells[table.column].replace(',', "").parse::<f64>() else {
            return refused("the time is not a number");
        };
        let mut reading = Reading::new(case_name(table.title, name));
        summarised(&mut reading, "time", table.unit, alone(value));
        for (place, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
            // The rate and the error follow the time.
            if (table.column..=table.column + 2).contains(&place) {
                continue;
            }
            let value = cell.trim_end_matches('%').replace(',', "").parse::<f64>().ok();
            match (figure(column), value) {
                // The table has columns of those counters alone to which it has access.
                (Some(figure), Some(value)) => add_figure(&mut reading, figure, value),
                (Some(_), None) => return refused(&format!("the value under `{column}` is not a number")),
                (None, Some(_)) if !["relative", "complexityN", "total"].contains(column) => {
                    unknown.push((*column).to_owned());
                }
                (None, _) => {}
            }
        }
        if last.contains(":wavy_dash:") {
            reading.metadata.insert("unstable".into(), true.into());
        }
        readings.push(reading);
    }
    Ok(readings)
}

fn header(row: &str) -> Option<Table<'_>> {
    let cells: Vec<&str> = row.trim_end().split('|').map(str::trim).collect();
    let place = |end: &str| cells.iter().position(|cell| cell.ends_with(end));
    let (errors, total) = (place("err%")?, place("total")?);
    if errors > total {
        return None;
    }
    // The time precedes its rate: `ns/op`, then `op/s`.
    let column = errors.checked_sub(2)?;
    let (unit, _) = cells.get(column)?.split_once('/')?;
    let unit = ["s", "ms", "us", "ns", "ps"].into_iter().find(|known| *known == unit)?;
    let title = cells.get(total + 1..)?.join("|");
    let columns = cells.get(..=total)?.to_vec();
    // Borrowed from the row, so that a title may contain a bar.
    let title = row.trim_end().rfind(&title).and_then(|at| row.trim_end().get(at..))?;
    Some(Table { title, column, columns, unit })
}
