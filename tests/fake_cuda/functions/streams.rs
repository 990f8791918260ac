//! Streams, and what is captured in them.

use std::ffi::c_uint;
use std::sync::Arc;

use super::{CAPTURE_UNSUPPORTED, Code, Handle};
use crate::driver::{Answer, Driver, enter, put};
use crate::queue::{Capture, Command, Ran, Stream};
use crate::{INVALID_HANDLE, INVALID_VALUE, NOT_READY};

const ILLEGAL_STATE: Code = 401;
const CAPTURE_INVALIDATED: Code = 901;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut Handle, flags: c_uint) -> Code {
    enter("cuStreamCreate", |driver| {
        let device = driver.context()?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let handle = driver.new_handle();
        // SAFETY: see the module.
        unsafe { put(stream, handle) }?;
        driver.streams.insert(handle, Stream::new(device, flags, false));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamDestroy_v2(stream: Handle) -> Code {
    enter("cuStreamDestroy_v2", |driver| {
        if stream < driver.devices.len() || !driver.streams.contains_key(&stream) {
            return Err(INVALID_HANDLE);
        }
        // On a card the stream's work goes on by itself; here it is done first.
        let ran = driver.run(stream, u64::MAX, true);
        driver.streams.remove(&stream);
        ran.map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamSynchronize(stream: Handle) -> Code {
    enter("cuStreamSynchronize", |driver| {
        let stream = driver.stream(stream)?;
        driver.note(|| format!("stream={stream}"));
        driver.no_capture_of(stream)?;
        driver.run(stream, u64::MAX, true)?;
        driver.wait_for(stream)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamQuery(stream: Handle) -> Code {
    enter("cuStreamQuery", |driver| {
        let stream = driver.stream(stream)?;
        driver.no_capture_of(stream)?;
        match driver.run(stream, u64::MAX, false)? {
            Ran::All => driver.wait_for(stream),
            Ran::Waits => Err(NOT_READY),
        }
    })
}

impl Driver {
    pub fn wait_for(&mut self, stream: usize) -> Answer {
        let device = self.streams.get(&stream).ok_or(INVALID_HANDLE)?.device;
        let time = self.device_time(device, Some(stream));
        self.clock.wait_until(time);
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, _: c_uint) -> Code {
    enter("cuStreamWaitEvent", |driver| {
        let stream = driver.stream(stream)?;
        if let Some(mark) = driver.event(event)?.mark.clone() {
            driver.queue(stream, Command::Wait(mark));
        }
        Ok(())
    })
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) -> Code {
    enter("cuStreamBeginCapture_v2", |driver| {
        let stream = driver.stream(stream)?;
        if mode > 2 {
            return Err(INVALID_VALUE);
        }
        // The default stream cannot be captured.
        if stream < driver.devices.len() {
            return Err(CAPTURE_UNSUPPORTED);
        }
        let own = driver.streams.get_mut(&stream).ok_or(INVALID_HANDLE)?;
        if own.capture.is_some() {
            return Err(ILLEGAL_STATE);
        }
        own.capture = Some(Capture { commands: Vec::new(), invalid: false });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamEndCapture(stream: Handle, graph: *mut Handle) -> Code {
    enter("cuStreamEndCapture", |driver| {
        let stream = driver.stream(stream)?;
        let capture = driver.streams.get_mut(&stream).and_then(|stream| stream.capture.take());
        let capture = capture.ok_or(ILLEGAL_STATE)?;
        if capture.invalid {
            // SAFETY: see the module.
            unsafe { put(graph, 0) }?;
            return Err(CAPTURE_INVALIDATED);
        }
        let handle = driver.new_handle();
        // SAFETY: see the module.
        unsafe { put(graph, handle) }?;
        driver.note(|| format!("commands={}", capture.commands.len()));
        driver.graphs.insert(handle, Arc::new(capture.commands));
        Ok(())
    })
}
