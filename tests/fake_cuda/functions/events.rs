//! Events.

use std::ffi::c_uint;
use std::sync::{Arc, OnceLock};

use super::{Code, Handle};
use crate::driver::{Driver, Event, enter, put};
use crate::queue::{Command, Mark};
use crate::{INVALID_HANDLE, NOT_READY};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut Handle, flags: c_uint) -> Code {
    const DISABLE_TIMING: c_uint = 2;
    enter("cuEventCreate", |driver| {
        driver.context()?;
        let handle = driver.new_handle();
        // SAFETY: see the module.
        unsafe { put(event, handle) }?;
        let timed = flags & DISABLE_TIMING == 0;
        driver.events.insert(handle, Event { timed, mark: None, captured: false });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventDestroy_v2(event: Handle) -> Code {
    enter("cuEventDestroy_v2", |driver| driver.events.remove(&event).map(|_| ()).ok_or(INVALID_HANDLE))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Code {
    enter("cuEventRecord", |driver| {
        let stream = driver.stream(stream)?;
        let order = driver.next_order();
        let captured = driver.streams.get(&stream).is_some_and(|stream| stream.capture.is_some());
        driver.note(|| format!("event={event:#x} stream={stream}"));
        let own = driver.event(event)?;
        own.captured = captured;
        // In a graph the record only orders what is around it, and the line keeps that order.
        if captured {
            own.mark = None;
            return Ok(());
        }
        let mark = Arc::new(Mark { stream, order, time: OnceLock::new() });
        own.mark = Some(mark.clone());
        driver.queue(stream, Command::Record(mark));
        Ok(())
    })
}

impl Driver {
    /// Runs up to an event; whether it has happened.
    pub fn reach(&mut self, event: Handle, patient: bool) -> Result<bool, u32> {
        const CAPTURED_EVENT: Code = 907;
        let own = self.event(event)?;
        if own.captured {
            return Err(CAPTURED_EVENT);
        }
        let Some(mark) = own.mark.clone() else { return Ok(true) };
        self.run(mark.stream, mark.order, patient)?;
        if let Some(time) = mark.time.get() {
            self.clock.wait_until(*time);
        }
        Ok(mark.time.get().is_some())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventQuery(event: Handle) -> Code {
    enter("cuEventQuery", |driver| if driver.reach(event, false)? { Ok(()) } else { Err(NOT_READY) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventSynchronize(event: Handle) -> Code {
    enter("cuEventSynchronize", |driver| driver.reach(event, true).map(|_| ()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, from: Handle, to: Handle) -> Code {
    enter("cuEventElapsedTime", |driver| {
        let mut times = [0.0; 2];
        for (time, event) in times.iter_mut().zip([from, to]) {
            let own = driver.event(event)?;
            // Without a time, and never recorded: both are a handle of no use.
            let mark = own.mark.as_ref().filter(|_| own.timed).ok_or(INVALID_HANDLE)?;
            *time = *mark.time.get().ok_or(NOT_READY)?;
        }
        let between = driver.clock.stamp(times[1]) - driver.clock.stamp(times[0]);
        let said = between / 1e6 * driver.settings.number("events", 1.0);
        driver.note(|| format!("from={from:#x} to={to:#x} ms={said:.6}"));
        // SAFETY: see the module.
        unsafe { put(milliseconds, said as f32) }
    })
}
