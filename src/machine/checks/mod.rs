//! Checks whether the facts allow measuring: each check a pure function from facts to a finding and an advice.

mod gpu;
mod host;

use serde::Serialize;

use super::Readings;
use crate::model::{Manifest, Probe};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSeverity {
    Ok,
    /// Measuring works, and its numbers deserve less trust than they could.
    Warning,
    /// Something cannot be measured, or not in earnest.
    Problem,
}

impl CheckSeverity {
    pub fn word(self) -> &'static str {
        match self {
            CheckSeverity::Ok => "ok",
            CheckSeverity::Warning => "warning",
            CheckSeverity::Problem => "problem",
        }
    }
}

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSubject {
    Gpu,
    Host,
    Project,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineCheck {
    pub part: CheckSubject,
    /// `clocks`, `governor`, `noise`.
    pub name: String,
    pub state: CheckSeverity,
    /// The finding, for readers.
    pub finding: String,
    /// The next step, in the imperative, without a trailing period; empty where nothing is.
    pub advice: String,
}

impl MachineCheck {
    fn new(
        part: CheckSubject,
        name: &str,
        state: CheckSeverity,
        finding: impl Into<String>,
        advice: &str,
    ) -> Self {
        Self { part, name: name.to_owned(), state, finding: finding.into(), advice: advice.to_owned() }
    }
}

/// All checks: GPU, host, project.
pub fn checks(manifest: &Manifest, readings: &Readings) -> Vec<MachineCheck> {
    let mut checks = gpu::checks(manifest, readings);
    checks.extend(host::checks(&manifest.host, readings));
    checks.push(host::repository(&manifest.git));
    checks
}

/// Why no GPU can be measured here; absent where one can.
pub fn gpu_obstacle(manifest: &Manifest) -> Option<String> {
    gpu::obstacle(manifest)
}

/// The text of a fact, or why it is not known.
fn shown<T: ToString>(probe: &Probe<T>) -> String {
    match probe {
        Probe::Known(value) => value.to_string(),
        Probe::Absent(reason) => reason.clone(),
        Probe::Failed(reason) => format!("unknown: {reason}"),
    }
}

/// `1.5 GiB`.
fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1u32 << 30))
}

#[cfg(test)]
mod tests {
    use super::super::{TempFolder, TimingNoise, sample};
    use super::*;

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
            gpu_counters_restricted: Probe::Known(false),
            noise: TimingNoise { repeats: 100, median_seconds: 0.004, spread: 0.01, worst: 1.1 },
        }
    }

    pub(super) fn check(checks: &[MachineCheck], name: &str) -> MachineCheck {
        checks.iter().find(|check| check.name == name).unwrap().clone()
    }

    #[test]
    fn whatever_is_not_ok_says_what_to_do() {
        let mut manifest = sample::manifest();
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
