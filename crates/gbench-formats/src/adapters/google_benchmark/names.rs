//! Names of Google Benchmark: its file and its cases.

use super::super::prelude::*;

pub(super) const FILE: &str = "google-benchmark.json";

/// `BM_sort<int>/n:8/64/threads:2` is `BM_sort<int>/64` with `n = 8` and `threads = 2`.
pub(super) fn case_name(native: &str) -> CaseName {
    let mut params = Params::new();
    let mut kept = Vec::new();
    for part in native.split('/') {
        let named = part.split_once(':').filter(|(name, value)| {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            !name.is_empty()
                && name.chars().all(word)
                && !value.is_empty()
                && !value.contains(':')
                && !kept.is_empty()
        });
        match named {
            Some((name, value)) if !params.contains_key(name) => {
                let value =
                    value.parse().map_or_else(|_| ParamValue::Text(value.to_owned()), ParamValue::Int);
                params.insert(name.to_owned(), value);
            }
            _ => kept.push(part),
        }
    }
    CaseName { native: native.to_owned(), case: kept.join("/"), params }
}
