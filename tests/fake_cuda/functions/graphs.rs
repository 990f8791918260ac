//! Graphs.

use super::{Code, Handle};
use crate::INVALID_HANDLE;
use crate::driver::{enter, put};
use crate::queue::Command;

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, _: u64) -> Code {
    enter("cuGraphInstantiateWithFlags", |driver| {
        let commands = driver.graphs.get(&graph).ok_or(INVALID_HANDLE)?.clone();
        let handle = driver.new_handle();
        // SAFETY: see the module.
        unsafe { put(executable, handle) }?;
        driver.executables.insert(handle, commands);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphLaunch(executable: Handle, stream: Handle) -> Code {
    enter("cuGraphLaunch", |driver| {
        let stream = driver.stream(stream)?;
        let commands = driver.executables.get(&executable).ok_or(INVALID_HANDLE)?.clone();
        driver.note(|| format!("commands={} stream={stream}", commands.len()));
        driver.queue(stream, Command::Graph(commands));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecDestroy(executable: Handle) -> Code {
    enter("cuGraphExecDestroy", |driver| {
        driver.executables.remove(&executable).map(|_| ()).ok_or(INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphDestroy(graph: Handle) -> Code {
    enter("cuGraphDestroy", |driver| driver.graphs.remove(&graph).map(|_| ()).ok_or(INVALID_HANDLE))
}
