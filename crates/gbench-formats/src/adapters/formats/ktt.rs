//! KTT, the Kernel Tuning Toolkit: its JSON, and the CSV that its script makes of the XML. A configuration is a case, and each
//! run of it a sample. <https://github.com/HiPerCoRe/KTT>.
//!
//! All overheads are the tuner's. The CSV has the counters between the parameters, and its header names microseconds whatever
//! the unit was. A name with `__` or a dot is a counter of CUPTI.

use super::interface::prelude::*;
use super::interface::repeats::join;

const HEADER: &str = "Kernel name,Computation duration (us),Global size,Local size,";
/// The column behind the parameters and the counters.
const BEHIND: &str = "Maximum work-group size";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    metadata: Entries<Value>,
    results: Vec<Tested>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tested {
    kernel_name: String,
    status: String,
    total_duration: f64,
    configuration: Vec<Named>,
    #[serde(default)]
    computation_results: Vec<Computation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    name: String,
    value: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Computation {
    kernel_function: String,
    duration: f64,
    energy_consumption: Option<f64>,
    profiling_data: Option<Profiling>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Profiling {
    #[serde(default)]
    counters: Vec<Named>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "ktt",
    title: "KTT",
    versions: "the JSON of 2.0 to 2.2, and the CSV of `ConvertXmlToCsv.py`; not the XML",
    fields: "`KernelName`, `Configuration`, `TotalDuration`, `Status`, `Duration` of several functions, `Counters`, `EnergyConsumption`; \
             `Device`, `Platform`, `ComputeApi`, `KttVersion`, `Timestamp`, `TimeUnit`",
    reads: Reads::Samples,
    direction: "times lower; counters, energy and the times of single functions are shown",
    failures: "`Status` other than `Ok`; `DeviceLimitsExceeded` (skipped); `TotalDuration` of 0, or a duration of 0 in the \
             CSV; a row of the CSV that is cut off (refused)",
    recognises: |file| {
        file.first_line().starts_with(HEADER)
            || Outline::shows(file, &["Metadata", "Results"], &["Metadata.KttVersion"])
    },
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    if !file.begins(b'{') {
        return Ok(RunReading::only(joined(rows(file)?)));
    }
    let found: Document = document(file)?;
    let text = |key: &str| found.metadata.text(key);
    let unit = match text("TimeUnit") {
        Some("Nanoseconds") => "ns",
        Some("Microseconds") => "us",
        Some("Milliseconds") => "ms",
        Some("Seconds") => "s",
        other => return Err(file.at("Metadata.TimeUnit", format!("{other:?} is not a unit of KTT"))),
    };
    let readings = found.results.iter().map(|tested| reading(tested, unit)).collect();
    let mut run = RunReading::from(joined(readings));
    for key in ["Device", "Platform", "ComputeApi", "KttVersion"] {
        run = run.fact(key, text(key));
    }
    run.started = text("Timestamp").and_then(utc);
    Ok(vec![run])
}

/// Runs of the same configuration are samples.
fn joined(readings: Vec<Reading>) -> Vec<Reading> {
    let mut all: Vec<Reading> = Vec::with_capacity(readings.len());
    let mut places = std::collections::HashMap::new();
    for reading in readings {
        let place = *places.entry(reading.case.native.clone()).or_insert(all.len());
        match all.get_mut(place) {
            Some(known) => join(known, reading),
            None => all.push(reading),
        }
    }
    all.into_iter().map(ended).collect()
}

fn reading(tested: &Tested, unit: &str) -> Reading {
    let pair = |pair: &Named| Some((pair.name.clone(), scalar(&pair.value)?));
    let mut reading = named(&tested.kernel_name, tested.configuration.iter().filter_map(pair).collect());
    match tested.status.as_str() {
        "Ok" if tested.total_duration > 0.0 => {}
        "Ok" => return reading.with_end(failed("`TotalDuration` is 0")),
        "DeviceLimitsExceeded" => return reading.with_end(skipped("the device's limits are exceeded")),
        other => return reading.with_end(failed(format!("`Status` is {other}"))),
    }
    reading.metric("time", unit, None).values.push(tested.total_duration);
    for part in &tested.computation_results {
        if tested.computation_results.len() > 1 {
            shown(&mut reading, &metric_name(&format!("time_{}", part.kernel_function)), unit, part.duration);
        }
        shown(&mut reading, "energy", "mJ", part.energy_consumption);
        for counter in part.profiling_data.iter().flat_map(|data| &data.counters) {
            shown(&mut reading, &metric_name(&counter.name), "", counter.value.as_f64());
        }
    }
    reading
}

fn rows(file: &ResultFile) -> Result<Vec<Reading>, ReadError> {
    let text = file.text()?;
    let table = CsvTable::read(*file, text, 1, b',')?;
    if let Some(last) = table.rows.last().filter(|_| !text.ends_with('\n')) {
        return Err(file.line(last.line, "the file ends within this line: it is incomplete"));
    }
    let end = table.need(BEHIND)?;
    let is_counter = |name: &str| name.contains("__") || name.contains('.');
    let mut readings = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let cells = || table.header.iter().map(String::as_str).enumerate().take(end).skip(4);
        let pairs = cells().filter(|(_, name)| !is_counter(name)).map(|(at, name)| (name, row.cell(at)));
        let mut reading = named(row.cell(0), params_of(pairs));
        let time = table.number(row, 1)?;
        if time <= 0.0 {
            fail(&mut reading, format!("its duration is {time}"));
        }
        reading.metric("time", "us", None).values.push(time);
        for (at, name) in cells().filter(|(at, name)| is_counter(name) && !row.cell(*at).is_empty()) {
            shown(&mut reading, &metric_name(name), "", table.number(row, at)?);
        }
        readings.push(reading);
    }
    Ok(readings)
}
