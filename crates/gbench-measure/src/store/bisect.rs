//! The folder of a bisection.
//!
//! ```text
//! artifacts/<id>/
//!   bisect.jsonl     what was begun and every process, line by line as they come
//!   suite.toml       the suite file that all commits are measured with
//!   bisect.json      the answer, once there is one
//!   runs/            the records of all processes
//! ```

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::atomic::write_atomically;
use super::held::hold;
use super::journal::create_ignored_dir;
use super::started;
use gbench_model::{BisectEntry, Exit, Fault, Result, RunId};

pub(super) const STATE: &str = "bisect.jsonl";
const SUITE: &str = "suite.toml";
pub(super) const ANSWER: &str = "bisect.json";
const RUNS: &str = "runs";

#[derive(Debug)]
pub struct BisectFolder {
    root: PathBuf,
    state: File,
}

impl BisectFolder {
    /// Makes `artifacts/<id>`. Errors: the folder exists or cannot be made.
    pub fn create(artifacts: &Path, id: &RunId, suite: &str) -> Result<Self> {
        let root = artifacts.join(id.as_str());
        let make = || -> std::io::Result<File> {
            create_ignored_dir(artifacts)?;
            std::fs::create_dir(&root)?;
            hold(&root);
            std::fs::create_dir(root.join(RUNS))?;
            started::note(artifacts, id)?;
            File::options().create_new(true).append(true).open(root.join(STATE))
        };
        let state = make().map_err(|error| {
            let next = "choose a writable folder with `--artifacts`, on a disk with space";
            Fault::of_io(&root, "the bisection's folder cannot be made", &error, next)
        })?;
        write_atomically(&root.join(SUITE), suite.as_bytes())?;
        Ok(Self { root, state })
    }

    /// Opens an existing folder; returns its entries and the text of its suite file. A truncated last line is removed.
    pub fn reopen(root: &Path) -> Result<(Self, Vec<BisectEntry>, String)> {
        hold(root);
        let path = root.join(STATE);
        let unreadable = |error: std::io::Error| {
            Fault::of_io(
                &path,
                "the bisection cannot continue from here",
                &error,
                "make the folder readable and writable",
            )
        };
        let bytes = std::fs::read(&path).map_err(unreadable)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut entries = Vec::new();
        for (number, line) in bytes[..whole].split(|byte| *byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            entries.push(serde_json::from_slice(line).map_err(|error| {
                let what = format!("line {} is not a line of a bisection: {error}", number + 1);
                Fault::at_path(&path, what, "begin a new bisection").exits(Exit::Failed)
            })?);
        }
        let suite = std::fs::read_to_string(root.join(SUITE)).map_err(unreadable)?;
        let state = File::options().write(true).open(&path).map_err(unreadable)?;
        state.set_len(whole as u64).map_err(unreadable)?;
        let state = File::options().append(true).open(&path).map_err(unreadable)?;
        Ok((Self { root: root.to_owned(), state }, entries, suite))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn runs(&self) -> PathBuf {
        self.root.join(RUNS)
    }

    pub fn append(&mut self, entry: &BisectEntry) -> Result<()> {
        let mut write = || -> std::io::Result<()> {
            let mut line = serde_json::to_vec(entry)?;
            line.push(b'\n');
            self.state.write_all(&line)?;
            self.state.sync_data()
        };
        write().map_err(|error| {
            let next = "make room, and continue with `gbench-ci bisect --resume`";
            Fault::of_io(self.root.join(STATE), "cannot be written", &error, next)
        })
    }

    pub fn answer(&self, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.root.join(ANSWER);
        write_atomically(&path, bytes)?;
        Ok(path)
    }
}

/// The folder of a bisection: a path or an id below `artifacts`; without a name the one that was started last.
pub fn bisect_folder(named: Option<&str>, artifacts: &Path) -> Result<PathBuf> {
    let is_one = |folder: &Path| folder.join(STATE).is_file();
    let latest = || started::newest(artifacts, is_one);
    let Some(named) = named else {
        return latest().ok_or_else(|| {
            let next = "begin one: `gbench-ci bisect CASE GOOD..BAD`";
            Fault::at_path(artifacts, "no bisection is kept here", next)
        });
    };
    let of_id = named.parse::<RunId>().ok().map(|id| artifacts.join(id.as_str()));
    let found = [Some(PathBuf::from(named)), of_id].into_iter().flatten().find(|folder| is_one(folder));
    found.ok_or_else(|| {
        let next = match latest() {
            Some(latest) => format!("the latest one is {}", latest.file_name().unwrap_or_default().display()),
            None => "begin one: `gbench-ci bisect CASE GOOD..BAD`".to_owned(),
        };
        Fault::at_flag(format!("--resume {named}"), "no bisection of this name is kept here", next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_kill_cut_off_is_taken_away_and_the_others_stay() {
        let artifacts = tempfile::tempdir().unwrap();
        let id: RunId = "20261121T100102.345Z-3f9a2c".parse().unwrap();
        let mut folder = BisectFolder::create(artifacts.path(), &id, "text").unwrap();
        let entry = |seconds| BisectEntry::Built { commit: "c".into(), seconds };
        folder.append(&entry(1.0)).unwrap();
        let path = folder.root().join(STATE);
        File::options().append(true).open(&path).unwrap().write_all(b"{\"entry\":\"bui").unwrap();
        let root = bisect_folder(None, artifacts.path()).unwrap();
        let (mut folder, entries, suite) = BisectFolder::reopen(&root).unwrap();
        assert_eq!((entries.as_slice(), suite.as_str()), ([entry(1.0)].as_slice(), "text"));
        folder.append(&entry(2.0)).unwrap();
        let (_, entries, _) = BisectFolder::reopen(&root).unwrap();
        assert_eq!(entries, [entry(1.0), entry(2.0)]);
        std::fs::write(&path, "{}\n").unwrap();
        assert_eq!(BisectFolder::reopen(&root).unwrap_err().exit, Exit::Failed);
        assert!(bisect_folder(Some("other"), artifacts.path()).is_err());
    }
}
