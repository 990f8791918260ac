//! Where the locks of a machine lie: in a folder that every user finds alike.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use gbench_model::line::env::LOCKS_OFF;

/// Not `TMPDIR`, which is another folder for every user. `/run/lock` comes first, because services may have a `/tmp` of their own.
const USUAL: [&str; 2] = ["/run/lock", "/tmp"];

const STICKY: u32 = 0o1000;
const WRITABLE_BY_ALL: u32 = 0o002;

/// The folder of the locks, made if it is named and missing; `None`: they are switched off. `named`: as the environment has it. Errors: the
/// reason why there is none.
pub fn lock_folder(named: Option<&OsStr>) -> Result<Option<PathBuf>, String> {
    match named.filter(|named| !named.is_empty()) {
        Some(named) if named == LOCKS_OFF => Ok(None),
        Some(named) => own(Path::new(named)).map(Some),
        None => shared(USUAL.map(Path::new).as_slice()).map(Some),
    }
}

/// A folder that a user names is that user's to protect.
fn own(folder: &Path) -> Result<PathBuf, String> {
    match fs::create_dir(folder) {
        // Other users take turns with this one, whatever its mask.
        Ok(()) => drop(fs::set_permissions(folder, fs::Permissions::from_mode(0o1777))),
        Err(_) if folder.is_dir() => {}
        Err(error) => return Err(format!("{} cannot be made: {error}", folder.display())),
    }
    std::path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The first that any user may write to, and in which none can replace another's file. Whether this user may is not asked: all must come
/// to the same answer.
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
