//! Files in which a program leaves its results, at a path of its own. They are taken away before each process, so that what is there behind it is
//! its own.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// What stands in each file, or why it cannot be used.
pub type LeftFiles = BTreeMap<String, Result<Vec<u8>, String>>;

/// Bytes of a file that are read at most.
const MAX_BYTES: u64 = 256 << 20;

/// Takes files away that an earlier process left. What cannot be taken away is found by [`one`], and refused by its reader where it
/// holds rows twice.
pub(super) fn clear<'a>(files: impl Iterator<Item = &'a str>, folder: &Path) -> Result<(), String> {
    for file in files {
        match std::fs::remove_file(folder.join(file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("the file {file} of an earlier process cannot be removed: {error}"));
            }
            _ => {}
        }
    }
    Ok(())
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
        clear(["r.json", "other"].into_iter(), folder.path()).unwrap();
        assert!(one(&path).is_err());
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(one(&path).unwrap_err().contains("no regular file"));
        std::fs::create_dir(folder.path().join("d")).unwrap();
        assert!(clear(["d"].into_iter(), folder.path()).unwrap_err().contains("cannot be removed"));
    }
}
