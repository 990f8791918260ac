//! Kernels: every Python file below a folder of kernels, called as its folder's `bench.yaml` defines.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bench_yaml::BenchYaml;
use super::call::{CallWay, PythonCall};
use super::folders::Chosen;
use super::imports::{guessed_backend, imported, is_standard};
use super::layout::{KernelManifest, LayoutCases, LayoutRequest, PassedOver, PythonCase};
use crate::adapters::interface::adapter::CaseName;
use crate::adapters::interface::source_tree::SourceTree;
use crate::adapters::source::paths::{below, folder, leaf};
use gbench_model::{ParamValue, Params, sha256_hex};

/// Functions that are tried without a `function_name`, after `<file>_kernel`.
pub const KERNEL_FUNCTIONS: [&str; 3] = ["run_benchmark", "benchmark", "solve"];

/// Characters of a value in a case's name; a longer value is cut and distinguished by its hash.
const MAX_VALUE: usize = 60;

pub(super) fn find(request: &LayoutRequest, tree: &dyn SourceTree) -> LayoutCases {
    let chosen = Chosen::of(request, tree, |path| leaf(path) != CONFIG);
    let mut found =
        LayoutCases { warnings: chosen.warnings, passed_over: chosen.ignored, ..LayoutCases::default() };
    let mut configs: BTreeMap<&str, Result<BenchYaml, String>> = BTreeMap::new();
    for path in chosen.files {
        if let Some(why) = why_not(path) {
            if leaf(path) == "bench.yml" {
                found.warnings.push(format!("{path} is not read: call it {CONFIG}"));
            }
            found.passed_over.push(PassedOver { path: path.to_owned(), why: why.to_owned() });
            continue;
        }
        let folder = folder(path);
        let config = configs.entry(folder).or_insert_with(|| {
            let read = config(tree, folder);
            found.warnings.extend(read.iter().flat_map(|read| read.warnings.clone()));
            read
        });
        found.kernels.push(manifest(tree, path, config));
        match config {
            Ok(config) => found.cases.extend(cases(path, config)),
            Err(fault) => {
                let mut call = PythonCall::new(CallWay::Fault, path);
                call.message = Some(fault.clone());
                found.cases.push(PythonCase { name: CaseName::plain(name(path)), call });
            }
        }
    }
    found
}

const CONFIG: &str = "bench.yaml";

fn why_not(path: &str) -> Option<&'static str> {
    let name = leaf(path);
    if !name.ends_with(".py") {
        Some("it is not a Python file")
    } else if name.starts_with("__") {
        Some("its name begins with __")
    } else if name.starts_with("test_") {
        Some("its name begins with test_")
    } else {
        None
    }
}

fn config(tree: &dyn SourceTree, folder: &str) -> Result<BenchYaml, String> {
    let path = below(folder, CONFIG);
    if tree.files().binary_search(&path).is_err() {
        return Ok(BenchYaml::default());
    }
    let text = tree.text(&path).ok_or_else(|| format!("{path}: the file cannot be read"))?;
    BenchYaml::read(&path, &text)
}

fn name(path: &str) -> &str {
    path.strip_suffix(".py").unwrap_or(path)
}

fn cases(path: &str, config: &BenchYaml) -> Vec<PythonCase> {
    let listed = |words: &[String]| -> Vec<Option<String>> {
        if words.is_empty() { vec![None] } else { words.iter().cloned().map(Some).collect() }
    };
    let mut call = PythonCall::new(CallWay::Function, path);
    call.function = config.function.clone();
    call.params = config.problem_size.clone();
    call.tolerances = config.tolerances.clone();
    call.shared_tolerances = !call.tolerances.is_empty();
    call.reference = config.reference.clone();
    call.skip_conditions = config.skip_conditions.clone();
    call.work = config.work;
    (call.iterations, call.warmup, call.seed) = (config.iterations, config.warmup, config.seed);
    let sizes: Params =
        config.problem_size.iter().map(|(name, value)| (name.clone(), param(value))).collect();
    let mut cases = Vec::new();
    for precision in listed(&config.precisions) {
        for backend in listed(&config.backends) {
            let mut call = call.clone();
            let mut params = sizes.clone();
            let mut words = Vec::new();
            for (name, word) in [("precision", &precision), ("backend", &backend)] {
                let Some(word) = word else { continue };
                params.insert(name.to_owned(), ParamValue::Text(word.clone()));
                words.push(format!("{name}={word}"));
            }
            let native = match words.join(",") {
                words if words.is_empty() => name(path).to_owned(),
                words => format!("{}[{words}]", name(path)),
            };
            call.first_precision = precision.is_some() && precision.as_ref() == config.precisions.first();
            call.first_backend = backend.is_some() && backend.as_ref() == config.backends.first();
            (call.precision, call.backend) = (precision.clone(), backend);
            cases.push(PythonCase { name: CaseName { native, case: name(path).to_owned(), params }, call });
        }
    }
    cases
}

/// A value as a parameter of the case: a list of numbers becomes `2x1024`, a nested value its JSON.
fn param(value: &Value) -> ParamValue {
    let text = match value {
        Value::Bool(value) => return ParamValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(value) => return ParamValue::Int(value),
            None => return ParamValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) if !text.chars().any(char::is_control) => text.clone(),
        Value::Array(values) if !values.is_empty() && values.iter().all(Value::is_number) => {
            values.iter().map(Value::to_string).collect::<Vec<_>>().join("x")
        }
        other => other.to_string(),
    };
    if text.chars().count() <= MAX_VALUE {
        return ParamValue::Text(text);
    }
    let beginning: String = text.chars().take(MAX_VALUE - 20).collect();
    ParamValue::Text(format!("{beginning}...#{}", &sha256_hex(text.as_bytes())[..12]))
}

fn manifest(tree: &dyn SourceTree, path: &str, config: &Result<BenchYaml, String>) -> KernelManifest {
    let text = tree.text(path).unwrap_or_default();
    let imported = imported(&text);
    let is_own = |name: &str| {
        [folder(path), ""].iter().any(|place| {
            let (file, package) = (below(place, &format!("{name}.py")), format!("{}/", below(place, name)));
            let at = tree.files().partition_point(|file| file.as_str() < package.as_str());
            tree.files().binary_search(&file).is_ok()
                || tree.files().get(at).is_some_and(|file| file.starts_with(&package))
        })
    };
    KernelManifest {
        name: name(leaf(path)).to_owned(),
        path: path.to_owned(),
        backend_guessed: guessed_backend(&text, &imported),
        dependencies: imported
            .iter()
            .filter(|name| !is_standard(name) && !is_own(name))
            .map(|name| (*name).to_owned())
            .collect(),
        config: config.as_ref().map(|config| config.config.clone()).unwrap_or_default(),
        fault: config.as_ref().err().cloned(),
    }
}
