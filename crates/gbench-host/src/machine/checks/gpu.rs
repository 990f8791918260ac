//! The GPU checks: one line per topic. GPUs with the same finding share a line.

use super::check::{
    CheckResult, CheckSeverity, CheckSubject, MachineCheck, gibibytes, ok, problem, shown, warning,
};
use crate::machine::Readings;
use crate::machine::nvml::StandingHealth;
use gbench_model::{Gpu, GpuFacts, HealthSign, Manifest, Probe};

type Topic = fn(&Gpu) -> CheckResult;

const TOPICS: [(&str, Topic); 8] = [
    ("clocks", clocks),
    ("persistence", persistence),
    ("processes", processes),
    ("throttling", throttling),
    ("temperature", temperature),
    ("power limit", power_limit),
    ("MIG", mig),
    ("ECC", ecc),
];

/// Degrees Celsius at which data-centre GPUs are about to throttle.
const HOT: u32 = 80;

/// Memory in use that no visible process explains.
const UNEXPLAINED_BYTES: u64 = 1 << 30;

pub(super) fn checks(manifest: &Manifest, readings: &Readings) -> Vec<MachineCheck> {
    let check = |name: &str, result| MachineCheck::new(CheckSubject::Gpu, name, result);
    let gpus = match &manifest.gpu {
        Probe::Known(gpus) => gpus,
        Probe::Absent(reason) => {
            let advice =
                "install the NVIDIA driver if this machine has a GPU, or start the container with its GPUs";
            return vec![check("GPU", warning(reason, advice))];
        }
        Probe::Failed(reason) => {
            let advice = "make `nvidia-smi` work first; then run `gbench-ci doctor` again";
            return vec![check("GPU", problem(reason, advice))];
        }
    };
    let mut checks = vec![check("GPU", devices(manifest, gpus))];
    if !gpus.devices.is_empty() {
        checks.extend(TOPICS.iter().map(|(name, topic)| check(name, combined(&gpus.devices, *topic))));
        checks.push(check("health", health(&readings.gpu_health)));
        checks.push(check("clock control", clock_control(readings)));
        let mut compiler = check("compiler", compiler(readings));
        if let Some(next) = &readings.cuda_compiler_next {
            compiler.advice.clone_from(next);
        }
        checks.push(compiler);
        checks.push(check("profilers", profilers(manifest, readings)));
    }
    checks
}

/// Why no GPU can be measured here; `None` if one can.
pub fn gpu_obstacle(manifest: &Manifest) -> Option<String> {
    let gpus = match &manifest.gpu {
        Probe::Known(gpus) => gpus,
        Probe::Absent(reason) | Probe::Failed(reason) => return Some(reason.clone()),
    };
    if gpus.devices.is_empty() {
        return Some("the driver lists no GPU".into());
    }
    if let Some(visible) = manifest.environment.get("CUDA_VISIBLE_DEVICES") {
        // CUDA stops at the first name it does not know, so these names hide every GPU.
        let first = visible.split(',').next().unwrap_or("").trim();
        if first.is_empty() || first == "-1" || first == "NoDevFiles" || first == "void" {
            return Some(format!("CUDA_VISIBLE_DEVICES=`{visible}` hides every GPU"));
        }
    }
    match gpus.devices.iter().find(|gpu| gpu.uuid.known().is_some() || gpu.model.known().is_some()) {
        Some(_) => None,
        None => Some(format!("no GPU can be opened: {}", shown(&gpus.devices[0].model))),
    }
}

fn devices(manifest: &Manifest, gpus: &GpuFacts) -> CheckResult {
    let mut models: Vec<(String, usize)> = vec![];
    for gpu in &gpus.devices {
        let model = shown(&gpu.model);
        match models.iter_mut().find(|(known, _)| *known == model) {
            Some((_, count)) => *count += 1,
            None => models.push((model, 1)),
        }
    }
    let models: Vec<String> = models.iter().map(|(model, count)| format!("{count} x {model}")).collect();
    let found = format!("{}, driver {}, CUDA {}", models.join(", "), shown(&gpus.driver), shown(&gpus.cuda));
    match gpu_obstacle(manifest) {
        None if gpus.nvml.known().is_none() => {
            let advice = "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility, if it is one";
            warning(
                format!("{found}; clocks, heat and other processes are not watched: {}", shown(&gpus.nvml)),
                advice,
            )
        }
        None => ok(found),
        Some(reason) => {
            problem(reason, "make `nvidia-smi` list a GPU, and let CUDA_VISIBLE_DEVICES name one or unset it")
        }
    }
}

/// The worst state of all GPUs, with each GPU's finding, and the advice of the worst.
fn combined(gpus: &[Gpu], topic: Topic) -> CheckResult {
    let mut findings: Vec<(String, Vec<String>)> = vec![];
    let mut worst = (CheckSeverity::Ok, "");
    for gpu in gpus {
        let (state, finding, advice) = topic(gpu);
        if state > worst.0 {
            worst = (state, advice);
        }
        match findings.iter_mut().find(|(known, _)| *known == finding) {
            Some((_, indices)) => indices.push(gpu.index.to_string()),
            None => findings.push((finding, vec![gpu.index.to_string()])),
        }
    }
    let finding = match findings.as_slice() {
        [(finding, _)] => finding.clone(),
        several => several
            .iter()
            .map(|(finding, indices)| format!("GPU {}: {finding}", indices.join(" ")))
            .collect::<Vec<_>>()
            .join("; "),
    };
    (worst.0, finding, worst.1)
}

/// The check of a known fact. A fact that should be known but is not becomes a warning.
fn of<T>(probe: &Probe<T>, known: impl FnOnce(&T) -> CheckResult) -> CheckResult {
    match probe {
        Probe::Known(value) => known(value),
        Probe::Absent(reason) => ok(reason),
        Probe::Failed(reason) => {
            warning(format!("unknown: {reason}"), "check the driver with `nvidia-smi -q`")
        }
    }
}

fn clocks(gpu: &Gpu) -> CheckResult {
    of(&gpu.clocks_locked, |locked| {
        if *locked {
            return ok("held by a setting");
        }
        let most = gpu.sm_clock_max.known().map_or_else(String::new, |mhz| format!(", free up to {mhz} MHz"));
        let advice = "lock them while it measures by `--lock-sm-clock base`, or for longer by `sudo nvidia-smi -lgc <MHz>` and `-rgc`; \
                      where that is not allowed, compare runs made side by side";
        warning(format!("no sign of a lock{most}"), advice)
    })
}

/// Never a problem: a gate that may not lock clocks still measures, and reports it.
fn clock_control(readings: &Readings) -> CheckResult {
    match &readings.clock_control {
        Probe::Known(_) => ok("`--lock-sm-clock base` locks them for a measurement and gives them back"),
        Probe::Absent(reason) | Probe::Failed(reason) => ok(reason),
    }
}

fn persistence(gpu: &Gpu) -> CheckResult {
    of(&gpu.persistence, |on| {
        if *on {
            return ok("on");
        }
        warning(
            "off: the driver unloads between processes and every start pays for it",
            "switch it on with `sudo nvidia-smi -pm 1`",
        )
    })
}

fn processes(gpu: &Gpu) -> CheckResult {
    let advice = "end them, or choose another GPU with CUDA_VISIBLE_DEVICES";
    of(&gpu.processes, |processes| {
        let used = gpu.memory_used.known().copied().unwrap_or(0);
        if processes.is_empty() && used > UNEXPLAINED_BYTES {
            let finding = format!("none visible, but {} are in use (another container?)", gibibytes(used));
            return warning(finding, advice);
        }
        let names: Vec<String> = processes
            .iter()
            .map(|process| match process.name.known() {
                Some(name) => format!("{} (pid {})", name.rsplit('/').next().unwrap_or(name), process.pid),
                None => format!("pid {}", process.pid),
            })
            .collect();
        if names.is_empty() { ok("none") } else { warning(names.join(", "), advice) }
    })
}

fn throttling(gpu: &Gpu) -> CheckResult {
    // Idling and a chosen clock also limit the clock, and are expected.
    const HARMLESS: [&str; 2] = ["gpu_idle", "applications_clocks_setting"];
    of(&gpu.throttle_reasons, |reasons| {
        let bad: Vec<&str> =
            reasons.iter().map(String::as_str).filter(|reason| !HARMLESS.contains(reason)).collect();
        if bad.is_empty() {
            ok("none now")
        } else if bad.iter().any(|reason| reason.starts_with("hw_") || reason.contains("thermal")) {
            let advice =
                "let it cool and look after its fans and power supply: numbers from now are worthless";
            problem(bad.join(", "), advice)
        } else {
            warning(bad.join(", "), "wait for other work to end, or lock a lower clock that it can hold")
        }
    })
}

fn temperature(gpu: &Gpu) -> CheckResult {
    of(&gpu.temperature, |degrees| {
        let finding = format!("{degrees} °C");
        if *degrees >= HOT { warning(finding, "let it cool before measuring") } else { ok(finding) }
    })
}

fn power_limit(gpu: &Gpu) -> CheckResult {
    of(&gpu.power_limit, |limit| match gpu.power_limit_default.known() {
        Some(default) if (limit - default).abs() >= 1.0 => warning(
            format!("{limit:.0} W, by default {default:.0} W"),
            "set it back with `sudo nvidia-smi -pl <W>`, or keep it the same for every run that is compared",
        ),
        _ => ok(format!("{limit:.0} W")),
    })
}

fn mig(gpu: &Gpu) -> CheckResult {
    of(&gpu.mig, |on| {
        if !*on {
            return ok("off");
        }
        warning(
            "on: a benchmark gets a slice, and its neighbours share power and heat",
            "name one slice in CUDA_VISIBLE_DEVICES, and compare only with runs on the same slice",
        )
    })
}

fn ecc(gpu: &Gpu) -> CheckResult {
    of(&gpu.ecc, |on| ok(if *on { "on" } else { "off" }))
}

/// A fault that waits for a reset or cannot be mended is a problem; one that is over, and a narrow link, are warnings.
fn health(cards: &[StandingHealth]) -> CheckResult {
    let mut worst = (CheckSeverity::Ok, "");
    let mut found: Vec<String> = Vec::new();
    for StandingHealth { gpu, signs, pcie_width, nvlinks, is_virtual } in cards {
        let narrow = pcie_width.filter(|[now, most]| now < most);
        let waits = signs.iter().any(|sign| sign.is_fault() && *sign != HealthSign::UncorrectedErrors);
        let state = if waits {
            let advice = "reset the GPU (`sudo nvidia-smi --gpu-reset`) or reboot; where it stays so, have the card replaced";
            (CheckSeverity::Problem, advice)
        } else if signs.iter().any(|sign| sign.is_fault()) {
            (
                CheckSeverity::Warning,
                "look at `nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT` before you trust it",
            )
        } else if narrow.is_some() {
            (
                CheckSeverity::Warning,
                "look at the card's seat, its riser and the slot: copies run at the link's speed",
            )
        } else if *is_virtual {
            (
                CheckSeverity::Warning,
                "compare only what was measured side by side: its neighbours share the card unseen",
            )
        } else {
            (CheckSeverity::Ok, "")
        };
        if state.0 > worst.0 {
            worst = state;
        }
        let signs = signs.iter().map(|sign| sign.to_string());
        let narrow = narrow.map(|[now, most]| format!("PCIe x{now} of x{most}"));
        let links = nvlinks.filter(|[active, all]| active < all && *active > 0);
        let links = links.map(|[active, all]| format!("{active} of {all} NVLinks are active"));
        let guest =
            is_virtual.then(|| "a virtual GPU, whose driver reports neither power nor errors".to_owned());
        let of_gpu: Vec<String> = signs.chain(narrow).chain(links).chain(guest).collect();
        if !of_gpu.is_empty() {
            found.push(format!("GPU {gpu}: {}", of_gpu.join(", ")));
        }
    }
    let finding = if found.is_empty() { "no sign of a fault".to_owned() } else { found.join("; ") };
    (worst.0, finding, worst.1)
}

/// Without NVRTC, the suite's own kernels and those of `[benchmark.cuda]` are skipped; the user's programs still run. One that
/// does not fit the driver or a card was meant to be used.
fn compiler(readings: &Readings) -> CheckResult {
    let advice = "fix it, or the built-in GPU benchmarks and those of `[benchmark.cuda]` are skipped";
    match &readings.cuda_compiler {
        Probe::Known(found) => ok(found),
        Probe::Absent(reason) => warning(reason, advice),
        Probe::Failed(reason) => problem(reason, advice),
    }
}

fn profilers(manifest: &Manifest, readings: &Readings) -> CheckResult {
    let is_missing = |tool: &&str| manifest.tools.get(*tool).is_none_or(|line| line.known().is_none());
    let missing: Vec<&str> = ["nsys", "ncu"].into_iter().filter(is_missing).collect();
    if !missing.is_empty() {
        let advice = "install Nsight Systems and Nsight Compute where regressions are to be explained";
        warning(format!("{} not on the PATH", missing.join(" and ")), advice)
    } else if readings.gpu_counters_restricted == Probe::Known(true) {
        warning(
            "nsys and ncu are here; the driver keeps its counters to the administrator",
            "load the driver with NVreg_RestrictProfilingToAdminUsers=0 to let ncu count",
        )
    } else {
        ok("nsys and ncu are here")
    }
}
