//! Files of the gate's trees: written and removed without ever following a link out of them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use git2::TreeEntry;

pub(super) fn path_of(parent: &str, entry: &TreeEntry<'_>) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&[parent.as_bytes(), entry.name_bytes()].concat()))
}

/// Removes a file or folder; a link itself and not its target. A missing path is fine.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        other => other,
    }
}

pub(super) fn remove_protected(path: &Path) -> io::Result<()> {
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
            left.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
        }
    }
    remove(path)
}

pub(super) fn remove_with_empty_parents(root: &Path, path: &Path) -> io::Result<()> {
    if !has_real_parents(root, path) {
        return Ok(());
    }
    remove(&root.join(path))?;
    for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
        // This only removes an empty folder.
        if fs::remove_dir(root.join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}

/// True if a path below `root` leads only through folders: behind a link there are foreign files.
fn has_real_parents(root: &Path, path: &Path) -> bool {
    let mut parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    parents.all(|parent| fs::symlink_metadata(root.join(parent)).is_ok_and(|found| found.is_dir()))
}

/// Makes the folder of `path` below `root`; removes files and links in its way.
pub(super) fn make_parents(root: &Path, path: &Path) -> io::Result<()> {
    let mut folder = root.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(name) = part else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "leads out of the tree"));
        };
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                fs::remove_file(&folder)?;
                fs::create_dir(&folder)?;
            }
            Err(_) => fs::create_dir(&folder)?,
        }
    }
    Ok(())
}

/// Copies a file or a link with its permissions to `path` below `root`, replacing anything there.
pub(super) fn copy(from: &Path, root: &Path, path: &Path) -> io::Result<()> {
    make_parents(root, path)?;
    let to = root.join(path);
    remove(&to)?;
    if fs::symlink_metadata(from)?.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)
    } else {
        fs::copy(from, to).map(drop)
    }
}

pub(super) fn are_equal(one: &Path, other: &Path) -> bool {
    let same = || -> io::Result<bool> {
        let (a, b) = (fs::symlink_metadata(one)?, fs::symlink_metadata(other)?);
        let comparable =
            a.is_file() && b.is_file() && a.len() == b.len() && a.permissions() == b.permissions();
        Ok(comparable && fs::read(one)? == fs::read(other)?)
    };
    same().unwrap_or(false)
}
