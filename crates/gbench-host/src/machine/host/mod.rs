//! The host's facts, read from `/proc`, `/sys` and `/etc` below a root that tests replace by a folder of theirs.

mod cgroup;
mod cpu;
mod place;
mod root;

use gbench_model::{HostFacts, Probe};

pub(super) use cgroup::cpu_quota;
pub(super) use cpu::affinity;
pub(super) use root::Root;

/// Everything about the host. `environment` looks a variable up: containers announce themselves there.
pub(super) fn host(root: &Root, environment: &dyn Fn(&str) -> Option<String>) -> HostFacts {
    let memory_total = memory(root, "MemTotal").map(|total| match cgroup::memory_limit(root) {
        Some(limit) => limit.min(total),
        None => total,
    });
    let available = memory(root, "MemAvailable").map(|available| match &memory_total {
        Ok(total) => available.min(*total),
        Err(_) => available,
    });
    HostFacts {
        hostname: nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).into(),
        os: place::os(root).into(),
        // The release alone: the build's date would differ between two images of one kernel.
        kernel: root.needed("proc/sys/kernel/osrelease").into(),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_model: cpu::model(root).into(),
        cores: cpu::cores(cpu::allowed(), cpu_quota(root)),
        last_level_cache: cpu::last_level_cache(root),
        governor: cpu::governor(root),
        memory_total: memory_total.into(),
        memory_available: available.into(),
        load: load(root).into(),
        container: Probe::Known(place::container(root, environment)),
        virtualization: Probe::Known(place::virtualization(root)),
    }
}

/// Bytes of a line of `/proc/meminfo`, which counts in units of 1024.
fn memory(root: &Root, key: &str) -> Result<u64, String> {
    let text = root.needed("proc/meminfo")?;
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .and_then(|value| value.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .and_then(|kib| kib.checked_mul(1024))
        .ok_or_else(|| format!("/proc/meminfo has no {key}"))
}

fn load(root: &Root) -> Result<f64, String> {
    let text = root.needed("proc/loadavg")?;
    text.split_whitespace()
        .next()
        .and_then(|first| first.parse().ok())
        .filter(|load: &f64| load.is_finite())
        .ok_or_else(|| format!("/proc/loadavg reads `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::test_support::tree;

    const MEMINFO: &str = "MemTotal:        8000000 kB\nMemFree: 1 kB\nMemAvailable:    6000000 kB\n";

    #[test]
    fn an_empty_machine_fails_field_by_field_and_loses_no_other() {
        let (_folder, root) = tree(&[("proc/loadavg", "0.42 0.50 0.60 1/100 77\n")]);
        let host = host(&root, &|_| None);
        assert_eq!(host.load, Probe::Known(0.42));
        assert_eq!(host.memory_total, Probe::Failed("/proc/meminfo cannot be read".into()));
        assert_eq!(host.cpu_model, Probe::Failed("/proc/cpuinfo cannot be read".into()));
        assert!(matches!(host.governor, Probe::Absent(_)));
        assert!(matches!(host.hostname, Probe::Known(_)));
    }

    #[test]
    fn memory_is_what_the_container_may_use() {
        let (_folder, root) = tree(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/job\n"),
            ("sys/fs/cgroup/job/memory.max", "1073741824\n"),
        ]);
        let host = host(&root, &|_| None);
        assert_eq!(host.memory_total, Probe::Known(1 << 30));
        assert_eq!(host.memory_available, Probe::Known(1 << 30));
    }

    #[test]
    fn memory_without_a_limit_is_the_machines() {
        let (_folder, root) = tree(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "4:memory:/x\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let host = host(&root, &|_| None);
        assert_eq!(host.memory_total, Probe::Known(8_192_000_000));
        assert_eq!(host.memory_available, Probe::Known(6_144_000_000));
    }

    #[test]
    fn a_meminfo_that_lacks_a_line_says_which() {
        let (_folder, root) = tree(&[("proc/meminfo", "MemTotal: 1 kB\n")]);
        let missing = Probe::Failed("/proc/meminfo has no MemAvailable".into());
        assert_eq!(host(&root, &|_| None).memory_available, missing);
    }
}
