//! Memory, copies and fills.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::{Address, Code, Handle};
use crate::INVALID_VALUE;
use crate::driver::{Answer, Driver, enter, put};
use crate::queue::Command;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    enter("cuMemGetInfo_v2", |driver| {
        let device = driver.context()?;
        let (capacity, used) = (driver.capacity(device), driver.memory.used(device));
        // SAFETY: see the module.
        unsafe { put(free, (capacity - used) as usize).and(put(total, capacity as usize)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut Address, size: usize) -> Code {
    enter("cuMemAlloc_v2", |driver| {
        let device = driver.context()?;
        driver.note(|| size.to_string());
        driver.no_capture(device)?;
        if address.is_null() {
            return Err(INVALID_VALUE);
        }
        let capacity = driver.capacity(device);
        let place = driver.memory.allocate(&driver.settings, device, capacity, size)?;
        // SAFETY: see the module.
        unsafe { put(address, place as Address) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(address: Address) -> Code {
    enter("cuMemFree_v2", |driver| {
        let device = driver.context()?;
        if address == 0 {
            return Ok(());
        }
        driver.no_capture(device)?;
        driver.finish(device)?;
        driver.memory.free(address as usize)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(place: *mut *mut c_void, size: usize) -> Code {
    enter("cuMemAllocHost_v2", |driver| {
        driver.note(|| size.to_string());
        // SAFETY: see the module.
        unsafe { allocate_host(driver, place, size) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(place: *mut *mut c_void, size: usize, flags: c_uint) -> Code {
    const PORTABLE_MAPPED_WRITE_COMBINED: c_uint = 7;
    enter("cuMemHostAlloc", |driver| {
        driver.note(|| format!("{size} flags={flags}"));
        if flags & !PORTABLE_MAPPED_WRITE_COMBINED != 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: see the module.
        unsafe { allocate_host(driver, place, size) }
    })
}

unsafe fn allocate_host(driver: &mut Driver, place: *mut *mut c_void, size: usize) -> Answer {
    driver.context()?;
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    let address = driver.memory.allocate_host(size)?;
    // SAFETY: the caller's promise.
    unsafe { put(place, address as *mut c_void) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeHost(place: *mut c_void) -> Code {
    enter("cuMemFreeHost", |driver| {
        let device = driver.context()?;
        driver.finish(device)?;
        driver.memory.free_host(place as usize)
    })
}

/// The same address: host and device share one space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(
    address: *mut Address,
    place: *mut c_void,
    flags: c_uint,
) -> Code {
    enter("cuMemHostGetDevicePointer_v2", |driver| {
        driver.context()?;
        if flags != 0 || !driver.memory.is_host(place as usize, 1) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: see the module.
        unsafe { put(address, place as Address) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: Address, from: *const c_void, size: usize) -> Code {
    enter("cuMemcpyHtoD_v2", |driver| {
        let device = driver.context()?;
        driver.note(|| size.to_string());
        match checked(driver, to, from as usize, size)? {
            Some(()) => driver.blocking(device, copy(to as usize, from as usize, size)),
            None => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: Address, size: usize) -> Code {
    enter("cuMemcpyDtoH_v2", |driver| {
        let device = driver.context()?;
        driver.note(|| size.to_string());
        match checked(driver, from, to as usize, size)? {
            Some(()) => driver.blocking(device, copy(to as usize, from as usize, size)),
            None => Ok(()),
        }
    })
}

fn copy(to: usize, from: usize, size: usize) -> Command {
    Command::Copy { to, from, size, over_pcie: true, staged: None }
}

/// Checks a copy between host and device; `None` where there is nothing to copy.
fn checked(driver: &Driver, device: Address, host: usize, size: usize) -> Result<Option<()>, Code> {
    if size == 0 {
        return Ok(None);
    }
    if host == 0 {
        return Err(INVALID_VALUE);
    }
    driver.memory.check(device as usize, size).map(Some)
}

/// Pageable memory is taken away by the call, page-locked memory is read when the copy runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: Address,
    from: *const c_void,
    size: usize,
    stream: Handle,
) -> Code {
    enter("cuMemcpyHtoDAsync_v2", |driver| {
        let stream = driver.stream(stream)?;
        driver.note(|| format!("{size} stream={stream}"));
        if checked(driver, to, from as usize, size)?.is_none() {
            return Ok(());
        }
        let capturing = driver.streams.get(&stream).is_some_and(|stream| stream.capture.is_some());
        let staged = (!capturing && !driver.memory.is_host(from as usize, size)).then(|| {
            // SAFETY: see the module.
            Arc::new(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size) }.to_vec())
        });
        let (to, from) = (to as usize, from as usize);
        driver.queue(stream, Command::Copy { to, from, size, over_pcie: true, staged });
        Ok(())
    })
}

/// A copy to pageable memory is done when the call returns; one to page-locked memory when the host waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: Address,
    size: usize,
    stream: Handle,
) -> Code {
    enter("cuMemcpyDtoHAsync_v2", |driver| {
        let stream = driver.stream(stream)?;
        driver.note(|| format!("{size} stream={stream}"));
        if checked(driver, from, to as usize, size)?.is_none() {
            return Ok(());
        }
        let capturing = driver.streams.get(&stream).is_some_and(|stream| stream.capture.is_some());
        let order = driver.queue(stream, copy(to as usize, from as usize, size));
        if !capturing && !driver.memory.is_host(to as usize, size) {
            driver.run(stream, order, true)?;
            driver.wait_for(stream)?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: Address,
    from: Address,
    size: usize,
    stream: Handle,
) -> Code {
    enter("cuMemcpyDtoDAsync_v2", |driver| {
        let stream = driver.stream(stream)?;
        driver.note(|| format!("{size} stream={stream}"));
        if size == 0 {
            return Ok(());
        }
        let (to, from) = (to as usize, from as usize);
        driver.memory.check(to, size).and(driver.memory.check(from, size))?;
        driver.queue(stream, Command::Copy { to, from, size, over_pcie: false, staged: None });
        Ok(())
    })
}

/// The host does not wait for a fill of device memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8_v2(at: Address, value: u8, count: usize) -> Code {
    enter("cuMemsetD8_v2", |driver| fill(driver, 0, at, u32::from_ne_bytes([value; 4]), count))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8Async(at: Address, value: u8, count: usize, stream: Handle) -> Code {
    enter("cuMemsetD8Async", |driver| fill(driver, stream, at, u32::from_ne_bytes([value; 4]), count))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD32Async(at: Address, value: c_uint, count: usize, stream: Handle) -> Code {
    enter("cuMemsetD32Async", |driver| {
        let size = count.checked_mul(4).ok_or(INVALID_VALUE)?;
        if at.is_multiple_of(4) { fill(driver, stream, at, value, size) } else { Err(INVALID_VALUE) }
    })
}

fn fill(driver: &mut Driver, stream: Handle, at: Address, pattern: u32, size: usize) -> Answer {
    let stream = driver.stream(stream)?;
    driver.note(|| format!("{size} value={pattern:#x} stream={stream}"));
    if size == 0 {
        return Ok(());
    }
    driver.memory.check(at as usize, size)?;
    driver.queue(stream, Command::Fill { at: at as usize, size, pattern });
    Ok(())
}
