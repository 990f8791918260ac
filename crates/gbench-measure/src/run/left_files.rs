//! Files in which a program leaves its results, at a path of its own. What is there before a process is put aside meanwhile, so that what is
//! there behind it is its own; then it is put back, and nothing of the user's is lost.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What stands in each file, or why it cannot be used.
pub(super) type LeftFiles = BTreeMap<String, Result<Vec<u8>, String>>;

/// Bytes of a file that are read at most.
const MAX_BYTES: u64 = 256 << 20;

/// Files that are put aside under other names beside them, and put back when this is dropped.
#[must_use]
pub(super) struct PutAside(Vec<(PathBuf, PathBuf)>);

impl PutAside {
    /// Puts those of the files aside that are there. Errors: one cannot be; the others are put back.
    pub(super) fn new<'a>(files: impl Iterator<Item = &'a str>, folder: &Path) -> Result<Self, String> {
        let mut aside = Self(Vec::new());
        for file in files {
            let path = folder.join(file);
            let fault =
                |cause: String| format!("the file {file} that is there already cannot be put aside: {cause}");
            match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(fault(error.to_string())),
                Ok(metadata) if metadata.is_dir() => return Err(fault("it is a folder".into())),
                Ok(_) => {}
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let other = path.with_file_name(format!(".{name}.gbench-ci-{:08x}", rand::random::<u32>()));
            std::fs::rename(&path, &other).map_err(|error| fault(error.to_string()))?;
            aside.0.push((path, other));
        }
        Ok(aside)
    }
}

impl Drop for PutAside {
    fn drop(&mut self) {
        for (path, other) in self.0.drain(..) {
            // Where that fails, it stays there under its other name.
            let _ = std::fs::rename(other, path);
        }
    }
}

/// Reads files by their paths from a folder.
pub(super) fn read<'a>(files: impl Iterator<Item = &'a str>, folder: &Path) -> LeftFiles {
    files.map(|file| (file.to_owned(), one(&folder.join(file)))).collect()
}

/// One file. Errors in words: it is not there, is none, or is too large.
pub(super) fn one(path: &Path) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "the process did not write it".to_owned(),
        _ => error.to_string(),
    };
    let metadata = std::fs::symlink_metadata(path).map_err(words)?;
    if !metadata.is_file() {
        return Err("it is no regular file".into());
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
        assert_eq!(one(&path).unwrap_err(), "the process did not write it");
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(one(&path).unwrap(), b"{}");
        let aside = PutAside::new(["r.json", "other"].into_iter(), folder.path()).unwrap();
        assert!(one(&path).is_err());
        std::fs::write(&path, "[]").unwrap();
        drop(aside);
        assert_eq!(one(&path).unwrap(), b"{}", "what was there is there again");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(one(&path).unwrap_err().contains("no regular file"));
        std::fs::create_dir(folder.path().join("d")).unwrap();
        let refused = PutAside::new(["r.json", "d"].into_iter(), folder.path()).err().unwrap();
        assert!(refused.contains("it is a folder") && path.is_symlink(), "{refused}");
    }
}
