//! A simulated year of nights for tests and benches: runs of a suite, a day apart, with noise from run to run. Not measured.

use gbench_ci::history::{HistoryBranch, HistoryEntry};

use super::records::{Planned, build_sized, noise, plan, scale};

/// Standard deviation of a run about its level.
pub const NOISE: f64 = 0.008;

/// Five cases; tests change the first.
pub const SUITE: [Planned; 5] = [
    plan("kernels/gemm", 1024, "host", "time", "s", 1.25e-3, 0.002),
    plan("kernels/softmax", 4096, "host", "throughput", "GB/s", 1840.0, 0.002),
    plan("kernels/norm", 64, "host", "time", "s", 5.2e-4, 0.002),
    plan("kernels/scan", 64, "host", "time", "s", 7.1e-4, 0.002),
    plan("build/module", 0, "host", "size", "B", 48_128.0, 0.0),
];

/// The commit of a night.
pub fn commit(number: u32) -> String {
    format!("{:040x}", 0xabc0_0000_u32 + number)
}

/// The night `number` days after 2026-01-01, with `factors` by benchmark.
pub fn night(number: u32, factors: &[(&str, f64)]) -> HistoryEntry {
    let mut record = build_sized(number % 60, &SUITE, 4, 3);
    let started =
        std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600 + u64::from(number) * 86_400);
    let started = humantime::format_rfc3339_millis(started).to_string();
    let compact: String = started.chars().filter(|c| !"-:".contains(*c)).collect();
    record.run_id = format!("{compact}-{number:06x}").parse().unwrap();
    record.started = started.clone();
    for (index, planned) in SUITE.iter().enumerate().filter(|(_, planned)| planned.spread > 0.0) {
        let noise = NOISE * noise([number, index as u32, 7, 7]);
        let factor =
            factors.iter().find(|(name, _)| *name == planned.benchmark).map_or(1.0, |(_, factor)| *factor);
        scale(&mut record, planned.benchmark, noise.exp() * factor);
    }
    HistoryEntry {
        appended: started,
        conclusion: Some("pass".into()),
        exit_code: Some(0),
        ..HistoryEntry::of_record(record, "main", commit(number), "schedule")
    }
}

/// Adds nights to the branch `gbench-history` of the repository that holds the folder.
pub fn append(folder: &std::path::Path, nights: impl Iterator<Item = HistoryEntry>) {
    let history = HistoryBranch::open(&"git:gbench-history".parse().unwrap(), folder, None).unwrap();
    nights.for_each(|night| drop(history.append(&night).unwrap()));
}
