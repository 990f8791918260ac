//! A machine in order, for tests to spoil one thing at a time.

use super::{DirtyFacts, GitFacts, Gpu, GpuFacts, HostFacts, Manifest, Probe};

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

/// The GPUs, to change.
pub fn devices(manifest: &mut Manifest) -> &mut Vec<Gpu> {
    match &mut manifest.gpu {
        Probe::Known(gpus) => &mut gpus.devices,
        _ => unreachable!("the sample has GPUs"),
    }
}
