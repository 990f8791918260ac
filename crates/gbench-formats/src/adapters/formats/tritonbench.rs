//! TritonBench: its CSV, in which a column is a provider's metric, and its JSON of `tritonbench_...` metrics. A case is
//! an input and a backend. <https://github.com/meta-pytorch/tritonbench>.
//!
//! The last row of the CSV is an average of all inputs, and is ignored, as are the averages of the JSON. A backend that
//! failed has its error as its first metric, and no other; it may also have 0.0.

use std::collections::{HashMap, HashSet};

use super::interface::prelude::*;

/// Metrics that the tool defines: name here, unit, judged. Other metrics are shown without a unit.
const METRICS: [(&str, &str, &str, bool); 8] = [
    ("latency", "time", "ms", true),
    ("tflops", "tflops", "TFLOPS", false),
    ("gbps", "gbps", "GB/s", false),
    ("walltime", "walltime", "ms", true),
    ("compile_time", "compile_time", "s", true),
    ("cpu_peak_mem", "cpu_peak_mem", "GB", true),
    ("gpu_peak_mem", "gpu_peak_mem", "GB", true),
    ("speedup", "speedup", "", false),
];
const PREFIX: &str = "tritonbench_";

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "tritonbench",
    title: "TritonBench",
    versions: "`--csv` with `;`, and `--output-json`",
    fields: "the columns `provider-metric`; `env`; `metrics` by `tritonbench_<op>_<mode>[x_<input>-<backend>]_<metric>`",
    direction: "times and memory lower; rates higher, and judged if there is no time; others are shown",
    failures: "no number at all; an error or an empty cell under `latency`; `accuracy`, or a metric that the tool defines, of \
             0; a table without the row `average` at its end (refused)",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let is_metric = |(name, _): &(String, Outline)| name.starts_with(PREFIX);
    let document = file.holds(&["\"tritonbench_"]).then(|| Outline::of(file, &["metrics"], &[])).flatten();
    let metrics = document.as_ref().and_then(|document| document.get("metrics"));
    metrics.is_some_and(|metrics| metrics.entries().iter().any(is_metric)) || is_csv(file)
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let (cases, env) = if file.begins(b'{') { json(file)? } else { (csv(file)?, Entries::default()) };
    let mut run = RunReading::from(cases.into_iter().map(Case::reading).collect::<Vec<_>>());
    run.also_of_row(unknown(env.0.iter().map(|(name, value)| (name.as_str(), value)), |_| false));
    Ok(vec![run])
}

/// The cells of one input and backend, in the order of the file.
struct Case {
    reading: Reading,
    cells: Vec<(String, Cell)>,
}

enum Cell {
    Number(f64),
    Text(String),
    Empty,
}

impl Cell {
    /// A latency is a text, possibly followed by its variance: `0.125 (±1.5%)`.
    fn of(text: &str) -> Self {
        let value = text.split_once(" (±").map_or(text, |(value, _)| value);
        match number(value) {
            _ if text.trim().is_empty() => Self::Empty,
            _ if no_value(value).is_some() => Self::Text(text.trim().to_owned()),
            Some(value) => Self::Number(value),
            None => match text.trim() {
                "True" => Self::Number(1.0),
                "False" => Self::Number(0.0),
                other => Self::Text(other.to_owned()),
            },
        }
    }
}

impl Case {
    fn reading(self) -> Reading {
        let mut reading = self.reading;
        let has_time =
            self.cells.iter().any(|(name, cell)| name == "latency" && matches!(cell, Cell::Number(_)));
        for (name, cell) in &self.cells {
            let known = METRICS.iter().find(|(metric, ..)| metric == name);
            let Cell::Number(value) = cell else { continue };
            // A time of 0 is impossible, and an accuracy of 0 is a wrong result.
            if *value == 0.0 && (known.is_some() || name == "accuracy") {
                fail(&mut reading, format!("`{name}` is 0"));
            }
            let (metric, unit, judged) = match known {
                Some((.., unit, judged)) if name == "tflops" || name == "gbps" => {
                    (name.as_str(), *unit, *judged || !has_time)
                }
                Some((_, metric, unit, judged)) => (*metric, *unit, *judged),
                None => (name.as_str(), "", false),
            };
            summarised(&mut reading, metric, unit, alone(*value)).judged = judged;
        }
        // Its other figures follow from the time, and do not stand for it.
        for (_, cell) in self.cells.iter().filter(|(name, _)| name == "latency") {
            match cell {
                Cell::Number(_) => {}
                Cell::Empty => fail(&mut reading, "`latency` is empty"),
                // The tool's own message speaks for itself; a word does not.
                Cell::Text(text) => match no_value(text) {
                    Some(word) => fail(&mut reading, format!("{word} under `latency`")),
                    None => fail(&mut reading, text),
                },
            }
        }
        if reading.metrics.is_empty() {
            let error = self.cells.iter().find_map(|(_, cell)| match cell {
                Cell::Text(text) => Some(text.clone()),
                _ => None,
            });
            fail(&mut reading, error.unwrap_or_else(|| "it has no value".into()));
        }
        // The time comes first, wherever the file has it.
        reading.metrics.sort_by_key(|metric| metric.name != "time");
        ended(reading)
    }
}

/// The cases in the order of the file, and their places by their names.
#[derive(Default)]
struct Found {
    cases: Vec<Case>,
    places: HashMap<String, usize>,
}

impl Found {
    fn add(&mut self, name: &str, params: Params, metric: &str, cell: Cell) {
        let reading = named(name, params);
        let place = *self.places.entry(reading.case.native.clone()).or_insert(self.cases.len());
        if place == self.cases.len() {
            self.cases.push(Case { reading, cells: Vec::new() });
        }
        self.cases[place].cells.push((metric.to_owned(), cell));
    }
}

fn backend(input: (&str, ParamValue), backend: &str) -> Params {
    let pairs = [(input.0.to_owned(), input.1), ("backend".into(), ParamValue::Text(backend.to_owned()))];
    pairs.into_iter().collect()
}

fn is_csv(file: &ResultFile) -> bool {
    let known = |column: &str| {
        column.split_once('-').is_some_and(|(_, metric)| METRICS.iter().any(|(known, ..)| *known == metric))
    };
    let text = file.bytes.trim_ascii_end();
    let last = memchr::memrchr(b'\n', text).and_then(|end| text.get(end + 1..)).unwrap_or_default();
    last.starts_with(b"average;") && file.first_line().split(';').skip(1).any(known)
}

fn csv(file: &ResultFile) -> Result<Vec<Case>, ReadError> {
    let table = CsvTable::read(*file, file.text()?, 1, b';')?;
    let ends = table.rows.last().is_some_and(|row| row.cells.first().is_some_and(|x| x == "average"));
    let input = table.header.first().map(String::as_str).unwrap_or_default();
    if !ends {
        return Err(
            file.wrong("the last row is not `average`: the table is incomplete, or not one of TritonBench")
        );
    }
    let mut found = Found::default();
    let mut inputs = HashSet::new();
    for row in &table.rows {
        let x = row.cells.first().map(String::as_str).unwrap_or_default();
        if ["average", "hashes"].contains(&x) {
            continue;
        }
        if !inputs.insert(x) {
            return Err(file.line(row.line, format!("the input `{x}` appears twice")));
        }
        for (column, cell) in table.header.iter().zip(&row.cells).skip(1) {
            // A column for all providers has no provider, and is not a result.
            if let Some((provider, metric)) = column.split_once('-') {
                let params = backend((if input.is_empty() { "x" } else { input }, param(x)), provider);
                found.add("tritonbench", params, metric, Cell::of(cell));
            }
        }
    }
    Ok(found.cases)
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    env: Entries<Value>,
    metrics: Entries<Value>,
}

/// The cases and the environment.
fn json(file: &ResultFile) -> Result<(Vec<Case>, Entries<Value>), ReadError> {
    let document: Document = document(file)?;
    let mut found = Found::default();
    for (key, value) in &document.metrics.0 {
        let Some((name, input, provider, metric)) = parts_of(key) else { continue };
        let cell = match value {
            Value::Number(number) => number.as_f64().map_or(Cell::Empty, Cell::Number),
            Value::Bool(value) => Cell::Number(f64::from(u8::from(*value))),
            Value::String(text) => Cell::of(text),
            _ => Cell::Empty,
        };
        let is_input = !["average", "hashes"].contains(&input) && !metric.is_empty();
        if is_input {
            found.add(name, backend(("x", param(input)), provider), metric, cell);
        }
    }
    Ok((found.cases, document.env))
}

/// The parts of `tritonbench_gemm_fwd[x_256-triton]_latency`: neither a provider nor a metric contains a bracket, and a
/// provider contains no `-`.
fn parts_of(key: &str) -> Option<(&str, &str, &str, &str)> {
    let (name, rest) = key.strip_prefix(PREFIX)?.split_once("[x_")?;
    let (inside, metric) = rest.rsplit_once("]_")?;
    let (input, provider) = inside.rsplit_once('-')?;
    Some((name, input, provider, metric))
}
