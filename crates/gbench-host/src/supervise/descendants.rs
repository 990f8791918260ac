//! Finds and ends everything that a process started, in any session or group.

use std::collections::{HashMap, HashSet};
use std::str::SplitAsciiWhitespace;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};

use super::reap::{Reaped, Usage, reap};

/// Makes orphaned descendants children of the calling process, so that [`kill_descendants`] can find them.
pub fn adopt_orphans() -> nix::Result<()> {
    nix::sys::prctl::set_child_subreaper(true)
}

/// Kills every descendant of the calling process and reaps it.
///
/// Only for a process that adopts orphans and has no children that should survive. Returns how many were alive when
/// first seen, and how many still are after `patience`.
pub fn kill_descendants(patience: Duration) -> (u32, u32) {
    end_descendants(patience, &mut Usage::default())
}

/// Kills and reaps the descendants of the calling process, except `ours` and their descendants.
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

/// Waits up to `grace` until no descendant is left, and adds their usage. Helpers that end with their program, such as
/// the resource tracker of Python's multiprocessing, need some milliseconds.
pub(super) fn await_descendants(grace: Duration, usage: &mut Usage) {
    let deadline = Instant::now() + grace;
    while !reap_all(usage) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Like [`kill_descendants`]; adds the usage of the descendants.
pub(super) fn end_descendants(patience: Duration, usage: &mut Usage) -> (u32, u32) {
    let me = std::process::id() as i32;
    let mut seen = HashSet::new();
    let deadline = Instant::now() + patience;
    loop {
        // Orphans become our children, so without a child there is no descendant. This is the usual case, and avoids
        // reading /proc, which takes milliseconds on a large machine.
        if reap_all(usage) {
            return (seen.len() as u32, 0);
        }
        let alive = living_descendants(me);
        for pid in &alive {
            // The process may have ended meanwhile, or belong to another user; neither can be helped.
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
            seen.insert(*pid);
        }
        if Instant::now() >= deadline {
            return (seen.len() as u32, alive.len() as u32);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends SIGKILL to every living descendant and reaps none, because a child is still being waited for.
pub(super) fn kill_without_reaping() {
    for pid in living_descendants(std::process::id() as i32) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Reaps ended children; true if no child is left.
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
    let below = descendants_and_states(root).into_iter();
    below.filter(|(_, state)| !matches!(state, b'Z' | b'X')).map(|(pid, _)| pid).collect()
}

pub(super) fn descendants(root: i32) -> Vec<i32> {
    descendants_and_states(root).into_iter().map(|(pid, _)| pid).collect()
}

fn descendants_and_states(root: i32) -> Vec<(i32, u8)> {
    let mut processes = HashMap::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        if let Some(found) = state_and_parent(&stat) {
            processes.insert(pid, found);
        }
    }
    let below = |pid: i32| {
        // Bounded by the number of processes, because reused process ids could form a loop.
        let mut at = pid;
        for _ in 0..processes.len() {
            match processes.get(&at) {
                Some((_, parent)) if *parent == root => return true,
                Some((_, parent)) if *parent != at => at = *parent,
                _ => return false,
            }
        }
        false
    };
    processes.iter().filter(|(pid, _)| below(**pid)).map(|(pid, (state, _))| (*pid, *state)).collect()
}

/// CPU time used by a process and by the children that it has waited for. Zero if the process is gone or not
/// accessible. The clock has nanoseconds; for children there are only ticks.
pub(super) fn cpu_of(pid: i32) -> Duration {
    let own = clock_getcpuclockid(Pid::from_raw(pid)).and_then(clock_gettime);
    let ticks = std::fs::read(format!("/proc/{pid}/stat")).ok().and_then(|stat| ticks_of_children(&stat));
    let ticks_a_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().filter(|ticks| *ticks > 0);
    let of_children = ticks.unwrap_or(0) as f64 / ticks_a_second.unwrap_or(100) as f64;
    own.map_or(Duration::ZERO, Duration::from) + Duration::from_secs_f64(of_children)
}

/// State letter and parent from `/proc/PID/stat`: `12 (a name) S 1 ...`.
fn state_and_parent(stat: &[u8]) -> Option<(u8, i32)> {
    let mut fields = after_name(stat)?;
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.next()?.parse().ok()?))
}

/// User and system time of reaped children: fields 16 and 17 of `/proc/PID/stat` (proc_pid_stat(5)).
fn ticks_of_children(stat: &[u8]) -> Option<u64> {
    let mut fields = after_name(stat)?.skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

/// The fields from the third on. The name may contain anything, even parentheses and newlines, so fields are counted
/// from the last `)`.
fn after_name(stat: &[u8]) -> Option<SplitAsciiWhitespace<'_>> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    Some(std::str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace())
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

    #[test]
    fn the_time_of_children_counts_where_they_were_waited_for() {
        let me = std::process::id() as i32;
        let before = cpu_of(me);
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        let stat = std::fs::read("/proc/self/stat").unwrap();
        let ticks = ticks_of_children(&stat).unwrap();
        assert!(ticks >= 1, "{}", String::from_utf8_lossy(&stat));
        assert!(cpu_of(me) >= before + Duration::from_millis(10));
        assert_eq!(cpu_of(child.id() as i32), Duration::ZERO, "it is gone");
    }
}
