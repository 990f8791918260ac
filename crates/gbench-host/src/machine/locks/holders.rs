//! The lock files, and their current holders.

use std::fs;
use std::path::{Path, PathBuf};

use super::{file, holder};

pub(super) enum LockName<'a> {
    Queue,
    Machine,
    /// The GPU's UUID.
    Gpu(&'a str),
}

const BEFORE_GPU: &str = "gbench-ci.gpu-";
const AFTER_GPU: &str = ".lock";

impl LockName<'_> {
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Self::Queue => "gbench-ci.queue.lock".to_owned(),
            Self::Machine => "gbench-ci.machine.lock".to_owned(),
            Self::Gpu(uuid) => {
                // The UUID comes from the driver's library, and becomes part of a path.
                let word = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
                format!("{BEFORE_GPU}{}{AFTER_GPU}", uuid.chars().map(word).collect::<String>())
            }
        })
    }
}

/// The gates that measure on the machine now, one line each. Errors: why the folder cannot be used.
pub fn holders(folder: &Path) -> Result<Vec<String>, String> {
    let machine = LockName::Machine.path(folder);
    if file::is_held(&machine)? {
        return Ok(vec![holder::of(&machine)]);
    }
    let held = held_gpus(folder)?;
    Ok(held.into_iter().map(|(uuid, holder)| format!("{uuid}: {holder}")).collect())
}

fn held_gpus(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut held = Vec::new();
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let uuid = name.strip_prefix(BEFORE_GPU).and_then(|name| name.strip_suffix(AFTER_GPU));
        let Some(uuid) = uuid else { continue };
        let path = folder.join(&name);
        // A file that cannot be a lock blocks no gate here; the gate that wants it reports it.
        if file::is_held(&path).unwrap_or(false) {
            held.push((uuid.to_owned(), holder::of(&path)));
        }
    }
    held.sort();
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_stays_in_the_folder() {
        let path = LockName::Gpu("../../etc/GPU 1").path(Path::new("/locks"));
        assert_eq!(path, Path::new("/locks/gbench-ci.gpu-______etc_GPU_1.lock"));
    }
}
