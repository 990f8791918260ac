//! Removes folders below a descriptor without following links, and without touching mounts.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

/// The deepest level that is removed. A deeper tree was made to exhaust descriptors or the stack, and stays.
pub(crate) const MAX_DEPTH: usize = 200;

/// Opens only a folder, never a link to one.
pub(crate) const FOLDER: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(FOLDER.bits()).open(path)
}

/// Removes everything in a folder except `spared`. True if nothing else is left.
pub(crate) fn empty(folder: impl AsFd, spared: Option<&str>, depth: usize) -> bool {
    let listed = Dir::openat(folder.as_fd(), ".", FOLDER, Mode::empty());
    let Ok(names) = listed.and_then(|mut listed| listed.iter().collect::<Result<Vec<_>, _>>()) else {
        return false;
    };
    let names = names.iter().map(|entry| entry.file_name()).filter(|name| {
        let bytes = name.to_bytes();
        bytes != b"." && bytes != b".." && spared.is_none_or(|spared| bytes != spared.as_bytes())
    });
    let mut all_gone = true;
    for name in names {
        let gone = match unlinkat(folder.as_fd(), name, UnlinkatFlags::NoRemoveDir) {
            Err(Errno::EISDIR) => remove_below(&folder, name.into(), depth),
            other => other.is_ok(),
        };
        all_gone &= gone;
    }
    all_gone
}

/// Removes a folder in a folder, unless something is mounted there.
pub(crate) fn remove_below(folder: impl AsFd, name: CString, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let resolve =
        ResolveFlag::RESOLVE_NO_XDEV | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH;
    let how = OpenHow::new().flags(FOLDER).resolve(resolve);
    let inner = match openat2(folder.as_fd(), name.as_c_str(), how) {
        // Before Linux 5.6, and under filters that do not know the call.
        Err(Errno::ENOSYS | Errno::EPERM) => openat(folder.as_fd(), name.as_c_str(), FOLDER, Mode::empty()),
        other => other,
    };
    let Ok(inner) = inner.map(File::from) else { return false };
    // Package caches are write-protected.
    let _ = inner.set_permissions(fs::Permissions::from_mode(0o700));
    let device = |folder: &File| folder.metadata().map(|found| found.dev()).ok();
    let outer = folder.as_fd().try_clone_to_owned().ok().map(File::from);
    outer.as_ref().and_then(device) == device(&inner)
        && empty(&inner, None, depth)
        && unlinkat(folder.as_fd(), name.as_c_str(), UnlinkatFlags::RemoveDir).is_ok()
}
