//! A stand-in for NVIDIA's management library: the functions that gbench-ci asks for, and some more, without a GPU.
//!
//! Built by the tests with plain `rustc --crate-type cdylib`, and loaded as the real one is. `FAKE_NVML` says how it differs
//! from two healthy GPUs: `count=1 mig.1=1 ecc=!3 reasons=0x48`; [`settings`] has the language, values that change in time
//! included. `--cfg old_driver` leaves functions out, as drivers of their time did; `--cfg no_shutdown` leaves out the one that
//! the loader takes for granted.
//!
//! Words: `profile=h100` makes it a card that exists ([`profiles`]); `lost` or `lost@40`, from the fortieth query of a GPU on,
//! that every query of it answers `GPU_IS_LOST`, for ever; `fallen_off_bus@3s` the same with Xid 79. Keys beside those of
//! single answers: `xid=79@40` and `ecc_uncorrectable=1@40` are events too; `utilization=90` lets clock and power follow; energy
//! and the time held down grow with the clock of the machine; `name` (`_` is a blank), `uuid` and `driver` are texts. `mig=1` makes
//! it a card of two slices, which answers without a utilisation ([`slices`]). `vgpu=1` makes it a virtual one in
//! a guest ([`settings::is_virtual`]); with `load=PATH` it takes its `power` only while kernels of the other stand-in work, and nothing at
//! rest; `nvlinks=18 nvlinks_down=2` are its links,
//! and [`FIELDS`] has the keys of its health. `abi.c` holds structures and types to nvml.h.

#![allow(non_snake_case)]

mod card;
mod clocks;
mod profiles;
mod settings;
mod slices;

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulonglong};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use card::{SETS, STARTED, asked, profile, started};
use settings::setting;

type Code = c_uint;
type Device = usize;
type Set = usize;

const SUCCESS: Code = 0;
const UNINITIALIZED: Code = 1;
const INVALID_ARGUMENT: Code = 2;
const NOT_SUPPORTED: Code = 3;
const NOT_FOUND: Code = 6;
const INSUFFICIENT_SIZE: Code = 7;
const TIMEOUT: Code = 10;
const GPU_IS_LOST: Code = 15;
const VERSION_MISMATCH: Code = 25;
const DEPRECATED: Code = 26;

const MIB: u64 = 1 << 20;

fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

unsafe fn answer<T>(target: *mut T, value: Result<u64, Code>, convert: impl FnOnce(u64) -> T) -> Code {
    match value {
        Ok(_) if target.is_null() => INVALID_ARGUMENT,
        Ok(value) => {
            // SAFETY: the caller hands a valid place for its answer, as nvml.h asks of it.
            unsafe { target.write(convert(value)) };
            SUCCESS
        }
        Err(code) => code,
    }
}

unsafe fn text(target: *mut c_char, length: c_uint, text: &str) -> Code {
    if text.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    for (offset, byte) in text.bytes().chain([0]).enumerate() {
        // SAFETY: the caller's buffer has `length` bytes, and the text with its NUL has fewer or as many.
        unsafe { target.add(offset).write(byte as c_char) };
    }
    SUCCESS
}

/// Microseconds of the machine's clock.
fn timestamp() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Code {
    // The library's own clock starts here.
    settings::now();
    clocks::log(&format!("init {}", std::process::id()));
    code(setting("init", None, 0).map(|_| {
        STARTED.fetch_add(1, Ordering::Relaxed);
    }))
}

/// Leaves a mark, so that a test sees that it was called.
#[cfg(not(no_shutdown))]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Code {
    if let Some(path) = std::env::var_os("FAKE_NVML_SHUTDOWN") {
        std::fs::write(path, "shut down").expect("the mark can be written");
    }
    let less = STARTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |started| started.checked_sub(1));
    if less.is_ok() { SUCCESS } else { UNINITIALIZED }
}

/// The texts are the stand-in's own.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: Code) -> *const c_char {
    let text = match code {
        SUCCESS => c"success",
        UNINITIALIZED => c"not initialized",
        INVALID_ARGUMENT => c"invalid argument",
        NOT_SUPPORTED => c"not supported",
        GPU_IS_LOST => c"the GPU is lost",
        _ => c"another error",
    };
    text.as_ptr()
}

fn driver() -> String {
    settings::text("driver", None).unwrap_or_else(|| profile(1).driver.to_owned())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(target: *mut c_char, length: c_uint) -> Code {
    match started() {
        Ok(()) => unsafe { text(target, length, &driver()) },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(target: *mut c_char, length: c_uint) -> Code {
    let cuda = settings::pieces("cuda", None).first().map_or(Ok(profile(1).cuda), |piece| piece.value);
    match started() {
        Ok(()) => unsafe { text(target, length, &format!("{}.{}", cuda.unwrap_or(12_000) / 1000, driver())) },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(target: *mut c_int) -> Code {
    unsafe { answer(target, setting("cuda", None, profile(1).cuda), |value| value as c_int) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(target: *mut c_uint) -> Code {
    unsafe { answer(target, started().and_then(|()| card::count()), |value| value as c_uint) }
}

/// A handle is the index plus one: a null handle is a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, target: *mut Device) -> Code {
    let device = index as Device + 1;
    let found = asked(device).and_then(|()| setting("handle", Some(device), device as u64));
    unsafe { answer(target, found, |value| value as Device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(wanted: *const c_char, target: *mut Device) -> Code {
    if wanted.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller hands a text that ends in NUL.
    let wanted = unsafe { std::ffi::CStr::from_ptr(wanted) }.to_string_lossy();
    if let Some(slice) = slices::by_uuid(&wanted) {
        return unsafe { answer(target, started().map(|()| slice as u64), |value| value as Device) };
    }
    let count = match started().and_then(|()| card::count()) {
        Ok(count) => count as Device,
        Err(code) => return code,
    };
    match (1..=count).find(|device| uuid(*device) == wanted) {
        Some(device) => unsafe {
            answer(target, asked(device).map(|()| device as u64), |value| value as Device)
        },
        None => NOT_FOUND,
    }
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    slice: Device,
    target: *mut Device,
) -> Code {
    unsafe { answer(target, slices::card_of(slice), |card| card as Device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetIndex(device: Device, target: *mut c_uint) -> Code {
    unsafe { answer(target, asked(device).map(|()| device as u64 - 1), |value| value as c_uint) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(device: Device, target: *mut c_char, length: c_uint) -> Code {
    let set = settings::text("name", Some(device));
    let is_text = set.as_ref().is_some_and(|set| !set.starts_with('!'));
    let named = asked(device).and_then(|()| match set {
        Some(set) if is_text => Ok(set.replace('_', " ")),
        _ => setting("name", Some(device), 0).map(|_| profile(device).name.to_owned()),
    });
    match named {
        Ok(name) => unsafe { text(target, length, &name) },
        Err(code) => code,
    }
}

/// What `uuid` says; else `GPU-0000-1`, or sixteen bytes as real ones have, with the profile's PCI numbers in front and the GPU's at the end.
fn uuid(device: Device) -> String {
    if let Some(set) = settings::text("uuid", Some(device)) {
        return set;
    }
    match profile(device).pci {
        0 => format!("GPU-0000-{device}"),
        pci => format!("GPU-{pci:08x}-0000-4000-8000-{device:012x}"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: Device, target: *mut c_char, length: c_uint) -> Code {
    match asked(device) {
        Ok(()) => unsafe { text(target, length, &uuid(device)) },
        Err(code) => code,
    }
}

#[repr(C)]
pub struct PciInfo {
    bus_id_legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_subsystem_id: c_uint,
    bus_id: [c_char; 32],
}

fn padded<const LENGTH: usize>(text: &str) -> [c_char; LENGTH] {
    let mut bytes = [0; LENGTH];
    for (place, byte) in bytes.iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    bytes
}

/// Each GPU has a bus of its own, from 0x10 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: Device, target: *mut PciInfo) -> Code {
    unsafe {
        answer(target, asked(device).map(|()| 0xf + device as u64), |bus| PciInfo {
            bus_id_legacy: padded(&format!("0000:{bus:02X}:00.0")),
            domain: 0,
            bus: bus as c_uint,
            device: 0,
            pci_device_id: profile(device).pci,
            pci_subsystem_id: 0,
            bus_id: padded(&format!("00000000:{bus:02X}:00.0")),
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: Device,
    major: *mut c_int,
    minor: *mut c_int,
) -> Code {
    let usual = profile(device).compute;
    let usual = u64::from(usual.0 * 10 + usual.1);
    let compute = asked(device).and_then(|()| setting("compute", Some(device), usual));
    unsafe {
        answer(major, compute.map(|number| number / 10), |value| value as c_int)
            | answer(minor, compute.map(|number| number % 10), |value| value as c_int)
    }
}

#[cfg(not(old_driver))]
#[repr(C)]
pub struct Memory {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: Device, target: *mut Memory) -> Code {
    if target.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller hands a valid structure and states its version in it.
    let version = unsafe { (*target).version };
    if version & 0xff_ffff != size_of::<Memory>() as c_uint {
        return VERSION_MISMATCH;
    }
    let profile = profile(device);
    let (total, reserved) = (profile.memory * MIB, profile.reserved * MIB);
    let used = asked(device).and_then(|()| setting("used", Some(device), 0));
    unsafe {
        answer(target, used, |used| Memory { version, total, reserved, free: total - reserved - used, used })
    }
}

/// One function that answers one number. `usual` is what a healthy card answers.
macro_rules! number {
    ($($(#[$attribute:meta])* $function:ident($($unused:ty),*) -> $type:ty = $key:literal, $usual:expr;)*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(device: Device, $(_: $unused,)* target: *mut $type) -> Code {
            let usual: fn(&profiles::Profile) -> Result<u64, Code> = $usual;
            let value = asked(device).and_then(|()| match usual(profile(device)) {
                Ok(usual) => setting($key, Some(device), usual),
                // A setting makes an answer of what the card does not have.
                Err(code) => setting($key, Some(device), u64::MAX).and_then(|set| if set == u64::MAX { Err(code) } else { Ok(set) }),
            });
            unsafe { answer(target, value, |value| value as $type) }
        }
    )*};
}

number! {
    nvmlDeviceGetApplicationsClock(c_uint) -> c_uint = "application_clock", |card| card.application_clock.map(u64::from);
    nvmlDeviceGetDefaultApplicationsClock(c_uint) -> c_uint = "default_clock", |card| card.application_clock.map(u64::from);
    nvmlDeviceGetPowerManagementDefaultLimit() -> c_uint = "power_default", |card| Ok(u64::from(card.power.limit) * 1000);
    nvmlDeviceGetPersistenceMode() -> c_uint = "persistence", |_| Ok(1);
    nvmlDeviceGetCurrPcieLinkGeneration() -> c_uint = "pcie_generation", |card| Ok(card.pcie_generation.into());
    nvmlDeviceGetMaxPcieLinkGeneration() -> c_uint = "pcie_generation_max", |card| Ok(card.pcie_generation.into());
    nvmlDeviceGetCurrPcieLinkWidth() -> c_uint = "pcie_width", |_| Ok(16);
    nvmlDeviceGetMaxPcieLinkWidth() -> c_uint = "pcie_width_max", |_| Ok(16);
    nvmlDeviceGetTemperature(c_uint) -> c_uint = "temperature", |card| Ok(card.temperature.into());
}

/// One function that answers one number that the card's state gives.
macro_rules! state {
    ($($(#[$attribute:meta])* $function:ident -> $type:ty = $of:expr;)*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(device: Device, target: *mut $type) -> Code {
            unsafe { answer(target, asked(device).and_then(|()| $of(device)), |value| value as $type) }
        }
    )*};
}

state! {
    nvmlDeviceGetEnforcedPowerLimit -> c_uint = card::power_limit;
    nvmlDeviceGetPowerManagementLimit -> c_uint = card::power_limit;
    nvmlDeviceGetPowerUsage -> c_uint = card::power;
    nvmlDeviceGetTotalEnergyConsumption -> c_ulonglong = card::energy;
    nvmlDeviceGetCurrentClocksThrottleReasons -> c_ulonglong = card::reasons;
    #[cfg(not(old_driver))]
    nvmlDeviceGetCurrentClocksEventReasons -> c_ulonglong = card::reasons;
}

/// NVML_GPU_VIRTUALIZATION_MODE_NONE and _VGPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetVirtualizationMode(device: Device, target: *mut c_uint) -> Code {
    let mode = asked(device).map(|()| if settings::is_virtual(device) { 2 } else { 0 });
    unsafe { answer(target, mode, |mode| mode as c_uint) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerManagementLimitConstraints(
    device: Device,
    least: *mut c_uint,
    most: *mut c_uint,
) -> Code {
    let limits = asked(device).map(|()| &profile(device).power);
    unsafe {
        answer(least, limits.map(|power| power.min.into()), |watts| watts as c_uint * 1000)
            | answer(most, limits.map(|power| power.limit.into()), |watts| watts as c_uint * 1000)
    }
}

/// Milliwatts, in the range of the card; `set_power=!4` refuses. Kept like a locked clock.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetPowerManagementLimit(device: Device, limit: c_uint) -> Code {
    code(asked(device).and_then(|()| clocks::limit(device, limit)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(device: Device, kind: c_uint, target: *mut c_uint) -> Code {
    let clock = asked(device).and_then(|()| match kind {
        2 => setting("memory_clock", Some(device), profile(device).memory_clock.into())
            .map(|clock| clocks::within("memory", device, clock)),
        _ => card::sm_clock(device),
    });
    unsafe { answer(target, clock, |value| value as c_uint) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(
    device: Device,
    kind: c_uint,
    target: *mut c_uint,
) -> Code {
    let profile = profile(device);
    let most = if kind == 2 { profile.memory_clock } else { profile.sm.max };
    unsafe { answer(target, asked(device).map(|()| most.into()), |value| value as c_uint) }
}

/// `set_sm=!4`, `reset_memory=!3` and their like refuse; `FAKE_NVML_CLOCKS` keeps ([`clocks`]).
#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetGpuLockedClocks(device: Device, least: c_uint, most: c_uint) -> Code {
    code(asked(device).and_then(|()| clocks::set("sm", device, least, most)))
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceResetGpuLockedClocks(device: Device) -> Code {
    code(asked(device).and_then(|()| clocks::reset("sm", device)))
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetMemoryLockedClocks(device: Device, least: c_uint, most: c_uint) -> Code {
    code(asked(device).and_then(|()| clocks::set("memory", device, least, most)))
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceResetMemoryLockedClocks(device: Device) -> Code {
    code(asked(device).and_then(|()| clocks::reset("memory", device)))
}

#[repr(C)]
pub struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(device: Device, target: *mut Utilization) -> Code {
    let both = asked(device).and_then(|()| {
        // nvml.h: "On MIG-enabled GPUs, querying device utilization rates is not currently supported."
        let gpu = if slices::are_on(device) { Err(NOT_SUPPORTED) } else { card::utilization(device) }?;
        Ok((gpu, setting("memory_utilization", Some(device), 0)?))
    });
    let memory = both.map_or(0, |(_, memory)| memory as c_uint);
    unsafe { answer(target, both.map(|(gpu, _)| gpu), |gpu| Utilization { gpu: gpu as c_uint, memory }) }
}

#[repr(C)]
pub struct ViolationTime {
    reference_time: c_ulonglong,
    violation_time: c_ulonglong,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetViolationStatus(
    device: Device,
    policy: c_uint,
    target: *mut ViolationTime,
) -> Code {
    let held = asked(device).and_then(|()| card::held(device, policy).unwrap_or(Err(INVALID_ARGUMENT)));
    unsafe {
        answer(target, held, |held| ViolationTime { reference_time: timestamp(), violation_time: held })
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union Value {
    double: f64,
    unsigned: c_uint,
    long: c_ulonglong,
}

#[repr(C)]
pub struct Sample {
    timestamp: c_ulonglong,
    value: Value,
}

/// Every 20 ms, of the last two seconds at most, none from before the library's start.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSamples(
    device: Device,
    kind: c_uint,
    last_seen: c_ulonglong,
    value_type: *mut c_uint,
    count: *mut c_uint,
    samples: *mut Sample,
) -> Code {
    const STEP: u64 = 20_000_000;
    const KEPT: u64 = 100;
    if let Err(code) = asked(device) {
        return code;
    }
    if value_type.is_null() || count.is_null() {
        return INVALID_ARGUMENT;
    }
    if card::sample(device, kind, 0).is_none() {
        return NOT_SUPPORTED;
    }
    let (now, wall) = (settings::now(), timestamp());
    let last = now / STEP;
    let found: Vec<Sample> = (last.saturating_sub(KEPT - 1)..=last)
        .filter_map(|step| {
            let time = step * STEP;
            let value = Value { unsigned: card::sample(device, kind, time)? as c_uint };
            Some(Sample { timestamp: wall - (now - time) / 1000, value })
        })
        .filter(|sample| sample.timestamp > last_seen)
        .collect();
    // SAFETY: both places are there, and the caller's array has as many samples as it says.
    unsafe {
        // NVML_VALUE_TYPE_UNSIGNED_INT
        value_type.write(1);
        if samples.is_null() {
            count.write(KEPT as c_uint);
            return SUCCESS;
        }
        let room = count.read() as usize;
        if room == 0 {
            return INVALID_ARGUMENT;
        }
        if found.is_empty() {
            return NOT_FOUND;
        }
        count.write(found.len().min(room) as c_uint);
        for (offset, sample) in found.into_iter().take(room).enumerate() {
            samples.add(offset).write(sample);
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEccMode(
    device: Device,
    now: *mut c_uint,
    pending: *mut c_uint,
) -> Code {
    let state = asked(device).and_then(|()| setting("ecc", Some(device), 1));
    unsafe { answer(now, state, |value| value as c_uint) | answer(pending, state, |value| value as c_uint) }
}

/// Errors that were not corrected, where ECC is on; none were corrected.
fn memory_errors(device: Device, kind: c_uint) -> Result<u64, Code> {
    asked(device)?;
    match (setting("ecc", Some(device), 1)?, kind) {
        (0, _) => Err(NOT_SUPPORTED),
        (_, 0) => Ok(0),
        (_, 1) => card::uncorrectable(device),
        _ => Err(INVALID_ARGUMENT),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: Device,
    kind: c_uint,
    _counter: c_uint,
    target: *mut c_ulonglong,
) -> Code {
    unsafe { answer(target, memory_errors(device, kind), |value| value) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryErrorCounter(
    device: Device,
    kind: c_uint,
    _counter: c_uint,
    _location: c_uint,
    target: *mut c_ulonglong,
) -> Code {
    unsafe { answer(target, memory_errors(device, kind), |value| value) }
}

#[repr(C)]
pub struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: c_longlong,
    latency: c_longlong,
    value_type: c_uint,
    code: Code,
    value: Value,
}

/// The fields that this library knows, each with its key; `abi.c` has their names.
const FIELDS: [(c_uint, &str); 10] = [
    (3, "ecc_corrected"),
    (4, "ecc_uncorrectable"),
    (31, "retirement_pending"),
    (52, "nvlink_replays"),
    (59, "nvlink_recoveries"),
    (94, "pcie_replays"),
    (142, "remapped_corrected"),
    (143, "remapped_uncorrected"),
    (144, "remap_pending"),
    (145, "remap_failed"),
];

/// Each value has its own code, and only the call itself fails as a whole.
#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: Device,
    count: c_int,
    values: *mut FieldValue,
) -> Code {
    if let Err(code) = asked(device) {
        return code;
    }
    if values.is_null() || count < 1 {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller's array has as many values as it says, each with the number of a field.
    for value in unsafe { std::slice::from_raw_parts_mut(values, count as usize) } {
        let key = FIELDS.iter().find(|(field, _)| *field == value.field).map(|(_, key)| *key);
        let found = match key {
            Some("ecc_uncorrectable") => memory_errors(device, 1),
            Some(key) => setting(key, Some(device), 0),
            None => Err(NOT_SUPPORTED),
        };
        // NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        value.value_type = 3;
        value.timestamp = timestamp() as c_longlong;
        value.latency = 0;
        value.code = found.err().unwrap_or(SUCCESS);
        value.value = Value { long: found.unwrap_or(0) };
    }
    SUCCESS
}

/// As many links are there as `nvlinks` says, each active but for the last `nvlinks_down`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkState(device: Device, link: c_uint, target: *mut c_uint) -> Code {
    let state = asked(device).and_then(|()| {
        let (all, down) = (setting("nvlinks", Some(device), 0)?, setting("nvlinks_down", Some(device), 0)?);
        if u64::from(link) < all { Ok(u64::from(u64::from(link) < all - down)) } else { Err(NOT_SUPPORTED) }
    });
    unsafe { answer(target, state, |value| value as c_uint) }
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: Device,
    now: *mut c_uint,
    pending: *mut c_uint,
) -> Code {
    let state = asked(device).and_then(|()| match profile(device).has_mig {
        true => setting("mig", Some(device), 0),
        false => Err(NOT_SUPPORTED),
    });
    unsafe { answer(now, state, |value| value as c_uint) | answer(pending, state, |value| value as c_uint) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSupportedEventTypes(device: Device, target: *mut c_ulonglong) -> Code {
    unsafe { answer(target, asked(device).map(|()| card::XID | card::DOUBLE_BIT_ECC), |value| value) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(target: *mut Set) -> Code {
    let made = started().map(|()| {
        let mut sets = SETS.lock().unwrap();
        sets.push(Some(card::EventSet::default()));
        sets.len() as u64
    });
    unsafe { answer(target, made, |handle| handle as Set) }
}

/// What a set says, by its handle.
fn in_set<T>(set: Set, of: impl FnOnce(&mut card::EventSet) -> T) -> Result<T, Code> {
    let mut sets = SETS.lock().unwrap();
    let found = set.checked_sub(1).and_then(|index| sets.get_mut(index)).and_then(Option::as_mut);
    found.map(of).ok_or(INVALID_ARGUMENT)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceRegisterEvents(device: Device, kinds: c_ulonglong, set: Set) -> Code {
    code(asked(device).and_then(|()| {
        if kinds & !(card::XID | card::DOUBLE_BIT_ECC) != 0 {
            return Err(NOT_SUPPORTED);
        }
        in_set(set, |set| set.register(device, kinds))
    }))
}

#[cfg(not(old_driver))]
#[repr(C)]
pub struct EventData {
    device: Device,
    event_type: c_ulonglong,
    event_data: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// Waiting is a query of each card in the set, so that what happens at a number of queries happens to one who only waits. What
/// happened to a card is told before the card is lost.
#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(set: Set, target: *mut EventData, milliseconds: c_uint) -> Code {
    let end = settings::now() + u64::from(milliseconds) * 1_000_000;
    let devices = match started().and_then(|()| in_set(set, |set| set.registered.clone())) {
        Ok(devices) => devices,
        Err(code) => return code,
    };
    let mut lost = devices.iter().any(|(device, _)| asked(*device) == Err(GPU_IS_LOST));
    loop {
        let next = match in_set(set, card::EventSet::next) {
            Ok(next) => next,
            Err(code) => return code,
        };
        if let Some((device, happening)) = next {
            let data = |data| EventData {
                device,
                event_type: happening.kind,
                event_data: data,
                gpu_instance: c_uint::MAX,
                compute_instance: c_uint::MAX,
            };
            return unsafe { answer(target, Ok(happening.data), data) };
        }
        if lost {
            return GPU_IS_LOST;
        }
        if settings::now() >= end {
            return TIMEOUT;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        lost = devices.iter().any(|(device, _)| card::is_lost_now(*device));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetFree(set: Set) -> Code {
    let mut sets = SETS.lock().unwrap();
    let freed = set.checked_sub(1).and_then(|index| sets.get_mut(index)).and_then(Option::take);
    if freed.is_some() { SUCCESS } else { INVALID_ARGUMENT }
}

#[repr(C)]
pub struct Process {
    pid: c_uint,
    memory: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

unsafe fn processes(found: Result<u64, Code>, first: c_uint, count: *mut c_uint, list: *mut Process) -> Code {
    let found = match found {
        Ok(found) => found as c_uint,
        Err(code) => return code,
    };
    unsafe {
        let room = count.replace(found);
        if found > room {
            return INSUFFICIENT_SIZE;
        }
        for offset in 0..found {
            let memory = 1 << 30;
            let none = c_uint::MAX;
            let process = Process { pid: first + offset, memory, gpu_instance: none, compute_instance: none };
            list.add(offset as usize).write(process);
        }
    }
    SUCCESS
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: Device,
    count: *mut c_uint,
    list: *mut Process,
) -> Code {
    let found = asked(device).and_then(|()| setting("processes", Some(device), 0));
    unsafe { processes(found, 4_000_001, count, list) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: Device,
    count: *mut c_uint,
    list: *mut Process,
) -> Code {
    let found = asked(device).and_then(|()| setting("graphics", Some(device), 0));
    unsafe { processes(found, 4_000_002, count, list) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, target: *mut c_char, length: c_uint) -> Code {
    match pid {
        4_000_001 => unsafe { text(target, length, "/usr/bin/python3") },
        _ => INVALID_ARGUMENT,
    }
}

/// A fact of a structure, for `abi.c`.
#[repr(C)]
pub struct Fact {
    name: *const c_char,
    value: usize,
}

// SAFETY: what it points to is constant.
unsafe impl Sync for Fact {}

macro_rules! facts {
    ($($name:literal $type:ty { $($field:ident $as:literal),* })*) => {&[
        $(
            Fact { name: concat!($name, "\0").as_ptr().cast(), value: size_of::<$type>() },
            $(Fact {
                name: concat!($name, ".", $as, "\0").as_ptr().cast(),
                value: std::mem::offset_of!($type, $field),
            },)*
        )*
        Fact { name: std::ptr::null(), value: 0 },
    ]};
}

/// Sizes and offsets of all structures that pass the border, under nvml.h's names for the fields; ended by one without a name.
#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub extern "C" fn fake_nvml_layout() -> *const Fact {
    static FACTS: &[Fact] = facts! {
        "Memory" Memory { version "version", total "total", reserved "reserved", free "free", used "used" }
        "Process" Process {
            pid "pid", memory "usedGpuMemory", gpu_instance "gpuInstanceId", compute_instance "computeInstanceId"
        }
        "PciInfo" PciInfo {
            bus_id_legacy "busIdLegacy", domain "domain", bus "bus", device "device", pci_device_id "pciDeviceId",
            pci_subsystem_id "pciSubSystemId", bus_id "busId"
        }
        "Utilization" Utilization { gpu "gpu", memory "memory" }
        "ViolationTime" ViolationTime { reference_time "referenceTime", violation_time "violationTime" }
        "Value" Value {}
        "Sample" Sample { timestamp "timeStamp", value "sampleValue" }
        "FieldValue" FieldValue {
            field "fieldId", scope "scopeId", timestamp "timestamp", latency "latencyUsec", value_type "valueType",
            code "nvmlReturn", value "value"
        }
        "EventData" EventData {
            device "device", event_type "eventType", event_data "eventData", gpu_instance "gpuInstanceId",
            compute_instance "computeInstanceId"
        }
    };
    FACTS.as_ptr()
}
