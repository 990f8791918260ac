//! Runs of the past for tests.

use gbench_ci::history::{HistoryBranch, HistoryEntry};

use super::records;

/// A small whole run with a number: a larger one is newer. Its figures differ from any other's.
pub fn entry(number: u32) -> HistoryEntry {
    let plans = [records::plan("kernels/gemm", 1024, "host", "time", "s", 1.25e-3, 0.004)];
    let mut record = records::build_sized(number, &plans, 2, 2);
    record.run_id = format!("20261121T{number:06}.000Z-{number:06x}").parse().unwrap();
    HistoryEntry {
        appended: "2026-11-21T12:00:00Z".into(),
        conclusion: Some("pass".into()),
        exit_code: Some(0),
        ..HistoryEntry::of_record(record, "main", format!("{:040x}", 0xabc000_u32 + number), "schedule")
    }
}

/// The newest runs, at most so many, and why others cannot be read.
pub fn recent(history: &HistoryBranch<'_>, most: usize) -> (Vec<HistoryEntry>, Vec<String>) {
    let (mut seen, mut unreadable) = (Vec::new(), Vec::new());
    for listed in history.list().unwrap().iter().rev() {
        match history.read(listed) {
            Ok(entry) => seen.push(entry),
            Err(fault) => unreadable.push(fault.what),
        }
        if seen.len() == most {
            break;
        }
    }
    (seen, unreadable)
}
