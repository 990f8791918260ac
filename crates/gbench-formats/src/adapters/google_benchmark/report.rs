//! The report of Google Benchmark, folded while it is parsed, so that a million repetitions never become a list of
//! entries.

mod cases;
mod entry;
mod visitor;

use self::cases::{Cases, ReportContext, RunLog};
use crate::adapters::interface::prelude::*;
use gbench_model::Unread;

use super::names::FILE;

/// Also what was not read of it.
pub(crate) fn read(output: &HarnessOutput) -> Result<(Vec<Reading>, Unread), ReadError> {
    let report: Report = document(Some(FILE), output.files.need(FILE)?)?;
    if report.context.json_schema_version.is_some_and(|version| version != 1) {
        return Err(ReadError::path(FILE, "context.json_schema_version", "it is not 1"));
    }
    let log = RunLog::of(output);
    Ok(report.benchmarks.finish(&report.context, &log))
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    context: ReportContext,
    benchmarks: Cases,
}
