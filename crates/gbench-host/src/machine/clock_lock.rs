//! Locks clocks and sets power limits for a measurement: read the state, start the guard, lock, read back. At the end the
//! same in reverse.
//!
//! A card whose clocks another program has locked is left as it is: NVML does not report the range of a lock, so the
//! lock could not be restored. A foreign lock that leaves no trace (an idle card, locked at its highest clock) goes
//! unnoticed, and is released at the end together with the gate's own.
//!
//! Two gates on one card would release each other's locks. Callers must therefore hold the card's exclusive lock from
//! before [`ClockLock::take`] until [`ClockLock::give_back`] has returned.

use std::path::Path;

use super::clock_guard::{ClockGuard, ClockPlan};
use super::nvml::{ClockRefusal, ClockSetter, HeldSetting};
use gbench_model::{
    ClockChoice, ClockControl, ClockDomain, ClockOutcome, ControlledClock, ControlledGpu, ControlledPower,
    Probe,
};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockRequest {
    pub sm: ClockChoice,
    pub memory: ClockChoice,
    /// Watts; `None` leaves the power limit alone.
    pub power_limit: Option<f64>,
    /// The devices that processes may see, each as in `CUDA_VISIBLE_DEVICES`; an empty text means every GPU.
    pub visible: Vec<String>,
}

impl ClockRequest {
    pub fn is_off(&self) -> bool {
        self.sm.is_off() && self.memory.is_off() && self.power_limit.is_none()
    }

    fn choices(&self) -> [(ClockDomain, ClockChoice); 2] {
        [(ClockDomain::Sm, self.sm), (ClockDomain::Memory, self.memory)]
    }

    /// True if processes may see this GPU. MIG slices never match: their clocks belong to the neighbouring slices, too.
    fn means(&self, index: u32, uuid: &str) -> bool {
        let is_it = |entry: &str| match entry.parse::<u32>() {
            Ok(number) => number == index,
            Err(_) => entry.starts_with("GPU-") && uuid.starts_with(entry),
        };
        self.visible.iter().any(|list| {
            list.trim().is_empty()
                || list.split(',').map(str::trim).any(|entry| !entry.is_empty() && is_it(entry))
        })
    }
}

/// Locked clocks. If this is dropped without [`ClockLock::give_back`], the guard gives them back.
pub struct ClockLock {
    setter: ClockSetter,
    guard: ClockGuard,
    plan: ClockPlan,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClocksGivenBack {
    /// Something ended the guard before the gate did.
    pub guard_was_gone: bool,
    /// UUID, setting and reason for each that is not given back.
    pub refused: Vec<(String, HeldSetting, String)>,
    /// UUID, clock and MHz read afterwards. NVML offers no better check.
    pub reads: Vec<(String, ClockDomain, u32)>,
}

impl ClockLock {
    /// Locks the requested clocks as far as the driver allows. Never fails: the answer lists each clock that was not
    /// locked, with the reason. `binary` is the gbench-ci executable, which is also the guard. The lock is `None` if
    /// nothing was locked.
    pub fn take(binary: &Path, request: &ClockRequest) -> (ClockControl, Option<Self>) {
        let choices = [request.sm, request.memory];
        let untried = |why: String| (ClockControl::untried(choices, request.power_limit, why), None);
        let setter = match ClockSetter::open() {
            Ok(setter) => setter,
            Err(why) => return untried(why),
        };
        let cards = setter.cards().into_iter().filter(|(index, uuid, _)| request.means(*index, uuid));
        let mut gpus: Vec<ControlledGpu> = cards
            .map(|(index, uuid, before)| {
                let power_limit = request.power_limit.map(|watts| planned(&setter, &uuid, watts));
                ControlledGpu { index, uuid, before, sm: None, memory: None, power_limit }
            })
            .collect();
        if gpus.is_empty() {
            return untried("no GPU that the benchmarks may see can be asked".into());
        }
        let asked = || request.choices().into_iter().filter(|(_, choice)| !choice.is_off());
        let free = gpus.iter().filter(|gpu| gpu.before.held != Probe::Known(true));
        let clock = |gpu: &ControlledGpu, domain| (gpu.uuid.clone(), HeldSetting::Clock(domain));
        let clocks = free.flat_map(|gpu| asked().map(|(domain, _)| clock(gpu, domain)));
        let plan = ClockPlan { settings: clocks.chain(limits(&gpus)).collect() };
        let guard = if plan.settings.is_empty() {
            None
        } else {
            match ClockGuard::start(binary, &plan) {
                Ok(guard) => Some(guard),
                Err(why) => return untried(why),
            }
        };
        for gpu in &mut gpus {
            for (domain, choice) in asked() {
                let clock = if gpu.before.held == Probe::Known(true) {
                    left()
                } else {
                    lock(&setter, &gpu.uuid, domain, choice)
                };
                match domain {
                    ClockDomain::Sm => gpu.sm = Some(clock),
                    ClockDomain::Memory => gpu.memory = Some(clock),
                }
            }
            if let (Some(limit), Some(watts)) = (&mut gpu.power_limit, request.power_limit) {
                set_limit(&setter, &gpu.uuid, limit, watts);
            }
        }
        let locked = |(uuid, setting): &(String, HeldSetting)| {
            gpus.iter().filter(|gpu| gpu.uuid == *uuid).any(|gpu| match setting {
                HeldSetting::Clock(domain) => gpu.is_locked(*domain),
                HeldSetting::Power { .. } => is_to_be_set(gpu),
            })
        };
        let plan =
            ClockPlan { settings: plan.settings.into_iter().filter(|setting| locked(setting)).collect() };
        let control = ClockControl::new(choices, request.power_limit, gpus);
        let lock = match guard {
            Some(guard) if !plan.settings.is_empty() => Some(Self { setter, guard, plan }),
            Some(guard) => {
                guard.dismiss();
                None
            }
            None => None,
        };
        (control, lock)
    }

    /// Gives everything back, the last lock first. For clocks that the driver refuses, the guard retries for some seconds.
    pub fn give_back(self) -> ClocksGivenBack {
        let Self { setter, guard, plan } = self;
        let guard_was_gone = !guard.is_alive();
        let refused = plan.give_back(&setter);
        // The guard ends only after the last clock is free, because the gate may be killed between any two of them.
        let refused = if refused.is_empty() {
            guard.dismiss();
            refused
        } else if guard.gives_back() {
            Vec::new()
        } else {
            refused
        };
        let reads = |(uuid, setting): (String, HeldSetting)| {
            let HeldSetting::Clock(domain) = setting else { return None };
            let mhz = setter.reads(&uuid, domain)?;
            Some((uuid, domain, mhz))
        };
        let reads = plan.settings.into_iter().filter_map(reads).collect();
        ClocksGivenBack { guard_was_gone, refused, reads }
    }
}

fn left() -> ControlledClock {
    ControlledClock {
        outcome: ClockOutcome::Left,
        min_mhz: None,
        max_mhz: None,
        reads_mhz: None,
        why: Some(
            "another program has already locked this GPU's clocks, so they are left as they are".into(),
        ),
    }
}

/// A limit that the card takes, to be set, or why it is not.
fn planned(setter: &ClockSetter, uuid: &str, watts: f64) -> ControlledPower {
    match setter.power_limit(uuid, watts) {
        Ok(before) => {
            ControlledPower { outcome: ClockOutcome::Locked, before: Some(before), reads: None, why: None }
        }
        Err(ClockRefusal { outcome, why }) => {
            ControlledPower { outcome, before: None, reads: None, why: Some(why) }
        }
    }
}

fn is_to_be_set(gpu: &ControlledGpu) -> bool {
    gpu.power_limit.as_ref().is_some_and(|limit| limit.outcome == ClockOutcome::Locked)
}

/// The limits to be set, with what they are restored to.
fn limits(gpus: &[ControlledGpu]) -> impl Iterator<Item = (String, HeldSetting)> {
    gpus.iter().filter(|gpu| is_to_be_set(gpu)).filter_map(|gpu| {
        let before = milliwatts(gpu.power_limit.as_ref()?.before?);
        Some((gpu.uuid.clone(), HeldSetting::Power { before }))
    })
}

fn set_limit(setter: &ClockSetter, uuid: &str, limit: &mut ControlledPower, watts: f64) {
    if limit.outcome != ClockOutcome::Locked {
        return;
    }
    match setter.set_power_limit(uuid, milliwatts(watts)) {
        Ok(reads) => limit.reads = reads,
        Err(ClockRefusal { outcome, why }) => (limit.outcome, limit.why) = (outcome, Some(why)),
    }
}

/// Whole milliwatts, as the driver counts them.
fn milliwatts(watts: f64) -> u32 {
    (watts * 1000.0).round() as u32
}

fn lock(setter: &ClockSetter, uuid: &str, domain: ClockDomain, choice: ClockChoice) -> ControlledClock {
    match setter.lock(uuid, domain, choice) {
        Ok(range) => ControlledClock {
            outcome: ClockOutcome::Locked,
            min_mhz: range.map(|[min, _]| min),
            max_mhz: range.map(|[_, max]| max),
            reads_mhz: setter.reads(uuid, domain),
            why: None,
        },
        Err(ClockRefusal { outcome, why }) => {
            ControlledClock { outcome, min_mhz: None, max_mhz: None, reads_mhz: None, why: Some(why) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gpus_that_processes_may_see_are_meant_and_slices_are_none() {
        let means = |visible: &[&str], index, uuid| {
            let visible = visible.iter().map(|list| (*list).to_owned()).collect();
            ClockRequest { visible, ..ClockRequest::default() }.means(index, uuid)
        };
        assert!(means(&[""], 3, "GPU-a") && means(&["1, 3"], 3, "GPU-a") && means(&["0", "3"], 3, "GPU-a"));
        assert!(means(&["GPU-ab"], 0, "GPU-abc") && !means(&["GPU-b"], 0, "GPU-abc"));
        assert!(
            !means(&["1"], 0, "GPU-a")
                && !means(&["MIG-GPU-a/1/0"], 0, "GPU-a")
                && !means(&["-1"], 0, "GPU-a")
        );
        assert!(!means(&[], 0, "GPU-a"));
    }
}
