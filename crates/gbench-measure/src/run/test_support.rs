//! A made-up GPU, for the tests of what a benchmark needs.

use gbench_model::{Gpu, Probe};

pub(super) fn gpu(memory: u64, capability: &str) -> Gpu {
    let none = || Probe::Absent(String::new());
    Gpu {
        index: 0,
        model: none(),
        uuid: Probe::Absent(String::new()),
        compute_capability: Probe::Known(capability.into()),
        memory_total: Probe::Known(memory),
        memory_used: Probe::Absent(String::new()),
        sm_clock: Probe::Absent(String::new()),
        sm_clock_max: Probe::Absent(String::new()),
        memory_clock: Probe::Absent(String::new()),
        memory_clock_max: Probe::Absent(String::new()),
        clocks_locked: Probe::Absent(String::new()),
        power_limit: Probe::Absent(String::new()),
        power_limit_default: Probe::Absent(String::new()),
        power: Probe::Absent(String::new()),
        persistence: Probe::Absent(String::new()),
        ecc: Probe::Absent(String::new()),
        mig: Probe::Absent(String::new()),
        pcie_generation: Probe::Absent(String::new()),
        pcie_width: Probe::Absent(String::new()),
        temperature: Probe::Absent(String::new()),
        throttle_reasons: Probe::Absent(String::new()),
        processes: Probe::Absent(String::new()),
    }
}
