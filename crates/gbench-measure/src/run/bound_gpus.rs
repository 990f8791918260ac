//! The GPUs that a benchmark is bound to, and so whether others may be measured on meanwhile.

use super::devices::gpu_of;
use gbench_model::{Component, Gpu, GpuFacts, Probe};
use gbench_suite::{Action, Benchmark, is_each};

/// What the gate's own environment says of the GPUs that programs see.
#[derive(Clone, Copy, Debug, Default)]
pub struct InheritedGpus<'e> {
    /// `CUDA_VISIBLE_DEVICES`.
    pub visible: Option<&'e str>,
    /// Numbers in it mean what nvidia-smi means by them: `CUDA_DEVICE_ORDER` is `PCI_BUS_ID`.
    pub by_bus: bool,
}

/// The list of GPUs that a benchmark's processes keep to, as `CUDA_VISIBLE_DEVICES` has it; `None`: it may use any GPU, or it is work for the
/// processor.
///
/// A program that does not say whether it uses a GPU is believed to use one where the suite or a flag gives it one. The
/// gate's environment is no such word: it holds for the suite's other programs, too.
pub fn bound_list(benchmark: &Benchmark, inherited: InheritedGpus<'_>) -> Option<String> {
    let components = &benchmark.components;
    let needs = &benchmark.requires;
    let for_gpu = components.contains(&Component::Gpu)
        || matches!(benchmark.action, Action::Cuda(_))
        || needs.gpus > 0
        || needs.gpu_memory > 0
        || needs.compute_capability.is_some();
    let device = Some(&benchmark.settings.device.value).filter(|device| !device.is_empty());
    let of_suite = device.or_else(|| benchmark.env.get("CUDA_VISIBLE_DEVICES")).cloned();
    let is_number = |entry: &str| entry.trim().parse::<u32>().is_ok();
    let of_gate = inherited.visible.filter(|list| inherited.by_bus || !list.split(',').any(is_number));
    match (for_gpu, components.is_empty()) {
        (true, _) => of_suite.or_else(|| of_gate.map(str::to_owned)),
        (false, true) => of_suite,
        (false, false) => None,
    }
}

/// The GPUs of a list with their indices; `None`: one of them cannot be told, or it names none. A slice of a GPU shares it with other
/// slices, so that it is not told either.
pub fn gpus_of_list<'g>(list: &str, facts: &'g Probe<GpuFacts>) -> Option<Vec<(u32, &'g Gpu)>> {
    let gpus = &facts.known()?.devices;
    let entries = list.split(',').map(str::trim);
    let found: Option<Vec<(u32, &Gpu)>> = if is_each(list) {
        Some((0..).zip(gpus).collect())
    } else {
        entries.map(|entry| gpu_of(entry, gpus)).collect()
    };
    found.filter(|found| !found.is_empty() && found.iter().all(|(_, gpu)| gpu.uuid.known().is_some()))
}
