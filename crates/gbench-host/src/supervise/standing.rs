//! The priority, processors and limits of a process, which any process of the same user may change, sandboxed or not.

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// Number of limits on Linux, RLIMIT_CPU to RLIMIT_RTTIME.
const LIMITS: usize = 16;

/// How the kernel treats a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStanding {
    nice: i32,
    policy: i32,
    /// I/O priority.
    io: i64,
    /// Autogroup of the session: `/autogroup-12 nice 0`. Empty if the kernel does not group processes.
    group: String,
    /// Nanoseconds by which a sleep may be late.
    slack: String,
    processors: CpuSet,
    /// Soft and hard limits.
    limits: [(u64, u64); LIMITS],
}

impl ProcessStanding {
    /// `None` if the process is gone or not accessible.
    pub fn of(pid: u32) -> Option<Self> {
        let pid = pid as i32;
        Some(Self {
            nice: nice(pid)?,
            policy: policy(pid)?,
            io: io(pid)?,
            group: std::fs::read_to_string(format!("/proc/{pid}/autogroup")).unwrap_or_default(),
            slack: std::fs::read_to_string(format!("/proc/{pid}/timerslack_ns")).unwrap_or_default(),
            processors: sched_getaffinity(Pid::from_raw(pid)).ok()?,
            limits: limits(pid)?,
        })
    }

    /// For a process that was just started and has yet to begin its own session, which changes its autogroup.
    pub fn of_new(pid: u32) -> Option<Self> {
        Some(Self { group: String::new(), ..Self::of(pid)? })
    }

    /// Takes over the current state; true if it changed.
    pub fn update(&mut self, now: Self) -> bool {
        if self.group.is_empty() {
            self.group.clone_from(&now.group);
        }
        let is_other = *self != now;
        *self = now;
        is_other
    }
}

fn nice(pid: i32) -> Option<i32> {
    Errno::clear();
    // SAFETY: getpriority takes numbers and returns one.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, pid as libc::id_t) };
    // -1 is also a valid priority.
    (nice != -1 || Errno::last_raw() == 0).then_some(nice)
}

fn policy(pid: i32) -> Option<i32> {
    // SAFETY: sched_getscheduler takes a number and returns one.
    let policy = unsafe { libc::sched_getscheduler(pid) };
    (policy >= 0).then_some(policy)
}

fn io(pid: i32) -> Option<i64> {
    const PROCESS: i32 = 1;
    // SAFETY: ioprio_get takes numbers and returns one.
    let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, PROCESS, pid) };
    (priority >= 0).then_some(priority)
}

fn limits(pid: i32) -> Option<[(u64, u64); LIMITS]> {
    let mut limits = [(0, 0); LIMITS];
    for (resource, limit) in limits.iter_mut().enumerate() {
        let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: without new limits prlimit only writes the old ones, into a struct that lives here.
        let result = unsafe { libc::prlimit(pid, resource as _, std::ptr::null(), &mut found) };
        if result != 0 {
            return None;
        }
        *limit = (found.rlim_cur, found.rlim_max);
    }
    Some(limits)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn what_another_process_changes_shows() {
        type Change = fn(i32) -> i32;
        // SAFETY: numbers and structs that live here, about a child of ours.
        let changes: [Change; 4] = unsafe {
            [
                |pid| libc::syscall(libc::SYS_ioprio_set, 1, pid, 3 << 13) as i32,
                |pid| libc::setpriority(libc::PRIO_PROCESS, pid as libc::id_t, 19),
                |pid| {
                    let few = libc::rlimit { rlim_cur: 61, rlim_max: 61 };
                    libc::prlimit(pid, libc::RLIMIT_NOFILE, &few, std::ptr::null_mut())
                },
                |pid| {
                    libc::sched_setscheduler(pid, libc::SCHED_BATCH, &libc::sched_param { sched_priority: 0 })
                },
            ]
        };
        for change in changes {
            let sleeper = Sleeper(Command::new("sleep").arg("60").spawn().unwrap());
            let before = ProcessStanding::of(sleeper.0.id()).unwrap();
            assert_eq!(ProcessStanding::of(sleeper.0.id()), Some(before.clone()));
            assert_eq!(change(sleeper.0.id() as i32), 0);
            assert_ne!(ProcessStanding::of(sleeper.0.id()), Some(before));
        }
        // Larger than any process number can be.
        assert_eq!(ProcessStanding::of(1 << 30), None);
    }
}
