//! NVBench's JSON and its files of samples.

use std::collections::HashSet;

use super::names::{DEVICE, FILE};
use crate::adapters::interface::prelude::*;

#[derive(Deserialize)]
struct Report {
    meta: Meta,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Meta {
    version: Versions,
}

#[derive(Deserialize)]
struct Versions {
    json: Version,
    nvbench: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    major: u64,
    string: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    name: String,
    states: Vec<State>,
}

#[derive(Deserialize)]
struct State {
    name: String,
    device: Option<i64>,
    axis_values: Option<Vec<AxisValue>>,
    summaries: Option<Vec<Summary>>,
    is_skipped: bool,
    skip_reason: Option<String>,
}

#[derive(Deserialize)]
struct AxisValue {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

#[derive(Deserialize)]
struct Summary {
    tag: String,
    name: Option<String>,
    hint: Option<String>,
    data: Option<Vec<Datum>>,
}

/// Numbers are texts.
#[derive(Deserialize)]
struct Datum {
    name: String,
    value: String,
}

pub(super) fn read(output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
    let report: Report = document(Some(FILE), output.files.need(FILE)?)?;
    let refused = |path: String, what: &str| Err(ReadError::path(FILE, path, what));
    if report.meta.version.json.major != 1 {
        return refused("meta.version.json".into(), "it is not 1");
    }
    let version = report.meta.version.nvbench.and_then(|version| version.string);
    let states = report.benchmarks.iter().flat_map(|benchmark| &benchmark.states);
    let several = states.map(|state| state.device).collect::<HashSet<_>>().len() > 1;
    let mut readings = Vec::new();
    for (index, benchmark) in report.benchmarks.iter().enumerate() {
        for (place, state) in benchmark.states.iter().enumerate() {
            let path = |key: &str| format!("benchmarks[{index}].states[{place}].{key}");
            let mut reading = Reading::new(case_name(&benchmark.name, state, several));
            reading.note("nvbench_version", version.clone());
            let at =
                |tag: &str, what: String| ReadError::path(FILE, format!("{} {tag}", path("summaries")), what);
            fill(&mut reading, state, output, &at)?;
            readings.push(reading);
        }
    }
    Ok(readings)
}

fn fill(
    reading: &mut Reading,
    state: &State,
    output: &HarnessOutput,
    at: &dyn Fn(&str, String) -> ReadError,
) -> Result<(), ReadError> {
    if state.is_skipped {
        let reason = state.skip_reason.clone().unwrap_or("it skips itself".into());
        // An exception also skips the state.
        reading.end = match reason.strip_prefix("Unexpected error: ") {
            Some(message) => failed(message),
            None => skipped(reason),
        };
        return Ok(());
    }
    let summaries = Summaries { all: state.summaries.as_deref().unwrap_or_default(), at };
    // A benchmark of the CPU alone has no GPU time.
    let (kind, clock) = match summaries.named("nv/cpu_only/sample_size") {
        Some(_) => ("nv/cpu_only", "cpu"),
        None => ("nv/cold", "gpu"),
    };
    if summaries.number(&format!("{kind}/sample_size"))? == Some(0.0) {
        return Err(at(&format!("{kind}/sample_size"), "no sample was taken".into()));
    }
    let samples = summaries.samples(&format!("nv/json/bin:{kind}/sample_times"), output)?;
    let base = format!("{kind}/time/{clock}");
    let (median, mean) =
        (summaries.seconds(&format!("{base}/median"))?, summaries.seconds(&format!("{base}/mean"))?);
    let time = reading.metric("time", "s", None);
    match (samples, median.or(mean)) {
        (Some(samples), _) => time.values = samples,
        (None, Some(value)) => {
            let relative = summaries.number(&format!("{base}/stdev/relative"))?;
            let relative = relative.and_then(|relative| Some(relative * mean?));
            let absolute = summaries.number(&format!("{base}/stdev/absolute"))?;
            let stddev = absolute.or(relative).filter(|stddev| stddev.is_finite());
            let count = summaries.number(&format!("{kind}/sample_size"))?.map(|count| count as u64);
            time.summary = Some(SummaryReading { value, stddev, count });
        }
        (None, None) => return Err(at(&base, "there is no time, and no sample".into())),
    }
    let beside = [
        ("cpu_time", "nv/cold/time/cpu/mean", "s"),
        ("batch_time", "nv/batch/time/gpu/mean", "s"),
        ("bandwidth", "nv/cold/bw/global/bytes_per_second", "B/s"),
        ("clock", "nv/cold/sm_clock_rate/mean", "Hz"),
    ];
    for (name, tag, unit) in beside {
        if let Some(value) = summaries.number(tag)?.filter(|value| value.is_finite()) {
            summarised(reading, name, unit, alone(value)).judged = false;
        }
    }
    // The tables have them too, with the names that the report gives them.
    let named = [
        ("Elem/s", "nv/cold/bw/item_rate", "elem/s", 1.0),
        ("BWUtil", "nv/cold/bw/global/utilization", "%", 100.0),
    ];
    for (name, tag, unit, scale) in named {
        if let Some(value) = summaries.number(tag)?.filter(|value| value.is_finite()) {
            let name = summaries.named(tag).and_then(|summary| summary.name.as_deref()).unwrap_or(name);
            summarised(reading, &metric_name(name), unit, alone(value * scale)).judged = false;
        }
    }
    Ok(())
}

struct Summaries<'s> {
    all: &'s [Summary],
    at: &'s dyn Fn(&str, String) -> ReadError,
}

impl<'s> Summaries<'s> {
    fn named(&self, tag: &str) -> Option<&'s Summary> {
        self.all.iter().find(|summary| summary.tag == tag)
    }

    fn value(&self, tag: &str, name: &str) -> Option<&'s str> {
        let data = self.named(tag)?.data.as_deref().unwrap_or_default();
        data.iter().find(|datum| datum.name == name).map(|datum| datum.value.as_str())
    }

    fn number(&self, tag: &str) -> Result<Option<f64>, ReadError> {
        let number = |text: &str| {
            text.parse().map_err(|_| (self.at)(tag, format!("its value is {text}, which is not a number")))
        };
        self.value(tag, "value").map(number).transpose()
    }

    /// A number that must be a duration.
    fn seconds(&self, tag: &str) -> Result<Option<f64>, ReadError> {
        if let Some(hint) = self.named(tag).and_then(|summary| summary.hint.as_deref())
            && hint != "duration"
        {
            return Err((self.at)(tag, format!("its hint is {hint}, not duration")));
        }
        self.number(tag)
    }

    /// The 32-bit numbers of the file that a summary names; `None` if it names none. Errors: the file is missing, or has
    /// another size.
    fn samples(&self, tag: &str, output: &HarnessOutput) -> Result<Option<Vec<f64>>, ReadError> {
        let Some(name) = self.value(tag, "filename") else { return Ok(None) };
        let refused = |what: String| Err((self.at)(tag, what));
        // Older versions write the path as in the command: its last two parts are in our folder.
        let parts: Vec<&str> = name.rsplit('/').take(2).collect();
        let path: Vec<&str> = parts.into_iter().rev().collect();
        let Some(bytes) = output.files.get(&path.join("/")) else {
            return refused(format!("the file `{name}` is not there"));
        };
        let Some(size) = self.value(tag, "size").and_then(|size| size.parse::<usize>().ok()) else {
            return refused("it does not say how many samples the file has".into());
        };
        let (samples, rest) = bytes.as_chunks::<4>();
        if samples.len() != size || !rest.is_empty() {
            return refused(format!("the file `{name}` has {} bytes for {size} samples", bytes.len()));
        }
        Ok(Some(samples.iter().map(|sample| f64::from(f32::from_le_bytes(*sample))).collect()))
    }
}

/// The state's own name, without the device before its axes if there is only one.
fn case_name(benchmark: &str, state: &State, several: bool) -> CaseName {
    let device = state.name.strip_prefix("Device=").map(|rest| rest.split_once(' ').unwrap_or((rest, "")));
    let axes = device.filter(|_| !several).map_or(state.name.as_str(), |(_, axes)| axes);
    let values = state.axis_values.as_deref().unwrap_or_default();
    let mut params: Params =
        values.iter().map(|axis| (axis.name.clone(), value(&axis.kind, &axis.value))).collect();
    if let (true, Some((device, _))) = (several, device) {
        params.insert(DEVICE.into(), value("int64", device));
    }
    named(benchmark, axes, params)
}

fn named(benchmark: &str, axes: &str, params: Params) -> CaseName {
    let native = if axes.is_empty() { benchmark.to_owned() } else { format!("{benchmark} {axes}") };
    CaseName { native, case: benchmark.to_owned(), params }
}

fn value(kind: &str, text: &str) -> ParamValue {
    let number = match kind {
        "int64" => text.parse().ok().map(ParamValue::Int),
        "float64" => text.parse().ok().filter(|value: &f64| value.is_finite()).map(ParamValue::Float),
        _ => None,
    };
    number.unwrap_or_else(|| ParamValue::Text(text.to_owned()))
}

#[derive(Deserialize)]
struct List {
    benchmarks: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    axes: Option<Vec<Axis>>,
}

#[derive(Deserialize)]
struct Axis {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    flags: Option<String>,
    values: Vec<Value>,
}

#[derive(Deserialize)]
struct Value {
    input_string: String,
    value: Option<serde_json::Value>,
    is_active: Option<bool>,
}

/// A larger list of states is refused.
const MAX_STATES: usize = 100_000;

/// Every combination of the axes' values; the last axis varies fastest.
pub(super) fn list(stdout: &[u8]) -> Result<Vec<CaseName>, ReadError> {
    let list: List = document(None, stdout)?;
    let mut cases = Vec::new();
    for benchmark in &list.benchmarks {
        let mut states = vec![(String::new(), Params::new())];
        for axis in benchmark.axes.as_deref().unwrap_or_default() {
            let mut more = Vec::new();
            for (name, params) in &states {
                for known in axis.values.iter().filter(|value| value.is_active != Some(false)) {
                    let pow2 = axis.flags.as_deref() == Some("pow2");
                    let input = &known.input_string;
                    let shown = if pow2 { format!("2^{input}") } else { input.clone() };
                    let blank = if name.is_empty() { "" } else { " " };
                    let mut params = params.clone();
                    let text = known.value.as_ref().map_or_else(|| input.clone(), ToString::to_string);
                    params.insert(axis.name.clone(), value(&axis.kind, &text));
                    more.push((format!("{name}{blank}{}={shown}", axis.name), params));
                }
                if cases.len() + more.len() > MAX_STATES {
                    let what = format!("`{}` has more than {MAX_STATES} states", benchmark.name);
                    return Err(ReadError::new(Place::Stdout, what));
                }
            }
            states = more;
        }
        cases.extend(states.into_iter().map(|(axes, params)| named(&benchmark.name, &axes, params)));
    }
    Ok(cases)
}
