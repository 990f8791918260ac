//! Locked clocks around a measurement, as the gate's settings ask for them. They are given back where the value goes out of
//! scope, by the guard where this process ends otherwise.
//!
//! Who may ask: the command line, and the suite file of the base, as for all of `[gate]`; a change asks for nothing. The
//! environment does not.

use super::executor::own_binary;
use crate::app::progress::Reporter;
use crate::machine::{ClockLock, ClockRequest, ClocksGivenBack, HeldSetting};
use crate::model::{ClockControl, ClockDomain, ClocksState, Probe, Result, RunRecord};
use crate::suite::{Suite, is_each};

/// Variable that hides GPUs from a CUDA program.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// Clocks that are locked, or could not be locked. Taken before the executor is made: the guard must not be adopted.
pub(crate) struct HeldClocks {
    /// `None`: not requested.
    control: Option<ClockControl>,
    lock: Option<ClockLock>,
    reporter: Reporter,
}

impl HeldClocks {
    /// As the gate of `judge` asks, on the GPUs that the benchmarks of all suites may see.
    pub(crate) fn take(judge: &Suite, suites: &[&Suite], reporter: &Reporter) -> Result<Self> {
        let gate = &judge.gate;
        let request = ClockRequest {
            sm: gate.lock_sm_clock.value,
            memory: gate.lock_memory_clock.value,
            power_limit: gate.power_limit.value,
            visible: visible(suites),
        };
        let mut held = Self { control: None, lock: None, reporter: reporter.clone() };
        if !request.is_off() {
            let (control, lock) = ClockLock::take(&own_binary()?, &request);
            reporter.note(&control.sentence());
            (held.control, held.lock) = (Some(control), lock);
        }
        Ok(held)
    }

    pub(crate) fn are_locked(&self) -> bool {
        self.control.as_ref().is_some_and(ClockControl::locks_sm)
    }

    /// Writes into the record of a run what was asked for and what came of it.
    pub(crate) fn tell(&self, header: &mut RunRecord) {
        let Some(control) = &self.control else { return };
        if let Probe::Known(gpus) = &mut header.manifest.gpu {
            // NVML reports a lock only while a card is busy; our locks are known.
            for gpu in &mut gpus.devices {
                let is_ours = |other: &&crate::model::ControlledGpu| gpu.uuid.known() == Some(&other.uuid);
                let Some(ours) = control.gpus.iter().find(is_ours) else { continue };
                if ours.is_locked(ClockDomain::Sm) {
                    gpu.clocks_locked = Probe::Known(true);
                }
                if let Some(watts) = ours.set_limit() {
                    gpu.power_limit = Probe::Known(watts);
                }
                let before = ours.power_limit.as_ref().and_then(|limit| limit.before);
                if let (Some(before), Probe::Known(usual)) = (before, &gpu.power_limit_default)
                    && (before - usual).abs() >= 1.0
                {
                    header.warnings.push(format!(
                        "the power limit of GPU {} was {before} W before, and not its default of {usual} W: {before} W are restored at the end",
                        gpu.index
                    ));
                }
            }
        }
        if control.state != ClocksState::Locked {
            header.warnings.push(control.sentence());
        }
        header.clocks = Some(Box::new(control.clone()));
    }
}

impl Drop for HeldClocks {
    fn drop(&mut self) {
        let Some(lock) = self.lock.take() else { return };
        let given_back = lock.give_back();
        // A panic may have come while something was reported.
        if !std::thread::panicking() {
            sentences(&given_back).iter().for_each(|note| self.reporter.note(note));
        }
    }
}

fn sentences(ClocksGivenBack { guard_was_gone, refused, reads }: &ClocksGivenBack) -> Vec<String> {
    let mut notes = Vec::new();
    if *guard_was_gone {
        notes.push(
            "warning: something ended the guard of the locked clocks; the gate gave them back itself".into(),
        );
    }
    for (uuid, setting, why) in refused {
        let (what, flag) = match setting {
            HeldSetting::Clock(ClockDomain::Sm) => ("sm clock", "-rgc".to_owned()),
            HeldSetting::Clock(ClockDomain::Memory) => ("memory clock", "-rmc".to_owned()),
            HeldSetting::Power { before } => ("power limit", format!("-pl {}", f64::from(*before) / 1000.0)),
        };
        notes.push(format!(
            "warning: the {what} of {uuid} is still set: {why}; next: sudo nvidia-smi -i {uuid} {flag}"
        ));
    }
    if refused.is_empty() {
        let reads = reads.iter().map(|(uuid, domain, mhz)| {
            let name: &str = domain.into();
            format!("; {name} of {uuid} reads {mhz} MHz")
        });
        notes.push(format!("clocks and power limits: given back{}", reads.collect::<String>()));
    }
    notes
}

/// GPUs that the benchmarks may see: their own device, else by their environment, else the gate's.
fn visible(suites: &[&Suite]) -> Vec<String> {
    let own = std::env::var(VISIBLE).ok();
    let mut lists: Vec<String> = Vec::new();
    for benchmark in suites.iter().flat_map(|suite| &suite.benchmarks) {
        let named = |device: &&String| !device.is_empty() && !is_each(device);
        let device = Some(&benchmark.settings.device.value).filter(named);
        let list = device.or_else(|| benchmark.env.get(VISIBLE)).or(own.as_ref());
        let list = list.cloned().unwrap_or_default();
        if !lists.contains(&list) {
            lists.push(list);
        }
    }
    lists
}
