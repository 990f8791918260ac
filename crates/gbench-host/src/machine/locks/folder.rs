//! The folder of a machine's locks, which must be the same for every user.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use gbench_model::line::env::LOCKS_OFF;

/// Not `TMPDIR`, which differs per user. `/run/lock` comes first, because services may have a private `/tmp`.
const USUAL: [&str; 2] = ["/run/lock", "/tmp"];

const STICKY: u32 = 0o1000;
const WRITABLE_BY_ALL: u32 = 0o002;

/// The lock folder, created if it is named and missing; `None`: locks are switched off. `named`: the value of the
/// environment variable. Errors: why there is no folder.
pub fn lock_folder(named: Option<&OsStr>) -> Result<Option<PathBuf>, String> {
    match named.filter(|named| !named.is_empty()) {
        Some(named) if named == LOCKS_OFF => Ok(None),
        Some(named) => own(Path::new(named)).map(Some),
        None => shared(USUAL.map(Path::new).as_slice()).map(Some),
    }
}

/// The user who names a folder is responsible for protecting it.
fn own(folder: &Path) -> Result<PathBuf, String> {
    match fs::create_dir(folder) {
        // Other users share this folder, whatever the mask is.
        Ok(()) => drop(fs::set_permissions(folder, fs::Permissions::from_mode(0o1777))),
        Err(_) if folder.is_dir() => {}
        Err(error) => return Err(format!("{} cannot be made: {error}", folder.display())),
    }
    std::path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The first folder that all users may write to, and in which no user can replace another's file. Our own permissions
/// are not considered, because every user must get the same answer.
fn shared(folders: &[&Path]) -> Result<PathBuf, String> {
    let is_shared = |folder: &&&Path| {
        let found = fs::symlink_metadata(folder);
        found.is_ok_and(|found| {
            found.is_dir()
                && found.uid() == 0
                && found.mode() & (STICKY | WRITABLE_BY_ALL) == STICKY | WRITABLE_BY_ALL
        })
    };
    let names =
        || folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" nor ");
    let found = folders.iter().find(is_shared);
    found
        .map(|folder| folder.to_path_buf())
        .ok_or_else(|| format!("neither {} is a folder of root's that all users may write to", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_a_link_or_that_one_user_alone_may_write_to_is_not_shared() {
        let folder = tempfile::tempdir().unwrap();
        let (own, link) = (folder.path().join("own"), folder.path().join("link"));
        fs::create_dir(&own).unwrap();
        std::os::unix::fs::symlink("/tmp", &link).unwrap();
        let said = shared(&[&own, &link]).unwrap_err();
        assert!(said.contains("own nor ") && said.contains("link is a folder of root's"), "{said}");
    }

    #[test]
    fn a_named_folder_is_made_for_all_users_and_off_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("locks");
        assert_eq!(lock_folder(Some(named.as_os_str())), Ok(Some(named.clone())));
        assert_eq!(fs::metadata(&named).unwrap().mode() & 0o7777, 0o1777);
        assert_eq!(lock_folder(Some(OsStr::new(LOCKS_OFF))), Ok(None));
        let under = named.join("a/b");
        assert!(lock_folder(Some(under.as_os_str())).unwrap_err().contains("cannot be made"));
    }
}
