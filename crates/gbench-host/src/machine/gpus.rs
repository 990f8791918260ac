//! The GPUs of this machine: by NVIDIA's management library, else by CUDA. A container with the driver's capability
//! `compute` alone, and many a Jetson, have the second without the first.

use std::ffi::OsStr;
use std::process::Command;

use super::nvml;
use super::tools::{self, DEADLINE};
use gbench_model::line::{GPUS_BY_CUDA, MICRO_ARGUMENT};
use gbench_model::{GpuFacts, Probe};

/// The GPUs, all of them, in the order of nvidia-smi.
pub(super) fn gpus() -> Probe<GpuFacts> {
    let by_nvml = nvml::gpus();
    match &by_nvml {
        Probe::Absent(reason) => by_cuda(reason).map_or(by_nvml, Probe::Known),
        _ => by_nvml,
    }
}

/// Asks in a child, because the driver of CUDA keeps what it takes until its process ends. `None`: CUDA can use no GPU.
fn by_cuda(without_nvml: &str) -> Option<GpuFacts> {
    nvml::has_function(OsStr::new("libcuda.so.1"), "cuInit").filter(|has| *has)?;
    let mut child = Command::new(std::env::current_exe().ok()?);
    child.args([MICRO_ARGUMENT, GPUS_BY_CUDA]);
    child.env("CUDA_DEVICE_ORDER", "PCI_BUS_ID").env_remove("CUDA_VISIBLE_DEVICES");
    let printed = tools::output(&mut child, DEADLINE);
    let answer: Probe<GpuFacts> = serde_json::from_str(&printed.known()?.out).ok()?;
    Some(GpuFacts { nvml: Probe::Absent(without_nvml.into()), ..answer.known()?.clone() })
}
