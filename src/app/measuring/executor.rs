//! Starts the processes of a use case.

use std::path::{Path, PathBuf};

use crate::app::progress::Reporter;
use crate::model::{Exit, Fault, Result};
use crate::run::{ConditionsProbe, Interrupt, RunSession, Supervised};
use crate::store::without_temporary;
use crate::suite::RunOptions;

pub(crate) struct SessionMeans {
    binary: PathBuf,
    pub executor: Supervised,
    pub observer: Reporter,
}

impl SessionMeans {
    /// With the interrupts of the user. Made after clocks are locked: the executor must not adopt their guard.
    pub(crate) fn new(reporter: &Reporter) -> Result<Self> {
        Self::of(reporter, true)
    }

    /// Means whose processes run next to those of others. The orphans of a killed supervisor cannot be distinguished from the
    /// others' processes: they are ended after those.
    pub(crate) fn beside(reporter: &Reporter) -> Result<Self> {
        Self::of(reporter, false)
    }

    fn of(reporter: &Reporter, owns_process: bool) -> Result<Self> {
        let binary = own_binary()?;
        let executor =
            Supervised::new(binary.clone(), Some(interrupt()?), owns_process).map_err(|error| {
                let what = format!("no temporary folder can be made: {}", without_temporary(&error));
                let next = "set TMPDIR to a writable folder, on a disk with space";
                Fault::at_path(std::env::temp_dir(), what, next).caused_by(&error)
            })?;
        Ok(Self { binary, executor, observer: reporter.clone() })
    }

    /// A session as the options of a run have it. `tree`: of the suite.
    pub(crate) fn session<'a>(
        &'a mut self,
        options: &RunOptions,
        tree: &Path,
        probe: Option<&'a mut dyn ConditionsProbe>,
    ) -> RunSession<'a> {
        RunSession {
            executor: &mut self.executor,
            observer: &mut self.observer,
            probe,
            binary: self.binary.clone(),
            deadline: options.deadline.value,
            calm_wait: options.calm_wait.value,
            after_timeout: (options.after_timeout.value.clone(), tree.to_owned()),
        }
    }
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
