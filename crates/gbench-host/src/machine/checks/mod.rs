//! Checks whether this machine can measure. Each check is a pure function from facts to a finding and advice.

mod check;
mod gpu;
mod host;

use super::Readings;
use gbench_model::Manifest;

pub use check::{CheckSeverity, CheckSubject, MachineCheck};
pub use gpu::gpu_obstacle;

pub fn checks(manifest: &Manifest, readings: &Readings) -> Vec<MachineCheck> {
    let mut checks = gpu::checks(manifest, readings);
    checks.extend(host::checks(&manifest.host, readings));
    checks.push(MachineCheck::new(CheckSubject::Project, "repository", host::repository(&manifest.git)));
    checks
}

#[cfg(test)]
pub(super) mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::super::test_support::spoilt;
    use super::super::{LockReading, TempFolder, TimingNoise};
    use super::*;
    use case_files::Given;
    use gbench_model::{CounterState, Probe};

    /// Readings of a machine without problems.
    fn readings() -> Readings {
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
            cuda_compiler_next: None,
            gpu_health: Vec::new(),
            measuring_lock: LockReading {
                folder: Some(Probe::Known("/run/lock".into())),
                holders: Vec::new(),
            },
            noise: TimingNoise { repeats: 100, median_seconds: 0.004, spread: 0.01, worst: 1.1 },
        }
    }

    fn of<T: DeserializeOwned>(value: &Value) -> T {
        T::deserialize(value).unwrap()
    }

    fn spoil(readings: &mut Readings, name: &str, value: &Value) {
        match name {
            "own_binary" => readings.own_binary = of(value),
            "timer_step_ns" => readings.timer_step_ns = of(value),
            "clocksource" => readings.clocksource = of(value),
            "turbo" => readings.turbo = of(value),
            "cpu_quota" => readings.cpu_quota = of(value),
            "temp.free" => readings.temp.free = of(value),
            "temp.direct" => readings.temp.direct = of(value),
            "perf_event_paranoid" => readings.perf_event_paranoid = of(value),
            "valgrind" => readings.valgrind = of(value),
            "gpu_counters_restricted" => readings.gpu_counters_restricted = of(value),
            "cuda_compiler" => readings.cuda_compiler = of(value),
            "cuda_compiler_next" => readings.cuda_compiler_next = of(value),
            "gpu_health" => readings.gpu_health = of(value),
            "measuring_lock.folder" => readings.measuring_lock.folder = of(value),
            "measuring_lock.holders" => readings.measuring_lock.holders = of(value),
            "noise.spread" => readings.noise.spread = of(value),
            "instruction_counter" => {
                let states = [CounterState::Works, CounterState::Unsupported, CounterState::Refused];
                let of_name = |state: &CounterState| serde_json::to_value(state).unwrap() == *value;
                readings.instruction_counter = states.into_iter().find(of_name).unwrap();
            }
            _ => panic!("{name}"),
        }
    }

    fn told(manifest: &Manifest, readings: &Readings) -> Vec<String> {
        let line = |MachineCheck { part, name, state, finding, advice }: MachineCheck| {
            // Every finding that is not OK has advice.
            assert_eq!(advice.is_empty(), state == CheckSeverity::Ok, "{finding}: {advice}");
            assert!(!finding.is_empty() && !advice.ends_with('.'), "{finding}: {advice}");
            let advice = if advice.is_empty() { String::new() } else { format!(" ({advice})") };
            format!("{part:?} {name}: {state:?}: {finding}{advice}")
        };
        let obstacle = gpu_obstacle(manifest).map(|why| format!("no GPU can be measured: {why}"));
        checks(manifest, readings).into_iter().map(line).chain(obstacle).collect()
    }

    /// Runs the checks on a healthy machine with the changes in `text`, one per line: `/place/in/manifest = value` or
    /// `reading = value`. Returns the checks that changed, or with `all` every check.
    pub(in crate::machine) fn answer(given: &Given) -> String {
        let (text, mut readings) = (given.text(), readings());
        let usual = told(&spoilt(""), &readings);
        let (manifest, others): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('/'));
        for line in others {
            let (name, value) = line.split_once(" = ").unwrap();
            spoil(&mut readings, name, &serde_json::from_str(value).unwrap());
        }
        let found = told(&spoilt(&manifest.join("\n")), &readings);
        if given.get("all").is_some() {
            return found.join("\n");
        }
        let name = |line: &String| line.split(": ").next().unwrap().to_owned();
        let gone = usual.iter().map(name).filter(|usual| !found.iter().any(|line| name(line) == *usual));
        let gone: Vec<String> = gone.collect();
        let mut differing: Vec<String> = found.into_iter().filter(|line| !usual.contains(line)).collect();
        if !gone.is_empty() {
            differing.push(format!("not checked: {}", gone.join(", ")));
        }
        if differing.is_empty() { "in order".into() } else { differing.join("\n") }
    }
}
