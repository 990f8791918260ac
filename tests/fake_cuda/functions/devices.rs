//! Devices.

use std::ffi::{c_char, c_int};

use super::Code;
use crate::driver::{Answer, enter, put};
use crate::{INVALID_VALUE, device};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    // SAFETY: see the module.
    enter("cuDeviceGetCount", |driver| unsafe { put(count, driver.devices.len() as c_int) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    enter("cuDeviceGet", |driver| {
        driver.device(ordinal)?;
        // SAFETY: see the module.
        unsafe { put(device, ordinal) }
    })
}

/// Writes a text with its NUL, cut where the place is too short, as the driver does.
unsafe fn put_text(place: *mut c_char, length: c_int, text: &str) -> Answer {
    let Ok(room @ 1..) = usize::try_from(length) else { return Err(INVALID_VALUE) };
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    for (offset, byte) in text.bytes().take(room - 1).chain([0]).enumerate() {
        // SAFETY: the caller's place has `length` bytes, and no more are written.
        unsafe { place.add(offset).write(byte as c_char) };
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(text: *mut c_char, length: c_int, number: c_int) -> Code {
    enter("cuDeviceGetName", |driver| {
        let device = driver.devices[driver.device(number)?];
        // SAFETY: see the module.
        unsafe { put_text(text, length, &device::name(&driver.settings, device)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, length: c_int, number: c_int) -> Code {
    enter("cuDeviceGetPCIBusId", |driver| {
        let device = driver.devices[driver.device(number)?];
        // SAFETY: see the module.
        unsafe { put_text(text, length, &device::pci(&driver.settings, device)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], number: c_int) -> Code {
    enter("cuDeviceGetUuid", |driver| {
        let device = driver.devices[driver.device(number)?];
        // SAFETY: see the module.
        unsafe { put(uuid, device::uuid(&driver.settings, device)) }
    })
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], number: c_int) -> Code {
    enter("cuDeviceGetUuid_v2", |driver| {
        let device = driver.devices[driver.device(number)?];
        // SAFETY: see the module.
        unsafe { put(uuid, device::uuid(&driver.settings, device)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, number: c_int) -> Code {
    enter("cuDeviceGetAttribute", |driver| {
        let device = driver.devices[driver.device(number)?];
        driver.note(|| attribute.to_string());
        // SAFETY: see the module.
        unsafe { put(value, device::attribute(&driver.settings, device, attribute)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, number: c_int) -> Code {
    enter("cuDeviceTotalMem_v2", |driver| {
        let device = driver.device(number)?;
        // SAFETY: see the module.
        unsafe { put(bytes, driver.capacity(device) as usize) }
    })
}
