//! The folder of one run, and the journal that makes a killed run readable.
//!
//! ```text
//! artifacts/<run_id>/
//!   manifest.json
//!   results/record.json      the record, written once, atomically
//!   results/SHA256SUMS       its fingerprint, for `sha256sum --check` in that folder
//!   results/journal.jsonl    until then: the header, then every case as it stands
//!   logs/  reports/  profiles/
//! ```

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::read::write_atomically;
use crate::model::{CaseRecord, Fault, Result, RunId, RunRecord, sha256_hex};

pub(super) const RECORD: &str = "results/record.json";
pub(super) const SUMS: &str = "results/SHA256SUMS";
pub(super) const JOURNAL: &str = "results/journal.jsonl";

/// A line of the journal. The last line about a case is the one that holds.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// The record without results: every selected case is there, as not run.
    Header(Box<RunRecord>),
    /// A case, by its index in the header, as it stands.
    Case { index: usize, case: Box<CaseRecord> },
}

/// The folder of one run, while it runs.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    journal: File,
}

impl RunFolder {
    /// Makes `artifacts/<run_id>/` with all that stands in it after every run, and begins the journal with the
    /// header: `record` with every selected case as not run. Errors: the folder exists or cannot be made.
    pub fn create(artifacts: &Path, record: &RunRecord) -> Result<Self> {
        let root = artifacts.join(record.run_id.as_str());
        let fault = |error: std::io::Error| {
            Fault::at_path(
                &root,
                format!("the run's folder cannot be made: {error}"),
                "choose a writable folder with `--artifacts`",
            )
        };
        make_unwatched(artifacts).map_err(fault)?;
        std::fs::create_dir(&root).map_err(fault)?;
        for name in ["results", "profiles", "reports", "logs"] {
            std::fs::create_dir(root.join(name)).map_err(fault)?;
        }
        let journal =
            File::options().create_new(true).append(true).open(root.join(JOURNAL)).map_err(fault)?;
        let mut folder = Self { root, journal };
        let manifest = serde_json::to_string_pretty(&record.manifest).map_err(std::io::Error::from);
        let manifest = manifest.map_err(|error| folder.fault(error))?;
        write_atomically(&folder.root.join("manifest.json"), manifest.as_bytes())?;
        folder.append(&Entry::Header(Box::new(record.clone())))?;
        Ok(folder)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn record_path(&self) -> PathBuf {
        self.root.join(RECORD)
    }

    /// Writes a case down as it stands; called between processes, never while one measures.
    pub fn keep(&mut self, index: usize, case: &CaseRecord) -> Result<()> {
        self.append(&Entry::Case { index, case: Box::new(case.clone()) })
    }

    /// One write for a whole line: a kill leaves the line there or not there, or, at worst, half of the last one.
    fn append(&mut self, entry: &Entry) -> Result<()> {
        let line = serde_json::to_string(entry).map_err(std::io::Error::from);
        let written = line.and_then(|mut line| {
            line.push('\n');
            self.journal.write_all(line.as_bytes())
        });
        written.map_err(|error| self.fault(error))
    }

    /// A log of the run, by a name without separators; nothing is written for empty output.
    pub fn log(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        std::fs::write(self.root.join("logs").join(name), bytes).map_err(|error| self.fault(error))
    }

    /// A report of the run, for example `summary.md`.
    pub fn report(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.root.join("reports").join(name);
        write_atomically(&path, bytes)?;
        Ok(path)
    }

    /// Writes the whole record and its fingerprint, then drops the journal: at every moment one of record and journal
    /// is whole.
    pub fn finish(&self, record: &RunRecord) -> Result<PathBuf> {
        let path = self.record_path();
        let text = serde_json::to_vec(record).map_err(|error| self.fault(error.into()))?;
        write_atomically(&path, &text)?;
        let sums = format!("{}  record.json\n", sha256_hex(&text));
        write_atomically(&self.root.join(SUMS), sums.as_bytes())?;
        std::fs::remove_file(self.root.join(JOURNAL)).map_err(|error| self.fault(error))?;
        Ok(path)
    }

    fn fault(&self, error: std::io::Error) -> Fault {
        let what = format!("the run's folder cannot be written: {error}");
        Fault::at_path(&self.root, what, "free some space, and leave the folder alone while a run lasts")
    }
}

/// Makes a folder for what the gate writes, out of sight of git: its own results must not make a tree dirty.
pub fn make_unwatched(folder: &Path) -> std::io::Result<()> {
    if !folder.exists() {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(".gitignore"), "# Made by gbench-ci: its results are not sources.\n*\n")?;
    }
    Ok(())
}

/// The newest run below `artifacts`: folders sort by their run's start.
pub fn latest_run(artifacts: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(artifacts).ok()?.flatten();
    let runs = entries.filter(|entry| {
        let name = entry.file_name();
        let is_run = name.to_str().is_some_and(|name| name.parse::<RunId>().is_ok());
        is_run && (entry.path().join(RECORD).is_file() || entry.path().join(JOURNAL).is_file())
    });
    runs.max_by_key(|entry| entry.file_name()).map(|entry| entry.path())
}
