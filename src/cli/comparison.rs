//! A comparison in rounds that is kept: where it lies, and the records of its sides.

use std::path::{Path, PathBuf};

use super::run::{home, shown};
use super::selection::SelectionArgs;
use crate::model::{Fault, Result, RunId, RunRecord};
use crate::store::read_record;
use crate::suite::Benchmark;

/// Where comparisons lie.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PlaceArgs {
    /// Suite file that says where artifacts are [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of run folders and comparisons [default: `artifacts` beside the suite file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
}

/// The records of one comparison.
pub struct Kept {
    pub base: RunRecord,
    pub head: RunRecord,
    pub control: Option<RunRecord>,
    /// Of the comparison; absent where the records were named one by one.
    pub folder: Option<PathBuf>,
}

impl Kept {
    /// Reads the comparison that a folder or an id names; without either the latest one.
    pub fn find(named: Option<&str>, place: &PlaceArgs, builtins: &[Benchmark]) -> Result<Self> {
        let folder = match named {
            Some(text) if Path::new(text).is_dir() => PathBuf::from(text),
            Some(text) => {
                let artifacts = place.artifacts(builtins)?;
                let folder = text.parse::<RunId>().ok().map(|id| artifacts.join(id.as_str()));
                folder.filter(|folder| folder.is_dir()).ok_or_else(|| unknown(text, &artifacts))?
            }
            None => {
                let artifacts = place.artifacts(builtins)?;
                latest_comparison(&artifacts).ok_or_else(|| {
                    let next = "make one with `gbench-ci compare BASE..HEAD`, or name a comparison's folder";
                    Fault::at_path(&artifacts, "no comparison in rounds is kept here", next)
                })?
            }
        };
        let (base, head, control) = read_comparison(&folder)?;
        Ok(Self { base, head, control, folder: Some(folder) })
    }

    /// Reads records that were named one by one.
    pub fn read(base: &Path, head: &Path, control: Option<&Path>) -> Result<Self> {
        let control = control.map(read_record).transpose()?;
        Ok(Self { base: read_record(base)?, head: read_record(head)?, control, folder: None })
    }
}

impl PlaceArgs {
    fn artifacts(&self, builtins: &[Benchmark]) -> Result<PathBuf> {
        if let Some(folder) = &self.artifacts {
            return Ok(folder.clone());
        }
        let selection = SelectionArgs { config: self.config.clone(), ..SelectionArgs::default() };
        match &selection.registry(builtins)?.file {
            Some(suite) => Ok(home(suite)?.join(&suite.run.artifacts.value)),
            None => Ok("artifacts".into()),
        }
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

/// The sides below a comparison's folder.
fn read_comparison(folder: &Path) -> Result<(RunRecord, RunRecord, Option<RunRecord>)> {
    let side = |name: &str| folder.join(name);
    if !is_comparison(folder) {
        let what = "the folder holds no comparison: `base` and `head` are not there";
        let next =
            "give the folder of a comparison, artifacts/ID; two records are given by `--base` and `--head`";
        return Err(Fault::at_path(folder, what, next));
    }
    let control = side("control").is_dir().then(|| read_record(&side("control"))).transpose()?;
    Ok((read_record(&side("base"))?, read_record(&side("head"))?, control))
}

/// The newest comparison: folders sort by their start.
fn latest_comparison(artifacts: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(artifacts).ok()?.flatten();
    let named = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.parse::<RunId>().is_ok())
            && is_comparison(&entry.path())
    });
    named.max_by_key(|entry| entry.file_name()).map(|entry| entry.path())
}

fn is_comparison(folder: &Path) -> bool {
    folder.join("base").is_dir() && folder.join("head").is_dir()
}
