use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::reading::MemoryReading;
use crate::machine::host::Root;

/// Only the first lines are needed: one line of processors, three of memory.
const HEAD_BYTES: usize = 512;

pub(super) struct HostReader {
    stat: KeptFile,
    meminfo: KeptFile,
    before: Option<Ticks>,
}

/// A file of `/proc` that stays open: a look is then one system call instead of six.
struct KeptFile {
    path: PathBuf,
    file: Option<File>,
}

impl KeptFile {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// The beginning of the current contents.
    fn head(&mut self) -> Option<String> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path).ok()?,
        };
        let mut bytes = [0; HEAD_BYTES];
        let length = file.read_at(&mut bytes, 0).ok()?;
        self.file = Some(file);
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}

#[derive(Clone, Copy)]
struct Ticks {
    busy: u64,
    all: u64,
}

impl HostReader {
    pub(super) fn new(root: &Root) -> Self {
        let kept = |below| KeptFile::new(root.path(below));
        Self { stat: kept("proc/stat"), meminfo: kept("proc/meminfo"), before: None }
    }

    /// Percent of all processors' time at work since the last call; `None` at the first call, and if the counters do
    /// not advance.
    pub(super) fn cpu(&mut self) -> Option<f64> {
        let now = ticks(&self.stat.head()?)?;
        let before = self.before.replace(now)?;
        let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
        Some((now.busy.saturating_sub(before.busy) as f64 / all as f64 * 100.0).min(100.0))
    }

    /// Memory that programs cannot get is in use, so the page cache is not.
    pub(super) fn memory(&mut self) -> Option<MemoryReading> {
        let text = self.meminfo.head()?;
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(kibibytes << 10)
        };
        let total = of("MemTotal:")?;
        Some(MemoryReading { total, used: total.saturating_sub(of("MemAvailable:")?) })
    }
}

fn ticks(text: &str) -> Option<Ticks> {
    let counts = text.lines().next()?.strip_prefix("cpu ")?;
    let counts: Vec<u64> = counts.split_whitespace().map_while(|count| count.parse().ok()).take(8).collect();
    let all: u64 = counts.iter().sum();
    let idle: u64 = counts.iter().skip(3).take(2).sum();
    Some(Ticks { busy: all - idle, all })
}

#[cfg(test)]
mod tests {
    use super::super::super::test_support::tree;
    use super::*;

    #[test]
    fn processors_are_busy_between_two_looks_and_waiting_for_a_disk_is_no_work() {
        let (folder, root) = tree(&[("proc/stat", "cpu  100 0 0 300 0 0 0 0 0 0\ncpu0 1 2 3\n")]);
        let mut reader = HostReader::new(&root);
        assert_eq!(reader.cpu(), None);
        assert_eq!(reader.cpu(), None, "the counters stand still");
        std::fs::write(folder.path().join("proc/stat"), "cpu  120 5 5 310 50 10 0 0 0 0\n").unwrap();
        assert_eq!(reader.cpu(), Some(40.0));
    }

    #[test]
    fn the_page_cache_is_not_in_use() {
        let meminfo = "MemTotal:       1000 kB\nMemFree: 100 kB\nMemAvailable:    250 kB\n";
        let (_folder, root) = tree(&[("proc/meminfo", meminfo)]);
        let memory = HostReader::new(&root).memory();
        assert_eq!(memory, Some(MemoryReading { total: 1000 << 10, used: 750 << 10 }));
        let (_folder, root) = tree(&[]);
        assert_eq!(HostReader::new(&root).memory(), None);
    }
}
