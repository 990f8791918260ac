//! The report of Google Benchmark, folded while it is parsed, so that a million repetitions never become a list of
//! entries.

mod cases;
mod entry;
mod visitor;

use self::cases::{Cases, ReportContext, RunLog};
use crate::adapters::interface::prelude::*;

use super::names::FILE;

pub(super) fn read(output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
    let bytes = output.files.need(FILE)?;
    let report: Report = match document(Some(FILE), bytes) {
        Ok(report) => report,
        // Only a file that JSON refuses is copied: reports can have 400 MB.
        Err(error) => document(Some(FILE), &without_nan(bytes).ok_or(error)?)?,
    };
    if report.context.json_schema_version.is_some_and(|version| version != 1) {
        return Err(ReadError::path(FILE, "context.json_schema_version", "it is not 1"));
    }
    let log = RunLog::of(output);
    let finished = report.benchmarks.cases.into_iter().map(|case| case.finish(&report.context, &log));
    Ok(finished.collect())
}

/// Versions before 1.8 write `NaN` for the coefficient of variation of a counter that is 0. JSON has no such number: the
/// copy contains `null`. `None`: the file has no NaN.
fn without_nan(bytes: &[u8]) -> Option<Vec<u8>> {
    if [&b": NaN"[..], b": -NaN", b"Infinity"].iter().all(|word| memchr::memmem::find(bytes, word).is_none())
    {
        return None;
    }
    let mut copy = Vec::new();
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, b"\": ") {
        let (before, value) = rest.split_at(at + 3);
        copy.extend_from_slice(before);
        rest = value;
        let word = ["NaN", "-NaN", "Infinity", "-Infinity"].into_iter().find(|word| {
            value.strip_prefix(word.as_bytes()).is_some_and(|next| matches!(next.first(), Some(b',' | b'\n')))
        });
        if let Some(word) = word {
            copy.extend_from_slice(b"null");
            rest = &value[word.len()..];
        }
    }
    copy.extend_from_slice(rest);
    Some(copy)
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    context: ReportContext,
    benchmarks: Cases,
}
