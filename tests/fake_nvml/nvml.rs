//! A stand-in for NVIDIA's management library: the functions that gbench-ci asks for, without a GPU.
//!
//! Built by the tests with plain `rustc --crate-type cdylib`, and loaded as the real one is. `FAKE_NVML` says how it
//! differs from two healthy GPUs: `count=1 mig.1=1 ecc=!3 reasons=0x48`, where a number after the dot is the GPU
//! and `!` gives the error code that the function returns. `--cfg old_driver` leaves functions out, as drivers of
//! their time did; `--cfg no_shutdown` leaves out the one that the loader takes for granted.

#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong};

type Code = c_uint;
type Device = usize;

const SUCCESS: Code = 0;
const INVALID_ARGUMENT: Code = 2;
const INSUFFICIENT_SIZE: Code = 7;

/// The setting of a key, that of the GPU before the general one; an error code where it begins with `!`.
fn setting(key: &str, device: Option<Device>, usual: u64) -> Result<u64, Code> {
    let settings = std::env::var("FAKE_NVML").unwrap_or_default();
    let of = |name: &str| {
        settings
            .split_whitespace()
            .find_map(|pair| Some(pair.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
    };
    let own = device.and_then(|device| of(&format!("{key}.{}", device - 1)));
    let Some(text) = own.or_else(|| of(key)) else { return Ok(usual) };
    match (text.strip_prefix('!'), text.strip_prefix("0x")) {
        (Some(code), _) => Err(code.parse().expect("an error code after the !")),
        (None, Some(digits)) => Ok(u64::from_str_radix(digits, 16).expect("hexadecimal digits after the 0x")),
        (None, None) => Ok(text.parse().expect("a number")),
    }
}

unsafe fn answer<T>(target: *mut T, value: Result<u64, Code>, convert: impl FnOnce(u64) -> T) -> Code {
    match value {
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

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Code {
    setting("init", None, 0).err().unwrap_or(SUCCESS)
}

/// Leaves a mark, so that a test sees that it was called.
#[cfg(not(no_shutdown))]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Code {
    if let Some(path) = std::env::var_os("FAKE_NVML_SHUTDOWN") {
        std::fs::write(path, "shut down").expect("the mark can be written");
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(target: *mut c_char, length: c_uint) -> Code {
    unsafe { text(target, length, "550.54.15") }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(target: *mut c_char, length: c_uint) -> Code {
    unsafe { text(target, length, "12.550.54.15") }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(target: *mut c_int) -> Code {
    unsafe { answer(target, setting("cuda", None, 12_040), |value| value as c_int) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(target: *mut c_uint) -> Code {
    unsafe { answer(target, setting("count", None, 2), |value| value as c_uint) }
}

/// A handle is the index plus one: a null handle is a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, target: *mut Device) -> Code {
    let device = index as Device + 1;
    unsafe { answer(target, setting("handle", Some(device), device as u64), |value| value as Device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(device: Device, target: *mut c_char, length: c_uint) -> Code {
    match setting("name", Some(device), 0) {
        Ok(_) => unsafe { text(target, length, "NVIDIA Stand-in 80GB") },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: Device, target: *mut c_char, length: c_uint) -> Code {
    unsafe { text(target, length, &format!("GPU-0000-{device}")) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    _: Device,
    major: *mut c_int,
    minor: *mut c_int,
) -> Code {
    unsafe { answer(major, Ok(9), |value| value as c_int) | answer(minor, Ok(0), |value| value as c_int) }
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
    const TOTAL: u64 = 80 << 30;
    // SAFETY: the caller hands a valid structure and states its version in it.
    if unsafe { (*target).version } & 0xff_ffff != std::mem::size_of::<Memory>() as c_uint {
        return 25;
    }
    unsafe {
        let version = (*target).version;
        answer(target, setting("used", Some(device), 0), |used| Memory {
            version,
            total: TOTAL,
            reserved: 0,
            free: TOTAL - used,
            used,
        })
    }
}

/// One function that answers one number.
macro_rules! number {
    ($($(#[$attribute:meta])* $function:ident($($unused:ty),*) -> $type:ty = $key:literal, $usual:expr;)*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(device: Device, $(_: $unused,)* target: *mut $type) -> Code {
            unsafe { answer(target, setting($key, Some(device), $usual), |value| value as $type) }
        }
    )*};
}

number! {
    nvmlDeviceGetApplicationsClock(c_uint) -> c_uint = "application_clock", 1980;
    nvmlDeviceGetDefaultApplicationsClock(c_uint) -> c_uint = "default_clock", 1980;
    nvmlDeviceGetEnforcedPowerLimit() -> c_uint = "power_limit", 700_000;
    nvmlDeviceGetPowerManagementDefaultLimit() -> c_uint = "power_default", 700_000;
    nvmlDeviceGetPowerUsage() -> c_uint = "power", 71_500;
    nvmlDeviceGetPersistenceMode() -> c_uint = "persistence", 1;
    nvmlDeviceGetCurrPcieLinkGeneration() -> c_uint = "pcie_generation", 5;
    nvmlDeviceGetCurrPcieLinkWidth() -> c_uint = "pcie_width", 16;
    nvmlDeviceGetTemperature(c_uint) -> c_uint = "temperature", 34;
    nvmlDeviceGetCurrentClocksThrottleReasons() -> c_ulonglong = "reasons", 1;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(device: Device, kind: c_uint, target: *mut c_uint) -> Code {
    let (key, usual) = if kind == 2 { ("memory_clock", 2619) } else { ("sm_clock", 345) };
    unsafe { answer(target, setting(key, Some(device), usual), |value| value as c_uint) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(_: Device, kind: c_uint, target: *mut c_uint) -> Code {
    unsafe { answer(target, Ok(if kind == 2 { 2619 } else { 1980 }), |value| value as c_uint) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEccMode(
    device: Device,
    now: *mut c_uint,
    pending: *mut c_uint,
) -> Code {
    let state = setting("ecc", Some(device), 1);
    unsafe { answer(now, state, |value| value as c_uint) | answer(pending, state, |value| value as c_uint) }
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: Device,
    now: *mut c_uint,
    pending: *mut c_uint,
) -> Code {
    let state = setting("mig", Some(device), 0);
    unsafe { answer(now, state, |value| value as c_uint) | answer(pending, state, |value| value as c_uint) }
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
    unsafe { processes(setting("processes", Some(device), 0), 4_000_001, count, list) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: Device,
    count: *mut c_uint,
    list: *mut Process,
) -> Code {
    unsafe { processes(setting("graphics", Some(device), 0), 4_000_002, count, list) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, target: *mut c_char, length: c_uint) -> Code {
    match pid {
        4_000_001 => unsafe { text(target, length, "/usr/bin/python3") },
        _ => INVALID_ARGUMENT,
    }
}
