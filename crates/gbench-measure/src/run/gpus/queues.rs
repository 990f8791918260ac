//! Cases on several GPUs at once: determines which may run concurrently.

use std::collections::BTreeSet;

use super::bound::{InheritedGpus, bound_list, usable_gpus};
use gbench_model::{GpuFacts, Probe};
use gbench_suite::Benchmark;
use gbench_suite::plan::{Plan, PlannedCase};

/// Cases that run one after the other on GPUs that no other queue uses.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuQueue {
    /// Indices of its GPUs, as in nvidia-smi: one, or those that each of its cases uses together.
    pub gpus: BTreeSet<u32>,
    /// Indices of its cases in the plan, in the plan's order.
    pub cases: Vec<usize>,
}

/// The queues of a plan, in the order of their first cases. Cases on the processor, cases with unknown GPUs, and cases on
/// several GPUs some of which other cases use are in no queue, and so are measured alone.
pub fn gpu_queues(plan: &Plan, facts: &Probe<GpuFacts>, inherited: InheritedGpus<'_>) -> Vec<GpuQueue> {
    let mut queues: Vec<GpuQueue> = Vec::new();
    for (index, case) in plan.cases.iter().enumerate() {
        let Some(gpus) = gpus_of(case, facts, inherited) else { continue };
        match queues.iter_mut().find(|queue| queue.gpus == gpus) {
            Some(queue) => queue.cases.push(index),
            None => queues.push(GpuQueue { gpus, cases: vec![index] }),
        }
    }
    let sets: Vec<BTreeSet<u32>> = queues.iter().map(|queue| queue.gpus.clone()).collect();
    let is_apart = |gpus: &BTreeSet<u32>| sets.iter().all(|other| other == gpus || other.is_disjoint(gpus));
    queues.retain(|queue| queue.gpus.len() == 1 || is_apart(&queue.gpus));
    queues
}

fn gpus_of(
    case: &PlannedCase,
    facts: &Probe<GpuFacts>,
    inherited: InheritedGpus<'_>,
) -> Option<BTreeSet<u32>> {
    let benchmark = &case.benchmark;
    if writes_into_its_folder(benchmark) {
        return None;
    }
    bound_list(benchmark, inherited)?;
    let gpus = usable_gpus(benchmark, &benchmark.device_of(&case.id.params), inherited, facts)?;
    Some(gpus.into_iter().map(|gpu| gpu.index).collect()).filter(|gpus: &BTreeSet<u32>| !gpus.is_empty())
}

/// A harness keeps results and locks in its folder, and a file with figures has one name.
fn writes_into_its_folder(benchmark: &Benchmark) -> bool {
    benchmark.harness.is_some() || benchmark.extract.iter().any(|extract| extract.rows.file.is_some())
}
