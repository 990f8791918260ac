//! Contexts, and what waiting for a device is.

use std::ffi::c_int;
use std::fs::File;
use std::path::Path;

use super::{CAPTURE_UNSUPPORTED, Code, Handle};
use crate::device::attribute;
use crate::driver::{Answer, Driver, context_of, current, enter, put, set_current};
use crate::queue::Command;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut Handle, number: c_int) -> Code {
    enter("cuDevicePrimaryCtxRetain", |driver| {
        let device = driver.device(number)?;
        driver.take(device)?;
        // SAFETY: see the module.
        unsafe { put(context, context_of(device)) }?;
        driver.held[device] += 1;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(number: c_int) -> Code {
    const INVALID_CONTEXT: Code = 201;
    enter("cuDevicePrimaryCtxRelease_v2", |driver| {
        let device = driver.device(number)?;
        driver.held[device] = driver.held[device].checked_sub(1).ok_or(INVALID_CONTEXT)?;
        if driver.held[device] == 0 {
            driver.end_context(device);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetCurrent(context: Handle) -> Code {
    enter("cuCtxSetCurrent", |_| set_current(context))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut Handle) -> Code {
    // SAFETY: see the module.
    enter("cuCtxGetCurrent", |_| unsafe { put(context, current()) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSynchronize() -> Code {
    enter("cuCtxSynchronize", |driver| {
        let device = driver.context()?;
        driver.no_capture(device)?;
        driver.finish(device)
    })
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxResetPersistingL2Cache() -> Code {
    const NOT_SUPPORTED: Code = 801;
    enter("cuCtxResetPersistingL2Cache", |driver| {
        let device = driver.context()?;
        match attribute(&driver.settings, device, 108)? {
            0 => Err(NOT_SUPPORTED),
            _ => Ok(()),
        }
    })
}

impl Driver {
    /// In exclusive mode one process at a time has a context. The lock of the file ends with the process, as a context does.
    fn take(&mut self, device: usize) -> Answer {
        const DEVICE_UNAVAILABLE: u32 = 46;
        let Some(folder) = self.settings.text("exclusive") else { return Ok(()) };
        if self.exclusive.contains_key(&device) {
            return Ok(());
        }
        let path = Path::new(folder).join(format!("card-{}", self.devices[device]));
        let file = File::create(path).map_err(|_| DEVICE_UNAVAILABLE)?;
        file.try_lock().map_err(|_| DEVICE_UNAVAILABLE)?;
        self.exclusive.insert(device, file);
        Ok(())
    }

    pub fn capacity(&self, device: usize) -> u64 {
        crate::memory::Memory::capacity(&self.settings, self.devices[device])
    }

    /// Waits for all that a device has to do.
    pub fn finish(&mut self, device: usize) -> Answer {
        self.run_device(device, true)?;
        let time = self.device_time(device, None);
        self.clock.wait_until(time);
        Ok(())
    }

    /// A call that waits spoils what is being captured.
    pub fn no_capture(&mut self, device: usize) -> Answer {
        let mut answer = Ok(());
        for stream in self.streams.values_mut().filter(|stream| stream.device == device) {
            if let Some(capture) = &mut stream.capture {
                capture.invalid = true;
                answer = Err(CAPTURE_UNSUPPORTED);
            }
        }
        answer
    }

    /// The same for one stream.
    pub fn no_capture_of(&mut self, stream: usize) -> Answer {
        match self.streams.get_mut(&stream).and_then(|stream| stream.capture.as_mut()) {
            Some(capture) => {
                capture.invalid = true;
                Err(CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Queues a command in the default stream and waits for it.
    pub fn blocking(&mut self, device: usize, command: Command) -> Answer {
        self.no_capture(device)?;
        let order = self.queue(device, command);
        self.run(device, order, true)?;
        let time = self.device_time(device, Some(device));
        self.clock.wait_until(time);
        Ok(())
    }
}
