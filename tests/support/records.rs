//! Records for tests: a small suite on a small GPU server, measured with noise from a fixed seed.

use std::collections::BTreeMap;

use gbench_ci::model::*;
use gbench_model::test_support::{self, failed, metric, record, skipped};

pub use gbench_model::test_support::case_id;

/// A record of [`STANDARD`]. Two seeds are two runs of the same code on the same machine.
pub fn standard(seed: u32) -> RunRecord {
    build(seed, &STANDARD)
}

/// One metric of one case: its processes scatter by `spread`, their samples by a quarter of that.
#[derive(Clone, Copy)]
pub struct Planned {
    pub benchmark: &'static str,
    pub n: i64,
    pub device: &'static str,
    pub metric: &'static str,
    pub unit: &'static str,
    pub centre: f64,
    pub spread: f64,
}

const H100: &str = "cuda:NVIDIA H100 80GB HBM3";

/// A time and a rate on the GPU, a rate on the host, a size that never varies.
pub const STANDARD: [Planned; 4] = [
    plan("kernels/gemm", 1024, H100, "time", "s", 1.25e-3, 0.004),
    plan("kernels/softmax", 4096, H100, "throughput", "GB/s", 1840.0, 0.006),
    plan("io/read", 64, "host", "bandwidth", "GB/s", 5.2, 0.008),
    plan("build/module", 0, "host", "size", "B", 48_128.0, 0.0),
];

pub const fn plan(
    benchmark: &'static str,
    n: i64,
    device: &'static str,
    metric: &'static str,
    unit: &'static str,
    centre: f64,
    spread: f64,
) -> Planned {
    Planned { benchmark, n, device, metric, unit, centre, spread }
}

const PROCESSES: u32 = 6;
const ITERATIONS: u32 = 5;

pub fn build(seed: u32, plans: &[Planned]) -> RunRecord {
    build_sized(seed, plans, PROCESSES, ITERATIONS)
}

/// A record of any size: `processes` of `iterations` samples for every plan.
pub fn build_sized(seed: u32, plans: &[Planned], processes: u32, iterations: u32) -> RunRecord {
    let cases = plans.iter().enumerate();
    let cases = cases.map(|(index, plan)| case(plan, (seed, index as u32), processes, iterations)).collect();
    RunRecord {
        // The version in which `fixtures/comparisons` was written: files that are kept are not edited.
        schema: SCHEMAS_READ[0].into(),
        run_id: format!("20261121T10{seed:02}00.000Z-{seed:06x}").parse().unwrap(),
        started: format!("2026-11-21T10:{seed:02}:00.000Z"),
        finished: Some(format!("2026-11-21T10:{seed:02}:42.000Z")),
        source: RunSource {
            suite: "fixture".into(),
            path: Some("gbench.toml".into()),
            sha256: Some("5d".repeat(32)),
        },
        manifest: manifest(),
        ..record(cases)
    }
}

fn case(plan: &Planned, (seed, index): (u32, u32), processes: u32, iterations: u32) -> CaseRecord {
    let centre = |process| plan.centre * (1.0 + plan.spread * noise([seed, index, process, u32::MAX]));
    let sample = |process, iteration| {
        let value = centre(process) * (1.0 + plan.spread / 4.0 * noise([seed, index, process, iteration]));
        // Six digits, as a timer would give, so that fixtures stay short.
        format!("{value:.5e}").parse().unwrap()
    };
    let samples =
        (0..processes).map(|process| (0..iterations).map(|iteration| sample(process, iteration)).collect());
    let shown = |value: serde_json::Value| Shown { value, origin: Origin::Default };
    let id = CaseId {
        params: Params::from([("n".into(), ParamValue::Int(plan.n))]),
        device: plan.device.into(),
        ..case_id(plan.benchmark)
    };
    CaseRecord {
        components: vec![if plan.device == "host" { Component::Cpu } else { Component::Gpu }],
        config: BTreeMap::from([
            ("iterations".into(), shown(iterations.into())),
            ("processes".into(), shown(processes.into())),
            ("threshold".into(), shown(0.05.into())),
        ]),
        ..test_support::case(
            id,
            (0..processes).map(process).collect(),
            vec![metric(plan.metric, plan.unit, samples)],
        )
    }
}

fn process(index: u32) -> ProcessRecord {
    let measured =
        StageReport { stage: Stage::Measure, status: StageStatus::Completed, seconds: 0.25, limit: 300.0 };
    ProcessRecord {
        started: format!("2026-11-21T10:00:{index:02}.000Z"),
        // Once is enough for a reader, and keeps the fixtures short.
        stages: Vec::from_iter((index == 0).then_some(measured)),
        ..test_support::process(index)
    }
}

/// Roughly normal with deviation 1, the same for the same key on every machine: twelve uniform numbers from
/// splitmix64 (Steele, Lea & Flood 2014).
pub fn noise(key: [u32; 4]) -> f64 {
    let mut state = key.iter().fold(0x5EED_u64, |state, part| {
        (state ^ u64::from(*part)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
    });
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

fn known<T: From<&'static str>>(text: &'static str) -> Probe<T> {
    Probe::Known(text.into())
}

pub fn manifest() -> Manifest {
    let mut manifest = test_support::manifest();
    *test_support::git(&mut manifest) = GitFacts {
        commit: Some("3f".repeat(20)),
        commit_time: Some("2026-11-20T08:00:00Z".into()),
        ..test_support::git(&mut manifest).clone()
    };
    Manifest {
        host: HostFacts {
            hostname: known("bench-1"),
            os: known("Debian GNU/Linux 13"),
            kernel: known("6.12.0"),
            cpu_model: known("AMD EPYC 9354"),
            cores: Probe::Known(32),
            last_level_cache: Probe::Known(256 << 20),
            memory_total: Probe::Known(256 << 30),
            memory_available: Probe::Known(240 << 30),
            load: Probe::Known(0.25),
            ..manifest.host
        },
        gpu: Probe::Known(GpuFacts {
            driver: known("570.86.15"),
            cuda: known("12.8"),
            nvml: known("12.570.86.15"),
            devices: vec![Gpu {
                model: known("NVIDIA H100 80GB HBM3"),
                uuid: known("GPU-0b7b3c1e"),
                memory_used: Probe::Known(1 << 30),
                power: Probe::Known(95.5),
                temperature: Probe::Known(38),
                throttle_reasons: Probe::Known(Vec::new()),
                ..test_support::gpu(0)
            }],
        }),
        tools: BTreeMap::from([("nvcc".into(), known("release 12.8, V12.8.61"))]),
        ..manifest
    }
}

/// The case of a benchmark, for changing it.
pub fn case_of<'a>(record: &'a mut RunRecord, benchmark: &str) -> &'a mut CaseRecord {
    record.cases.iter_mut().find(|case| case.id.benchmark.as_str() == benchmark).unwrap()
}

/// Multiplies every sample of a benchmark.
pub fn scale(record: &mut RunRecord, benchmark: &str, factor: f64) {
    let metrics = case_of(record, benchmark).metrics.iter_mut();
    for value in metrics.flat_map(|metric| &mut metric.processes).flat_map(|process| &mut process.values) {
        *value = format!("{:.5e}", *value * factor).parse().unwrap();
    }
}

/// Lets a benchmark crash in its second process, before it named its device.
pub fn crash(record: &mut RunRecord, benchmark: &str) {
    let case = case_of(record, benchmark);
    let (cause, advice) = ("ended by SIGSEGV while measuring", "read logs/kernels.gemm/1.stderr");
    let outcome = failed(FailureKind::Signal, cause, advice);
    case.id.device = "host".into();
    case.outcome = outcome.clone();
    case.processes.truncate(2);
    case.processes[1].outcome = outcome;
    case.processes[1].end = Some(ProcessEnd::Signal(11));
    for metric in &mut case.metrics {
        metric.processes.truncate(2);
        metric.processes[1].partial = true;
    }
}

/// Skips a benchmark as a machine without its requirement would.
pub fn skip(record: &mut RunRecord, benchmark: &str) {
    let case = case_of(record, benchmark);
    case.id.device = "host".into();
    case.outcome = skipped("needs 2 GPUs, 1 is here", "run it on a machine with 2 GPUs");
    case.processes.clear();
    case.metrics.clear();
}
