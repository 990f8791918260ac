//! What the processes of one side of a comparison may write to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files and folders that a process may change, with all below them. The rest of the file system is read-only for it, and it
/// reaches no process outside of its own sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Absolute.
    pub writable: Vec<PathBuf>,
    /// Variables that lead programs to places that are writable; the suite file's own go before them.
    pub env: Vec<(String, OsString)>,
    /// The process gets an empty folder for temporary files, which goes with it; false where the suite file names one.
    pub own_temp: bool,
    /// The kernel keeps the process in it; false where it has no Landlock.
    pub kept: bool,
    /// Where it does not: folders of the other side, which are looked at before and after each process.
    pub watched: Vec<PathBuf>,
    /// Folders of the other side, which are not there for a process of root.
    pub hidden: Vec<PathBuf>,
    /// When processes of head ran; `None` of another side.
    pub times: Option<RunTimes>,
}

/// When processes ran, as all who start them tell it.
#[derive(Clone, Debug, Default)]
pub struct RunTimes(Arc<Mutex<Vec<(SystemTime, SystemTime)>>>);

impl RunTimes {
    /// A process ran from and to these moments.
    pub fn note(&self, from: SystemTime, to: SystemTime) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((from, to));
    }

    /// Whether a process ran at this moment.
    pub fn hold(&self, time: SystemTime) -> bool {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().any(|(from, to)| *from < time && time <= *to)
    }
}

/// One and the same list.
impl PartialEq for RunTimes {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for RunTimes {}

impl Sandbox {
    /// Adds a file or folder of the gate's own.
    pub fn allow(&mut self, path: &Path) {
        self.writable.push(path.to_owned());
    }
}

/// Whether the processes of a comparison ran in sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    /// By the kernel's Landlock, whose version is given. From 6 on it also keeps signals in.
    Landlock(u32),
    /// The suite file of the base, or the person who started the comparison, switched it off.
    Off,
    /// This kernel has no Landlock.
    Unsupported,
}

impl SandboxState {
    /// A sentence for readers of a verdict.
    pub fn sentence(self) -> String {
        match self {
            Self::Landlock(version) => format!(
                "each side ran in a sandbox (Landlock {version}): it could write to its own tree, home and caches, and to what the base allows"
            ),
            Self::Off => "the sandbox was switched off: code of one side could have reached the other side, and the gate".into(),
            Self::Unsupported => {
                "this kernel has no Landlock: each side had its own home, and base's tree was looked at around every process of head; code of head could have reached the rest, and the gate"
                    .into()
            }
        }
    }
}
