//! The GPUs, through NVIDIA's management library: the only file that speaks to it.
//!
//! Three layers. *Raw*: `dlopen` and the wrapper crate's calls. *Checked*: [`Library`], which cannot panic and
//! turns every refusal into a reason. *Safe*: [`GpuFacts`] and [`ClocksNow`], which are all that leave this file. The library is
//! loaded at run time, so that one binary serves machines with and without a GPU; a function that an old driver
//! lacks costs its own field and no other.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::libc;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, ClockLimitId, PerformancePolicy, TemperatureSensor};
use nvml_wrapper::enums::device::{GpuLockedClocksSetting, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};

use super::gpu_reading::{GpuReading, GpuState, GpuUser, Whose};
use crate::model::{
    ClockChoice, ClockDomain, ClockOutcome, ClocksBefore, Gpu, GpuFacts, GpuProcess, NVML_LIBRARY, Probe,
    TelemetryGap,
};

const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";

/// A driver without persistence mode wakes every GPU first, which takes seconds on big machines.
const DEADLINE: Duration = Duration::from_secs(20);

/// Facts of every GPU, or why there are none. Runs in a thread of its own: a driver in trouble can hang for ever,
/// and the run must not hang with it.
pub(super) fn gpus() -> Probe<GpuFacts> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(ask(std::env::var_os(NVML_LIBRARY).filter(|name| !name.is_empty())));
    });
    receiver.recv_timeout(DEADLINE).unwrap_or_else(|error| {
        Probe::Failed(match error {
            mpsc::RecvTimeoutError::Timeout => {
                format!("the driver's library did not answer within {} s", DEADLINE.as_secs())
            }
            mpsc::RecvTimeoutError::Disconnected => "the driver's library broke off the probe".into(),
        })
    })
}

fn ask(named: Option<OsString>) -> Probe<GpuFacts> {
    match Library::open(named.as_deref()) {
        Ok(library) => library.facts(),
        Err(probe) => probe,
    }
}

/// Bytes that a process's name may have.
const LONGEST_NAME: usize = 1024;

/// What the card does by itself.
const BY_HARDWARE: ThrottleReasons = ThrottleReasons::HW_SLOWDOWN
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

/// The clocks of a GPU at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClocksNow {
    /// Why any GPU's clocks are held down, in lower case, as [`Gpu::throttle_reasons`] has them.
    pub reasons: Vec<String>,
    /// Whether hardware itself holds any GPU's clocks down, for heat, for its power supply or a fault.
    pub by_hardware: bool,
    /// Whether the limit of power holds any GPU's clocks down.
    pub by_power: bool,
    /// MHz, of the first GPU's streaming multiprocessors.
    pub sm_clock: Option<u32>,
    /// Nanoseconds since the driver's start in which power and heat held clocks down, over all GPUs; 0 where the driver
    /// does not count.
    pub held_ns: [u64; 2],
}

/// A way to look at the clocks again and again, of the GPUs with these UUIDs, or of all where there is no such one; `None` without a
/// GPU. Looking happens in a thread of its own: once the
/// driver takes longer than a second there is nothing to see any more.
pub fn clocks(of: Vec<String>) -> Option<impl FnMut() -> Option<ClocksNow> + use<>> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let (ask, asked) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let named = std::env::var_os(NVML_LIBRARY).filter(|name| !name.is_empty());
        let library = Library::open(named.as_deref()).ok();
        let clocks = |library: &Library| library.clocks(&of);
        let first = library.as_ref().and_then(clocks);
        if tell.send(first).is_err() {
            return;
        }
        while asked.recv().is_ok() {
            let now = library.as_ref().and_then(clocks);
            if tell.send(now).is_err() {
                return;
            }
        }
    });
    told.recv_timeout(DEADLINE).ok().flatten()?;
    let mut lost = false;
    Some(move || {
        // A late answer to an earlier question would be taken for the answer to this one.
        if lost || ask.send(()).is_err() {
            return None;
        }
        let answer = told.recv_timeout(PATIENCE);
        lost = answer.is_err();
        answer.ok().flatten()
    })
}

/// A way to ask every GPU all that is sampled, again and again; to be made in the thread that asks. Empty where no GPU can be asked.
///
/// A driver that was reset does not know an old session: where no GPU answers, the library is opened anew for the next time.
pub(super) fn telemetry() -> impl FnMut() -> Vec<GpuReading> {
    let named = std::env::var_os(NVML_LIBRARY).filter(|name| !name.is_empty());
    let mut library = None;
    let mut names: Vec<GpuName> = Vec::new();
    move || {
        if library.is_none() {
            library = Library::open(named.as_deref()).ok();
        }
        let Some(nvml) = library.as_ref().and_then(|library: &Library| library.nvml.as_ref()) else {
            return names.iter().map(|name| name.without(TelemetryGap::Refused)).collect();
        };
        if names.is_empty() {
            names = (0..nvml.device_count().unwrap_or(0)).map(|index| GpuName::of(nvml, index)).collect();
        }
        let readings: Vec<GpuReading> = names.iter().map(|name| name.reading(nvml)).collect();
        if readings.iter().all(|reading| reading.state.is_err()) {
            library = None;
        }
        readings
    }
}

/// What does not change of a GPU.
struct GpuName {
    index: u32,
    uuid: Option<String>,
    model: Option<String>,
}

impl GpuName {
    fn of(nvml: &Nvml, index: u32) -> Self {
        let device = nvml.device_by_index(index).ok();
        let uuid = device.as_ref().and_then(|device| device.uuid().ok());
        Self { index, uuid, model: device.and_then(|device| device.name().ok()) }
    }

    fn without(&self, gap: TelemetryGap) -> GpuReading {
        GpuReading { index: self.index, uuid: self.uuid.clone(), model: self.model.clone(), state: Err(gap) }
    }

    fn reading(&self, nvml: &Nvml) -> GpuReading {
        let device = match nvml.device_by_index(self.index) {
            Ok(device) => device,
            Err(error) => return self.without(gap(&error)),
        };
        // It tells first whether the card is there at all: every card has it.
        let memory = match device.memory_info() {
            Err(error) if gap(&error) == TelemetryGap::GpuLost => return self.without(TelemetryGap::GpuLost),
            memory => memory.ok(),
        };
        let clock = |kind: Clock| device.clock_info(kind).ok().map(f64::from);
        let state = GpuState {
            sm_clock: clock(Clock::SM),
            memory_clock: clock(Clock::Memory),
            power: device.power_usage().ok().map(watts),
            energy: device.total_energy_consumption().ok().map(|millijoules| millijoules as f64 / 1000.0),
            temperature: device.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
            utilization: device.utilization_rates().ok().map(|rates| f64::from(rates.gpu)),
            memory_used: memory.as_ref().map(|memory| memory.used),
            memory_total: memory.as_ref().map(|memory| memory.total),
            reasons: device.current_throttle_reasons().map(names).unwrap_or_default(),
            pcie_generation: device.current_pcie_link_gen().ok(),
            pcie_width: device.current_pcie_link_width().ok(),
            processes: device.running_compute_processes().map(|found| users(nvml, found)).unwrap_or_default(),
        };
        GpuReading { index: self.index, uuid: self.uuid.clone(), model: self.model.clone(), state: Ok(state) }
    }
}

fn gap(error: &NvmlError) -> TelemetryGap {
    match error {
        NvmlError::GpuLost | NvmlError::ResetRequired => TelemetryGap::GpuLost,
        _ => TelemetryGap::Refused,
    }
}

fn users(nvml: &Nvml, found: Vec<ProcessInfo>) -> Vec<GpuUser> {
    let named = |process: ProcessInfo| {
        let user = GpuUser::new(process.pid, None);
        // The name of our own is not asked for each time.
        let name = (user.whose != Whose::Ours).then(|| nvml.sys_process_name(user.pid, LONGEST_NAME).ok());
        GpuUser { name: name.flatten(), ..user }
    };
    found.into_iter().map(named).collect()
}

/// Names of the bits of `nvmlClocksEventReasons`, as [`Gpu::throttle_reasons`] has them.
pub(super) fn reason_names(bits: u64) -> Vec<String> {
    names(ThrottleReasons::from_bits_truncate(bits))
}

/// Whether the library has a function; `None` where it cannot be loaded at all.
fn has_function(library: &OsStr, function: &str) -> Option<bool> {
    let (library, function) = (CString::new(library.as_bytes()).ok()?, CString::new(function).ok()?);
    // SAFETY: both strings end in NUL and outlive the calls. The handle comes from `dlopen`, is checked before
    // use and closed once. Loading runs the library's initialisers, as the wrapper's own `dlopen` does next.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if handle.is_null() {
            return None;
        }
        let found = !libc::dlsym(handle, function.as_ptr()).is_null();
        libc::dlclose(handle);
        Some(found)
    }
}

/// The loaded and started library.
struct Library {
    /// `None` only while being dropped.
    nvml: Option<Nvml>,
    /// The wrapper panics on dropping a library without `nvmlShutdown`; such a one stays loaded instead.
    can_shut_down: bool,
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.can_shut_down {
            std::mem::forget(self.nvml.take());
        }
    }
}

impl Library {
    fn open(named: Option<&OsStr>) -> Result<Self, Probe<GpuFacts>> {
        let library = named.unwrap_or(OsStr::new(DEFAULT_LIBRARY));
        let can_shut_down = has_function(library, "nvmlShutdown").unwrap_or(false);
        match Nvml::builder().lib_path(library).init() {
            Ok(nvml) => Ok(Self { nvml: Some(nvml), can_shut_down }),
            Err(NvmlError::LibloadingError(error)) => {
                Err(not_loaded(library, named.is_some(), &error.to_string()))
            }
            Err(error) => Err(Probe::Failed(reason(&error))),
        }
    }

    fn facts(&self) -> Probe<GpuFacts> {
        let Some(nvml) = &self.nvml else { return Probe::Failed("the library is closed".into()) };
        let driver = probe(nvml.sys_driver_version());
        let count = match nvml.device_count() {
            Ok(count) => count,
            Err(error) => {
                let driver = driver.known().map_or_else(String::new, |driver| format!(" (driver {driver})"));
                return Probe::Failed(format!("the GPUs cannot be counted: {}{driver}", reason(&error)));
            }
        };
        let cuda = nvml.sys_cuda_driver_version().map(|version| {
            format!("{}.{}", cuda_driver_version_major(version), cuda_driver_version_minor(version))
        });
        Probe::Known(GpuFacts {
            driver,
            cuda: probe(cuda),
            nvml: probe(nvml.sys_nvml_version()),
            devices: (0..count).map(|index| gpu(nvml, index)).collect(),
        })
    }
}

impl Library {
    /// `None` where no GPU can be asked.
    fn clocks(&self, of: &[String]) -> Option<ClocksNow> {
        let nvml = self.nvml.as_ref()?;
        let devices: Vec<Device<'_>> =
            (0..nvml.device_count().ok()?).filter_map(|index| nvml.device_by_index(index).ok()).collect();
        let is_asked = |device: &&Device<'_>| device.uuid().is_ok_and(|uuid| of.contains(&uuid));
        let asked: Vec<&Device<'_>> = devices.iter().filter(is_asked).collect();
        let devices = if asked.is_empty() { devices.iter().collect() } else { asked };
        let mut now =
            ClocksNow { sm_clock: devices.first()?.clock_info(Clock::SM).ok(), ..ClocksNow::default() };
        for device in devices {
            let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE);
            now.by_hardware |= reasons.intersects(BY_HARDWARE);
            now.by_power |= reasons.contains(ThrottleReasons::SW_POWER_CAP);
            now.reasons.extend(names(reasons));
            for (sum, policy) in
                now.held_ns.iter_mut().zip([PerformancePolicy::Power, PerformancePolicy::Thermal])
            {
                *sum += device.violation_status(policy).map_or(0, |held| held.violation_time);
            }
        }
        now.reasons.sort();
        now.reasons.dedup();
        Some(now)
    }
}

/// Sets clocks. Holds the library open meanwhile: a driver without persistence mode forgets a lock with its last client.
///
/// NVML tells of a lock only indirectly ([`clocks_locked`]) and never its range, so that a lock can be given up and not put back.
pub(super) struct ClockSetter(Library);

/// Why a clock was not set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClockRefusal {
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
    /// Errors: why no clock can be set at all, in words.
    pub fn open() -> Result<Self, String> {
        let named = std::env::var_os(NVML_LIBRARY).filter(|name| !name.is_empty());
        Library::open(named.as_deref()).map(Self).map_err(|probe| match probe {
            Probe::Absent(reason) | Probe::Failed(reason) => reason,
            Probe::Known(_) => String::new(),
        })
    }

    /// Index, UUID and clocks of each GPU that has a UUID.
    pub fn cards(&self) -> Vec<(u32, String, ClocksBefore)> {
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

    /// Locks a clock. Gives the MHz that the driver was told; `None`: a symbol of its own.
    pub fn lock(
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

    /// Gives a lock up, also one that is none.
    pub fn unlock(&self, uuid: &str, domain: ClockDomain) -> Result<(), ClockRefusal> {
        let mut device = self.device(uuid)?;
        match domain {
            ClockDomain::Sm => device.reset_gpu_locked_clocks()?,
            ClockDomain::Memory => device.reset_mem_locked_clocks()?,
        }
        Ok(())
    }

    /// MHz now.
    pub fn reads(&self, uuid: &str, domain: ClockDomain) -> Option<u32> {
        self.device(uuid).ok()?.clock_info(clock_of(domain)).ok()
    }

    fn device(&self, uuid: &str) -> Result<Device<'_>, NvmlError> {
        self.0.nvml.as_ref().ok_or(NvmlError::Uninitialized)?.device_by_uuid(uuid)
    }
}

/// Whether a busy GPU's clock is held by a setting that is no chosen application clock: those stay below a lock, and are there after it.
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

/// Whether the driver's library can lock the clocks of the multiprocessors; `None` where there is no library.
pub(super) fn knows_locked_clocks() -> Option<bool> {
    let named = std::env::var_os(NVML_LIBRARY).filter(|name| !name.is_empty());
    has_function(named.as_deref().unwrap_or(OsStr::new(DEFAULT_LIBRARY)), "nvmlDeviceSetGpuLockedClocks")
}

/// No library is in order on a machine without a GPU; one that was asked for, or that is broken, is not.
fn not_loaded(library: &OsStr, named: bool, error: &str) -> Probe<GpuFacts> {
    let library = library.to_string_lossy();
    let missing = error.contains(&*library) && error.contains("No such file");
    if named || !missing {
        Probe::Failed(format!("{library} cannot be loaded: {error}"))
    } else if Path::new("/proc/driver/nvidia/version").exists() {
        Probe::Absent(format!(
            "{library} is not here though the kernel has the NVIDIA driver: the container was started without GPUs"
        ))
    } else {
        Probe::Absent(format!("no NVIDIA driver: {library} is not here"))
    }
}

fn reason(error: &NvmlError) -> String {
    match error {
        NvmlError::FailedToLoadSymbol(_) => "this driver's library lacks the function".into(),
        NvmlError::DriverNotLoaded => "the NVIDIA driver is not loaded".into(),
        NvmlError::LibRmVersionMismatch => {
            "the driver in the kernel and its library have different versions (a reboot after an update is due)"
                .into()
        }
        NvmlError::GpuLost => "the GPU has fallen off the bus".into(),
        other => other.to_string(),
    }
}

/// A query that a GPU does not support is in order; one that should have an answer is not.
fn probe<T>(result: Result<T, NvmlError>) -> Probe<T> {
    match result {
        Ok(value) => Probe::Known(value),
        Err(NvmlError::NotSupported) => Probe::Absent("not supported by this GPU".into()),
        Err(error) => Probe::Failed(reason(&error)),
    }
}

/// One GPU; one that cannot even be opened has the same reason in every field.
fn gpu(nvml: &Nvml, index: u32) -> Gpu {
    let device = nvml.device_by_index(index).map_err(|error| reason(&error));
    let device = Opened(device.as_ref());
    Gpu {
        index,
        model: device.ask(Device::name),
        uuid: device.ask(Device::uuid),
        compute_capability: device.ask(|gpu| {
            gpu.cuda_compute_capability().map(|version| format!("{}.{}", version.major, version.minor))
        }),
        memory_total: device.ask(|gpu| Ok(gpu.memory_info()?.total)),
        memory_used: device.ask(|gpu| Ok(gpu.memory_info()?.used)),
        sm_clock: device.ask(|gpu| gpu.clock_info(Clock::SM)),
        sm_clock_max: device.ask(|gpu| gpu.max_clock_info(Clock::SM)),
        memory_clock: device.ask(|gpu| gpu.clock_info(Clock::Memory)),
        memory_clock_max: device.ask(|gpu| gpu.max_clock_info(Clock::Memory)),
        clocks_locked: device.ask(clocks_locked),
        power_limit: device.ask(|gpu| gpu.enforced_power_limit().map(watts)),
        power_limit_default: device.ask(|gpu| gpu.power_management_limit_default().map(watts)),
        power: device.ask(|gpu| gpu.power_usage().map(watts)),
        persistence: device.ask(Device::is_in_persistent_mode),
        ecc: device.ask(|gpu| Ok(gpu.is_ecc_enabled()?.currently_enabled)),
        mig: device.ask(|gpu| Ok(gpu.mig_mode()?.current != 0)),
        pcie_generation: device.ask(Device::current_pcie_link_gen),
        pcie_width: device.ask(Device::current_pcie_link_width),
        temperature: device.ask(|gpu| gpu.temperature(TemperatureSensor::Gpu)),
        throttle_reasons: device.ask(|gpu| gpu.current_throttle_reasons().map(names)),
        processes: device.ask(|gpu| processes(nvml, gpu)),
    }
}

/// A GPU, or why it cannot be asked.
struct Opened<'a, 'nvml>(Result<&'a Device<'nvml>, &'a String>);

impl<'nvml> Opened<'_, 'nvml> {
    fn ask<T>(&self, question: impl FnOnce(&Device<'nvml>) -> Result<T, NvmlError>) -> Probe<T> {
        match self.0 {
            Ok(device) => probe(question(device)),
            Err(reason) => Probe::Failed(reason.clone()),
        }
    }
}

fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1000.0
}

/// NVML has no question for "are the clocks locked?". It tells indirectly: a chosen application clock differs
/// from the default one, and a busy GPU whose clock is held down by a lock names that setting as a reason. A lock
/// at the highest clock of an idle GPU leaves no trace, and reads as `false`.
fn clocks_locked(gpu: &Device<'_>) -> Result<bool, NvmlError> {
    let held = gpu
        .current_throttle_reasons()
        .map(|reasons| reasons.contains(ThrottleReasons::APPLICATIONS_CLOCKS_SETTING));
    let chosen = gpu
        .applications_clock(Clock::SM)
        .and_then(|clock| Ok(clock != gpu.default_applications_clock(Clock::SM)?));
    match (held, chosen) {
        (Ok(true), _) | (_, Ok(true)) => Ok(true),
        (Ok(false), _) | (_, Ok(false)) => Ok(false),
        (Err(error), Err(_)) => Err(error),
    }
}

/// Lower-case names; bits that a newer driver knows and this table does not are left out by the wrapper.
fn names(reasons: ThrottleReasons) -> Vec<String> {
    reasons.iter_names().map(|(name, _)| name.to_lowercase()).filter(|name| name != "none").collect()
}

/// Compute processes first, then those that draw. A GPU that has no graphics list (most in data centres) has the
/// compute list alone; the name of a process of another user or container may be withheld.
fn processes(nvml: &Nvml, gpu: &Device<'_>) -> Result<Vec<GpuProcess>, NvmlError> {
    let mut found = gpu.running_compute_processes()?;
    found.extend(gpu.running_graphics_processes().unwrap_or_default());
    let mut processes: Vec<GpuProcess> = vec![];
    for process in found {
        if processes.iter().any(|known| known.pid == process.pid) {
            continue;
        }
        processes.push(GpuProcess {
            pid: process.pid,
            name: probe(nvml.sys_process_name(process.pid, LONGEST_NAME)),
            memory: match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Probe::Known(bytes),
                UsedGpuMemory::Unavailable => Probe::Absent("not told by the driver".into()),
            },
        });
    }
    Ok(processes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttle_reasons_have_names_and_none_is_no_reason() {
        assert!(names(ThrottleReasons::NONE).is_empty());
        let hot = ThrottleReasons::HW_THERMAL_SLOWDOWN | ThrottleReasons::SW_POWER_CAP;
        assert_eq!(names(hot), ["sw_power_cap", "hw_thermal_slowdown"]);
    }

    #[test]
    fn no_library_is_in_order_unless_it_was_asked_for() {
        let missing = "x.so: cannot open shared object file: No such file or directory";
        assert!(matches!(not_loaded(OsStr::new("x.so"), false, missing), Probe::Absent(_)));
        assert!(matches!(not_loaded(OsStr::new("x.so"), true, missing), Probe::Failed(_)));
        let dependency = "libother.so: cannot open shared object file: No such file or directory";
        assert!(matches!(not_loaded(OsStr::new("x.so"), false, dependency), Probe::Failed(_)));
    }

    #[test]
    fn a_library_that_is_not_there_has_no_functions() {
        assert_eq!(has_function(OsStr::new("/nowhere/libnvidia-ml.so.1"), "nvmlShutdown"), None);
        assert!(matches!(ask(Some("/nowhere/libnvidia-ml.so.1".into())), Probe::Failed(_)));
    }
}
