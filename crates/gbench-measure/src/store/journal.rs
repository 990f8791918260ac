//! The folder of one run, and the journal that makes a killed run readable.
//!
//! ```text
//! artifacts/<run_id>/
//!   manifest.json
//!   results/record.json      the record, written once, atomically
//!   results/SHA256SUMS       its fingerprint, for `sha256sum --check` in that folder
//!   results/journal.jsonl    until then: the header, then process after process as they come
//!   logs/  reports/  profiles/
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::atomic::write_atomically;
use super::started;
use gbench_model::{CaseRecord, Fault, Metric, ProcessRecord, ProcessSamples, Result, RunRecord, sha256_hex};

pub(super) const RECORD: &str = "results/record.json";
pub(super) const SUMS: &str = "results/SHA256SUMS";
pub(super) const JOURNAL: &str = "results/journal.jsonl";

/// A line of the journal. Each line only has new data, so that the journal's length is proportional to the record's.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalEntry {
    /// The record without results: every selected case is listed, as not run.
    Header(Box<RunRecord>),
    /// A whole case, by its index in the header, which replaces the previous state.
    Case { index: usize, case: Box<CaseRecord> },
    /// A case without its processes and samples, which stay as they are.
    Head { index: usize, head: Box<CaseRecord> },
    /// The next process of a case with its samples by metric; `head` if anything else of the case is new.
    Process {
        index: usize,
        head: Option<Box<CaseRecord>>,
        process: Box<ProcessRecord>,
        samples: Vec<(String, ProcessSamples)>,
    },
}

#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    journal: File,
    /// By case: hash of its part in the journal other than processes and samples.
    heads: HashMap<usize, u64>,
}

impl RunFolder {
    /// Makes the folder `root` of a new run; `record` has every selected case as not run. Errors: the folder exists or cannot
    /// be made.
    pub fn create(root: &Path, record: &RunRecord) -> Result<Self> {
        let fault = |error: std::io::Error| {
            let next = "choose a writable folder with `--artifacts`, on a disk with space";
            Fault::of_io(root, "the run's folder cannot be made", &error, next)
        };
        if let Some(artifacts) = root.parent() {
            create_ignored_dir(artifacts).map_err(fault)?;
        }
        std::fs::create_dir(root).map_err(fault)?;
        for name in ["results", "profiles", "reports", "logs"] {
            std::fs::create_dir(root.join(name)).map_err(fault)?;
        }
        let journal =
            File::options().create_new(true).append(true).open(root.join(JOURNAL)).map_err(fault)?;
        let mut folder = Self { root: root.to_owned(), journal, heads: HashMap::new() };
        let manifest = serde_json::to_string_pretty(&record.manifest).map_err(std::io::Error::from);
        let manifest = manifest.map_err(|error| folder.fault(error))?;
        write_atomically(&folder.root.join("manifest.json"), manifest.as_bytes())?;
        folder.append(&JournalEntry::Header(Box::new(record.clone())))?;
        Ok(folder)
    }

    /// The folder of a run that continues from `record`, finished before or not. At every moment the folder contains the
    /// previous state, or this record.
    pub fn reopen(root: &Path, record: &RunRecord) -> Result<Self> {
        let path = root.join(JOURNAL);
        let unreadable = |error: std::io::Error| {
            let next = "make the folder writable, with some space left";
            Fault::of_io(&path, "the run cannot continue from here", &error, next)
        };
        let mut header = record.clone();
        let mut lines = Vec::new();
        let mut line = |entry: &JournalEntry| -> std::io::Result<()> {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
            Ok(())
        };
        let cases = std::mem::take(&mut header.cases);
        header.cases = cases.iter().map(head_of).collect();
        line(&JournalEntry::Header(Box::new(header))).map_err(unreadable)?;
        for (index, case) in cases.into_iter().enumerate().filter(|(_, case)| !case.processes.is_empty()) {
            line(&JournalEntry::Case { index, case: Box::new(case) }).map_err(unreadable)?;
        }
        write_atomically(&path, &lines)?;
        for old in [SUMS, RECORD] {
            match std::fs::remove_file(root.join(old)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unreadable(error)),
                _ => {}
            }
        }
        let journal = File::options().append(true).open(&path).map_err(unreadable)?;
        Ok(Self { root: root.to_owned(), journal, heads: HashMap::new() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn record_path(&self) -> PathBuf {
        self.root.join(RECORD)
    }

    /// Appends the newest process of a case, and anything else of the case that has changed. Called between processes, never
    /// while one measures.
    pub fn keep_process(&mut self, index: usize, case: &CaseRecord) -> Result<()> {
        let Some(process) = case.processes.last() else { return Ok(()) };
        let newest = |metric: &Metric| {
            let samples = metric.processes.last().filter(|samples| samples.process == process.index)?;
            Some((metric.name.clone(), samples.clone()))
        };
        let samples = case.metrics.iter().filter_map(newest).collect();
        let head = self.changed_head(index, case)?;
        self.append(&JournalEntry::Process { index, head, process: Box::new(process.clone()), samples })
    }

    /// Appends the parts of a case other than its processes: its outcome, its summaries.
    pub fn keep_outcome(&mut self, index: usize, case: &CaseRecord) -> Result<()> {
        match self.changed_head(index, case)? {
            Some(head) => self.append(&JournalEntry::Head { index, head }),
            None => Ok(()),
        }
    }

    fn changed_head(&mut self, index: usize, case: &CaseRecord) -> Result<Option<Box<CaseRecord>>> {
        let head = head_of(case);
        let text = serde_json::to_string(&head).map_err(|error| self.fault(error.into()))?;
        let mark = BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
        let before = self.heads.insert(index, mark);
        Ok((before != Some(mark)).then(|| Box::new(head)))
    }

    /// A single write per line: a kill leaves the whole line or nothing or, at worst, a truncated last line.
    fn append(&mut self, entry: &JournalEntry) -> Result<()> {
        let line = serde_json::to_string(entry).map_err(std::io::Error::from);
        let written = line.and_then(|mut line| {
            line.push('\n');
            self.journal.write_all(line.as_bytes())
        });
        written.map_err(|error| self.fault(error))
    }

    /// Writes a log of the run; `name` has no separators; empty output is not written.
    pub fn log(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        std::fs::write(self.root.join("logs").join(name), bytes).map_err(|error| self.fault(error))
    }

    /// Writes a report of the run, for example `summary.md`.
    pub fn report(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.root.join("reports").join(name);
        write_atomically(&path, bytes)?;
        Ok(path)
    }

    /// Writes the whole record and its checksum, then removes the journal: at every moment one of record and journal is
    /// complete.
    pub fn finish(&self, record: &RunRecord) -> Result<PathBuf> {
        let path = self.write(record)?;
        std::fs::remove_file(self.root.join(JOURNAL)).map_err(|error| self.fault(error))?;
        Ok(path)
    }

    /// Rewrites the record of a finished run, with additions after its measurements.
    pub fn rewrite(&self, record: &RunRecord) -> Result<()> {
        self.write(record).map(drop)
    }

    fn write(&self, record: &RunRecord) -> Result<PathBuf> {
        let path = self.record_path();
        let text = serde_json::to_vec(record).map_err(|error| self.fault(error.into()))?;
        write_atomically(&path, &text)?;
        let sums = format!("{}  record.json\n", sha256_hex(&text));
        write_atomically(&self.root.join(SUMS), sums.as_bytes())?;
        Ok(path)
    }

    fn fault(&self, error: std::io::Error) -> Fault {
        let next = "free some space, and leave the folder alone while a run lasts";
        Fault::of_io(&self.root, "the run's folder cannot be written", &error, next)
    }
}

/// Creates a folder that git ignores: the gate's results must not make a tree dirty.
pub fn create_ignored_dir(folder: &Path) -> std::io::Result<()> {
    if !folder.exists() {
        std::fs::create_dir_all(folder)?;
    }
    // Also for an existing empty folder: a gate may have been killed right after it made it.
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none()) {
        std::fs::write(folder.join(".gitignore"), "# Made by gbench-ci: its results are not sources.\n*\n")?;
    }
    Ok(())
}

fn head_of(case: &CaseRecord) -> CaseRecord {
    let bare = |metric: &Metric| Metric {
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        better: metric.better,
        processes: Vec::new(),
        summary: metric.summary.clone(),
    };
    CaseRecord {
        id: case.id.clone(),
        description: case.description.clone(),
        components: case.components.clone(),
        kind: case.kind,
        tags: case.tags.clone(),
        group: case.group.clone(),
        command: case.command.clone(),
        env: case.env.clone(),
        config: case.config.clone(),
        outcome: case.outcome.clone(),
        processes: Vec::new(),
        metrics: case.metrics.iter().map(bare).collect(),
        declared: case.declared.clone(),
        metadata: case.metadata.clone(),
        warnings: case.warnings.clone(),
        nothing_measured: case.nothing_measured.clone(),
        answer: case.answer.clone(),
        device_code: case.device_code.clone(),
        device_code_varies: case.device_code_varies,
        part_of_whole: case.part_of_whole,
        load: case.load.clone(),
        profiles: case.profiles.clone(),
    }
}

/// The run below `artifacts` that was started last.
pub fn latest_run(artifacts: &Path) -> Option<PathBuf> {
    started::newest(artifacts, |folder| folder.join(RECORD).is_file() || folder.join(JOURNAL).is_file())
}
