//! The machine and the software that a run ran on. Each probe fails by itself, with a reason.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The machine's, the repository's and the toolchain's facts at the start of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub host: HostFacts,
    pub gpu: Probe<GpuFacts>,
    pub git: Probe<GitFacts>,
    /// Tool name to its version line, or why it is not known: `nvcc`, `python3`, `rustc`.
    pub tools: BTreeMap<String, Probe<String>>,
    /// Allow-listed environment variables that were set; never one whose name looks secret.
    pub environment: BTreeMap<String, String>,
}

impl Manifest {
    /// A manifest in which every fact is unknown for this reason.
    pub fn unknown(reason: &str) -> Self {
        fn failed<T>(reason: &str) -> Probe<T> {
            Probe::Failed(reason.to_owned())
        }
        let host = HostFacts {
            hostname: failed(reason),
            os: failed(reason),
            kernel: failed(reason),
            architecture: "unknown".into(),
            cpu_model: failed(reason),
            cores: failed(reason),
            last_level_cache: failed(reason),
            governor: failed(reason),
            memory_total: failed(reason),
            memory_available: failed(reason),
            load: failed(reason),
            container: failed(reason),
            virtualization: failed(reason),
        };
        let (tools, environment) = Default::default();
        Self { host, gpu: failed(reason), git: failed(reason), tools, environment }
    }
}

/// A fact, or the reason why it is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Probe<T> {
    Known(T),
    /// Does not apply here, and that is in order: no GPU library, not a repository.
    Absent(String),
    /// Should have worked.
    Failed(String),
}

impl<T> Probe<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Probe::Known(value) => Some(value),
            Probe::Absent(_) | Probe::Failed(_) => None,
        }
    }
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Probe<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Probe::Known(value),
            Err(error) => Probe::Failed(error.to_string()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    pub hostname: Probe<String>,
    pub os: Probe<String>,
    pub kernel: Probe<String>,
    pub architecture: String,
    pub cpu_model: Probe<String>,
    /// Logical processors that this process may use (affinity and cgroup quota respected).
    pub cores: Probe<u32>,
    /// Bytes of the last-level cache.
    pub last_level_cache: Probe<u64>,
    /// The scaling governor where all cores agree; else the governors joined by commas.
    pub governor: Probe<String>,
    /// Bytes.
    pub memory_total: Probe<u64>,
    /// Bytes.
    pub memory_available: Probe<u64>,
    /// Load average over one minute.
    pub load: Probe<f64>,
    /// `docker`, `podman`, `kubernetes`, `none`, ...
    pub container: Probe<String>,
    /// Hypervisor as the CPU reports it, or `none`.
    pub virtualization: Probe<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GpuFacts {
    pub driver: Probe<String>,
    /// The newest CUDA that the driver supports: `12.4`.
    pub cuda: Probe<String>,
    pub nvml: Probe<String>,
    pub devices: Vec<Gpu>,
}

/// One GPU. Clocks in MHz, power in watts, memory in bytes, temperature in degrees Celsius.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    pub index: u32,
    pub model: Probe<String>,
    pub uuid: Probe<String>,
    /// `9.0`.
    pub compute_capability: Probe<String>,
    pub memory_total: Probe<u64>,
    pub memory_used: Probe<u64>,
    pub sm_clock: Probe<u32>,
    pub sm_clock_max: Probe<u32>,
    pub memory_clock: Probe<u32>,
    pub memory_clock_max: Probe<u32>,
    /// True if the application clocks or locked clocks pin the SM clock, as reported by NVML.
    pub clocks_locked: Probe<bool>,
    pub power_limit: Probe<f64>,
    pub power_limit_default: Probe<f64>,
    pub power: Probe<f64>,
    pub persistence: Probe<bool>,
    pub ecc: Probe<bool>,
    pub mig: Probe<bool>,
    pub pcie_generation: Probe<u32>,
    pub pcie_width: Probe<u32>,
    pub temperature: Probe<u32>,
    /// Names of the reasons that limit the clocks now; empty: none.
    pub throttle_reasons: Probe<Vec<String>>,
    pub processes: Probe<Vec<GpuProcess>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GpuProcess {
    pub pid: u32,
    pub name: Probe<String>,
    /// Bytes.
    pub memory: Probe<u64>,
}

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GitFacts {
    /// Absent in a repository without a commit.
    pub commit: Option<String>,
    /// UTC, RFC 3339.
    pub commit_time: Option<String>,
    /// Absent when the head is detached.
    pub branch: Option<String>,
    pub detached: bool,
    pub shallow: bool,
    /// A linked work tree of another checkout.
    pub worktree: bool,
    /// Files that differ, counted apart: `tracked` (changed in the work tree), `staged`, `untracked`.
    pub dirty: DirtyFacts,
    /// Parents of a merge commit, oldest side first: for a pull request's merge, its base and head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merge_parents: Vec<String>,
    /// Path to commit of each submodule, as checked out; empty text where it is not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub submodules: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DirtyFacts {
    pub tracked: u32,
    pub staged: u32,
    pub untracked: u32,
}

impl DirtyFacts {
    pub fn any(self) -> bool {
        self != Self::default()
    }
}
