//! The processor: its model, how much of it is ours, its last cache and how its clock is governed.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::root::Root;
use gbench_model::Probe;

/// ARM kernels give numbers where x86 ones give a name; these are the ones that hold GPUs in data centres.
const ARM_PARTS: [(&str, &str, &str); 6] = [
    ("0x41", "0xd0c", "ARM Neoverse N1"),
    ("0x41", "0xd40", "ARM Neoverse V1"),
    ("0x41", "0xd49", "ARM Neoverse N2"),
    ("0x41", "0xd4f", "ARM Neoverse V2"),
    ("0x41", "0xd42", "ARM Cortex-A78AE"),
    ("0xc0", "0xac3", "Ampere-1"),
];

pub(super) fn model(root: &Root) -> Result<String, String> {
    let text = root.needed("proc/cpuinfo")?;
    if let Some(name) = ["model name", "cpu model", "Model"].iter().find_map(|key| value(&text, key)) {
        return Ok(name.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let numbers = (value(&text, "CPU implementer"), value(&text, "CPU part"));
    let (Some(implementer), Some(part)) = numbers else {
        return Err("/proc/cpuinfo names no model".into());
    };
    let known = ARM_PARTS.iter().find(|(by, number, _)| *by == implementer && *number == part);
    Ok(known.map_or_else(
        || format!("ARM implementer {implementer} part {part}"),
        |(_, _, name)| (*name).to_owned(),
    ))
}

/// The value of the first `key : value` line of `/proc/cpuinfo`.
pub(super) fn value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// The logical processors that this process, and so its children, may run on.
pub(in crate::machine) fn affinity() -> Result<CpuSet, String> {
    sched_getaffinity(Pid::from_raw(0)).map_err(|error| format!("affinity: {error}"))
}

/// How many they are.
pub(super) fn allowed() -> Result<usize, String> {
    let set = affinity()?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).count())
}

/// Whole processors that a program here can keep busy: a quota of 2.5 feeds two.
pub(super) fn cores(allowed: Result<usize, String>, quota: Option<f64>) -> Probe<u32> {
    let cores = allowed.map(|allowed| {
        let by_quota = quota.map_or(u32::MAX, |quota| (quota.floor() as u32).max(1));
        u32::try_from(allowed).unwrap_or(u32::MAX).min(by_quota)
    });
    cores.into()
}

/// Bytes, of the highest level of data cache that the kernel lists for the first processor. Machines without that
/// list (some virtual ones) have the line of `/proc/cpuinfo`, which on some processors is the level before.
pub(super) fn last_level_cache(root: &Root) -> Probe<u64> {
    let folder = "sys/devices/system/cpu/cpu0/cache";
    let listed = root
        .names(folder)
        .into_iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| {
            let read = |file: &str| root.text(&format!("{folder}/{name}/{file}"));
            let level: u32 = read("level")?.parse().ok()?;
            (read("type")? != "Instruction").then_some(())?;
            Some((level, size(&read("size")?)?))
        })
        .max();
    let stated = || size(value(&root.text("proc/cpuinfo")?, "cache size")?);
    match listed.map(|(_, bytes)| bytes).or_else(stated) {
        Some(bytes) => Probe::Known(bytes),
        None => Probe::Absent("the kernel lists no caches".into()),
    }
}

/// `32768K`, `512 KB`, `8M`.
fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().chars().next() {
        None => 1,
        Some('K' | 'k') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some(_) => return None,
    };
    number.checked_mul(unit).filter(|bytes| *bytes > 0)
}

pub(super) fn governor(root: &Root) -> Probe<String> {
    let folder = "sys/devices/system/cpu";
    let mut governors: Vec<String> = root
        .names(folder)
        .into_iter()
        .filter(|name| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok()))
        .filter_map(|cpu| root.text(&format!("{folder}/{cpu}/cpufreq/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    match governors.as_slice() {
        [] => Probe::Absent("the kernel shows no frequency scaling, as is usual in virtual machines".into()),
        some => Probe::Known(some.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::test_support::tree;

    #[test]
    fn an_x86_processor_has_a_name_and_an_arm_one_a_number_with_a_name() {
        let (_folder, root) = tree(&[("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD  EPYC 9654\n")]);
        assert_eq!(model(&root), Ok("AMD EPYC 9654".into()));
        let (_folder, root) = tree(&[("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n")]);
        assert_eq!(model(&root), Ok("ARM Neoverse V2".into()));
        let (_folder, root) = tree(&[("proc/cpuinfo", "CPU implementer\t: 0x42\nCPU part\t: 0x1\n")]);
        assert_eq!(model(&root), Ok("ARM implementer 0x42 part 0x1".into()));
        let (_folder, root) = tree(&[("proc/cpuinfo", "processor: 0\n")]);
        assert!(model(&root).is_err());
    }

    #[test]
    fn cores_are_bounded_by_the_affinity_and_by_the_quota() {
        assert_eq!(cores(Ok(8), None), Probe::Known(8));
        assert_eq!(cores(Ok(8), Some(2.5)), Probe::Known(2));
        assert_eq!(cores(Ok(8), Some(0.5)), Probe::Known(1));
        assert_eq!(cores(Ok(2), Some(64.0)), Probe::Known(2));
        assert_eq!(cores(Err("no".into()), Some(1.0)), Probe::Failed("no".into()));
        assert!(allowed().unwrap() >= 1);
    }

    #[test]
    fn the_last_level_is_the_highest_data_cache() {
        let folder = "sys/devices/system/cpu/cpu0/cache";
        let files = [
            ("index0", "1", "Data", "32K"),
            ("index1", "1", "Instruction", "32K"),
            ("index2", "2", "Unified", "512K"),
            ("index3", "3", "Unified", "32768K"),
        ]
        .map(|(index, level, kind, size)| {
            [("level", level), ("type", kind), ("size", size)]
                .map(|(file, text)| (format!("{folder}/{index}/{file}"), text))
        });
        let files: Vec<(&str, &str)> =
            files.iter().flatten().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_folder, root) = tree(&files);
        assert_eq!(last_level_cache(&root), Probe::Known(32 << 20));
    }

    #[test]
    fn without_a_list_of_caches_the_processors_own_line_serves() {
        let (_folder, root) = tree(&[("proc/cpuinfo", "cache size\t: 512 KB\n")]);
        assert_eq!(last_level_cache(&root), Probe::Known(512 << 10));
        assert_eq!(size("8M"), Some(8 << 20));
        assert_eq!(size("unknown"), None);
        assert!(matches!(last_level_cache(&tree(&[]).1), Probe::Absent(_)));
    }

    #[test]
    fn governors_that_agree_read_as_one() {
        let path = |cpu: &str| format!("sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor");
        let (zero, one, not_a_cpu) = (path("cpu0"), path("cpu1"), path("cpuidle"));
        let (_folder, root) = tree(&[(&zero, "performance\n"), (&one, "performance\n"), (&not_a_cpu, "x\n")]);
        assert_eq!(governor(&root), Probe::Known("performance".into()));
        let (_folder, root) = tree(&[(&zero, "powersave\n"), (&one, "performance\n")]);
        assert_eq!(governor(&root), Probe::Known("performance,powersave".into()));
    }
}
