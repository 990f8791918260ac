//! A healthy machine and a successful run, from which tests change one thing at a time. Tests of other crates add differences
//! with `..record(cases)`, so that a new field of a record is added in one place.

// Only tests are built with this, and a panic fails the test.
#![allow(clippy::unwrap_used)]

use super::case::{CaseId, Component, Kind, Params, Thermal, Timing};
use super::record::manifest::{DirtyFacts, GitFacts, Gpu, GpuFacts, HostFacts, Manifest, Probe};
use super::record::outcome::{FailureKind, Outcome};
use super::record::samples::{Metric, ProcessSamples};
use super::record::{
    CaseRecord, ProcessEnd, ProcessRecord, RecordState, RunRecord, RunSource, SCHEMA_RECORD, ToolInfo,
};

pub fn case_id(benchmark: &str) -> CaseId {
    CaseId {
        benchmark: benchmark.parse().unwrap(),
        variant: None,
        params: Params::new(),
        timing: Timing::Protocol,
        thermal: Thermal::Warm,
        device: "host".into(),
    }
}

pub fn record(cases: Vec<CaseRecord>) -> RunRecord {
    RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id: "20261121T110102.345Z-7d01aa".parse().unwrap(),
        tool: ToolInfo { name: "gbench-ci".into(), version: "0.1.0".into() },
        state: RecordState::Complete,
        cut_short: None,
        exclusive: None,
        started: "2026-11-21T11:01:02.345Z".into(),
        finished: Some("2026-11-21T11:02:31.120Z".into()),
        side: None,
        comparison: None,
        ingested: None,
        source: RunSource { suite: "kernels".into(), path: Some("gbench.toml".into()), sha256: None },
        command: ["gbench-ci", "run"].map(String::from).to_vec(),
        config: [].into(),
        manifest: manifest(),
        clocks: None,
        cases,
        warnings: vec![],
    }
}

/// A case with these processes, all of which were measured.
pub fn case(id: CaseId, processes: Vec<ProcessRecord>, metrics: Vec<Metric>) -> CaseRecord {
    CaseRecord {
        id,
        description: String::new(),
        components: vec![Component::Cpu],
        kind: Kind::Synthetic,
        tags: vec![],
        group: None,
        command: vec![],
        env: [].into(),
        config: [].into(),
        outcome: Outcome::Measured,
        processes,
        metrics,
        declared: [].into(),
        metadata: [].into(),
        warnings: vec![],
        nothing_measured: vec![],
        device_code: None,
        device_code_varies: false,
        answer: Default::default(),
        part_of_whole: false,
        load: None,
        profiles: vec![],
    }
}

pub fn process(index: u32) -> ProcessRecord {
    ProcessRecord {
        index,
        started: "2026-11-21T11:01:02.345Z".into(),
        seconds: 0.5,
        outcome: Outcome::Measured,
        end: Some(ProcessEnd::Exit(0)),
        stages: vec![],
        peak_rss_bytes: Some(64 << 20),
        device_peak_bytes: None,
        cpu_seconds: Some(0.5),
        leftovers: 0,
        output_bytes: 0,
        absent: vec![],
        after_timeout: None,
        round: None,
        slot: None,
        shared: None,
        lockstep: false,
        gpus: vec![],
        conditions: None,
        error: None,
    }
}

/// A metric with the samples of each process.
pub fn metric(name: &str, unit: &str, samples: impl IntoIterator<Item = Vec<f64>>) -> Metric {
    let process = |(process, values)| ProcessSamples { process, values, ..ProcessSamples::default() };
    let processes = (0..).zip(samples).map(process).collect();
    Metric { name: name.into(), unit: unit.into(), better: None, processes, summary: None }
}

pub fn skipped(cause: &str, advice: &str) -> Outcome {
    Outcome::Skipped { code: None, cause: cause.into(), advice: advice.into() }
}

pub fn invalid(cause: &str, advice: &str) -> Outcome {
    Outcome::Invalid { code: None, cause: cause.into(), advice: advice.into() }
}

pub fn failed(kind: FailureKind, cause: &str, advice: &str) -> Outcome {
    Outcome::Failed { kind, cause: cause.into(), advice: advice.into() }
}

pub fn manifest() -> Manifest {
    Manifest {
        host: HostFacts {
            hostname: Probe::Known("box".into()),
            os: Probe::Known("Debian 13".into()),
            kernel: Probe::Known("6.12".into()),
            architecture: "x86_64".into(),
            cpu_model: Probe::Known("EPYC".into()),
            cores: Probe::Known(8),
            last_level_cache: Probe::Known(32 << 20),
            governor: Probe::Known("performance".into()),
            memory_total: Probe::Known(64 << 30),
            memory_available: Probe::Known(60 << 30),
            load: Probe::Known(0.1),
            container: Probe::Known("none".into()),
            virtualization: Probe::Known("none".into()),
        },
        gpu: Probe::Known(GpuFacts {
            driver: Probe::Known("550.54".into()),
            cuda: Probe::Known("12.4".into()),
            nvml: Probe::Known("12.550.54".into()),
            devices: vec![gpu(0), gpu(1)],
        }),
        git: Probe::Known(GitFacts {
            commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
            commit_time: None,
            branch: Some("main".into()),
            detached: false,
            shallow: false,
            worktree: false,
            dirty: DirtyFacts::default(),
            merge_parents: vec![],
            submodules: [].into(),
        }),
        tools: ["nsys", "ncu"].map(|tool| (tool.to_owned(), Probe::Known("1".to_owned()))).into(),
        environment: [].into(),
    }
}

pub fn gpu(index: u32) -> Gpu {
    Gpu {
        index,
        model: Probe::Known("H100".into()),
        uuid: Probe::Known(format!("GPU-{index}")),
        compute_capability: Probe::Known("9.0".into()),
        memory_total: Probe::Known(80 << 30),
        memory_used: Probe::Known(0),
        sm_clock: Probe::Known(1980),
        sm_clock_max: Probe::Known(1980),
        memory_clock: Probe::Known(2619),
        memory_clock_max: Probe::Known(2619),
        clocks_locked: Probe::Known(true),
        power_limit: Probe::Known(700.0),
        power_limit_default: Probe::Known(700.0),
        power: Probe::Known(90.0),
        persistence: Probe::Known(true),
        ecc: Probe::Known(true),
        mig: Probe::Known(false),
        pcie_generation: Probe::Known(5),
        pcie_width: Probe::Known(16),
        temperature: Probe::Known(40),
        throttle_reasons: Probe::Known(vec!["gpu_idle".into()]),
        processes: Probe::Known(vec![]),
    }
}

pub fn devices(manifest: &mut Manifest) -> &mut Vec<Gpu> {
    match &mut manifest.gpu {
        Probe::Known(gpus) => &mut gpus.devices,
        _ => unreachable!("the sample has GPUs"),
    }
}

pub fn git(manifest: &mut Manifest) -> &mut GitFacts {
    match &mut manifest.git {
        Probe::Known(git) => git,
        _ => unreachable!("the sample has a repository"),
    }
}
