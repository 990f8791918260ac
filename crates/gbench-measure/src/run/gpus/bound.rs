//! The GPUs that a benchmark is bound to, which decide whether others may be measured concurrently.

use super::devices::gpu_of;
use gbench_model::{Component, Gpu, GpuFacts, GpuPlace, Probe};
use gbench_suite::{Action, Benchmark, is_each};

#[derive(Clone, Copy, Debug, Default)]
pub struct InheritedGpus<'e> {
    /// `CUDA_VISIBLE_DEVICES`.
    pub visible: Option<&'e str>,
    /// Indices in it are those of nvidia-smi: `CUDA_DEVICE_ORDER` is `PCI_BUS_ID`.
    pub by_bus: bool,
}

impl<'e> InheritedGpus<'e> {
    /// The list, unless its numbers are CUDA's own.
    fn list(self) -> Option<&'e str> {
        let is_number = |entry: &str| entry.trim().parse::<u32>().is_ok();
        self.visible.filter(|list| self.by_bus || !list.split(',').any(is_number))
    }
}

/// The list of GPUs that a benchmark's processes use, in the form of `CUDA_VISIBLE_DEVICES`; `None`: it may use any GPU, or
/// runs on the processor.
///
/// A program that does not declare whether it uses a GPU is assumed to use one if the suite or a flag assigns one. The gate's
/// environment does not count as an assignment: it applies to the suite's other programs, too.
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
    match (for_gpu, components.is_empty()) {
        (true, _) => of_suite.or_else(|| inherited.list().map(str::to_owned)),
        (false, true) => of_suite,
        (false, false) => None,
    }
}

/// The GPUs that processes of a benchmark may use, as far as the suite and the environment tell; `None`: perhaps all; empty:
/// they run on the processor. `device`: of the case, where the benchmark has one on each GPU. A program that declares nothing
/// cannot use more than the gate's environment shows it, either.
pub fn usable_gpus(
    benchmark: &Benchmark,
    device: &str,
    inherited: InheritedGpus<'_>,
    facts: &Probe<GpuFacts>,
) -> Option<Vec<GpuPlace>> {
    let declared = &benchmark.components;
    if !declared.is_empty() && !declared.contains(&Component::Gpu) {
        return Some(Vec::new());
    }
    let list = bound_list(benchmark, inherited).or_else(|| inherited.list().map(str::to_owned))?;
    let list = if is_each(&benchmark.settings.device.value) { device } else { &list };
    let place = |(index, gpu): (u32, &Gpu)| Some(GpuPlace { index, uuid: gpu.uuid.known()?.clone() });
    gpus_of_list(list, facts)?.into_iter().map(place).collect()
}

/// The GPUs of a list with their indices; `None`: one of them is unknown, or the list is empty. A slice shares its GPU with
/// other slices, so it is unknown as well.
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
