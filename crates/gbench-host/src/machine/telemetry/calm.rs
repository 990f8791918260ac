//! Checks that the GPUs are idle before a process begins. No process of the run is on them then, so all activity
//! belongs to others.

use std::collections::BTreeMap;

use crate::machine::gpu_reading::{GpuReading, GpuState, Whose};
use gbench_model::{ForeignProcess, Unrest};

/// Percent of utilisation above which a card is busy. A display or an idle notebook needs less.
const BUSY: f64 = 10.0;

/// Bytes by which the memory in use may exceed the minimum: contexts of drivers and displays come and go.
const MEMORY_SLACK: u64 = 256 << 20;

/// NVML's names of limits by heat or the power supply. Not `hw_slowdown` alone: NVIDIA's driver also sets that while a card
/// changes its clocks, as it does right after a process.
const SLOWED: [&str; 3] = ["hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"];

#[derive(Default)]
pub(in crate::machine) struct CalmCheck {
    /// Degrees Celsius; `None`: no limit.
    max_temperature: Option<f64>,
    /// The least bytes in use so far, by the GPU's index.
    idle: BTreeMap<u32, u64>,
    /// A process of the run has started, so the last second's utilisation may belong to it.
    pub started: bool,
}

impl CalmCheck {
    pub(crate) fn new(max_temperature: Option<f64>) -> Self {
        Self { max_temperature, ..Self::default() }
    }

    /// Why the GPUs are not idle; empty if they are, or if nothing is known. `waited`: no process of the run was on
    /// them for more than a second, so their utilisation belongs to others.
    pub(crate) fn unrest(&mut self, gpus: &[GpuReading], waited: bool) -> Vec<Unrest> {
        let alone = waited || !self.started;
        gpus.iter().flat_map(|gpu| self.of_gpu(gpu.index, gpu.state.as_ref().ok(), alone)).collect()
    }

    fn of_gpu(&mut self, gpu: u32, state: Option<&GpuState>, alone: bool) -> Vec<Unrest> {
        let Some(state) = state else { return Vec::new() };
        let mut found = Vec::new();
        // NVML gives no utilisation of slices (MIG) and virtual GPUs: a process that only has memory there may rest.
        let works = state.utilization.is_some_and(|utilization| utilization >= BUSY);
        // A process with an unknown owner is not part of the run either: the run has none on the GPU now.
        let others = state.processes.iter().filter(|user| user.whose != Whose::Ours);
        let others: Vec<ForeignProcess> =
            others.map(|user| ForeignProcess { pid: user.pid, name: user.name.clone() }).collect();
        if works {
            found.extend(others.iter().map(|process| Unrest::OtherProcess { gpu, process: process.clone() }));
        }
        if let Some(utilization) = state.utilization.filter(|share| alone && *share >= BUSY)
            && others.is_empty()
        {
            found.push(Unrest::Busy { gpu, utilization });
        }
        if let (Some(temperature), Some(limit)) = (state.temperature, self.max_temperature)
            && temperature >= limit
        {
            found.push(Unrest::Hot { gpu, temperature, limit });
        }
        let slowed = state.reasons.iter().filter(|reason| SLOWED.contains(&reason.as_str()));
        found.extend(slowed.map(|reason| Unrest::Slowed { gpu, reason: reason.clone() }));
        // Without a utilisation it is a card of several slices or guests, whose memory comes and goes.
        if let Some(bytes) = state.memory_used.filter(|_| state.utilization.is_some()) {
            let idle = self.idle.entry(gpu).or_insert(bytes);
            *idle = bytes.min(*idle);
            if bytes - *idle > MEMORY_SLACK {
                found.push(Unrest::MemoryInUse { gpu, bytes, idle: *idle });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::gpu_reading::GpuUser;
    use gbench_model::TelemetryGap;

    fn gpu(state: GpuState) -> Vec<GpuReading> {
        vec![GpuReading { index: 0, uuid: None, model: None, state: Ok(state) }]
    }

    fn used(utilization: f64, whose: Whose) -> GpuState {
        let user = GpuUser { pid: 7, name: Some("python3".into()), whose };
        GpuState { utilization: Some(utilization), processes: vec![user], ..GpuState::default() }
    }

    #[test]
    fn a_process_of_others_counts_while_the_card_works_and_ours_never() {
        let mut check = CalmCheck::default();
        let process = ForeignProcess { pid: 7, name: Some("python3".into()) };
        let other = vec![Unrest::OtherProcess { gpu: 0, process }];
        assert_eq!(check.unrest(&gpu(used(50.0, Whose::Others)), false), other);
        assert_eq!(check.unrest(&gpu(used(50.0, Whose::Unknown)), false), other);
        assert_eq!(check.unrest(&gpu(used(0.0, Whose::Others)), false), []);
        let slice = GpuState { utilization: None, ..used(0.0, Whose::Others) };
        assert_eq!(check.unrest(&gpu(slice), true), [], "a slice has no utilisation");
        let busy = vec![Unrest::Busy { gpu: 0, utilization: 50.0 }];
        assert_eq!(check.unrest(&gpu(used(50.0, Whose::Ours)), false), busy, "it is no process of the run's");
    }

    #[test]
    fn a_card_that_works_unseen_is_told_only_where_the_last_second_was_not_the_runs_own() {
        let mut check = CalmCheck::default();
        let working = gpu(GpuState { utilization: Some(80.0), ..GpuState::default() });
        assert_eq!(check.unrest(&working, false).len(), 1, "nothing was started yet");
        check.started = true;
        assert_eq!(check.unrest(&working, false), []);
        assert_eq!(check.unrest(&working, true), [Unrest::Busy { gpu: 0, utilization: 80.0 }]);
    }

    #[test]
    fn heat_slowdown_and_memory_that_does_not_come_back_are_told() {
        let mut check = CalmCheck { max_temperature: Some(70.0), ..CalmCheck::default() };
        let state = |memory: u64| GpuState {
            utilization: Some(0.0),
            temperature: Some(71.0),
            reasons: ["gpu_idle", "hw_slowdown", "hw_thermal_slowdown"].map(String::from).to_vec(),
            memory_used: Some(memory),
            ..GpuState::default()
        };
        let hot = Unrest::Hot { gpu: 0, temperature: 71.0, limit: 70.0 };
        let slowed = Unrest::Slowed { gpu: 0, reason: "hw_thermal_slowdown".into() };
        assert_eq!(check.unrest(&gpu(state(1 << 30)), false), [hot.clone(), slowed.clone()]);
        let memory = Unrest::MemoryInUse { gpu: 0, bytes: 2 << 30, idle: 1 << 30 };
        assert_eq!(check.unrest(&gpu(state(2 << 30)), false), [hot, slowed, memory]);
        let slice = GpuState { utilization: None, ..state(2 << 30) };
        assert_eq!(
            check.unrest(&gpu(slice), false).len(),
            2,
            "the memory of a slice's neighbours comes and goes"
        );
        let lost = GpuReading { state: Err(TelemetryGap::GpuLost), ..gpu(GpuState::default()).remove(0) };
        assert_eq!(check.unrest(&[lost], true), [], "nothing is known of it");
    }
}
