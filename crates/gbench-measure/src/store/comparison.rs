//! The folder of a comparison in rounds, and reading its records.
//!
//! ```text
//! artifacts/<comparison id>/
//!   base/  head/  control/   a run's folder each
//!   reports/                 the verdict
//!   suite.toml               the one suite file of both sides, where it is not each side's own
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::atomic::write_atomically;
use super::held::hold;
use super::journal::{JOURNAL, RECORD, create_ignored_dir};
use super::read::read_record;
use super::started;
use gbench_model::{CaseId, CaseRecord, Exit, Fault, Outcome, Result, RunId, RunRecord, Side};

const SUITE: &str = "suite.toml";
pub(super) const SIDES: [Side; 3] = [Side::Base, Side::Head, Side::Control];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonFolder {
    root: PathBuf,
}

/// In the artifacts folder: the range of a comparison that was begun and has no folder yet.
pub(super) const BEGUN: &str = ".begun";

/// Records that a comparison begins, before it has a folder. `range`: as typed.
pub fn note_begun(artifacts: &Path, range: &str) -> Result<()> {
    // Without the folder there is no older comparison to confuse it with.
    if !artifacts.is_dir() {
        return Ok(());
    }
    std::fs::write(artifacts.join(BEGUN), range).map_err(|error| {
        let next = "choose a writable folder with `--artifacts`, on a disk with space";
        Fault::of_io(artifacts, "the folder of comparisons cannot be written", &error, next)
    })
}

/// The range of the latest comparison, if it ended before anything was measured.
pub fn begun_for_nothing(artifacts: &Path) -> Option<String> {
    std::fs::read_to_string(artifacts.join(BEGUN)).ok()
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl ComparisonFolder {
    /// Makes `artifacts/<id>`. Errors: the folder exists or cannot be made.
    pub fn create(artifacts: &Path, id: &RunId) -> Result<Self> {
        let root = artifacts.join(id.as_str());
        let make = || {
            create_ignored_dir(artifacts)?;
            std::fs::create_dir(&root)?;
            hold(&root);
            std::fs::create_dir(root.join("reports"))?;
            started::note(artifacts, id)?;
            remove_if_there(&artifacts.join(BEGUN))
        };
        make().map_err(|error| {
            let next = "choose a writable folder with `--artifacts`, on a disk with space";
            Fault::of_io(&root, "the comparison's folder cannot be made", &error, next)
        })?;
        Ok(Self { root })
    }

    /// Opens an existing folder. Errors: it does not contain a base and a head.
    pub fn open(root: &Path) -> Result<Self> {
        if is_comparison(root) {
            Ok(Self { root: root.to_owned() })
        } else {
            Err(Fault::at_path(
                root,
                "the folder contains no comparison",
                "give a comparison's folder: one with `base` and `head`, each a run's folder",
            ))
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn side(&self, side: Side) -> PathBuf {
        self.root.join(side.into_str())
    }

    /// Keeps the text of the suite file that both sides share.
    pub fn keep_suite(&self, text: &str) -> Result<()> {
        write_atomically(&self.root.join(SUITE), text.as_bytes())
    }

    /// That text, and its path. Errors: it does not exist any more, or cannot be read.
    pub fn kept_suite(&self) -> Result<(String, PathBuf)> {
        let path = self.root.join(SUITE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok((text, path)),
            Err(error) => {
                let what = format!("the suite file of this comparison cannot be read: {error}");
                let next = "begin a new comparison: `gbench-ci compare BASE..HEAD`";
                Err(Fault::at_path(path, what, next).exits(Exit::Failed))
            }
        }
    }

    /// Atomically writes a report of the whole, for example `verdict.json`.
    pub fn report(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.root.join("reports").join(name);
        write_atomically(&path, bytes)?;
        Ok(path)
    }
}

/// True if a complete or partial run is kept in the folder.
pub fn holds_run(folder: &Path) -> bool {
    folder.join(RECORD).is_file() || folder.join(JOURNAL).is_file()
}

pub(super) fn is_comparison(folder: &Path) -> bool {
    [Side::Base, Side::Head].iter().all(|side| holds_run(&folder.join(side.into_str())))
}

/// The comparison below `artifacts` that was started last.
pub fn latest_comparison(artifacts: &Path) -> Option<PathBuf> {
    started::newest(artifacts, is_comparison)
}

/// Every comparison below `artifacts`, in the order in which they were started.
pub fn comparisons_below(artifacts: &Path) -> Vec<PathBuf> {
    started::in_order(artifacts, is_comparison)
}

/// The comparison's folder for a path to it, to its `reports`, or to a file there.
pub fn comparison_of(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    whole.ancestors().take(3).find(|folder| is_comparison(folder)).map(Path::to_owned)
}

/// The records of a comparison's base, head and, if it has controls, control, complete or recovered from the journals of a
/// killed one. Each case has the same rounds on all its sides: half a round is left out.
pub fn read_comparison(folder: &Path) -> Result<(RunRecord, RunRecord, Option<RunRecord>)> {
    let mut sides = read_sides(folder)?;
    keep_whole_rounds(&mut sides);
    Ok(sides)
}

/// The same as stored, including half a round.
pub fn read_sides(folder: &Path) -> Result<(RunRecord, RunRecord, Option<RunRecord>)> {
    let folder = ComparisonFolder::open(folder)?;
    let base = read_record(&folder.side(Side::Base))?;
    let head = read_record(&folder.side(Side::Head))?;
    let control = folder.side(Side::Control);
    let control = holds_run(&control).then(|| read_record(&control)).transpose()?;
    Ok((base, head, control))
}

/// Cuts every case to the rounds that all its sides have. A case of only one side, or with a broken side, stays as it is: it
/// is not compared, and its data is evidence.
pub fn keep_whole_rounds(sides: &mut (RunRecord, RunRecord, Option<RunRecord>)) {
    let mut records = vec![&mut sides.0, &mut sides.1];
    records.extend(sides.2.as_mut());
    let mut sides: HashMap<CaseId, Vec<(usize, usize)>> = HashMap::new();
    for (record, index, case) in records
        .iter()
        .enumerate()
        .flat_map(|(record, it)| it.cases.iter().enumerate().map(move |(index, case)| (record, index, case)))
    {
        sides.entry(undeviced(&case.id)).or_default().push((record, index));
    }
    for places in sides.into_values() {
        let case = |(record, index): (usize, usize)| &records[record].cases[index];
        let compared = places.iter().filter(|place| place.0 < 2).count() == 2;
        if !compared || places.iter().any(|place| place.0 < 2 && is_broken(case(*place))) {
            continue;
        }
        let going: Vec<_> = places.into_iter().filter(|place| !is_broken(case(*place))).collect();
        let whole = going.iter().map(|place| case(*place).processes.len()).min().unwrap_or(0);
        for (record, index) in going {
            cut(&mut records[record].cases[index], whole);
        }
    }
}

/// A case as it was planned: the device is known only after its first process.
fn undeviced(id: &CaseId) -> CaseId {
    CaseId { device: "host".into(), ..id.clone() }
}

fn is_broken(case: &CaseRecord) -> bool {
    let ended_badly = case.outcome.is_failure() || matches!(case.outcome, Outcome::Skipped { .. });
    ended_badly || case.processes.iter().any(|process| !process.outcome.is_measured())
}

/// Rounds are in order, one process each, so the end is cut.
fn cut(case: &mut CaseRecord, processes: usize) {
    if case.processes.len() <= processes {
        return;
    }
    case.processes.truncate(processes);
    for metric in &mut case.metrics {
        metric.processes.retain(|samples| (samples.process as usize) < processes);
        metric.summary = None;
    }
    case.metrics.retain(|metric| !metric.processes.is_empty());
    if processes == 0 {
        case.outcome = Outcome::NotRun {
            code: None,
            cause: "the run ended before its first round did".into(),
            advice: "resume the comparison, or run it again".into(),
        };
    }
}
