//! The identity of the cases of a suite.

use crate::benchmark::definition::Benchmark;
use gbench_model::{CaseId, Params};

pub(super) fn case_ids(benchmark: &Benchmark) -> impl Iterator<Item = CaseId> {
    benchmark.points.iter().map(|point| case_id(benchmark, point))
}

/// The identity of a point of a benchmark, without its device.
pub fn case_id(benchmark: &Benchmark, point: &Params) -> CaseId {
    CaseId {
        benchmark: benchmark.id.clone(),
        variant: None,
        params: point.clone(),
        timing: benchmark.timing,
        thermal: benchmark.settings.thermal.value,
        device: "host".into(),
    }
}
