//! The sources of GPU telemetry: NVIDIA's library, else its program, else AMD's programs.

use std::process::Command;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::{amd, nvidia_smi};
use crate::machine::gpu_reading::GpuReading;
use crate::machine::{nvml, tools};
use gbench_model::Probe;

/// Each start of a program takes tens of milliseconds of CPU.
const PROGRAM_INTERVAL: Duration = Duration::from_secs(1);

/// A program that takes longer is considered hung.
const PROGRAM_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str)]
pub(super) enum ReadingSource {
    #[strum(serialize = "NVML")]
    Nvml,
    #[strum(serialize = "nvidia-smi")]
    NvidiaSmi,
    #[strum(serialize = "amd-smi")]
    AmdSmi,
    #[strum(serialize = "rocm-smi")]
    RocmSmi,
}

/// Asks once. Empty: no GPU could be asked.
pub(super) type AskGpus = Box<dyn FnMut() -> Vec<GpuReading>>;

impl ReadingSource {
    /// The best one first.
    pub(super) const ALL: [Self; 4] = [Self::Nvml, Self::NvidiaSmi, Self::AmdSmi, Self::RocmSmi];

    pub(super) fn least_interval(self) -> Duration {
        if self == Self::Nvml { Duration::ZERO } else { PROGRAM_INTERVAL }
    }

    /// Call this in the thread that will ask. `of`: indices of the GPUs to ask; empty: all. A program prints all of them.
    pub(super) fn open(self, of: Vec<u32>) -> AskGpus {
        match self {
            Self::Nvml => Box::new(nvml::telemetry(of)),
            Self::NvidiaSmi => Box::new(move || {
                let Some(gpus) = printed(self, nvidia_smi::GPUS) else { return Vec::new() };
                let users = printed(self, nvidia_smi::PROCESSES).unwrap_or_default();
                nvidia_smi::read(&gpus, &users)
            }),
            Self::AmdSmi => Box::new(move || {
                printed(self, amd::AMD_SMI).and_then(|text| amd::read_amd_smi(&text)).unwrap_or_default()
            }),
            Self::RocmSmi => Box::new(move || {
                printed(self, amd::ROCM_SMI).and_then(|text| amd::read_rocm_smi(&text)).unwrap_or_default()
            }),
        }
    }
}

/// The output of the source's program; `None`: it is missing, failed or hung.
fn printed(source: ReadingSource, arguments: &[&str]) -> Option<String> {
    match tools::output(Command::new(source.into_str()).args(arguments), PROGRAM_DEADLINE) {
        Probe::Known(output) if output.status.success() => Some(output.out),
        _ => None,
    }
}

pub(super) fn own_cpu() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}
