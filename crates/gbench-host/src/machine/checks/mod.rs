//! Checks whether the facts allow measuring: each check a pure function from facts to a finding and an advice.

mod check;
mod gpu;
mod host;

use super::Readings;
use gbench_model::Manifest;

pub use check::{CheckSeverity, CheckSubject, MachineCheck};
pub use gpu::gpu_obstacle;

/// All checks: GPU, host, project.
pub fn checks(manifest: &Manifest, readings: &Readings) -> Vec<MachineCheck> {
    let mut checks = gpu::checks(manifest, readings);
    checks.extend(host::checks(&manifest.host, readings));
    checks.push(MachineCheck::new(CheckSubject::Project, "repository", host::repository(&manifest.git)));
    checks
}

#[cfg(test)]
mod tests {
    use super::super::{LockReading, TempFolder, TimingNoise};
    use super::*;
    use gbench_model::{CounterState, Probe, test_support};

    /// Readings of a machine in order.
    pub(super) fn readings() -> Readings {
        Readings {
            own_binary: Probe::Known("/usr/bin/gbench-ci".into()),
            timer_step_ns: Probe::Known(20),
            clocksource: Probe::Known("tsc".into()),
            address_randomization: Probe::Known(2),
            turbo: Probe::Known(false),
            cpu_quota: None,
            temp: TempFolder { path: "/tmp".into(), free: Probe::Known(9 << 30), direct: Probe::Known(true) },
            perf_event_paranoid: Probe::Known(2),
            instruction_counter: CounterState::Works,
            valgrind: Probe::Known("valgrind-3.19.0".into()),
            gpu_counters_restricted: Probe::Known(false),
            clock_control: Probe::Known(true),
            cuda_compiler: Probe::Known("NVRTC 12.4, CUDA 12.4 in the driver".into()),
            measuring_lock: LockReading {
                folder: Some(Probe::Known("/run/lock".into())),
                holders: Vec::new(),
            },
            noise: TimingNoise { repeats: 100, median_seconds: 0.004, spread: 0.01, worst: 1.1 },
        }
    }

    pub(super) fn check(checks: &[MachineCheck], name: &str) -> MachineCheck {
        checks.iter().find(|check| check.name == name).unwrap().clone()
    }

    #[test]
    fn whatever_is_not_ok_says_what_to_do() {
        let mut manifest = test_support::manifest();
        manifest.gpu = Probe::Failed("driver".into());
        manifest.git = Probe::Failed("owner".into());
        manifest.host.cpu_model = Probe::Failed("no /proc".into());
        manifest.host.load = Probe::Failed("no /proc".into());
        for check in checks(&manifest, &readings()) {
            assert_eq!(check.advice.is_empty(), check.state == CheckSeverity::Ok, "{check:?}");
            assert!(!check.finding.is_empty() && !check.advice.ends_with('.'), "{check:?}");
        }
    }
}
