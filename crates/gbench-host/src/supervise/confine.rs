//! Confines a process and all its descendants with Landlock, which needs no privilege and cannot be undone.
//!
//! ```text
//! supervisor (not confined) --fork--> confines itself, executes the target --> whatever it starts is confined, too
//! ```
//!
//! Reading is not restricted. Nothing confined can trace, signal (Landlock 6) or remount what is outside.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope,
};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;

/// Devices that programs write to: those of every Unix program, of GPUs and of GPU networks. No terminals: a program
/// could type into another user's. The last entry is a prefix.
const DEVICES: [&str; 11] =
    ["null", "zero", "full", "random", "urandom", "shm", "dri", "kfd", "accel", "infiniband", "nvidia"];
/// Files below `/proc` through which root changes the whole machine. `/proc` itself must be writable: the CUDA driver
/// names its threads there, and otherwise fails with error 304 (seen with driver 580).
const MACHINE_WIDE: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/mtrr"];

/// Devices of this machine that a confined process may write to.
static WRITABLE_DEVICES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let is_ours = |name: &str| match DEVICES.split_last() {
        Some((beginning, whole)) => whole.contains(&name) || name.starts_with(beginning),
        None => false,
    };
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    ours.map(|entry| entry.path()).collect()
});

/// The kernel's version of Landlock; `None`: it has none, or Landlock is disabled.
pub fn landlock_version() -> Option<u32> {
    const ASK_FOR_VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the kernel reads no structure and only gives a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, ASK_FOR_VERSION)
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// The rules of the last process, reused if the next one may write to the same places.
#[derive(Default)]
pub(super) struct LastRules {
    /// Path, device and inode of each place that existed.
    places: Vec<(OsString, Option<(u64, u64)>)>,
    rules: Option<OwnedFd>,
}

impl LastRules {
    /// See [`rules`].
    pub(super) fn of(&mut self, writable: &[OsString]) -> Result<Option<BorrowedFd<'_>>, RulesetError> {
        let found = |path: &OsString| {
            let found = std::fs::symlink_metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        };
        let places: Vec<_> = writable.iter().map(|path| (path.clone(), found(path))).collect();
        if self.rules.is_none() || self.places != places {
            (self.rules, self.places) = (rules(writable)?, places);
        }
        Ok(self.rules.as_ref().map(AsFd::as_fd))
    }
}

/// The rules for a process that may write to these files and folders, and to the devices. Missing paths are skipped.
/// `None`: this kernel has no Landlock. Errors: the kernel refuses the rules.
fn rules(writable: &[OsString]) -> Result<Option<OwnedFd>, RulesetError> {
    // Version 3 covers every kind of write; older kernels ignore the rights that they do not know.
    let all = AccessFs::from_write(ABI::V3);
    let mut rules = Ruleset::default().handle_access(all)?.scope(Scope::from_all(ABI::V6))?.create()?;
    let no_devices = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let paths = writable.iter().map(Path::new).chain(WRITABLE_DEVICES.iter().map(PathBuf::as_path));
    let contents = AccessFs::WriteFile | AccessFs::Truncate;
    let rights = paths.map(|path| (path, no_devices)).chain([(Path::new("/proc"), contents)]);
    for (path, rights) in rights {
        // A link that replaced an allowed path leads elsewhere.
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let Ok(opened) = open(path, flags, Mode::empty()).map(File::from) else { continue };
        let Ok(found) = opened.metadata() else { continue };
        let rights: BitFlags<AccessFs> =
            if found.is_dir() { rights } else { rights & AccessFs::from_file(ABI::V3) };
        rules = rules.add_rule(PathBeneath::new(opened, rights))?;
    }
    Ok(rules.into())
}

/// Confines the calling process. For use between fork and exec: makes two system calls and nothing else.
pub(super) fn enter(rules: i32) -> std::io::Result<()> {
    // Landlock requires this of unprivileged processes: no setuid program may undo the rules.
    nix::sys::prctl::set_no_new_privs()?;
    // SAFETY: the kernel reads nothing but the two numbers.
    let entered = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, 0_u32) };
    Errno::result(entered)?;
    Ok(())
}

/// Closes every inherited descriptor except the standard streams: the gate's caller may have files open that no
/// benchmark should reach. Call it before this process opens anything.
pub(super) fn close_inherited() {
    // SAFETY: the kernel reads nothing but the numbers, and nothing in this process has a descriptor above 2 yet. Kernels before 5.9 refuse.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
}

/// For this process and its descendants: makes the parts of `/proc` that change the whole machine read-only, and
/// mounts empty folders over `hidden` ones. Only root can write to those parts, and only root may mount. If mounting
/// is not permitted, nothing happens: in a container those parts are already read-only.
pub(super) fn seal_machine(hidden: &[OsString]) {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root || unshare(CloneFlags::CLONE_NEWNS).is_err() {
        return;
    }
    let (none, private) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    if mount(none, "/", none, private, none).is_err() {
        return;
    }
    let empty = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    for path in hidden {
        let _ = mount(none, path.as_os_str(), Some("tmpfs"), empty, Some("size=4k"));
    }
    for path in MACHINE_WIDE {
        let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        let bound = mount(Some(path), path, none, MsFlags::MS_BIND, none);
        let _ = bound.and_then(|()| mount(none, path, none, read_only, none));
    }
}
