//! The environment of a child: the user's without secrets, and the gate's request.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use gbench_model::line::env::LOCKS_OFF;
use gbench_model::line::{self, PROTOCOL, Request};
use gbench_model::{CACHE_HOME, CaseId, KERNEL_CACHES, KERNEL_CALL, Params, Settings, Thermal, scrubbed};
use gbench_suite::{Benchmark, own_params};

/// The complete environment of one process, where later entries override earlier ones: the gate's own without secrets, the
/// benchmark's, the request.
///
/// `cold`: an empty folder for caches, given exactly for cold processes. `shared`: points of the benchmark to measure in one
/// process; empty: only the case. `turns`: the process is to take turns. `profiled`: it runs under a profiler.
pub(crate) fn of_process(
    benchmark: &Benchmark,
    id: &CaseId,
    process: u32,
    cold: Option<&Path>,
    shared: &[Params],
    turns: bool,
    profiled: bool,
) -> Vec<(OsString, OsString)> {
    let mut env = of_benchmark(benchmark);
    if !shared.is_empty() {
        // The process has no single point, not even one that the suite's `env` sets.
        env.retain(|(name, _)| !name.as_encoded_bytes().starts_with(line::env::PARAM_PREFIX.as_bytes()));
    }
    if let Some(folder) = cold {
        let caches = KERNEL_CACHES.into_iter().chain([CACHE_HOME]);
        env.extend(caches.map(|name| (name.into(), folder.join(name).into_os_string())));
    }
    let mut set = |name: &str, value: String| env.push((name.into(), value.into()));
    let device = benchmark.device_of(&id.params);
    if !device.is_empty() {
        for name in ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"] {
            set(name, device.clone());
        }
        // With this, indices are those of nvidia-smi and the manifest.
        set("CUDA_DEVICE_ORDER", "PCI_BUS_ID".into());
    }
    let mut request = request(&benchmark.settings, id, process);
    if shared.is_empty() {
        parameters(&id.params).for_each(|(name, value)| set(&name, value));
    } else {
        (request.params, request.cases) = (Params::new(), shared.to_vec());
    }
    (request.turns, request.profiled) = (turns, profiled);
    set(line::env::ITERATIONS, request.iterations.to_string());
    set(line::env::WARMUP, request.warmup.to_string());
    set(line::env::DURATION, request.duration.to_string());
    set(line::env::SEED, request.seed.to_string());
    if let Some(Ok(call)) = benchmark.kernel_call(&id.params) {
        set(KERNEL_CALL, serde_json::to_string(&call).unwrap_or_default());
    }
    // Serializing plain numbers and text into memory cannot fail; an empty request would be refused by the child.
    set(line::env::REQUEST, serde_json::to_string(&request).unwrap_or_default());
    env
}

/// The environment of a process of the Python driver, whose request is a file. `cold`: as for [`of_process`].
pub(crate) fn of_driver(
    benchmark: &Benchmark,
    id: &CaseId,
    cold: Option<&Path>,
) -> Vec<(OsString, OsString)> {
    let ours = [line::env::REQUEST, line::env::ITERATIONS, line::env::WARMUP, line::env::DURATION];
    let mut env = of_process(benchmark, id, 0, cold, &[], false, false);
    env.retain(|(name, _)| {
        let is_parameter = name.as_encoded_bytes().starts_with(line::env::PARAM_PREFIX.as_bytes());
        !is_parameter && ours.iter().all(|our| name != our)
    });
    if let Some(scale) = benchmark.python().and_then(|entry| entry.options.scale) {
        env.push(("GBENCH_SCALE".into(), scale.to_string().into()));
    }
    if benchmark.python().is_some_and(|entry| entry.options.deterministic) {
        // Python reads it once, when it starts.
        env.push(("PYTHONHASHSEED".into(), (benchmark.settings.seed.value as u32).to_string().into()));
    }
    env
}

/// The gate's own environment without secrets, for programs that the gate chooses.
pub(crate) fn own() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !is_scrubbed(&name.to_string_lossy())).collect()
}

/// The environment of a build step: that of a process, without a request.
pub(crate) fn of_benchmark(benchmark: &Benchmark) -> Vec<(OsString, OsString)> {
    let kept = |name: &str| benchmark.keep_env.iter().any(|keep| keep == name);
    let inherited = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        // Our variables are set again below: a nested gate must not pass on the outer one's channel.
        !name.starts_with("GBENCH_") && (kept(&name) || !is_scrubbed(&name))
    });
    // A nested gate is part of this measurement, which has the lock: it would wait for itself.
    let locks = (OsString::from(line::env::LOCKS), OsString::from(LOCKS_OFF));
    let places = benchmark.sandbox.iter().flat_map(|sandbox| sandbox.env.iter().cloned());
    let places = places.map(|(name, value)| (name.into(), value));
    let own = benchmark.env.iter().map(|(name, value)| (name.into(), value.into()));
    inherited.chain([locks]).chain(places).chain(own).collect()
}

/// [`scrubbed`], cached because every process asks about the same names.
fn is_scrubbed(name: &str) -> bool {
    thread_local!(static KNOWN: RefCell<HashMap<String, bool>> = RefCell::default());
    KNOWN.with_borrow_mut(|known| match known.get(name) {
        Some(answer) => *answer,
        None => *known.entry(name.to_owned()).or_insert_with(|| scrubbed(name)),
    })
}

fn parameters(params: &Params) -> impl Iterator<Item = (String, String)> {
    params.iter().map(|(name, value)| {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = name.chars().map(word).collect();
        (format!("{}{name}", line::env::PARAM_PREFIX), value.to_string())
    })
}

pub(crate) fn request(settings: &Settings, id: &CaseId, process: u32) -> Request {
    let cold = id.thermal == Thermal::Cold;
    let origins = [
        ("iterations", &settings.iterations.origin),
        ("warmup", &settings.warmup.origin),
        ("duration", &settings.duration.origin),
        ("burnin", &settings.burnin.origin),
        ("seed", &settings.seed.origin),
    ];
    let pinned = origins.into_iter().filter(|(_, origin)| origin.is_pinned());
    Request {
        protocol: PROTOCOL,
        benchmark: id.benchmark.to_string(),
        process,
        params: own_params(settings, &id.params),
        iterations: settings.iterations.value,
        warmup: if cold { 0 } else { settings.warmup.value },
        duration: settings.duration.value,
        burnin: if cold { 0.0 } else { settings.burnin.value },
        cold,
        seed: settings.seed.value,
        pinned: pinned.map(|(name, _)| name.to_owned()).collect(),
        ..Request::default()
    }
}
