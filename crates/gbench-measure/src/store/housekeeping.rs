//! The entries of an artifacts folder: which are the gate's own, which are still needed, and removing one.
//!
//! An entry is renamed before it is removed, so that a process that is killed meanwhile leaves `.gc-NAME`, and never half a
//! run.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::fcntl::{openat, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use serde::Deserialize;

use super::bisect::{ANSWER, STATE};
use super::comparison::{BEGUN, SIDES, holds_run, is_comparison};
use super::held::take;
use super::journal::{JOURNAL, RECORD};
use super::remove::{FOLDER, MAX_DEPTH, remove_below};
use super::started::number_of;
use gbench_model::{BisectAnswer, RecordState, RunId};

const GOING: &str = ".gc-";
const PROFILE: &str = "profile-";
/// Prefix of files from `ingest` before they are moved to their place.
pub const INGEST: &str = ".ingest-";
/// Prefix of temporary files of the crate `tempfile`; six letters or digits follow.
const TEMPORARY: &str = ".tmp";
/// Files of the folder itself, and the folder of calibrations, which is searched separately.
const OWN: [&str; 3] = [".gitignore", BEGUN, "calibrations"];
/// The possible contents of a folder in which nothing was measured.
const BEFORE_MEASURING: [&str; 12] = [
    ".started",
    "base",
    "head",
    "control",
    "reports",
    "suite.toml",
    "results",
    "profiles",
    "logs",
    "manifest.json",
    "runs",
    STATE,
];
/// Unfinished entries are kept for this long after their last change, because older versions of the gate do not lock folders.
const SETTLED: Duration = Duration::from_secs(3600);

/// A folder of runs, comparisons and bisections, kept open: entries are removed below it, whatever its path leads to.
#[derive(Debug)]
pub struct ArtifactsFolder {
    path: PathBuf,
    folder: File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactsEntry {
    pub name: String,
    pub kind: ArtifactsKind,
    /// From its id, if it has one.
    pub started: Option<SystemTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArtifactsKind {
    Run,
    Comparison,
    Bisection,
    /// Nothing was measured in it, or a killed process left it.
    Leftover,
    Busy,
    /// Not made by the gate, or by an unknown version.
    Foreign,
}

impl ArtifactsFolder {
    /// Errors: it does not exist, or cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), folder: File::open(path)? })
    }

    /// Every entry; runs, comparisons and bisections in the order in which they were started. Errors: the folder cannot be
    /// read.
    pub fn entries(&self) -> io::Result<Vec<ArtifactsEntry>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if OWN.contains(&name.as_str()) {
                continue;
            }
            let path = entry.path();
            let started = started_of(&name);
            let kind = kind_of(&name, &path, started.is_some());
            found.push((number_of(&path), ArtifactsEntry { name, kind, started }));
        }
        found.sort_by(|(one, a), (other, b)| (one, &a.name).cmp(&(other, &b.name)));
        Ok(found.into_iter().map(|(_, entry)| entry).collect())
    }

    /// True if an entry ended early and can be resumed.
    pub fn is_open(&self, entry: &ArtifactsEntry) -> bool {
        let path = self.path.join(&entry.name);
        match entry.kind {
            ArtifactsKind::Comparison => SIDES.iter().any(|side| is_open_side(&path.join(side.into_str()))),
            ArtifactsKind::Bisection => is_open_bisection(&path),
            _ => false,
        }
    }

    /// Removes an entry with its contents; a dry run only checks that it could. Returns its bytes on disk, or nothing if a
    /// process is using it. Errors: it is gone, a part of it cannot be removed, or its file system has no locks.
    pub fn remove(&self, name: &str, dry_run: bool) -> io::Result<Option<u64>> {
        let path = self.path.join(name);
        let bytes = bytes_of(&path);
        if path.symlink_metadata()?.is_file() {
            if !dry_run {
                unlinkat(&self.folder, name, UnlinkatFlags::NoRemoveDir)?;
            }
            return Ok(Some(bytes));
        }
        let folder = File::from(openat(&self.folder, name, FOLDER, Mode::empty())?);
        if !take(&folder)? {
            return Ok(None);
        }
        if dry_run {
            return Ok(Some(bytes));
        }
        let going = format!("{GOING}{}", name.trim_start_matches(GOING));
        renameat(&self.folder, name, &self.folder, going.as_str())?;
        if remove_below(&self.folder, CString::new(going.as_str())?, MAX_DEPTH) {
            Ok(Some(bytes))
        } else {
            Err(io::Error::other(format!("a part of it cannot be removed; the rest is in {going}")))
        }
    }
}

fn started_of(name: &str) -> Option<SystemTime> {
    name.strip_prefix(PROFILE).unwrap_or(name).parse::<RunId>().ok()?.started()
}

fn kind_of(name: &str, path: &Path, has_id: bool) -> ArtifactsKind {
    let Ok(metadata) = path.symlink_metadata() else { return ArtifactsKind::Foreign };
    let is_random = |rest: &str| rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_temporary = |prefix: &str, name: &str| name.strip_prefix(prefix).is_some_and(is_random);
    let is_going = |name: &str| started_of(name).is_some() || is_temporary(INGEST, name);
    if metadata.is_dir() && name.strip_prefix(GOING).is_some_and(is_going) {
        return ArtifactsKind::Leftover;
    }
    if metadata.is_dir() && is_temporary(INGEST, name) || metadata.is_file() && is_temporary(TEMPORARY, name)
    {
        return if is_settled(path) { ArtifactsKind::Leftover } else { ArtifactsKind::Busy };
    }
    if !metadata.is_dir() || !has_id {
        return ArtifactsKind::Foreign;
    }
    let kind = if is_nothing_measured(path) {
        ArtifactsKind::Leftover
    } else if is_comparison(path) {
        ArtifactsKind::Comparison
    } else if path.join(STATE).is_file() {
        ArtifactsKind::Bisection
    } else if holds_run(path) {
        ArtifactsKind::Run
    } else {
        return ArtifactsKind::Foreign;
    };
    let unfinished = kind == ArtifactsKind::Leftover || path.join(JOURNAL).is_file();
    if unfinished && !is_settled(path) { ArtifactsKind::Busy } else { kind }
}

fn is_nothing_measured(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    let is_known = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| BEFORE_MEASURING.iter().any(|known| entry.file_name() == *known))
    };
    let is_begun = |run: &Path| run.join(RECORD).exists() || !has_at_most_a_header(&run.join(JOURNAL));
    entries.into_iter().all(is_known)
        && !is_begun(path)
        && !SIDES.iter().any(|side| is_begun(&path.join(side.into_str())))
        && has_at_most_a_header(&path.join(STATE))
}

/// The first line has the parameters, every further one a result.
fn has_at_most_a_header(journal: &Path) -> bool {
    match fs::read(journal) {
        Ok(text) => text.iter().filter(|byte| **byte == b'\n').count() < 2,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn is_open_side(side: &Path) -> bool {
    #[derive(Deserialize)]
    struct State {
        state: RecordState,
    }
    match fs::read(side.join(RECORD)) {
        Ok(text) => serde_json::from_slice(&text).map_or(true, |it: State| it.state != RecordState::Complete),
        // A missing side is the control of a comparison without one.
        Err(_) => side.join(JOURNAL).exists(),
    }
}

fn is_open_bisection(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        answer: BisectAnswer,
    }
    let answer = fs::read(path.join(ANSWER)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    answer.is_none_or(|it: Answer| !it.answer.is_final())
}

fn is_settled(path: &Path) -> bool {
    let is_old = |path: &Path| {
        let changed = path.symlink_metadata().and_then(|found| found.modified()).ok();
        changed.is_none_or(|time| time.elapsed().is_ok_and(|age| age > SETTLED))
    };
    [path.to_owned(), path.join(JOURNAL), path.join(STATE)].iter().all(|path| is_old(path))
}

fn bytes_of(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else { return 0 };
    let inside = if metadata.is_dir() { fs::read_dir(path).ok() } else { None };
    let inside = inside.into_iter().flatten().flatten().map(|entry| bytes_of(&entry.path()));
    metadata.blocks() * 512 + inside.sum::<u64>()
}
