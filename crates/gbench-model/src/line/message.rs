//! The messages of the child protocol, in both directions.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::case::Params;
use crate::gpu::device_code::KernelCode;
use crate::record::stage::Stage;
use crate::unit::Better;

/// The longest line in bytes, without its end; the gate buffers no more than this.
pub const MAX_LINE: usize = 1 << 20;

/// The protocol version in the request.
///
/// Turns and shared processes were added without a new version: the gate uses them only with children that the suite file
/// declares capable, and other children see no difference.
pub const PROTOCOL: u32 = 1;

/// First argument that makes the binary run a member of the micro suite.
pub const MICRO_ARGUMENT: &str = "__micro";

/// The member, which is not in the suite, that prints the GPUs known to CUDA instead of measuring.
pub const GPUS_BY_CUDA: &str = "gpus_by_cuda";

/// First argument that makes the binary compile the kernels of the micro suite into a folder.
pub const CUBINS_ARGUMENT: &str = "__cubins";

/// The NVTX range around the measured calls in a process under a profiler.
pub const MEASURE_RANGE: &str = "gbench: measure";

/// Names of the environment variables that describe the request to a child.
pub mod env {
    /// Number of an inherited file descriptor, open for writing.
    pub const FD: &str = "GBENCH_FD";
    /// Path that can be opened for writing or appending: the same channel, for languages that cannot use inherited
    /// descriptors.
    pub const EVENTS: &str = "GBENCH_EVENTS";
    /// Number of an inherited file descriptor, open for reading, through which the gate grants turns. Set only if the request
    /// has `turns`.
    pub const TURN_FD: &str = "GBENCH_TURN_FD";
    /// Path of the same, for languages that cannot use inherited descriptors.
    pub const TURNS: &str = "GBENCH_TURNS";
    /// The whole [`super::Request`] as JSON.
    pub const REQUEST: &str = "GBENCH_REQUEST";
    /// Copies of the values that shell scripts need most.
    pub const ITERATIONS: &str = "GBENCH_ITERATIONS";
    pub const WARMUP: &str = "GBENCH_WARMUP";
    pub const DURATION: &str = "GBENCH_DURATION";
    pub const SEED: &str = "GBENCH_SEED";
    /// Folder of this machine's locks; for children always [`LOCKS_OFF`].
    pub const LOCKS: &str = "GBENCH_LOCKS";
    /// Value of [`LOCKS`] that disables locks.
    pub const LOCKS_OFF: &str = "off";
    /// `1` in a process under a profiler: mark ranges for it. Absent in timed processes, unless the suite file sets it.
    pub const NVTX: &str = "GBENCH_NVTX";
    /// Prefix of one variable per parameter: `GBENCH_PARAM_N=1024`. Letters become upper case, and all characters except
    /// letters and digits become `_`.
    pub const PARAM_PREFIX: &str = "GBENCH_PARAM_";
}

/// The gate's request to a child.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub protocol: u32,
    pub benchmark: String,
    /// Index of this process within its case, from 0.
    pub process: u32,
    pub params: Params,
    pub iterations: u32,
    pub warmup: u32,
    /// Seconds to measure; 0: by iterations.
    pub duration: f64,
    /// Seconds to warm up; 0: by iterations.
    pub burnin: f64,
    pub cold: bool,
    pub seed: u64,
    /// Names of the settings from the command line, which a child must not override.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// Measure in turns: yield when ready, wait for an [`Order`], carry it out, yield again. `iterations` and `duration` are
    /// then totals over all turns, which the gate enforces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turns: bool,
    /// The process runs under a profiler, and its times are ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profiled: bool,
    /// Points of the benchmark to measure one after the other in a process that several cases share; `params` is then empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Params>,
}

/// One line from the gate to a child that takes turns. End of file ends the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Measure this many iterations now, then yield.
    Turn { iterations: u32 },
}

/// One line from a child. Unknown keys are errors, so that a typo does not silently lose a sample.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A stage begins, which ends the previous one.
    Stage { stage: Stage },
    /// One measured value. `metric` defaults to `time`, `unit` to `s`.
    Sample {
        #[serde(default = "time")]
        metric: String,
        /// Null: measured, but not a number. The key itself is required.
        #[serde(deserialize_with = "Option::deserialize")]
        #[serialize_always]
        #[cfg_attr(feature = "schema", schemars(required, extend("type" = ["number", "null"])))]
        value: Option<f64>,
        unit: Option<String>,
        iteration: Option<u64>,
        better: Option<Better>,
        /// `false`: shown, and judged only if the suite file requests it, like a figure of unknown direction.
        gate: Option<bool>,
    },
    /// Many measured values of one metric in order, sent after a tight loop.
    Samples {
        #[serde(default = "time")]
        metric: String,
        values: Vec<Option<f64>>,
        unit: Option<String>,
        better: Option<Better>,
        gate: Option<bool>,
    },
    /// A metric for which the child has only a summary.
    Summary {
        #[serde(default = "time")]
        metric: String,
        /// Median if known, else mean. Null: not a number. The key itself is required.
        #[serde(deserialize_with = "Option::deserialize")]
        #[serialize_always]
        #[cfg_attr(feature = "schema", schemars(required, extend("type" = ["number", "null"])))]
        value: Option<f64>,
        stddev: Option<f64>,
        count: Option<u64>,
        unit: Option<String>,
        better: Option<Better>,
        gate: Option<bool>,
    },
    /// Facts about the work. Units per iteration give rates: `items` with `time` gives items/s.
    Metadata {
        items: Option<f64>,
        bytes: Option<f64>,
        flops: Option<f64>,
        tokens: Option<f64>,
        /// The device that really runs the work: `cuda:NVIDIA H100`. Part of the case's identity.
        device: Option<String>,
        /// Anything else worth keeping with the record: library versions, a clock's name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        notes: BTreeMap<String, serde_json::Value>,
    },
    /// The benchmark's own settings, which override the suite file but not the command line.
    Config {
        iterations: Option<u32>,
        warmup: Option<u32>,
        /// Stage to seconds.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        deadlines: BTreeMap<Stage, f64>,
        threshold: Option<f64>,
    },
    /// Peak memory in bytes.
    Memory { host_peak_bytes: Option<u64>, device_peak_bytes: Option<u64> },
    /// The machine code that runs on the GPU, by kernel. Several such events are joined.
    DeviceCode {
        /// `sm_90`.
        arch: String,
        /// `NVRTC 13.5`.
        compiler: Option<String>,
        kernels: BTreeMap<String, KernelCode>,
    },
    /// The result of checking the answer. `passed: false` makes the case invalid, however fast it is.
    Validation {
        passed: bool,
        message: Option<String>,
        /// Accuracy figures: `max_error`, `rmse`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        errors: BTreeMap<String, Option<f64>>,
    },
    /// One output of the work, by which base and head are compared: a faster program that computes something else is not an
    /// improvement. From inputs that are the same in every process and on both sides, such as those of `GBENCH_SEED`.
    Answer {
        output: String,
        /// Elements, means, sums; at most 1000.
        values: Vec<Option<f64>>,
        /// The difference that rounding explains, as a share of the largest absolute value; absent: none.
        tolerance: Option<f64>,
    },
    /// This machine cannot run the benchmark.
    Skip {
        reason: String,
        /// The resource that the machine lacks, if that is the reason.
        lacks: Option<Lack>,
        /// The next step, in place of the reports' usual advice.
        next: Option<String>,
    },
    /// The device throttled while samples were taken. The samples are sent as usual.
    Throttled {
        /// The number of throttled samples of this process, and of all its samples.
        samples: u32,
        of: u32,
        /// The driver's reasons; empty if only the clock shows it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasons: Vec<String>,
        /// So many that the process is not informative about the code.
        spoilt: bool,
    },
    Error {
        message: String,
        /// `out_of_memory` and `import` are known; anything else is kept as given.
        kind: Option<String>,
        trace: Option<String>,
        /// The next step, in place of the reports' usual advice.
        next: Option<String>,
    },
    /// In a process that several cases share: the following lines belong to this one of the request's `cases`.
    Case { index: u32 },
    /// In turns: ready for the next one, after the warm-up and after each turn.
    Yield {},
    /// The last line. Optional; any line after it is an error.
    End {},
}

/// A resource that a machine lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// A GPU, its driver, or a library without which it cannot be used.
    Gpu,
}

fn time() -> String {
    "time".into()
}
