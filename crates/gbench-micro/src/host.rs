//! The two facts of the machine that determine the size of a workload, read in the process that does the work.
//!
//! The manifest's probes are in another crate, and a workload needs only these.

use std::fs;
use std::path::{Path, PathBuf};

/// Used if the system does not report it: no current server core has a larger share.
const ASSUMED_CACHE: usize = 64 << 20;

/// The last-level cache that one core can fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cache {
    pub bytes: usize,
    /// The system does not report it; `bytes` is a generous guess.
    pub assumed: bool,
}

/// The largest cache at the highest level over all processors: a thread may run on any.
pub(super) fn cache() -> Cache {
    let found = cache_under(Path::new("/sys/devices/system/cpu"));
    Cache { bytes: found.unwrap_or(ASSUMED_CACHE), assumed: found.is_none() }
}

fn cache_under(root: &Path) -> Option<usize> {
    let folders = |folder: PathBuf, prefix: &'static str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter(move |entry| entry.file_name().to_string_lossy().starts_with(prefix))
            .map(|entry| entry.path())
    };
    let caches = folders(root.into(), "cpu").flat_map(|cpu| folders(cpu.join("cache"), "index"));
    let levels = caches.filter_map(|cache| {
        let read = |name: &str| fs::read_to_string(cache.join(name)).ok();
        let holds_data = read("type")?.trim() != "Instruction";
        let level: u32 = read("level")?.trim().parse().ok()?;
        holds_data.then_some((level, size(read("size")?.trim())?))
    });
    levels.max().map(|(_, bytes)| bytes)
}

/// `32768K` or `32M` in bytes; `None` for zero.
fn size(text: &str) -> Option<usize> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(factor).filter(|bytes| *bytes > 0)
}

/// Bytes that can be allocated without swapping or reaching this container's limit.
pub(super) fn available_memory() -> Option<usize> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let machine = meminfo.lines().find_map(|line| {
        let kib = line.strip_prefix("MemAvailable:")?.trim().strip_suffix("kB")?;
        kib.trim().parse::<usize>().ok()?.checked_mul(1024)
    })?;
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    Some(room_in_groups(Path::new("/sys/fs/cgroup"), group).map_or(machine, |room| room.min(machine)))
}

/// The least memory left under `memory.max` in the group and its ancestors.
fn room_in_groups(root: &Path, group: &str) -> Option<usize> {
    let leaf = root.join(group);
    let above = leaf.ancestors().take_while(|folder| folder.starts_with(root));
    let rooms = above.filter_map(|folder| {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<usize>().ok();
        // `max` means that this group sets no limit.
        Some(read("memory.max")?.saturating_sub(read("memory.current")?))
    });
    rooms.min()
}

/// The kernel's setting for huge pages, which affects memory benchmarks.
pub(super) fn huge_pages() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, chosen) = text.split_once('[')?;
    Some(chosen.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_last_level_is_the_highest_that_holds_data() {
        let root = tempfile::tempdir().unwrap();
        let caches = [
            ("cpu0/cache/index0", "1", "Data", "48K"),
            ("cpu0/cache/index1", "4", "Instruction", "64M"),
            ("cpu0/cache/index2", "3", "Unified", "32768K"),
            ("cpu1/cache/index2", "3", "Unified", "98304K"),
            ("cpufreq/cache/index0", "9", "Unified", ""),
        ];
        for (folder, level, kind, size) in caches {
            write(root.path(), &format!("{folder}/level"), &format!("{level}\n"));
            write(root.path(), &format!("{folder}/type"), &format!("{kind}\n"));
            write(root.path(), &format!("{folder}/size"), &format!("{size}\n"));
        }
        assert_eq!(cache_under(root.path()), Some(96 << 20));
        assert_eq!(cache_under(&root.path().join("none")), None);
    }

    #[test]
    fn a_container_s_limit_counts_wherever_it_is_set() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "a/memory.max", "1000\n");
        write(root.path(), "a/memory.current", "400\n");
        write(root.path(), "a/b/memory.max", "max\n");
        write(root.path(), "a/b/memory.current", "10\n");
        assert_eq!(room_in_groups(root.path(), "a/b"), Some(600));
        assert_eq!(room_in_groups(root.path(), ""), None);
    }

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        let sizes = ["32768K", "4M", "512", "0K", "K", ""].map(size);
        assert_eq!(sizes, [Some(32 << 20), Some(4 << 20), Some(512), None, None, None]);
    }
}
