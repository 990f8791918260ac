//! Where the tests put their temporary folders.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::sys::statvfs::{FsFlags, statvfs};
use tempfile::TempDir;

/// The tests need less than 100 MB of it at a time.
const ROOM: u64 = 1 << 30;

/// A folder in memory where this machine has one with room for programs, because many thousand small files that live for a second
/// keep a disk's file system busy for a fifth of the tests' time; else the usual place.
pub fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let shared_memory = Path::new("/dev/shm");
        let is_usable = statvfs(shared_memory).is_ok_and(|system| {
            let flags = system.flags();
            let room = system.blocks_available() * system.fragment_size();
            !flags.intersects(FsFlags::ST_NOEXEC | FsFlags::ST_RDONLY) && room >= ROOM
        });
        let is_usable =
            is_usable && std::env::var_os("TMPDIR").is_none() && tempfile::tempdir_in(shared_memory).is_ok();
        if is_usable { shared_memory.into() } else { std::env::temp_dir() }
    })
}

/// A temporary folder there.
pub fn tempdir() -> io::Result<TempDir> {
    tempfile::tempdir_in(place())
}
