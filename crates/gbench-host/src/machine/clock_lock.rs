//! Locks clocks for a measurement: read the state, start the guard, lock, read back. At the end the same in reverse.
//!
//! A card whose clocks another program has locked is left as it is: NVML does not report the range of a lock, so the
//! lock could not be restored. A foreign lock that leaves no trace (an idle card, locked at its highest clock) goes
//! unnoticed, and is released at the end together with the gate's own.
//!
//! Two gates on one card would release each other's locks. Callers must therefore hold the card's exclusive lock from
//! before [`ClockLock::take`] until [`ClockLock::give_back`] has returned.

use std::path::Path;

use super::clock_guard::{ClockGuard, ClockPlan};
use super::nvml::{ClockRefusal, ClockSetter};
use gbench_model::{
    ClockChoice, ClockControl, ClockDomain, ClockOutcome, ControlledClock, ControlledGpu, Probe,
};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockRequest {
    pub sm: ClockChoice,
    pub memory: ClockChoice,
    /// The devices that processes may see, each as in `CUDA_VISIBLE_DEVICES`; an empty text means every GPU.
    pub visible: Vec<String>,
}

impl ClockRequest {
    pub fn is_off(&self) -> bool {
        self.sm.is_off() && self.memory.is_off()
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
    /// UUID, clock and reason for each clock that is still locked.
    pub refused: Vec<(String, ClockDomain, String)>,
    /// UUID, clock and MHz read afterwards. NVML offers no better check.
    pub reads: Vec<(String, ClockDomain, u32)>,
}

impl ClockLock {
    /// Locks the requested clocks as far as the driver allows. Never fails: the answer lists each clock that was not
    /// locked, with the reason. `binary` is the gbench-ci executable, which is also the guard. The lock is `None` if
    /// nothing was locked.
    pub fn take(binary: &Path, request: &ClockRequest) -> (ClockControl, Option<Self>) {
        let choices = [request.sm, request.memory];
        let untried = |why: String| (ClockControl::untried(choices, why), None);
        let setter = match ClockSetter::open() {
            Ok(setter) => setter,
            Err(why) => return untried(why),
        };
        let cards = setter.cards().into_iter().filter(|(index, uuid, _)| request.means(*index, uuid));
        let mut gpus: Vec<ControlledGpu> = cards
            .map(|(index, uuid, before)| ControlledGpu { index, uuid, before, sm: None, memory: None })
            .collect();
        if gpus.is_empty() {
            return untried("no GPU that the benchmarks may see can be asked".into());
        }
        let asked = || request.choices().into_iter().filter(|(_, choice)| !choice.is_off());
        let free = gpus.iter().filter(|gpu| gpu.before.held != Probe::Known(true));
        let clocks = free.flat_map(|gpu| asked().map(|(domain, _)| (gpu.uuid.clone(), domain))).collect();
        let plan = ClockPlan { clocks };
        let guard = if plan.clocks.is_empty() {
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
        }
        let locked = |(uuid, domain): &(String, ClockDomain)| {
            gpus.iter().any(|gpu| gpu.uuid == *uuid && gpu.is_locked(*domain))
        };
        let plan = ClockPlan { clocks: plan.clocks.into_iter().filter(|clock| locked(clock)).collect() };
        let control = ClockControl::new(choices, gpus);
        let lock = match guard {
            Some(guard) if !plan.clocks.is_empty() => Some(Self { setter, guard, plan }),
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
        let reads = |(uuid, domain): (String, ClockDomain)| {
            let mhz = setter.reads(&uuid, domain)?;
            Some((uuid, domain, mhz))
        };
        let reads = plan.clocks.into_iter().filter_map(reads).collect();
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
