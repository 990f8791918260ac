//! A run in a file.

use std::collections::HashSet;
use std::time::SystemTime;

use gbench_formats::adapters::CaseName;
use gbench_formats::adapters::formats::RunReading;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct FileRun {
    pub path: String,
    pub sha256: String,
    pub bytes: u64,
    pub modified: SystemTime,
    pub run: RunReading,
}

impl FileRun {
    /// UTC, RFC 3339 with milliseconds.
    pub(super) fn started(&self) -> String {
        let modified = || humantime::format_rfc3339_millis(self.modified).to_string();
        self.run.started.clone().unwrap_or_else(modified)
    }

    /// True if only their whole names tell two of its cases apart: the rest is how often they were measured.
    pub(super) fn has_namesakes(&self) -> bool {
        let mut seen = HashSet::new();
        let mut cases = self.run.readings.iter().map(|reading| &reading.case);
        cases.any(|CaseName { case, params, .. }| !seen.insert((case, params)))
    }

    /// Everything that is known of its machine, software and workload.
    pub(super) fn facts(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.run.facts.iter().chain(&self.run.more)
    }
}

/// The files, each once.
pub(super) fn sources(files: &[FileRun]) -> Vec<&FileRun> {
    let mut seen = HashSet::new();
    files.iter().filter(|file| seen.insert(&file.path)).collect()
}
