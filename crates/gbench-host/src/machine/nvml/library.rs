//! The loaded library, the facts it reports about GPUs, and readings of their clocks.
//!
//! Three layers. *Raw*: `dlopen` and the wrapper crate's calls. *Checked*: [`NvmlLibrary`], which cannot panic and
//! turns every refusal into a reason. *Safe*: [`GpuFacts`] and [`ClocksNow`], which alone leave this file.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::libc;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, PerformancePolicy, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};

use super::health::{CardHealth, XidEvents};
use gbench_model::{Gpu, GpuFacts, GpuProcess, NVML_LIBRARY, Probe};

const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";

/// A driver without persistence mode first wakes every GPU, which takes seconds on big machines.
const DEADLINE: Duration = Duration::from_secs(20);

/// Facts of every GPU, or why there are none.
pub(in crate::machine) fn gpus() -> Probe<GpuFacts> {
    in_time(|| ask(named())).unwrap_or_else(Probe::Failed)
}

/// Asks in a separate thread, because a broken driver can hang indefinitely.
pub(super) fn in_time<T: Send + 'static>(ask: fn() -> T) -> Result<T, String> {
    let (sender, receiver) = mpsc::channel();
    // If the thread cannot start, the channel is closed, and that is the answer.
    let _ = thread::Builder::new().spawn(move || {
        let _ = sender.send(ask());
    });
    receiver.recv_timeout(DEADLINE).map_err(|error| match error {
        mpsc::RecvTimeoutError::Timeout => {
            format!("the driver's library did not answer within {} s", DEADLINE.as_secs())
        }
        mpsc::RecvTimeoutError::Disconnected => "the driver's library broke off the probe".into(),
    })
}

/// The library that the environment names.
pub(super) fn named() -> Option<OsString> {
    std::env::var_os(NVML_LIBRARY).filter(|name| !name.is_empty())
}

fn ask(named: Option<OsString>) -> Probe<GpuFacts> {
    match NvmlLibrary::open(named.as_deref()) {
        Ok(library) => library.facts(),
        Err(probe) => probe,
    }
}

pub(super) const LONGEST_NAME: usize = 1024;

/// Limits that the card imposes itself, for a cause that it names.
const BY_HARDWARE: ThrottleReasons =
    ThrottleReasons::HW_THERMAL_SLOWDOWN.union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClocksNow {
    /// Reasons that limit any GPU's clocks, in lower case, as in [`Gpu::throttle_reasons`].
    pub reasons: Vec<String>,
    /// Hardware limits a GPU's clocks, for heat or its power supply.
    pub by_hardware: bool,
    /// A busy GPU has the bit `HW_SLOWDOWN` and neither of its causes. NVIDIA: "may be also reported during PState or
    /// clock change", so it needs a second sign: a counter that grew, or a lower clock.
    pub perhaps_by_hardware: bool,
    /// The power limit lowers a GPU's clocks.
    pub by_power: bool,
    /// Nanoseconds since the driver's start in which power and heat limited the clocks, summed over all GPUs; 0 if the
    /// driver does not count.
    pub held_ns: [u64; 2],
    /// Joules since the driver's start, of a single GPU; `None` also for a slice of one.
    pub joules: Option<f64>,
    /// One for each GPU; only by [`clocks_and_health`].
    pub(in crate::machine) health: Vec<CardHealth>,
}

/// Returns a function that reads the clocks of the GPUs with the given UUIDs, of all GPUs if none is given, and of the only
/// GPU whatever its UUID. `None` if those in `first` do not answer. The calls run in a separate thread. After an answer that
/// takes longer than a second, every later reading is `None`.
pub fn clocks(first: &[String]) -> Option<impl FnMut(&[String]) -> Option<ClocksNow> + use<>> {
    looks(first, |_| None)
}

/// The same with the health of the GPUs, and with their Xid errors since the previous look.
pub(in crate::machine) fn clocks_and_health(
    first: &[String],
) -> Option<impl FnMut(&[String]) -> Option<ClocksNow> + use<>> {
    looks(first, |nvml| Some(XidEvents::new(nvml)))
}

fn looks(
    first: &[String],
    events: fn(&Nvml) -> Option<XidEvents<'_>>,
) -> Option<impl FnMut(&[String]) -> Option<ClocksNow> + use<>> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let (ask, asked) = mpsc::channel::<Vec<String>>();
    let of = first.to_vec();
    let (tell, told) = mpsc::channel();
    let _ = thread::Builder::new().spawn(move || {
        let library = NvmlLibrary::open(named().as_deref()).ok();
        let nvml = library.as_ref().and_then(|library| library.nvml.as_ref());
        let mut events = nvml.and_then(events);
        let mut clocks = |of: &[String]| clocks_of(nvml?, of, events.as_mut());
        if tell.send(clocks(&of)).is_err() {
            return;
        }
        while let Ok(of) = asked.recv() {
            if tell.send(clocks(&of)).is_err() {
                return;
            }
        }
    });
    told.recv_timeout(DEADLINE).ok().flatten()?;
    let mut lost = false;
    Some(move |of: &[String]| {
        // A late answer to an earlier question would be mistaken for the answer to this one.
        if lost || ask.send(of.to_vec()).is_err() {
            return None;
        }
        let answer = told.recv_timeout(PATIENCE);
        lost = answer.is_err();
        answer.ok().flatten()
    })
}

/// Names of the bits of `nvmlClocksEventReasons`, as in [`Gpu::throttle_reasons`].
pub(in crate::machine) fn reason_names(bits: u64) -> Vec<String> {
    names(ThrottleReasons::from_bits_truncate(bits))
}

/// True if a library has a function; `None` if the library cannot be loaded.
pub(in crate::machine) fn has_function(library: &OsStr, function: &str) -> Option<bool> {
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

pub(super) struct NvmlLibrary {
    /// `None` only while being dropped.
    pub(super) nvml: Option<Nvml>,
    /// The wrapper panics when a library without `nvmlShutdown` is dropped; such a library stays loaded.
    can_shut_down: bool,
}

impl Drop for NvmlLibrary {
    fn drop(&mut self) {
        if !self.can_shut_down {
            std::mem::forget(self.nvml.take());
        }
    }
}

impl NvmlLibrary {
    pub(super) fn open(named: Option<&OsStr>) -> Result<Self, Probe<GpuFacts>> {
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

/// `None` if none of these GPUs answers.
fn clocks_of<'nvml>(
    nvml: &'nvml Nvml,
    of: &[String],
    events: Option<&mut XidEvents<'nvml>>,
) -> Option<ClocksNow> {
    let mut is_whole = true;
    let by_uuid = |uuid: &String| {
        let device = nvml.device_by_uuid(uuid.as_str()).ok()?;
        // A slice has the clocks of its card.
        let card = device.mig_parent_device();
        is_whole &= card.is_err();
        Some(card.unwrap_or(device))
    };
    let mut devices: Vec<Device<'_>> = of.iter().filter_map(by_uuid).collect();
    let count = nvml.device_count().ok()?;
    if devices.is_empty() && (of.is_empty() || count == 1) {
        devices = (0..count).filter_map(|index| nvml.device_by_index(index).ok()).collect();
    }
    if devices.is_empty() {
        return None;
    }
    let health = events.map_or_else(Vec::new, |events| events.look(&devices));
    let mut now = ClocksNow { health, ..ClocksNow::default() };
    if let ([only], true) = (devices.as_slice(), is_whole) {
        now.joules = only.total_energy_consumption().ok().map(|millijoules| millijoules as f64 / 1000.0);
    }
    for device in devices {
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE);
        let by_hardware = reasons.intersects(BY_HARDWARE);
        now.by_hardware |= by_hardware;
        let is_idle = reasons.contains(ThrottleReasons::GPU_IDLE);
        now.perhaps_by_hardware |= reasons.contains(ThrottleReasons::HW_SLOWDOWN) && !by_hardware && !is_idle;
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

/// True if the driver's library can lock the clocks of the multiprocessors; `None` without a library.
pub(in crate::machine) fn knows_locked_clocks() -> Option<bool> {
    has_function(named().as_deref().unwrap_or(OsStr::new(DEFAULT_LIBRARY)), "nvmlDeviceSetGpuLockedClocks")
}

/// A missing library is expected on a machine without a GPU. A library that was named explicitly or is broken is an error.
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

pub(super) fn reason(error: &NvmlError) -> String {
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

/// An unsupported query is expected; any other error is a failure.
pub(super) fn probe<T>(result: Result<T, NvmlError>) -> Probe<T> {
    match result {
        Ok(value) => Probe::Known(value),
        Err(NvmlError::NotSupported) => Probe::Absent("not supported by this GPU".into()),
        Err(error) => Probe::Failed(reason(&error)),
    }
}

/// One GPU. If it cannot be opened, every field has that reason.
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

struct Opened<'a, 'nvml>(Result<&'a Device<'nvml>, &'a String>);

impl<'nvml> Opened<'_, 'nvml> {
    fn ask<T>(&self, question: impl FnOnce(&Device<'nvml>) -> Result<T, NvmlError>) -> Probe<T> {
        match self.0 {
            Ok(device) => probe(question(device)),
            Err(reason) => Probe::Failed(reason.clone()),
        }
    }
}

pub(super) fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1000.0
}

/// NVML cannot be asked whether clocks are locked. Two signs exist: a chosen application clock differs from the
/// default, and a busy GPU that is limited by a lock names that setting as a reason. A lock at the highest clock of an
/// idle GPU leaves no trace, and reads as `false`.
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

/// Lower-case names. The wrapper drops bits of newer drivers that this table does not know.
pub(super) fn names(reasons: ThrottleReasons) -> Vec<String> {
    reasons.iter_names().map(|(name, _)| name.to_lowercase()).filter(|name| name != "none").collect()
}

/// Compute processes first, then graphics processes. Most data-centre GPUs have no graphics list. The name of a
/// process of another user or container may be withheld.
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
