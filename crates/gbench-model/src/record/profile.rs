//! A profiler's findings about a case, kept separate from its times.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A program that watches a process from inside. A process that runs under one is never timed.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumIter,
    strum::EnumString,
)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Profiler {
    /// NVIDIA Nsight Systems: what ran when.
    Nsys,
    /// NVIDIA Nsight Compute: counters of each kernel, which it runs again and again for them.
    Ncu,
    /// The profiler of PyTorch, inside the Python driver.
    Torch,
    /// NVIDIA's `compute-sanitizer`: accesses beyond memory or misaligned.
    Memcheck,
    /// `compute-sanitizer`: races for shared memory.
    Racecheck,
    /// `compute-sanitizer`: reads of global memory that nothing wrote.
    Initcheck,
    /// `compute-sanitizer`: barriers that not all threads reach.
    Synccheck,
}

impl Profiler {
    /// A tool of `compute-sanitizer`: it looks for errors, and leaves no figures.
    pub fn is_sanitizer(self) -> bool {
        matches!(self, Profiler::Memcheck | Profiler::Racecheck | Profiler::Initcheck | Profiler::Synccheck)
    }
}

/// How much Nsight Compute counts.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumIter,
    strum::EnumString,
)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum MetricSet {
    /// Times, throughputs and occupancy: few passes.
    #[default]
    Minimal,
    /// Additional figures for a roofline chart.
    Roofline,
    /// All that the program's full set has.
    Deep,
}

/// A figure that has one meaning whatever profiler and version tells it.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumIter,
)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ProfileFigure {
    /// Seconds of one launch, the mean of all.
    KernelTime,
    /// Times that it was launched.
    Launches,
    /// Percent of the peak.
    SmThroughput,
    /// The busiest of DRAM, the caches and the paths between them.
    MemoryThroughput,
    DramThroughput,
    L2Throughput,
    L1Throughput,
    /// Percent of the warps that a multiprocessor can hold.
    Occupancy,
    TheoreticalOccupancy,
    /// Bytes.
    DramBytesRead,
    DramBytesWritten,
    /// Bytes a second, read and written.
    DramBandwidth,
    /// Percent of accesses.
    L2HitRate,
    L1HitRate,
    /// Registers of one thread.
    Registers,
    /// Bytes of a block that the program asks for.
    SharedBytes,
    /// Hz.
    SmClock,
    DramClock,
    /// Instructions of all warps.
    Instructions,
    /// Instructions of a multiprocessor in each cycle in which it had work.
    InstructionsPerCycle,
    /// Cycles of a multiprocessor.
    Cycles,
}

impl ProfileFigure {
    /// As other figures have it: `s`, `%`, `B`, `B/s`, `Hz`; `count` and names of what is counted.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::KernelTime => "s",
            Self::Launches => "count",
            Self::SmThroughput
            | Self::MemoryThroughput
            | Self::DramThroughput
            | Self::L2Throughput
            | Self::L1Throughput
            | Self::Occupancy
            | Self::TheoreticalOccupancy
            | Self::L2HitRate
            | Self::L1HitRate => "%",
            Self::DramBytesRead | Self::DramBytesWritten | Self::SharedBytes => "B",
            Self::DramBandwidth => "B/s",
            Self::Registers => "registers",
            Self::SmClock | Self::DramClock => "Hz",
            Self::Instructions => "instructions",
            Self::InstructionsPerCycle => "instructions/cycle",
            Self::Cycles => "cycles",
        }
    }

    pub const fn is_percent(self) -> bool {
        matches!(self.unit().as_bytes(), b"%")
    }
}

/// A metric under the profiler's own name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RawMetric {
    pub value: f64,
    /// As the profiler writes it; empty: none.
    pub unit: String,
}

/// One kernel under one profiler: all of its launches that were watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelProfile {
    /// As the profiler writes it.
    pub kernel: String,
    /// In the units of [`ProfileFigure`]; means over the launches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<ProfileFigure, f64>,
    /// Metrics that are no figure, by their names; means over the launches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub raw_metrics: BTreeMap<String, RawMetric>,
}

/// A figure of one kernel on both sides of a comparison. One of the two at least is known.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MovedFigure {
    /// As the profiler writes it: of the base, where it has the kernel.
    pub kernel: String,
    /// Its name on the side of the head, if it differs.
    pub head_kernel: Option<String>,
    pub figure: ProfileFigure,
    /// In the unit of the figure; `None`: not known on this side.
    pub base: Option<f64>,
    pub head: Option<f64>,
}

/// The outcome of one profiler's process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProfileOutcome {
    /// Its report was read.
    Taken,
    /// The program is not here.
    Missing {
        /// How it was looked for.
        program: String,
    },
    /// It was stopped at its limit.
    TimedOut {
        /// Seconds.
        limit: f64,
    },
    /// It failed, or what it left cannot be read.
    Failed { cause: String },
}

/// A case under a profiler.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Profile {
    pub profiler: Profiler,
    /// The profiler's version, as it reports it.
    pub version: Option<String>,
    #[serde(flatten)]
    pub outcome: ProfileOutcome,
    /// Seconds that its process took.
    pub seconds: Option<f64>,
    /// The reports that it left, from the run's folder, with its own suffixes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelProfile>,
}
