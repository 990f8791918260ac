//! The places that the processes of one side of a comparison may write to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files and folders that a process may change, with everything below them. The rest of the file system is read-only, and
/// the process cannot affect processes outside of its sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Absolute.
    pub writable: Vec<PathBuf>,
    /// Variables that point programs to writable places; the suite file's own variables take precedence.
    pub env: Vec<(String, OsString)>,
    /// The process gets an empty temporary folder, which is deleted with it; false if the suite file names one.
    pub own_temp: bool,
    /// The kernel enforces the sandbox; false if it has no Landlock.
    pub kept: bool,
    /// Without Landlock: folders of the other side, which are checked before and after each process.
    pub watched: Vec<PathBuf>,
    /// Folders of the other side, hidden from processes of root.
    pub hidden: Vec<PathBuf>,
    /// When processes of head ran; `None` for another side.
    pub times: Option<RunTimes>,
}

/// When processes ran, reported by everything that starts them.
#[derive(Clone, Debug, Default)]
pub struct RunTimes(Arc<Mutex<Vec<(SystemTime, SystemTime)>>>);

impl RunTimes {
    /// A process ran from and to these moments.
    pub fn note(&self, from: SystemTime, to: SystemTime) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((from, to));
    }

    /// True if a process ran at this moment.
    pub fn hold(&self, time: SystemTime) -> bool {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().any(|(from, to)| *from < time && time <= *to)
    }
}

/// Equal if they are the same list.
impl PartialEq for RunTimes {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for RunTimes {}

impl Sandbox {
    /// Adds a file or folder of the gate.
    pub fn allow(&mut self, path: &Path) {
        self.writable.push(path.to_owned());
    }
}

/// Use of sandboxes for the processes of a comparison.
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
    pub fn sentence(self) -> String {
        match self {
            Self::Landlock(version) => format!(
                "each side ran in a sandbox (Landlock {version}): it could write to its own tree, home and caches, and to what the base allows"
            ),
            Self::Off => "the sandbox was switched off: code of one side could have reached the other side, and the gate".into(),
            Self::Unsupported => {
                "this kernel has no Landlock: each side had its own home, and base's tree was checked before and after every process of head. Code of head could have reached everything else, the gate included"
                    .into()
            }
        }
    }
}
