//! Activity of the machine and its GPUs while a process ran, sampled at an interval.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::record::samples::is_default;
use crate::text::is_unseen;

/// The known facts of a process, or pair of processes, that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndedProcess {
    /// CPU seconds of the process and its descendants.
    pub cpu_seconds: Option<f64>,
    /// Its lifetime.
    pub seconds: f64,
    /// Seconds after its start from which and until which it measured; absent if its stages do not show that.
    pub measured: Option<(f64, f64)>,
}

/// Why a GPU is not idle before a process begins, while the run has no process on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Unrest {
    /// A process of another program computes on it.
    OtherProcess { gpu: u32, process: ForeignProcess },
    /// It is busy, but no process on it is visible: perhaps one of another container.
    Busy {
        gpu: u32,
        /// Percent.
        utilization: f64,
    },
    /// It is at the limit that the suite file sets, or hotter. Degrees Celsius.
    Hot { gpu: u32, temperature: f64, limit: f64 },
    /// The card slows itself down: a reason as NVML names it.
    Slowed { gpu: u32, reason: String },
    /// More of its memory is in use than when the run began.
    MemoryInUse {
        gpu: u32,
        /// Bytes now, and at the least before.
        bytes: u64,
        idle: u64,
    },
}

impl Unrest {
    /// True if two have the same cause, whatever the figures.
    pub fn is_alike(&self, other: &Self) -> bool {
        let key = |unrest: &Self| match unrest {
            Self::OtherProcess { gpu, process } => (0, *gpu, process.pid.to_string()),
            Self::Busy { gpu, .. } => (1, *gpu, String::new()),
            Self::Hot { gpu, .. } => (2, *gpu, String::new()),
            Self::Slowed { gpu, reason } => (3, *gpu, reason.clone()),
            Self::MemoryInUse { gpu, .. } => (4, *gpu, String::new()),
        };
        key(self) == key(other)
    }
}

impl fmt::Display for Unrest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        match self {
            Self::OtherProcess { gpu, process } => write!(f, "{process} computes on GPU {gpu}"),
            Self::Busy { gpu, utilization } => {
                write!(f, "GPU {gpu} is busy ({utilization:.0} %), with no process of this run on it")
            }
            Self::Hot { gpu, temperature, limit } => {
                write!(f, "GPU {gpu} has {temperature:.0} °C, and the limit is {limit:.0} °C")
            }
            Self::Slowed { gpu, reason } => write!(f, "GPU {gpu} is slowed down ({reason})"),
            Self::MemoryInUse { gpu, bytes, idle } => write!(
                f,
                "{:.1} GiB of GPU {gpu} are in use, and {:.1} GiB were before",
                gibibytes(*bytes),
                gibibytes(*idle)
            ),
        }
    }
}

impl fmt::Display for ForeignProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "process {} ({})", self.pid, shown_name(name)),
            None => write!(f, "process {}", self.pid),
        }
    }
}

/// The program's name only, without terminal control characters.
fn shown_name(name: &str) -> String {
    const LONGEST: usize = 40;
    let program = name.rsplit('/').next().unwrap_or(name);
    program.chars().filter(|c| !c.is_control() && !is_unseen(*c)).take(LONGEST).collect()
}

/// A wait for an idle GPU before a process, or before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CalmWait {
    pub seconds: f64,
    /// The causes of the wait.
    pub causes: Vec<Unrest>,
    /// The GPU did not become idle within the allowed time, or no time was allowed: the process began all the same.
    pub in_vain: bool,
}

/// The samples of one window of time, summed up.
///
/// The window is the time in which the process measured, if its stages are known, and otherwise its whole lifetime.
/// Values that no sample contains are absent; nothing is filled in.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// Seconds between two samples, as set.
    pub interval: f64,
    /// Seconds of the window.
    pub seconds: f64,
    /// Samples in the window.
    pub samples: u32,
    /// Samples that were due in the window and did not come in time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missed: u32,
    /// Share of one processor that the sampling itself took; programs that it started are not in it.
    pub cost: Option<f64>,
    /// The source of the GPU samples, `NVML` or a program; absent if there was none.
    pub source: Option<String>,
    /// Percent of all processors that were at work.
    pub cpu: Option<Spread>,
    /// Percent of the memory in use.
    pub memory: Option<Spread>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuTelemetry>,
}

impl Telemetry {
    /// The GPU that the process used, else the only one; `None`: unknown, or there is no GPU.
    pub fn gpu(&self) -> Option<&GpuTelemetry> {
        let mut used = self.gpus.iter().filter(|gpu| gpu.used);
        match (used.next(), used.next(), self.gpus.as_slice()) {
            (Some(gpu), None, _) | (None, None, [gpu]) => Some(gpu),
            _ => None,
        }
    }
}

/// One GPU in a window.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GpuTelemetry {
    pub index: u32,
    pub uuid: Option<String>,
    /// Samples of the window that this GPU answered.
    pub samples: u32,
    /// Samples that it did not answer, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gaps: BTreeMap<TelemetryGap, u32>,
    /// MHz, of the streaming multiprocessors.
    pub sm_clock: Option<Spread>,
    /// MHz.
    pub memory_clock: Option<Spread>,
    /// Watts.
    pub power: Option<Spread>,
    /// Degrees Celsius.
    pub temperature: Option<Spread>,
    /// Percent of the time in which a kernel ran.
    pub utilization: Option<Spread>,
    /// Bytes in use.
    pub memory_used: Option<Spread>,
    /// Over the window, and not over its samples.
    pub mean_power: Option<MeanPower>,
    /// In how many samples each reason held the clocks down, as NVML names it; `gpu_idle` is one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throttled: BTreeMap<String, u32>,
    /// Generation of the PCIe link and its lanes, at the least.
    pub pcie_generation: Option<u32>,
    pub pcie_width: Option<u32>,
    /// The link under load: the best of the samples in which kernels ran, since an idle link saves power; absent with fewer than three.
    pub link: Option<PcieLink>,
    /// A process of this benchmark was on the GPU according to its driver and `/proc`, or is bound to it alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub used: bool,
    /// Processes on the GPU that are not of this benchmark.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignProcess>,
}

/// A PCIe link, and the most that card and slot have.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PcieLink {
    pub generation: u32,
    /// Lanes.
    pub width: u32,
    pub max_generation: Option<u32>,
    pub max_width: Option<u32>,
}

impl PcieLink {
    pub fn is_narrow(&self) -> bool {
        let [generation, width] = self.most();
        self.generation < generation || self.width < width
    }

    fn most(&self) -> [u32; 2] {
        [self.max_generation.unwrap_or(self.generation), self.max_width.unwrap_or(self.width)]
    }
}

impl fmt::Display for PcieLink {
    /// `generation 3 x8 of 5 x16`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [generation, width] = self.most();
        write!(f, "generation {} x{} of {generation} x{width}", self.generation, self.width)
    }
}

/// Why a GPU has no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum TelemetryGap {
    /// The driver did not answer in time.
    NoAnswer,
    /// The GPU has fallen off the bus, or is being reset.
    GpuLost,
    /// The driver refused: it was unloaded, or is in trouble.
    Refused,
}

/// A process of another program on a GPU.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForeignProcess {
    pub pid: u32,
    /// The program's name, if the driver reports it.
    pub name: Option<String>,
}

/// Mean, least and greatest of the samples of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spread {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// The power of a GPU over a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeanPower {
    pub watts: f64,
    pub from: PowerSource,
}

/// How a mean power came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PowerSource {
    /// The card's own energy counter, at the first and the last sample of the window.
    EnergyCounter,
    /// The integral of at least three samples of its power, by trapezoids.
    PowerSamples,
}

impl Spread {
    /// `None` if there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (mut count, mut sum, mut min, mut max) = (0u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            count += 1;
            sum += value;
            min = value.min(min);
            max = value.max(max);
        }
        (count > 0).then(|| Self { mean: sum / f64::from(count), min, max })
    }
}

/// One line of the timeline that `--monitor-output` writes.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MonitorRecord {
    /// UTC, RFC 3339 with milliseconds.
    pub timestamp: String,
    /// Percent of all processors since the previous line; absent in the first.
    pub cpu_percent: Option<f64>,
    /// Bytes.
    pub total_memory: Option<u64>,
    pub memory_percent: Option<f64>,
    /// Empty where no GPU can be asked.
    pub gpu_usage: Vec<MonitorGpu>,
}

/// One GPU in a line of the timeline.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MonitorGpu {
    pub index: u32,
    pub model: Option<String>,
    /// The UUID.
    pub guid: Option<String>,
    /// Why there are no figures.
    pub gap: Option<TelemetryGap>,
    /// Percent of the time in which a kernel ran.
    pub utilization: Option<f64>,
    /// Bytes in use, and of all.
    pub memory: Option<u64>,
    pub total_memory: Option<u64>,
    /// Watts.
    pub power: Option<f64>,
    /// Joules since the driver's start, by the card's own counter.
    pub energy: Option<f64>,
    /// Degrees Celsius.
    pub temperature: Option<f64>,
    /// MHz.
    pub sm_clock: Option<f64>,
    pub memory_clock: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttle_reasons: Vec<String>,
    pub pcie_generation: Option<u32>,
    pub pcie_width: Option<u32>,
    /// Processes of others on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignProcess>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_values_alone() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([2.0, 4.0, 9.0]), Some(Spread { mean: 5.0, min: 2.0, max: 9.0 }));
    }
}
