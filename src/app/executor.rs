//! What starts the processes of a use case.

use std::path::{Path, PathBuf};

use crate::model::{Exit, Fault, Result};
use crate::run::{Interrupt, Supervised};
use crate::store::without_temporary;

/// The executor, and the interrupts of the user.
pub(super) fn executor(binary: &Path) -> Result<Supervised> {
    of_process(binary, true)
}

/// One whose processes run beside those of others. What is left when a supervisor of it is killed cannot be told apart from the others'
/// processes: it is ended when those have ended.
pub(super) fn executor_beside(binary: &Path) -> Result<Supervised> {
    of_process(binary, false)
}

fn of_process(binary: &Path, owns_process: bool) -> Result<Supervised> {
    Supervised::new(binary.to_owned(), Some(interrupt()?), owns_process).map_err(|error| {
        let what = format!("no temporary folder can be made: {}", without_temporary(&error));
        let next = "set TMPDIR to a writable folder, on a disk with space";
        Fault::at_path(std::env::temp_dir(), what, next).caused_by(&error)
    })
}

/// Takes the signals that end a command. Errors: this process may open too few files (exit code 5).
pub(crate) fn interrupt() -> Result<Interrupt> {
    Interrupt::install().map_err(|error| {
        let next = "allow it more open files, `ulimit -n 1024`, and run again";
        Fault::at("signals", format!("gbench-ci cannot wait for them: {error}"), next).exits(Exit::Machine)
    })
}

/// The path of the running binary, which is also its own supervisor and micro suite.
pub(crate) fn own_binary() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| {
        let what = format!("its path is not known: {error}");
        Fault::at("the gbench-ci binary", what, "mount /proc, and run again").exits(Exit::Machine)
    })
}
