//! Folders that a process of the gate works in. Each is held by a shared lock (flock) until the process has ended, however it
//! ends: such a folder is not removed.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::remove::open_folder;

static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Holds a folder until this process ends. Without an effect on a file system that has no locks: there nothing is removed.
pub fn hold(folder: &Path) {
    if let Ok(folder) = open_folder(folder)
        && folder.try_lock_shared().is_ok()
    {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
    }
}

/// True if no process holds the folder. The lock ends with `folder`. Errors: the file system has no locks.
pub(super) fn take(folder: &File) -> std::io::Result<bool> {
    match folder.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
