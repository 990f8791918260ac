//! The GPUs of this machine as far as CUDA knows them, for machines without NVIDIA's management library.

use super::device::{Facts, all_facts};
use gbench_model::{Gpu, GpuFacts, Probe};

const NOT_ASKED: &str = "only NVIDIA's management library tells, which is not here";

/// The GPUs, in CUDA's order. Absent: CUDA cannot use one, with the reason.
pub(crate) fn gpus() -> Probe<GpuFacts> {
    match all_facts() {
        Ok(found) if !found.is_empty() => {
            let version = found[0].0.cuda_version;
            let devices =
                (0..).zip(found).map(|(index, (facts, memory))| gpu(index, facts, memory)).collect();
            let cuda = Probe::Known(format!("{}.{}", version / 1000, version % 1000 / 10));
            Probe::Known(GpuFacts { driver: absent(), cuda, nvml: absent(), devices })
        }
        Ok(_) => Probe::Absent(super::CudaError::NoDevice.to_string()),
        Err(error) => Probe::Absent(error.to_string()),
    }
}

fn absent<T>() -> Probe<T> {
    Probe::Absent(NOT_ASKED.into())
}

fn known<T>(value: Option<T>) -> Probe<T> {
    value.map_or_else(|| Probe::Failed("the CUDA driver does not tell".into()), Probe::Known)
}

fn gpu(index: u32, facts: Facts, memory: Option<u64>) -> Gpu {
    let mhz = Some((facts.sm_clock / 1e6) as u32).filter(|mhz| *mhz > 0);
    Gpu {
        index,
        model: Probe::Known(facts.name),
        uuid: known(facts.uuid),
        compute_capability: Probe::Known(format!("{}.{}", facts.capability.0, facts.capability.1)),
        memory_total: known(memory),
        memory_used: absent(),
        sm_clock: absent(),
        sm_clock_max: mhz.map_or_else(absent, Probe::Known),
        memory_clock: absent(),
        memory_clock_max: absent(),
        clocks_locked: absent(),
        power_limit: absent(),
        power_limit_default: absent(),
        power: absent(),
        persistence: absent(),
        ecc: absent(),
        mig: absent(),
        pcie_generation: absent(),
        pcie_width: absent(),
        temperature: absent(),
        throttle_reasons: absent(),
        processes: absent(),
    }
}
