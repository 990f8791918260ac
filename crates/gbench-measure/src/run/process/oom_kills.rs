//! The only trace of the kernel's out-of-memory killer.

use std::fs::File;
use std::io::Read;

/// Kills for lack of memory since boot, machine-wide; 0 if unknown.
pub(crate) struct OomKills(u64);

impl OomKills {
    pub(crate) fn now() -> Self {
        // Larger than the text, which the kernel generates at every read.
        let mut text = String::with_capacity(1 << 14);
        let _ = File::open("/proc/vmstat").and_then(|mut file| file.read_to_string(&mut text));
        let count = text.split_once("\noom_kill ").and_then(|(_, rest)| rest.lines().next());
        Self(count.and_then(|count| count.trim().parse().ok()).unwrap_or(0))
    }

    pub(super) fn have_grown(&self) -> bool {
        Self::now().0 > self.0
    }
}
