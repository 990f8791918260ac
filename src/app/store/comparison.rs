//! A stored comparison in rounds: where it lies, and the records of its sides.

use std::path::{Path, PathBuf};

use crate::app::paths::{current_folder, project_root, shown};
use crate::app::request::SelectionRequest;
use crate::app::request::environment;
use crate::compare::{VerdictDocument, verdict_of};
use crate::model::{Fault, Result, RunId, RunRecord};
use crate::store::{keep_whole_rounds, latest_comparison, read_record, read_sides};
use crate::suite::plan::check_claims;
use crate::suite::{Benchmark, RunOptions};

#[derive(Clone, Debug, Default)]
pub(crate) struct ArtifactsRequest {
    pub config: Option<PathBuf>,
    /// Folder of run folders and comparisons, in place of the suite file's.
    pub artifacts: Option<PathBuf>,
}

pub(crate) struct StoredComparison {
    pub base: RunRecord,
    pub head: RunRecord,
    pub control: Option<RunRecord>,
    /// The comparison's folder; absent where the records were named one by one.
    folder: Option<PathBuf>,
}

impl StoredComparison {
    /// Reads the comparison that a folder or an id names; without either the latest one.
    pub(crate) fn find(
        named: Option<&str>,
        place: &ArtifactsRequest,
        builtins: &[Benchmark],
    ) -> Result<Self> {
        match named.map(Path::new) {
            // A folder needs no suite file that defines where artifacts are.
            Some(path) if path.is_dir() => Self::in_folder(path),
            _ => Self::in_folder(&comparison_folder(named, &place.folder(builtins)?)?),
        }
    }

    pub(crate) fn read(base: &Path, head: &Path, control: Option<&Path>) -> Result<Self> {
        let control = control.map(read_record).transpose()?;
        let (base, head) = (read_record(base)?, read_record(head)?);
        check_claims(&base, &head, control.as_ref())?;
        Ok(Self { base, head, control, folder: None })
    }

    /// The records of a comparison's folder, held against their own claims before anything is judged by them.
    ///
    /// Errors: exit code 4 where they do not hold.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self> {
        let mut sides = read_sides(folder)?;
        check_claims(&sides.0, &sides.1, sides.2.as_ref())?;
        keep_whole_rounds(&mut sides);
        let (base, head, control) = sides;
        Ok(Self { base, head, control, folder: Some(folder.to_owned()) })
    }

    pub(crate) fn verdict(&self) -> Result<VerdictDocument> {
        verdict_of(&self.base, &self.head, self.control.as_ref())
    }

    /// The verdict that is next to the records, if one does.
    pub(crate) fn verdict_file(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("reports/verdict.json")).filter(|path| path.is_file())
    }
}

/// The folder of a comparison, by its folder or its id; without either the latest one below `artifacts`.
pub(crate) fn comparison_folder(named: Option<&str>, artifacts: &Path) -> Result<PathBuf> {
    match named {
        Some(text) if Path::new(text).is_dir() => Ok(PathBuf::from(text)),
        Some(text) => {
            let folder = text.parse::<RunId>().ok().and_then(|id| folder_of_run(artifacts, id.as_str()));
            folder.ok_or_else(|| unknown(text, artifacts))
        }
        None => latest_comparison(artifacts).ok_or_else(|| {
            let next = "make one with `gbench-ci compare BASE..HEAD`, or name a comparison's folder";
            Fault::at_path(artifacts, "no comparison in rounds is kept here", next)
        }),
    }
}

/// The folder of a comparison: in the artifacts, or that of a shard which a scheduler ran.
fn folder_of_run(artifacts: &Path, id: &str) -> Option<PathBuf> {
    let below = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_launch = |path: &PathBuf| path.join("launch.json").exists();
    let parts = below(artifacts).into_iter().filter(is_launch).flat_map(|launch| below(&launch));
    let mut places = std::iter::once(artifacts.to_owned()).chain(parts);
    places.find_map(|place| Some(place.join(id)).filter(|folder| folder.is_dir()))
}

impl ArtifactsRequest {
    pub(crate) fn folder(&self, builtins: &[Benchmark]) -> Result<PathBuf> {
        if let Some(folder) = &self.artifacts {
            return Ok(folder.clone());
        }
        let selection = SelectionRequest::of_file(self.config.clone());
        let (root, mut run) = match &selection.registry(builtins)?.file {
            Some(suite) => (project_root(suite)?, suite.run.clone()),
            None => (PathBuf::new(), RunOptions::default()),
        };
        environment::read()?.apply_run(&mut run, &current_folder()?);
        Ok(root.join(&run.artifacts.value))
    }
}

fn unknown(text: &str, artifacts: &Path) -> Fault {
    let what = format!("no comparison of this name lies in {}", shown(artifacts));
    let next = match latest_comparison(artifacts) {
        Some(latest) => format!("the latest one is {}", latest.file_name().unwrap_or_default().display()),
        None => "name a comparison's folder, the one that holds `base` and `head`".into(),
    };
    Fault::at_flag(text, what, next)
}
