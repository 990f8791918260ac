//! Names of Google Benchmark: its file and its cases.

use crate::adapters::interface::prelude::*;

pub(super) const FILE: &str = "google-benchmark.json";

/// `BM_sort<int>/n:8/64/threads:2` is `BM_sort<int>/64` with `n = 8` and `threads = 2`.
pub(super) fn case_name(native: &str) -> CaseName {
    by_parts(native, native, |part| part.split_once(':').filter(|(_, value)| !value.contains(':')))
}
