//! Finding and ending everything that a process started, whatever session or group it hides in.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::reap::{Reaped, Usage, reap};

/// Makes orphaned descendants children of the calling process, so that [`kill_descendants`] can find them.
pub fn adopt_orphans() -> nix::Result<()> {
    nix::sys::prctl::set_child_subreaper(true)
}

/// Kills every descendant of the calling process and reaps it.
///
/// Only for a process that adopts orphans and has no children that should live on. Returns how many were
/// alive when first seen, and how many still are after `patience`.
pub fn kill_descendants(patience: Duration) -> (u32, u32) {
    end_descendants(patience, &mut Usage::default())
}

/// Kills and reaps the descendants of the calling process that are none of `ours`, nor below one of these.
pub fn end_strangers(ours: &[u32]) {
    let ours: Vec<i32> = ours.iter().map(|pid| *pid as i32).collect();
    let mut known: HashSet<i32> = ours.iter().copied().collect();
    known.extend(ours.iter().flat_map(|pid| living_descendants(*pid)));
    for stranger in
        living_descendants(std::process::id() as i32).into_iter().filter(|pid| !known.contains(pid))
    {
        let _ = kill(Pid::from_raw(stranger), Signal::SIGKILL);
        // Only our own children can be reaped here; the parents of the others are killed, too.
        let _ = nix::sys::wait::waitpid(Pid::from_raw(stranger), None);
    }
}

/// Waits until no descendant is left, but no longer than `grace`, and adds what they have used: helpers that end with their program,
/// such as the resource tracker of Python's multiprocessing, need some milliseconds for it.
pub(super) fn await_descendants(grace: Duration, usage: &mut Usage) {
    let deadline = Instant::now() + grace;
    while !reap_all(usage) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// [`kill_descendants`], and adds what they have used.
pub(super) fn end_descendants(patience: Duration, usage: &mut Usage) -> (u32, u32) {
    let me = std::process::id() as i32;
    let mut seen = HashSet::new();
    let deadline = Instant::now() + patience;
    loop {
        // Orphans become our children, so without a child there is no descendant. Nearly always this is all there is
        // to do, and /proc, which on a large machine takes milliseconds, is not read.
        if reap_all(usage) {
            return (seen.len() as u32, 0);
        }
        let alive = living_descendants(me);
        for pid in &alive {
            // A process that ended in between is no error; one of another user cannot be helped.
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
            seen.insert(*pid);
        }
        if Instant::now() >= deadline {
            return (seen.len() as u32, alive.len() as u32);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends SIGKILL to every living descendant, and reaps none: for while a child is still waited for by itself.
pub(super) fn kill_without_reaping() {
    for pid in living_descendants(std::process::id() as i32) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Reaps what has ended; true if no child is left at all.
fn reap_all(usage: &mut Usage) -> bool {
    loop {
        match reap(-1, usage) {
            Reaped::Ended(_) => {}
            Reaped::StillAlive => return false,
            Reaped::NoChild => return true,
        }
    }
}

/// Process ids below `root` that are not zombies, from one pass over /proc.
pub(super) fn living_descendants(root: i32) -> Vec<i32> {
    let mut parents = HashMap::new();
    let mut zombies = HashSet::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        if let Some((state, parent)) = state_and_parent(&stat) {
            parents.insert(pid, parent);
            if state == b'Z' || state == b'X' {
                zombies.insert(pid);
            }
        }
    }
    let below = |pid: i32| {
        // Bounded by the number of processes: pid reuse during the pass must not make a loop.
        let mut at = pid;
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(parent) if *parent == root => return true,
                Some(parent) if *parent != at => at = *parent,
                _ => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| !zombies.contains(pid) && below(*pid)).collect()
}

/// State letter and parent from `/proc/PID/stat`: `12 (a name) S 1 ...`. The name may hold anything,
/// parentheses and newlines included, so the fields are counted from the last `)`.
fn state_and_parent(stat: &[u8]) -> Option<(u8, i32)> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[after_name + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_cannot_forge_its_parent() {
        assert_eq!(state_and_parent(b"12 (a) S 99 (b) R 7 1 1"), Some((b'R', 7)));
        assert_eq!(state_and_parent(b"12 (\n) Z 1 1"), Some((b'Z', 1)));
        assert_eq!(state_and_parent(b"garbage"), None);
    }
}
