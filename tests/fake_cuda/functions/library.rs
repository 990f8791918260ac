//! The library as such.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::Code;
use crate::driver::{Answer, enter, put};
use crate::{INVALID_VALUE, codes, exports};

const NO_DEVICE: Code = 100;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(flags: c_uint) -> Code {
    enter("cuInit", |driver| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        // `count=0` is a driver that starts and finds nothing; hidden devices are as good as none.
        if driver.devices.is_empty() && driver.settings.text("count") != Some("0") {
            return Err(NO_DEVICE);
        }
        driver.initialise();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: see the module.
    enter("cuDriverGetVersion", |driver| unsafe { put(version, driver.version() as c_int) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: Code, text: *mut *const c_char) -> Code {
    // SAFETY: see the module.
    enter("cuGetErrorName", |_| unsafe { said(text, codes::of(error).map(|(name, _)| name)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: Code, text: *mut *const c_char) -> Code {
    // SAFETY: see the module.
    enter("cuGetErrorString", |_| unsafe { said(text, codes::of(error).map(|(_, words)| words)) })
}

unsafe fn said(place: *mut *const c_char, text: Option<&'static CStr>) -> Answer {
    // SAFETY: the caller's promise.
    unsafe { put(place, text.map_or(std::ptr::null(), CStr::as_ptr)) }?;
    text.map(|_| ()).ok_or(INVALID_VALUE)
}

/// There are no such tables; NVRTC asks, and ends in a fault where the function is missing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetExportTable(table: *mut *const c_void, _: *const c_void) -> Code {
    enter("cuGetExportTable", |_| {
        // SAFETY: see the module.
        unsafe { put(table, std::ptr::null()) }?;
        Err(INVALID_VALUE)
    })
}

/// A name that nobody knows succeeds with a null and a status of 1, as on driver 535.
#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    function: *mut *mut c_void,
    _: c_int,
    _: u64,
    status: *mut c_uint,
) -> Code {
    enter("cuGetProcAddress_v2", |driver| {
        // SAFETY: see the module.
        let name = unsafe { name(symbol) }?;
        let found = exports::find(name);
        driver.note(|| name.to_owned());
        if !status.is_null() {
            // SAFETY: see the module.
            unsafe { put(status, c_uint::from(found.is_none())) }?;
        }
        // SAFETY: see the module.
        unsafe { put(function, found.map_or(std::ptr::null_mut(), exports::Export::pointer)) }
    })
}

pub(super) unsafe fn name<'a>(text: *const c_char) -> Result<&'a str, Code> {
    if text.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's text ends in NUL.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| INVALID_VALUE)
}
