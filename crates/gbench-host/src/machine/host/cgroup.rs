//! The processor quota and memory limit that a container or job scheduler leaves us, for control groups version 1 and
//! 2: the tightest one from our group up to the root.

use super::root::Root;

/// Processors that the quota allows, such as 1.5; `None` without a quota.
pub(in super::super) fn cpu_quota(root: &Root) -> Option<f64> {
    let version_2 = groups(root, "").into_iter().filter_map(|group| {
        let text = root.text(&format!("{group}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        ratio(quota, period)
    });
    let version_1 = groups(root, "cpu").into_iter().filter_map(|group| {
        let quota = root.text(&format!("{group}/cpu.cfs_quota_us"))?;
        let period = root.text(&format!("{group}/cpu.cfs_period_us"))?;
        ratio(&quota, &period)
    });
    version_2.chain(version_1).reduce(f64::min)
}

/// `max` (version 2) and -1 (version 1) mean no quota.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Bytes; `None` without a limit. Version 1 writes "no limit" as a number of pages near 2^63.
pub(super) fn memory_limit(root: &Root) -> Option<u64> {
    let read = |controller: &str, file: &str| {
        let limits = groups(root, controller)
            .into_iter()
            .filter_map(|group| root.text(&format!("{group}/{file}"))?.parse::<u64>().ok());
        limits.min()
    };
    let limits = [read("", "memory.max"), read("memory", "memory.limit_in_bytes")];
    limits.into_iter().flatten().filter(|limit| *limit < 1 << 62).min()
}

/// Folders of our group and its ancestors for a controller; version 2 has an empty controller name. In a container,
/// `/proc/self/cgroup` may name a path of the host that is not mounted here. The mount's root is then our group; it is
/// always the last entry.
fn groups(root: &Root, controller: &str) -> Vec<String> {
    let table = root.text("proc/self/cgroup").unwrap_or_default();
    let ours = table.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers
            .split(',')
            .any(|name| name == controller)
            .then(|| (controllers.to_owned(), path.to_owned()))
    });
    let (controllers, path) = ours.unwrap_or((controller.to_owned(), "/".to_owned()));
    let mounts = match controller {
        "" => vec!["sys/fs/cgroup".to_owned(), "sys/fs/cgroup/unified".to_owned()],
        name => vec![format!("sys/fs/cgroup/{controllers}"), format!("sys/fs/cgroup/{name}")],
    };
    let mut folders = vec![];
    for mount in mounts {
        let mut path = path.trim_matches('/');
        while !path.is_empty() {
            // A path that leaves the mount belongs to a parent namespace, and is not visible here.
            if !path.split('/').any(|part| part == "..") {
                folders.push(format!("{mount}/{path}"));
            }
            path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        folders.push(mount);
    }
    folders
}
