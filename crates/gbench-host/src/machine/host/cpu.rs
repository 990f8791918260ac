//! The processor: model, share available to us, last-level cache, frequency governor.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::root::Root;
use gbench_model::Probe;

/// ARM kernels report numbers where x86 kernels report a name. These are the parts found in GPU data centres.
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

pub(super) fn value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// The logical processors that this process and its children may run on.
pub(in crate::machine) fn affinity() -> Result<CpuSet, String> {
    sched_getaffinity(Pid::from_raw(0)).map_err(|error| format!("affinity: {error}"))
}

pub(super) fn allowed() -> Result<usize, String> {
    let set = affinity()?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).count())
}

/// Whole processors that a program here can keep busy: a quota of 2.5 is two.
pub(super) fn cores(allowed: Result<usize, String>, quota: Option<f64>) -> Probe<u32> {
    let cores = allowed.map(|allowed| {
        let by_quota = quota.map_or(u32::MAX, |quota| (quota.floor() as u32).max(1));
        u32::try_from(allowed).unwrap_or(u32::MAX).min(by_quota)
    });
    cores.into()
}

/// Bytes of the highest level of data cache that the kernel lists for the first processor. Some virtual machines lack
/// that list; `/proc/cpuinfo` then gives a value, which on some processors is the next lower level.
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

    #[test]
    fn cores_are_bounded_by_the_affinity_and_by_the_quota() {
        assert_eq!(cores(Ok(8), None), Probe::Known(8));
        assert_eq!(cores(Ok(8), Some(2.5)), Probe::Known(2));
        assert_eq!(cores(Ok(8), Some(0.5)), Probe::Known(1));
        assert_eq!(cores(Ok(2), Some(64.0)), Probe::Known(2));
        assert_eq!(cores(Err("no".into()), Some(1.0)), Probe::Failed("no".into()));
        assert!(allowed().unwrap() >= 1);
    }
}
