//! The messages of the child protocol, in both directions.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{Better, KernelCode, Params, Stage};

/// Bytes that a line may have, its end not counted: the gate keeps no more of one in memory.
pub const MAX_LINE: usize = 1 << 20;

/// Version that the request carries and this module speaks.
///
/// Turns and shared processes came later and left it at 1: they are spoken only with children of which the suite file
/// says that they know them, and every other child is sent what it always was.
pub const PROTOCOL: u32 = 1;

/// First argument that makes the binary run a member of the micro suite.
pub const MICRO_ARGUMENT: &str = "__micro";

/// First argument that makes the binary compile the kernels of the micro suite into a folder.
pub const CUBINS_ARGUMENT: &str = "__cubins";

/// Names of the environment variables through which a child learns of the gate.
pub mod env {
    /// Number of an inherited file descriptor, open for writing.
    pub const FD: &str = "GBENCH_FD";
    /// Path that can be opened for writing or appending: the same channel, for languages without
    /// inherited descriptors.
    pub const EVENTS: &str = "GBENCH_EVENTS";
    /// Number of an inherited file descriptor, open for reading, over which the gate gives turns. Only where the
    /// request has `turns`.
    pub const TURN_FD: &str = "GBENCH_TURN_FD";
    /// Path of the same for languages without inherited descriptors.
    pub const TURNS: &str = "GBENCH_TURNS";
    /// The whole [`super::Request`] as JSON.
    pub const REQUEST: &str = "GBENCH_REQUEST";
    /// Plain copies of what a shell script needs most.
    pub const ITERATIONS: &str = "GBENCH_ITERATIONS";
    pub const WARMUP: &str = "GBENCH_WARMUP";
    pub const DURATION: &str = "GBENCH_DURATION";
    pub const SEED: &str = "GBENCH_SEED";
    /// Folder of the locks of this machine; for children always [`LOCKS_OFF`].
    pub const LOCKS: &str = "GBENCH_LOCKS";
    /// Value of [`LOCKS`] where gates need not take turns.
    pub const LOCKS_OFF: &str = "off";
    /// `1` in a process that a profiler watches: mark ranges for it. Absent in one that is timed, unless the suite file sets it.
    pub const NVTX: &str = "GBENCH_NVTX";
    /// Prefix of one variable a parameter: `GBENCH_PARAM_N=1024`. Letters are made upper case, and
    /// what is no letter or digit becomes `_`.
    pub const PARAM_PREFIX: &str = "GBENCH_PARAM_";
}

/// A request of the gate to a child.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub protocol: u32,
    pub benchmark: String,
    /// Index of this process within its case, from 0.
    pub process: u32,
    pub params: Params,
    pub iterations: u32,
    pub warmup: u32,
    /// Seconds to measure for; 0: by iterations.
    pub duration: f64,
    /// Seconds to warm up for; 0: by iterations.
    pub burnin: f64,
    pub cold: bool,
    pub seed: u64,
    /// Names of the settings that came from the command line: a child must not override these.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// Measure in turns: yield when ready, wait for an [`Order`], do it, yield again. `iterations` and `duration` are
    /// then the sum of the turns, which the gate keeps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turns: bool,
    /// Points of the benchmark to measure one after the other, for a process that several cases share; `params` is then
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Params>,
}

/// One line from the gate to a child that takes turns. The end of the file is the end of the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Measure so many iterations now, then yield.
    Turn { iterations: u32 },
}

/// One line from a child. Unknown keys are errors: a typo must not silently lose a sample.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A stage begins; the one before it is over.
    Stage { stage: Stage },
    /// One measured value. `metric` defaults to `time`, `unit` to `s`.
    Sample {
        #[serde(default = "time")]
        metric: String,
        /// Null: measured, but not a number. The key itself must be there.
        #[serde(deserialize_with = "Option::deserialize")]
        #[serialize_always]
        #[cfg_attr(feature = "schema", schemars(required, extend("type" = ["number", "null"])))]
        value: Option<f64>,
        unit: Option<String>,
        iteration: Option<u64>,
        better: Option<Better>,
        /// `false`: shown, and judged only where the suite file says so, as of a figure whose direction nobody knows.
        gate: Option<bool>,
    },
    /// Many measured values of one metric in order: what a tight loop sends once it is over.
    Samples {
        #[serde(default = "time")]
        metric: String,
        values: Vec<Option<f64>>,
        unit: Option<String>,
        better: Option<Better>,
        gate: Option<bool>,
    },
    /// A metric for which the child has only its own summary.
    Summary {
        #[serde(default = "time")]
        metric: String,
        /// Median where known, else mean. Null: not a number. The key itself must be there.
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
    /// The benchmark's own settings: above the suite file, below the command line.
    Config {
        iterations: Option<u32>,
        warmup: Option<u32>,
        /// Stage to seconds.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        deadlines: BTreeMap<Stage, f64>,
        threshold: Option<f64>,
    },
    /// Memory in bytes, at its peak.
    Memory { host_peak_bytes: Option<u64>, device_peak_bytes: Option<u64> },
    /// The machine code that runs on the GPU, by kernel. What several of these events say is joined.
    DeviceCode {
        /// `sm_90`.
        arch: String,
        /// `NVRTC 13.5`.
        compiler: Option<String>,
        kernels: BTreeMap<String, KernelCode>,
    },
    /// Whether the answer is right. `passed: false` makes the case invalid however fast it is.
    Validation {
        passed: bool,
        message: Option<String>,
        /// Accuracy figures: `max_error`, `rmse`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        errors: BTreeMap<String, Option<f64>>,
    },
    /// This machine cannot run the benchmark.
    Skip {
        reason: String,
        /// What the machine lacks, where that is the reason.
        lacks: Option<Lack>,
    },
    /// The device held its clocks down while samples were taken. They are sent as any other.
    Throttled {
        /// Samples of this process that a slower device gave, and all of them.
        samples: u32,
        of: u32,
        /// Why, as the driver names it; empty where only the clock tells.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasons: Vec<String>,
        /// So many that the process says little about the code.
        spoilt: bool,
    },
    Error {
        message: String,
        /// `out_of_memory` and `import` are known; anything else is kept as given.
        kind: Option<String>,
        trace: Option<String>,
    },
    /// Where cases share the process: what follows belongs to this one of the request's `cases`.
    Case { index: u32 },
    /// Where turns are taken: ready for the next one, after the warm-up and after each turn.
    Yield {},
    /// The last line: all was said. Optional; what comes after it is an error.
    End {},
}

/// What a machine lacks.
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
