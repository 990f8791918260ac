//! Files in which a program leaves its results, at a path of its own: read where this process wrote them, and no earlier one.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What stands in each file, or why it cannot be used.
pub type LeftFiles = BTreeMap<String, Result<Vec<u8>, String>>;

/// Bytes of a file that are read at most.
const MAX_BYTES: u64 = 256 << 20;

/// How far the clock of a file system lags behind the system's.
const COARSE: Duration = Duration::from_millis(50);

/// Reads files by their paths from a folder. `started`: when the process did.
pub(super) fn read(files: impl Iterator<Item = String>, folder: &Path, started: SystemTime) -> LeftFiles {
    files.map(|file| (file.clone(), one(&folder.join(&file), started))).collect()
}

/// One file. Errors in words: it is not there, or was there before.
pub(super) fn one(path: &Path, started: SystemTime) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| error.to_string();
    let metadata = std::fs::metadata(path).map_err(words)?;
    if !metadata.is_file() {
        return Err("it is no file".into());
    }
    let modified = metadata.modified().map_err(words)?;
    if modified + COARSE < started {
        return Err("this process did not write it: it is older".into());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(words)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(words)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than the {} MiB that are read", MAX_BYTES >> 20));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_where_the_process_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        assert!(one(&path, SystemTime::now()).is_err());
        std::fs::write(&path, "{}").unwrap();
        let before = SystemTime::now() - Duration::from_secs(5);
        assert_eq!(one(&path, before).unwrap(), b"{}");
        let later = SystemTime::now() + Duration::from_secs(5);
        assert!(one(&path, later).unwrap_err().contains("older"));
        assert!(one(folder.path(), before).unwrap_err().contains("no file"));
    }
}
