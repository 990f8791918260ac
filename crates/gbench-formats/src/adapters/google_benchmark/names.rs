//! Names of Google Benchmark: its file and its cases.

use crate::adapters::interface::prelude::*;

pub(crate) const FILE: &str = "google-benchmark.json";

/// How often and how long the library measures, in its order behind the arguments. It identifies nothing.
const SETTINGS: [&str; 4] = ["min_time:", "min_warmup_time:", "iterations:", "repeats:"];

/// `BM_sort<int>/n:8/64/repeats:5/threads:2` is `BM_sort<int>/64` with `n = 8` and `threads = 2`.
pub(super) fn case_name(native: &str) -> CaseName {
    let parts: Vec<&str> = native.split('/').collect();
    let is_behind = |part: &str| part.starts_with("threads:") || part.ends_with("_time");
    let behind = parts.iter().rev().take_while(|part| is_behind(part)).count();
    let (front, behind) = parts.split_at(parts.len() - behind);
    let is_setting =
        |part: &&&str| SETTINGS.iter().any(|start| part.strip_prefix(*start).is_some_and(is_number));
    let settings = front.iter().skip(1).rev().take_while(is_setting).count();
    let (front, _) = front.split_at(front.len() - settings);
    let name = [front, behind].concat().join("/");
    by_parts(native, &name, |part| part.split_once(':').filter(|(_, value)| !value.contains(':')))
}

/// The number of `->Iterations(n)`.
pub(super) fn fixed_iterations(native: &str) -> Option<u64> {
    native.rsplit('/').find_map(|part| part.strip_prefix("iterations:")?.parse().ok())
}

fn is_number(text: &str) -> bool {
    text.trim_end_matches('s').parse::<f64>().is_ok()
}
