//! Locks and releases the clocks of a GPU, and sets its power limit.

use nvml_wrapper::Device;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, ClockLimitId};
use nvml_wrapper::enums::device::GpuLockedClocksSetting;
use nvml_wrapper::error::NvmlError;
use serde::{Deserialize, Serialize};

use super::library::{NvmlLibrary, named, probe, reason, watts};
use gbench_model::{ClockChoice, ClockDomain, ClockOutcome, ClocksBefore, Probe};

/// A setting of a GPU that the gate changes for a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum HeldSetting {
    Clock(ClockDomain),
    /// The power limit. `before`: milliwatts, to which it is restored.
    Power {
        before: u32,
    },
}

/// Sets clocks. Keeps the library open, because a driver without persistence mode forgets a lock with its last client.
///
/// NVML reports a lock only indirectly (see `clocks_locked` in `library.rs`) and never its range, so a lock can be
/// released but not restored.
pub(in crate::machine) struct ClockSetter(NvmlLibrary);

#[derive(Clone, Debug, PartialEq)]
pub(in crate::machine) struct ClockRefusal {
    /// Never [`ClockOutcome::Locked`].
    pub outcome: ClockOutcome,
    pub why: String,
}

impl From<NvmlError> for ClockRefusal {
    fn from(error: NvmlError) -> Self {
        let outcome = match error {
            NvmlError::NoPermission => ClockOutcome::NoPermission,
            NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_) => ClockOutcome::NotSupported,
            _ => ClockOutcome::Failed,
        };
        let why = match error {
            NvmlError::NoPermission => "no permission: only root may set clocks".into(),
            NvmlError::NotSupported => "not supported by this GPU".into(),
            other => reason(&other),
        };
        Self { outcome, why }
    }
}

impl ClockSetter {
    pub(crate) fn open() -> Result<Self, String> {
        NvmlLibrary::open(named().as_deref()).map(Self).map_err(|probe| match probe {
            Probe::Absent(reason) | Probe::Failed(reason) => reason,
            Probe::Known(_) => String::new(),
        })
    }

    /// Index, UUID and clocks of each GPU that has a UUID.
    pub(crate) fn cards(&self) -> Vec<(u32, String, ClocksBefore)> {
        let Some(nvml) = &self.0.nvml else { return Vec::new() };
        let card = |index| {
            let device = nvml.device_by_index(index).ok()?;
            let before = ClocksBefore {
                sm_clock: probe(device.clock_info(Clock::SM)),
                memory_clock: probe(device.clock_info(Clock::Memory)),
                application_clock: probe(device.applications_clock(Clock::SM)),
                held: probe(held_by_another(&device)),
                persistence: probe(device.is_in_persistent_mode()),
            };
            Some((index, device.uuid().ok()?, before))
        };
        (0..nvml.device_count().unwrap_or(0)).filter_map(card).collect()
    }

    /// Locks a clock. Returns the MHz passed to the driver; `None` if it was a symbolic value.
    pub(crate) fn lock(
        &self,
        uuid: &str,
        domain: ClockDomain,
        choice: ClockChoice,
    ) -> Result<Option<[u32; 2]>, ClockRefusal> {
        let mut device = self.device(uuid)?;
        let range = match choice {
            ClockChoice::Range { min, max } => Some([min, max]),
            ClockChoice::Max => Some([device.max_clock_info(clock_of(domain))?; 2]),
            ClockChoice::Base | ClockChoice::Off => None,
        };
        match (domain, range) {
            (ClockDomain::Sm, Some([min_clock_mhz, max_clock_mhz])) => {
                device.set_gpu_locked_clocks(GpuLockedClocksSetting::Numeric {
                    min_clock_mhz,
                    max_clock_mhz,
                })?;
            }
            (ClockDomain::Sm, None) => {
                let (lower_bound, upper_bound) = (ClockLimitId::Tdp, ClockLimitId::Tdp);
                device
                    .set_gpu_locked_clocks(GpuLockedClocksSetting::Symbolic { lower_bound, upper_bound })?;
            }
            (ClockDomain::Memory, Some([min, max])) => device.set_mem_locked_clocks(min, max)?,
            (ClockDomain::Memory, None) => return Err(NvmlError::InvalidArg.into()),
        }
        Ok(range)
    }

    /// Releases a lock, if there is one, or restores a power limit.
    pub(crate) fn give_back(&self, uuid: &str, setting: HeldSetting) -> Result<(), ClockRefusal> {
        let mut device = self.device(uuid)?;
        match setting {
            HeldSetting::Clock(ClockDomain::Sm) => device.reset_gpu_locked_clocks()?,
            HeldSetting::Clock(ClockDomain::Memory) => device.reset_mem_locked_clocks()?,
            HeldSetting::Power { before } => device.set_power_management_limit(before)?,
        }
        Ok(())
    }

    /// The power limit in watts that another one would replace. Errors: the card does not take the other.
    pub(crate) fn power_limit(&self, uuid: &str, other: f64) -> Result<f64, ClockRefusal> {
        let device = self.device(uuid)?;
        let range = device.power_management_limit_constraints()?;
        let (least, most) = (watts(range.min_limit), watts(range.max_limit));
        if !(least..=most).contains(&other) {
            let why = format!("this GPU takes {least} W to {most} W, and not {other} W");
            return Err(ClockRefusal { outcome: ClockOutcome::Failed, why });
        }
        Ok(watts(device.power_management_limit()?))
    }

    /// Sets the power limit. Returns the limit that is enforced from then on, in watts.
    pub(crate) fn set_power_limit(&self, uuid: &str, milliwatts: u32) -> Result<Option<f64>, ClockRefusal> {
        let mut device = self.device(uuid)?;
        device.set_power_management_limit(milliwatts).map_err(|error| match error {
            NvmlError::NoPermission => ClockRefusal {
                outcome: ClockOutcome::NoPermission,
                why: "no permission: only root may set power limits".into(),
            },
            other => other.into(),
        })?;
        Ok(device.enforced_power_limit().ok().map(watts))
    }

    /// The current MHz.
    pub(crate) fn reads(&self, uuid: &str, domain: ClockDomain) -> Option<u32> {
        self.device(uuid).ok()?.clock_info(clock_of(domain)).ok()
    }

    fn device(&self, uuid: &str) -> Result<Device<'_>, NvmlError> {
        self.0.nvml.as_ref().ok_or(NvmlError::Uninitialized)?.device_by_uuid(uuid)
    }
}

/// True if a setting other than a chosen application clock limits a busy GPU's clock. Application clocks stay below a
/// lock, and remain after it.
fn held_by_another(gpu: &Device<'_>) -> Result<bool, NvmlError> {
    let is_chosen = gpu
        .applications_clock(Clock::SM)
        .and_then(|clock| Ok(clock != gpu.default_applications_clock(Clock::SM)?))
        .unwrap_or(false);
    let reasons = gpu.current_throttle_reasons()?;
    Ok(reasons.contains(ThrottleReasons::APPLICATIONS_CLOCKS_SETTING) && !is_chosen)
}

fn clock_of(domain: ClockDomain) -> Clock {
    match domain {
        ClockDomain::Sm => Clock::SM,
        ClockDomain::Memory => Clock::Memory,
    }
}
