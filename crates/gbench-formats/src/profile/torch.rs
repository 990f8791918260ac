//! PyTorch's profiler: its Chrome trace. Kernels if a GPU took part, else operators on the CPU.
//! <https://docs.pytorch.org/docs/stable/profiler.html>, and the trace event format that it names.
//!
//! Durations are microseconds. The time of an operator includes that of the operators that it calls.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::ProfileReadError;
use super::kernels::{LaunchFigures, WatchedKernels};
use gbench_model::ProfileFigure::{KernelTime, Registers, SharedBytes};
use gbench_model::{KernelProfile, RawMetric};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TorchTrace<'a> {
    #[serde(borrow)]
    trace_events: Vec<TorchEvent<'a>>,
}

#[derive(Deserialize)]
struct TorchEvent<'a> {
    #[serde(borrow)]
    ph: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cat: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    dur: Option<Value>,
    args: Option<TorchLaunch>,
}

/// The launch's facts in the events of kernels. The arguments of operators are skipped: traces are large.
#[derive(Default, Deserialize)]
struct TorchLaunch {
    #[serde(rename = "registers per thread")]
    registers: Option<Value>,
    /// Bytes per block.
    #[serde(rename = "shared memory")]
    shared: Option<Value>,
    /// Computed from the launch, not counted.
    #[serde(rename = "est. achieved occupancy %")]
    occupancy: Option<Value>,
    #[serde(rename = "blocks per SM")]
    blocks: Option<Value>,
    #[serde(rename = "warps per SM")]
    warps: Option<Value>,
}

const KERNELS: [&str; 2] = ["kernel", "Kernel"];
const OPERATORS: [&str; 2] = ["cpu_op", "Operator"];

/// The kernels of a trace with means over their launches, or the operators if no kernel ran; sorted by total time, the
/// longest first. Errors: not a trace, or an incomplete one, with the line; neither kernels nor operators; an event
/// without its name or its duration.
pub fn read_torch_trace(text: &[u8]) -> Result<Vec<KernelProfile>, ProfileReadError> {
    let trace: TorchTrace = serde_json::from_slice(text).map_err(|error| {
        let what = if error.is_eof() {
            "the trace is incomplete".to_owned()
        } else {
            format!("not a Chrome trace: {error}")
        };
        ProfileReadError::line(error.line().max(1), what)
    })?;
    for categories in [KERNELS, OPERATORS] {
        let mut kernels = WatchedKernels::default();
        for (at, event) in trace.trace_events.iter().enumerate().filter(|(_, event)| event.is_of(categories))
        {
            let wrong = |what: &str| ProfileReadError::Event { event: at, what: what.to_owned() };
            let name = event.name.as_deref().ok_or_else(|| wrong("it has no name"))?;
            let us = event.dur.as_ref().and_then(Value::as_f64).filter(|us| *us >= 0.0);
            let us = us.ok_or_else(|| wrong("it has no duration"))?;
            kernels.add(name, event.launch(us / 1e6));
        }
        let kernels = kernels.finish();
        if !kernels.is_empty() {
            return Ok(kernels);
        }
    }
    Err(ProfileReadError::Nothing)
}

impl TorchEvent<'_> {
    /// True for an event with a duration, of these categories.
    fn is_of(&self, categories: [&str; 2]) -> bool {
        let category = self.cat.as_deref().unwrap_or_default();
        self.ph.as_deref() == Some("X") && categories.contains(&category)
    }

    fn launch(&self, seconds: f64) -> LaunchFigures {
        let none = TorchLaunch::default();
        let launch = self.args.as_ref().unwrap_or(&none);
        let said = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
        let known = [(Registers, &launch.registers), (SharedBytes, &launch.shared)];
        let known = known.into_iter().filter_map(|(figure, value)| Some((figure, said(value)?)));
        let others = [
            ("est. achieved occupancy %", "%", &launch.occupancy),
            ("blocks per SM", "blocks", &launch.blocks),
            ("warps per SM", "warps", &launch.warps),
        ];
        let raw = others.into_iter().filter_map(|(name, unit, value)| {
            Some((name.to_owned(), RawMetric { value: said(value)?, unit: unit.to_owned() }))
        });
        let figures = [(KernelTime, seconds)].into_iter().chain(known).collect();
        LaunchFigures { count: 1.0, figures, raw: raw.collect() }
    }
}
