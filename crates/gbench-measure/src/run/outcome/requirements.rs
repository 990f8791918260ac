//! Checks whether this machine meets a benchmark's declared requirements, before anything is started.

use crate::run::container::contained_process;
use crate::run::process::binaries::has_binary;
use crate::run::process::tracer::{NO_TRACER, Tracer};
use gbench_model::{Gpu, Manifest, Probe};
use gbench_suite::{Benchmark, Requires};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Missing {
    pub what: String,
    pub next: String,
    pub gpu: bool,
}

/// Every unmet requirement, in the order of the suite file's keys.
pub(crate) fn missing(benchmark: &Benchmark, manifest: &Manifest) -> Vec<Missing> {
    let requires = &benchmark.requires;
    let mut missing = Vec::new();
    let mut miss = |what: String, next: String, gpu| missing.push(Missing { what, next, gpu });
    for binary in requires.binaries.iter().filter(|binary| !has_binary(binary, &benchmark.dir)) {
        miss(
            format!("the program `{binary}` is not on PATH"),
            format!("install `{binary}` or add its folder to PATH"),
            false,
        );
    }
    for file in requires.files.iter().filter(|file| !file.exists()) {
        miss(format!("{} is not there", file.display()), format!("fetch or build {}", file.display()), false);
    }
    for name in requires.env.iter().filter(|name| std::env::var_os(name).is_none()) {
        miss(format!("the environment variable `{name}` is not set"), format!("set `{name}`"), false);
    }
    let tracer = benchmark.is_traced().then(Tracer::find).flatten();
    if benchmark.is_traced() && benchmark.container.is_none() && tracer.is_none() {
        let [what, next] = NO_TRACER.map(str::to_owned);
        miss(what, next, true);
    }
    // A program that is traced is there for its kernels. NVML knows no GPU of AMD.
    let gpus = requires.gpus.max(u32::from(matches!(tracer, Some(Tracer::Nsys(_)))));
    for (what, next) in missing_gpu(&Requires { gpus, ..requires.clone() }, &manifest.gpu) {
        miss(what, next, true);
    }
    missing.extend(contained_process::missing(benchmark).map(|(what, next)| Missing {
        what,
        next,
        gpu: false,
    }));
    missing
}

/// Everything that the GPUs here lack: their number, and each property that too few of them have. If each property is frequent
/// enough, reports that too few GPUs have all at once.
fn missing_gpu(requires: &Requires, gpu: &Probe<gbench_model::GpuFacts>) -> Vec<(String, String)> {
    type Has<'r> = Box<dyn Fn(&Gpu) -> bool + 'r>;
    let mut properties: Vec<(String, Has)> = Vec::new();
    if requires.gpu_memory > 0 {
        let has = |gpu: &Gpu| gpu.memory_total.known().copied().unwrap_or(0) >= requires.gpu_memory;
        let name = format!("{:.1} GiB", requires.gpu_memory as f64 / (1u64 << 30) as f64);
        properties.push((name, Box::new(has)));
    }
    if let Some((major, minor)) = requires.compute_capability {
        let has = |gpu: &Gpu| has_capability(gpu, requires.compute_capability);
        properties.push((format!("compute capability {major}.{minor}"), Box::new(has)));
    }
    let wanted = requires.gpus.max(u32::from(!properties.is_empty())) as usize;
    if wanted == 0 {
        return Vec::new();
    }
    let with_all = || properties.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and ");
    let facts = match gpu {
        Probe::Known(facts) => facts,
        Probe::Absent(reason) | Probe::Failed(reason) => {
            let needed = if properties.is_empty() { String::new() } else { format!(", with {}", with_all()) };
            let next = "run on a machine with a GPU; `gbench-ci doctor` says what was looked for".into();
            return vec![(format!("no GPU can be used here: {reason} (needed: {wanted}{needed})"), next)];
        }
    };
    let here = facts.devices.len();
    let mut lacking = Vec::new();
    if here < wanted {
        lacking.push(format!("{here} of the {wanted} GPUs needed are here"));
    }
    for (name, has) in &properties {
        let able = facts.devices.iter().filter(|gpu| has(gpu)).count();
        if able < wanted.min(here) {
            lacking.push(format!("{able} of the {wanted} GPUs needed have {name}"));
        }
    }
    let able = facts.devices.iter().filter(|gpu| properties.iter().all(|(_, has)| has(gpu))).count();
    if lacking.is_empty() && able < wanted {
        lacking.push(format!("{able} of the {wanted} GPUs needed have {} at once", with_all()));
    }
    let next = "run on a machine that has them, or lower `requires`";
    lacking.into_iter().map(|what| (what, next.to_owned())).collect()
}

fn has_capability(gpu: &Gpu, least: Option<(u32, u32)>) -> bool {
    let Some(least) = least else { return true };
    let text = gpu.compute_capability.known().map_or("", String::as_str);
    let mut numbers = text.split('.').map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= least,
        _ => false,
    }
}
