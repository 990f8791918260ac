//! Folders in use by a process of the gate. Each has a shared lock (flock) until the process ends, however it ends, and is not
//! removed meanwhile.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::remove::open_folder;

static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Keeps a folder from removal until this process ends. No effect on a file system without locks, where nothing is removed.
pub fn hold(folder: &Path) {
    if let Ok(folder) = open_folder(folder)
        && folder.try_lock_shared().is_ok()
    {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
    }
}

/// True if no process uses the folder. The lock ends with `folder`. Errors: the file system has no locks.
pub(super) fn take(folder: &File) -> std::io::Result<bool> {
    match folder.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
