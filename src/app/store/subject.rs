//! The subject of `report` and `explain`: a comparison, a run or a document, by its path or its id.

use std::path::Path;

use crate::app::ingest::{IngestOptions, is_own, load};
use crate::app::paths::shown;
use crate::app::store::comparison::{ArtifactsRequest, StoredComparison, comparison_folder};
use crate::model::{Fault, Result, RunId};
use crate::report::Input;
use crate::store::{ComparisonFolder, comparison_of, holds_run, latest_comparison, latest_run, read_record};
use crate::suite::Benchmark;

/// The merged verdicts, in the folder that `merge` writes.
pub(crate) const MERGED: &str = "merged.json";

pub(crate) enum Subject {
    Comparison(Box<StoredComparison>),
    Document(Input),
}

impl Subject {
    /// A comparison's folder or id, a run's folder or id, the folder of a merge, a verdict or a record; without any of them
    /// the latest comparison, else the latest run.
    pub(crate) fn find(
        named: Option<&str>,
        place: &ArtifactsRequest,
        ingest: &IngestOptions,
        builtins: &[Benchmark],
    ) -> Result<Self> {
        let Some(text) = named else {
            let artifacts = place.folder(builtins)?;
            let folder = match (latest_comparison(&artifacts), latest_run(&artifacts)) {
                (None, Some(run)) => run,
                _ => comparison_folder(None, &artifacts)?,
            };
            return Self::in_folder(&folder);
        };
        let path = Path::new(text);
        match text.parse::<RunId>() {
            _ if path.is_dir()
                && !path.join(MERGED).is_file()
                && comparison_of(path).is_none()
                && !is_own(path, ingest)? =>
            {
                Ok(Self::Document(Input::Record(Box::new(load(path, ingest)?))))
            }
            _ if path.is_dir() => Self::in_folder(path),
            Ok(id) if !path.exists() && !is_document(path) => {
                let artifacts = place.folder(builtins)?;
                let folder = artifacts.join(id.as_str());
                if !folder.is_dir() {
                    return Err(unknown(text, &artifacts));
                }
                Self::in_folder(&folder)
            }
            _ if path.is_file() && !is_own(path, ingest)? => {
                Ok(Self::Document(Input::Record(Box::new(load(path, ingest)?))))
            }
            // The journal of a killed run.
            _ if path.extension().is_some_and(|extension| extension == "jsonl") => {
                Ok(Self::Document(Input::Record(Box::new(read_record(path)?))))
            }
            _ => {
                // A comparison is shown only if its records are valid.
                if let Some(folder) = comparison_of(path) {
                    StoredComparison::in_folder(&folder)?;
                }
                Ok(Self::Document(Input::parse(path, &read(path)?)?))
            }
        }
    }

    fn in_folder(folder: &Path) -> Result<Self> {
        let merged = folder.join(MERGED);
        if merged.is_file() {
            return Ok(Self::Document(Input::parse(&merged, &read(&merged)?)?));
        }
        if ComparisonFolder::open(folder).is_ok() {
            return Ok(Self::Comparison(Box::new(StoredComparison::in_folder(folder)?)));
        }
        if !holds_run(folder) {
            let next =
                "give a comparison's folder, one with `base` and `head`, or a run's, one with `results`";
            return Err(Fault::at_path(folder, "the folder holds neither a comparison nor a run", next));
        }
        Ok(Self::Document(Input::Record(Box::new(read_record(folder)?))))
    }

    /// The document to be shown: of a comparison the stored verdict, else the one that its records give.
    pub(crate) fn document(self) -> Result<Input> {
        match self {
            Self::Document(input) => Ok(input),
            Self::Comparison(stored) => match stored.verdict_file() {
                Some(path) => Input::parse(&path, &read(&path)?),
                None => Ok(Input::Verdict(Box::new(stored.verdict()?))),
            },
        }
    }
}

fn unknown(text: &str, artifacts: &Path) -> Fault {
    let what = format!("neither a run nor a comparison of this id lies in {}", shown(artifacts));
    let next = match latest_comparison(artifacts) {
        Some(latest) => {
            let latest = latest.file_name().unwrap_or_default().display().to_string();
            format!("the latest one is {latest}; name another folder than this with `--artifacts`")
        }
        None => "name its folder, or the folder that it lies in with `--artifacts`".into(),
    };
    Fault::at_flag(text, what, next)
}

fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl")
}

fn read(path: &Path) -> Result<String> {
    let next = "give a verdict, a run record, or the folder or id of a run or of a comparison";
    let bytes = std::fs::read(path)
        .map_err(|error| Fault::at_path(path, format!("cannot be read: {error}"), next))?;
    String::from_utf8(bytes)
        .map_err(|error| Fault::at_path(path, format!("is not UTF-8 text: {}", error.utf8_error()), next))
}
