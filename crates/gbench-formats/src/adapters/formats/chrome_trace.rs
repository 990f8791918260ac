//! Chrome traces by PyTorch's profiler: each GPU kernel is a case, and each of its executions is a sample.
//! <https://docs.pytorch.org/docs/stable/profiler.html>, and the trace event format that it names.
//!
//! Other events, such as operators on the CPU and copies, are ignored. Old profilers use the category `Kernel` and round
//! durations to whole microseconds.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memmem;

use super::interface::prelude::*;
use crate::adapters::readers::json::borrowed;
use crate::adapters::readers::loose_json::readable;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace<'a> {
    #[serde(borrow)]
    trace_events: Vec<Event<'a>>,
    #[serde(default)]
    device_properties: Vec<Device>,
    #[serde(default)]
    compute_properties: Vec<Device>,
    #[serde(rename = "cuda_driver_version")]
    cuda_driver: Option<Value>,
    #[serde(rename = "cuda_runtime_version")]
    cuda_runtime: Option<Value>,
    distributed_info: Option<Distributed>,
    #[serde(rename = "record_shapes")]
    record_shapes: Option<Value>,
    #[serde(rename = "profile_memory")]
    profile_memory: Option<Value>,
    #[serde(rename = "with_stack")]
    with_stack: Option<Value>,
}

#[derive(Deserialize)]
struct Distributed {
    world_size: Option<Value>,
}

#[derive(Deserialize)]
struct Device {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    ph: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cat: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    dur: Option<f64>,
    args: Option<Place>,
}

/// The device and stream of a kernel. Events of other kinds use the same names for other facts.
#[derive(Deserialize)]
struct Place {
    device: Option<Value>,
    grid: Option<Value>,
    block: Option<Value>,
}

/// The facts that distinguish launches of one kernel: the card, and the shape, on which the amount of work depends.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct KernelLaunch {
    device: Option<i64>,
    grid: Option<String>,
    block: Option<String>,
}

impl KernelLaunch {
    fn of(place: &Place) -> Self {
        let text = |value: &Option<Value>| Some(param_of(value.as_ref()?)?.to_string());
        let device = place.device.as_ref().and_then(Value::as_i64);
        Self { device, grid: text(&place.grid), block: text(&place.block) }
    }
}

impl Event<'_> {
    fn is_kernel(&self) -> bool {
        self.ph.as_deref() == Some("X") && matches!(self.cat.as_deref(), Some("kernel" | "Kernel"))
    }
}

/// True if the text is the category of an event. Within another text its quotes would be escaped.
fn is_category(bytes: &[u8], text: &str) -> bool {
    memmem::find_iter(bytes, text).any(|at| {
        let before = bytes.get(..at).unwrap_or_default().trim_ascii_end();
        before.strip_suffix(b":").is_some_and(|before| before.trim_ascii_end().ends_with(b"\"cat\""))
    })
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "chrome-trace",
    title: "PyTorch profiler (Chrome trace)",
    versions: "`traceEvents` with `cat` `kernel`, and the older `Kernel`",
    fields: "`name`, `dur` and `args` (`device`, `grid`, `block`) of each event with `ph` `X` that is a kernel; `deviceProperties`, versions of CUDA, `distributedInfo`, what was recorded",
    reads: Reads::Samples,
    direction: "times lower",
    failures: "nothing in the file; a kernel without `name` or `dur` (refused)",
    tried: &["2.11.0"],
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let holds_kernel = ["\"kernel\"", "\"Kernel\""].iter().any(|word| is_category(file.bytes, word));
    holds_kernel && Outline::shows(file, &["traceEvents"], &["traceEvents[].ph"])
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = readable(file.bytes);
    let trace: Trace = borrowed(Some(file.name), &text)?;
    let mut readings: Vec<Reading> = Vec::new();
    let mut places: HashMap<(&str, KernelLaunch), usize> = HashMap::new();
    for (at, event) in trace.trace_events.iter().enumerate().filter(|(_, event)| event.is_kernel()) {
        let missing = |key: &str| file.at(format!("traceEvents[{at}].{key}"), "a kernel without it");
        let name = event.name.as_deref().ok_or_else(|| missing("name"))?;
        let us = event.dur.ok_or_else(|| missing("dur"))?;
        let launch = event.args.as_ref().map_or_else(KernelLaunch::default, KernelLaunch::of);
        let place = *places.entry((name, launch.clone())).or_insert_with(|| {
            let device = launch.device.map(|device| ("device".to_owned(), ParamValue::Int(device)));
            let text = |name: &str, list: Option<String>| Some((name.to_owned(), ParamValue::Text(list?)));
            let shape = [text("grid", launch.grid), text("block", launch.block)];
            let params: Params = device.into_iter().chain(shape.into_iter().flatten()).collect();
            readings.push(named(name, params));
            readings.len() - 1
        });
        if let Some(reading) = readings.get_mut(place) {
            reading.metric("time", "us", None).values.push(us);
        }
    }
    let devices = trace.device_properties.into_iter().chain(trace.compute_properties);
    let devices: Vec<String> = devices.filter_map(|device| device.name).collect();
    let run = RunReading::from(readings).fact("devices", devices);
    let run = run.also("cuda_driver", trace.cuda_driver).also("cuda_runtime", trace.cuda_runtime);
    let run = run.also("world_size", trace.distributed_info.and_then(|info| info.world_size));
    let settings = [
        ("record_shapes", trace.record_shapes),
        ("profile_memory", trace.profile_memory),
        ("with_stack", trace.with_stack),
    ];
    Ok(vec![settings.into_iter().fold(run, |run, (name, value)| run.setting(name, value))])
}
