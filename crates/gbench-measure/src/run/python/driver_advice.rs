//! Advice about failures that the Python driver reports, by kind.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::run::samples::collected::CollectedSamples;

/// Advice for one of the driver's own kinds; `None` for an exception of the benchmark.
pub(crate) fn of_kind(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "config" => "fix the named place; `gbench-ci list --cases` reads a bench.yaml again",
        "no_function" => {
            "name the function by `function_name` in bench.yaml or `function` in the suite file, or leave the file out by `ignore`"
        }
        "no_benchmark" => {
            "give the module a `get_benchmark()` or a class with `benchmark_fn`, name it by `class`, or leave the file out by `ignore`"
        }
        "arguments" => {
            "let `problem_size`, or `matrix` of the suite file, have the names that the function takes"
        }
        "bad_result" => "let it return what docs/python.md says of its way of being called",
        "no_row" | "many_rows" => "let the case's parameters name one row of those that the sweep returns",
        "row_failed" => "see in the module why this row failed; the other rows are separate cases",
        "no_reference" => {
            "name a function, value or file that is there by `reference` in bench.yaml or the suite file"
        }
        "skip_condition" => {
            "fix the `check` in bench.yaml: an expression that is true if the case is to be skipped"
        }
        "shared_code" => {
            "let each side import its own code: name its folder by `path`, from the benchmark's folder, and remove it from \
             PYTHONPATH; or set `shared_code = true` if it is shared on purpose"
        }
        "wrong_device" => {
            "let the function take `backend` or `device` and run there, or remove the backend from bench.yaml"
        }
        "patched_clock" => "leave the clocks of `time` and torch as they are",
        "left_running" => "wait in the benchmark for what it starts, and end it in `teardown()`",
        "mode" => "choose another `mode`, or remove the option that it excludes",
        "cuda_graph" => "remove `cuda_graph` for work that cannot be captured",
        "profile" => "let the benchmark import torch before it is measured, or profile it with nsys or ncu",
        "exit" => "let the module return: what ends the interpreter ends the measurement, too",
        _ => return None,
    })
}

/// Notes of the driver that a reader has to know to trust a measurement, as sentences.
pub(crate) fn to_know(metadata: &BTreeMap<String, Value>) -> Vec<String> {
    // Present if the wall clock was used instead of the device's, or if an answer was not checked.
    let always = ["off_stream", "host_bound", "unchecked"];
    let told = always.iter().filter_map(|name| metadata.get(*name)?.as_str().map(str::to_owned));
    // These are texts if a request was only partly applied.
    let asked = ["fresh_inputs", "cuda_graph", "iterations", "warmup", "do_bench"];
    let applied =
        asked.iter().filter_map(|name| Some(format!("`{name}`: {}", metadata.get(*name)?.as_str()?)));
    told.chain(applied).collect()
}

/// Advice about a failed import. A missing module is the usual cause, but not the only one.
pub(crate) fn of_import(collected: &CollectedSamples) -> String {
    let interpreter = collected.metadata.get("interpreter").and_then(|value| value.as_str());
    let who = interpreter.map_or("the interpreter that measures".to_owned(), |path| format!("`{path}`"));
    format!("install what it imports into {who}, or fix the import; its trace is in the record")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use crate::run::python::driver_advice::of_kind;

    /// Kinds with advice elsewhere: imports and memory by their meaning. A request comes from the gate itself.
    const ELSEWHERE: [&str; 3] = ["import", "out_of_memory", "request"];

    #[test]
    fn each_kind_of_the_driver_has_its_advice() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/driver/python/gbench_driver");
        let given = regex::Regex::new(r#"error\(\s*"([a-z_]+)""#).unwrap();
        let mut kinds: BTreeSet<String> = BTreeSet::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            kinds.extend(given.captures_iter(&text).map(|found| found[1].to_owned()));
        }
        assert!(kinds.len() > 12, "{kinds:?}");
        for kind in kinds.iter().filter(|kind| !ELSEWHERE.contains(&kind.as_str())) {
            assert!(of_kind(kind).is_some(), "{kind} has no advice");
        }
    }
}
