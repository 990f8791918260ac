//! Reaps ended processes and records their usage. A supervisor outlives its children, and the kernel's sums over all
//! of them (`RUSAGE_CHILDREN`) would include earlier ones; a peak cannot be subtracted.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::libc;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub cpu_seconds: f64,
    /// The largest resident set of a single process.
    pub peak_rss_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reaped {
    Ended(ExitStatus),
    StillAlive,
    NoChild,
}

/// Reaps one ended child without waiting. `pid`: that child; -1: any.
pub(super) fn reap(pid: i32, usage: &mut Usage) -> Reaped {
    let mut status = 0;
    // SAFETY: all zeroes is a valid `rusage`, which is plain numbers.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the right types. Nothing else in this process waits for
        // this child: the standard library does so only when asked.
        match unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut used) } {
            0 => return Reaped::StillAlive,
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Reaped::NoChild,
            _ => break,
        }
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    usage.cpu_seconds += seconds(used.ru_utime) + seconds(used.ru_stime);
    // Linux counts in KiB.
    usage.peak_rss_bytes = usage.peak_rss_bytes.max(used.ru_maxrss.max(0) as u64 * 1024);
    // The standard library's status keeps real-time signals, which nix cannot name.
    Reaped::Ended(ExitStatus::from_raw(status))
}
