//! BabelStream: its table, as text or with `--csv`. A row is a case, named by its function.
//! <https://github.com/UoB-HPC/BabelStream>.
//!
//! Before version 3 it was GPU-STREAM, and had no `Dot`. Version 0.0 does not say how many times it runs. It drops its first run. The bandwidth is that of the fastest run: it repeats the minimum with more digits, as the text
//! has five decimals of a second. An order of runs that times all runs at once stores one mean as each sample: if
//! minimum, maximum and average are equal, nothing was repeated.
//!
//! SuperBench's `gpu_stream`, with rows such as `STREAM_COPY_double_gpu_0_...`, is another program whose rows name no
//! unit.

use super::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

/// Its table always ends with `Triad`.
const OLD_NAME: &str = "GPU-STREAM";
const TEXT: [&str; 4] = ["Min", "(sec)", "Max", "Average"];
const CSV: &str = "function,num_times,n_elements,sizeof,";

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "babelstream",
    title: "BabelStream",
    versions: "3.0 to 5.0, text and `--csv`, also `--triad-only` and `--only`; GPU-STREAM 0.0 to 2.1",
    fields: "`function`, `num_times`, `n_elements`, `sizeof`, bandwidth with its unit, `min_runtime`, `max_runtime`, `avg_runtime`; \
             `Implementation`, `Precision`, `Array size`; device, `Driver`, `Version`, `Memory` of the run; failed validation",
    direction: "bandwidths higher, the average time lower: that of the text has few digits, and is shown",
    failures: "a bandwidth of 0; one time as minimum, maximum and average of several runs; `Validation failed` or `FAILED \
             validation`, for all rows; a last line that is cut off, or GPU-STREAM's table without `Triad` at its end \
             (refused)",
    recognises,
    tried: &["1.0-opencl", "2.0", "2.1"],
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let is_text = file.any_line("BabelStream", |line| line.trim() == "BabelStream")
        || file.any_line(OLD_NAME, |line| line.trim() == OLD_NAME);
    is_text
        && (file.any_line("Running ", |line| line.starts_with("Running "))
            || file.any_line("Function", |line| is_heading(&line.split_whitespace().collect::<Vec<_>>())))
        || file.any_line(CSV, is_csv_header)
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    if text.lines().any(|line| line.trim_start().starts_with("STREAM_COPY_")) {
        return Err(
            file.wrong("it is of SuperBench's `gpu_stream`, whose rows name no unit, and not of BabelStream")
        );
    }
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(file.wrong("its last line is incomplete"));
    }
    let mut unread = Unread::default();
    let is_csv = text.lines().any(is_csv_header);
    let mut readings = if is_csv { csv(file, text, &mut unread)? } else { table(file, text, &mut unread)? };
    let is_old = text.lines().any(|line| line.trim() == OLD_NAME);
    if is_old && readings.last().is_some_and(|last| last.case.case != "Triad") {
        return Err(file.wrong("it is incomplete: its table does not end with `Triad`"));
    }
    let wrong = text
        .lines()
        .find(|line| line.starts_with("Validation failed on ") || line.starts_with("FAILED validation of "));
    if let Some(line) = wrong {
        let what = line.split(['.', ':']).next().unwrap_or(line);
        for reading in &mut readings {
            reading.end = failed(format!("its results are wrong: {what}"));
        }
    }
    Ok(vec![facts(text, RunReading { unread, ..readings.into() })])
}

/// The lines above the table, which a terminal or a log also has above the CSV.
fn facts(text: &str, mut run: RunReading) -> RunReading {
    for line in text.lines() {
        let device =
            line.strip_prefix("Using ").and_then(|rest| rest.split_once(" device ")).map(|(_, name)| name);
        run = run.also("device", device.map(str::trim));
        let Some((key, value)) = line.split_once(": ") else { continue };
        let name = match key {
            "Version" => "version",
            "Driver" => "driver",
            "Memory" => "memory",
            "Reduction kernel config" => "reduction",
            _ => continue,
        };
        run = run.also(name, value.trim());
    }
    let runs = text
        .lines()
        .find_map(|line| line.strip_prefix("Running ")?.strip_suffix(" times")?.rsplit(' ').next());
    let rows = text.lines().skip_while(|line| !is_csv_header(line)).skip(1);
    let of_csv = rows.filter_map(|row| row.split(',').nth(1)).next();
    run.setting("num_times", runs.or(of_csv))
}

fn is_heading(words: &[&str]) -> bool {
    matches!(words, ["Function", _, rest @ ..] if rest == TEXT)
}

fn is_csv_header(line: &str) -> bool {
    line.starts_with(CSV) && unit_of(line).is_some()
}

fn unit_of(header: &str) -> Option<(&str, String)> {
    header.split(',').find_map(|column| {
        let unit = column.trim().strip_suffix("_per_sec")?;
        Some((column.trim(), bytes(unit.strip_prefix("max_").unwrap_or(unit))?))
    })
}

/// `mbytes`, `MBytes` and `MB` as `MB/s`, likewise with `i` for powers of two.
fn bytes(unit: &str) -> Option<String> {
    let lower = unit.to_ascii_lowercase();
    let size = lower.strip_suffix("bytes").or_else(|| lower.strip_suffix('b'))?;
    let size = match size {
        "m" => "MB",
        "mi" | "mibi" => "MiB",
        "g" => "GB",
        "gi" | "gibi" => "GiB",
        "t" => "TB",
        "ti" | "tebi" => "TiB",
        _ => return None,
    };
    Some(format!("{size}/s"))
}

struct Row {
    function: String,
    params: Params,
    unit: String,
    bandwidth: f64,
    times: Option<[f64; 3]>,
    /// The number of all runs, including the first.
    runs: Option<u64>,
    is_precise: bool,
}

impl Row {
    fn reading(self) -> Reading {
        let mut reading = named(&self.function, self.params);
        // `Init` and `Read` have a single run, which is not dropped.
        let count = self.runs.map(|runs| if runs > 1 { runs - 1 } else { runs });
        let is_repeated = count != Some(1);
        measured(&mut reading, "bandwidth", &self.unit, self.bandwidth);
        if self.bandwidth <= 0.0 {
            reading.end = failed("its bandwidth is not above zero");
        }
        let Some([min, max, average]) = self.times else { return reading };
        // The text has five decimals of a second: the runs of a steady card print the same.
        if is_repeated && self.is_precise && min == max && max == average {
            let what = "minimum, maximum and average of its runs are the same: it measured once";
            reading.end = failed(what);
        }
        summarised(&mut reading, "time", "s", summary(average, None, count)).judged =
            self.is_precise && is_repeated;
        shown(&mut reading, "time_min", "s", min);
        shown(&mut reading, "time_max", "s", max);
        reading
    }
}

fn csv(file: &ResultFile, text: &str, unread: &mut Unread) -> Result<Vec<Reading>, ReadError> {
    let is_row = |line: &str| line.matches(',').count() > 1;
    let first = lines(text).find(|(_, line, _)| is_csv_header(line)).map_or(1, |(at, ..)| at);
    let part: Vec<&str> =
        text.split_inclusive('\n').skip(first - 1).take_while(|line| is_row(line)).collect();
    for (at, line, _) in lines(text).skip(first - 1 + part.len()).filter(|(_, line, _)| is_row(line)) {
        unread.line(UnreadKind::Row, at, line);
    }
    let table = CsvTable::read(*file, &part.concat(), first, b',')?;
    let header = table.header.join(",");
    let (bandwidth, unit) = unit_of(&header).ok_or_else(|| file.line(first, "the unit is unknown"))?;
    let (bandwidth, runs) = (table.need(bandwidth)?, table.need("num_times")?);
    let names = ["min_runtime", "max_runtime", "avg_runtime"];
    let columns: Vec<usize> = names.iter().filter_map(|name| table.column(name)).collect();
    let keys = [("elements", table.need("n_elements")?), ("sizeof", table.need("sizeof")?)];
    let (function, mut readings) = (table.need("function")?, Vec::new());
    for row in &table.rows {
        let times = match columns.as_slice() {
            [min, max, average] => {
                Some([table.number(row, *min)?, table.number(row, *max)?, table.number(row, *average)?])
            }
            _ => None,
        };
        let row = Row {
            function: row.cell(function).to_owned(),
            params: keys
                .iter()
                .map(|(name, column)| ((*name).to_owned(), param(row.cell(*column))))
                .collect(),
            unit: unit.clone(),
            bandwidth: table.number(row, bandwidth)?,
            times,
            runs: row.cell(runs).parse().ok(),
            is_precise: true,
        };
        readings.push(row.reading());
    }
    Ok(readings)
}

fn is_function(word: &str) -> bool {
    ["Copy", "Mul", "Add", "Triad", "Dot", "Nstream", "Read", "Write"].contains(&word)
}

fn are_numbers(words: &[&str]) -> bool {
    words.iter().all(|word| number(word).is_some())
}

#[derive(Default)]
struct Above {
    params: Params,
    runs: Option<u64>,
}

impl Above {
    fn note(&mut self, line: &str) {
        if let Some(words) = line.strip_prefix("Running ") {
            let words: Vec<&str> = words.split_whitespace().collect();
            if let [.., runs, "times"] = words.as_slice() {
                self.runs = runs.parse().ok();
            }
        }
        let Some((key, value)) = line.split_once(':') else { return };
        let value = value.split('(').next().unwrap_or(value).trim();
        let (name, value) = match key {
            "Implementation" => ("implementation", ParamValue::Text(value.to_owned())),
            "Precision" => ("precision", ParamValue::Text(value.to_owned())),
            "Number of elements" => ("elements", param(value)),
            // A rounded repetition.
            "Array size" if !self.params.contains_key("elements") => {
                ("array_size", ParamValue::Text(value.to_owned()))
            }
            _ => return,
        };
        self.params.insert(name.to_owned(), value);
    }
}

/// Lines below the table, such as those of a scheduler, are passed over, except rows of a known function.
fn table(file: &ResultFile, text: &str, unread: &mut Unread) -> Result<Vec<Reading>, ReadError> {
    let (mut above, mut unit, mut readings) = (Above::default(), None, Vec::new());
    let mut is_in_table = false;
    for (at, line, _) in lines(text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |what: &str| file.line(at, what);
        match (words.as_slice(), &unit) {
            (["Function", found, ..], _) if is_heading(&words) => {
                is_in_table = true;
                let bare = found.strip_suffix("/sec").or_else(|| found.strip_suffix("/s"));
                unit =
                    Some(bare.and_then(bytes).ok_or_else(|| wrong("the unit of the bandwidth is unknown"))?);
            }
            ([function, figures @ ..], Some(unit))
                if figures.len() == 4 && (is_function(function) || is_in_table && are_numbers(figures)) =>
            {
                let figures: Option<Vec<f64>> = figures.iter().map(|word| number(word)).collect();
                let Some([bandwidth, min, max, average]) = figures.as_deref() else {
                    return Err(wrong("no row of four numbers"));
                };
                let row = Row {
                    function: (*function).to_owned(),
                    params: above.params.clone(),
                    unit: unit.clone(),
                    bandwidth: *bandwidth,
                    times: Some([*min, *max, *average]),
                    runs: above.runs,
                    is_precise: false,
                };
                readings.push(row.reading());
            }
            (["Bandwidth", found, value], None) => {
                let bare = found.trim_matches(['(', ')', ':']).strip_suffix("/s");
                let row = Row {
                    function: "Triad".into(),
                    params: above.params.clone(),
                    unit: bare.and_then(bytes).ok_or_else(|| wrong("the unit is unknown"))?,
                    bandwidth: number(value).ok_or_else(|| wrong("no number"))?,
                    times: None,
                    runs: above.runs,
                    is_precise: false,
                };
                readings.push(row.reading());
            }
            // Such as one of fewer columns, or `GEOMEAN` with the mean of all bandwidths.
            ([function, figures @ ..], Some(_))
                if is_function(function) && figures.iter().any(|it| number(it).is_some())
                    || (*function == "GEOMEAN" || figures.len() == 4) && are_numbers(figures) =>
            {
                unread.line(UnreadKind::Row, at, line);
            }
            _ => {
                is_in_table = false;
                above.note(line);
            }
        }
    }
    Ok(readings)
}
