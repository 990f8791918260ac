//! The meaning of the words of `compare`: commits, or records.

use std::path::{Component, Path, PathBuf};

use crate::app::request::LocalSuite;
use crate::app::store::stores::Stores;
use crate::model::{Fault, Result, near, shell_word};
use crate::suite::words::advise;
use crate::trees::{Unknown, names_revision, why_unknown};

/// The meaning of the words of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompareTarget {
    /// A range; `None` for the default one, or that of a comparison that is resumed.
    Commits(Option<String>),
    Records(RecordSides),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordSides {
    /// A record's path or a baseline's name, against a fresh run of the suite.
    Fresh(String),
    /// Base and head, each a record's path or a baseline's name.
    Stored([String; 2]),
    /// Result files of base and head, each file a process of its side.
    Files([Vec<PathBuf>; 2]),
}

/// Tells commits from records. Dots make a range; a path or the name of a stored baseline is a record; any other name is
/// looked for among the commits.
pub(crate) fn target(
    base: Option<&str>,
    head: Option<&str>,
    stores: &Stores<'_>,
    suite: &LocalSuite<'_>,
) -> Result<CompareTarget> {
    let Some(base) = base else { return Ok(CompareTarget::Commits(None)) };
    let here = Path::new(".");
    let path = Path::new(base);
    let is_path = path.components().any(|part| matches!(part, Component::ParentDir)) || path.exists();
    let is_range = base.contains("..") && !is_path;
    let is_baseline = |text: &str| -> Result<bool> { Ok(stores.of(suite.file())?.find(text)?.is_some()) };
    let is_commit = |text: &str| -> Result<bool> {
        let may_be = !Path::new(text).exists() && names_revision(here, text);
        Ok(may_be && !is_baseline(text)?)
    };
    let Some(head) = head else {
        if is_range || is_commit(base)? {
            return Ok(CompareTarget::Commits(Some(base.to_owned())));
        }
        if !looks_like_a_record(base) && !path.exists() && !is_baseline(base)? {
            return Err(no_such(base, stores, suite)?);
        }
        return Ok(CompareTarget::Records(RecordSides::Fresh(base.to_owned())));
    };
    if is_commit(base)? && is_commit(head)? {
        let what = "both name commits, and two words mean two records";
        return Err(Fault::at("compare", what, format!("write them as a range: `{base}..{head}`")));
    }
    Ok(CompareTarget::Records(RecordSides::Stored([base, head].map(str::to_owned))))
}

impl RecordSides {
    /// A note for the user if the name of the baseline is a commit's name, too.
    pub(crate) fn also_a_commit(&self) -> Option<String> {
        let Self::Fresh(base) = self else { return None };
        (!looks_like_a_record(base) && names_revision(Path::new("."), base)).then(|| {
            format!("note: `{base}` is a stored baseline and a commit; for the commit write `{base}..`")
        })
    }
}

/// True if a word is a record's path and no name.
pub(crate) fn looks_like_a_record(text: &str) -> bool {
    text.contains('/') || text.ends_with(".json") || text.ends_with(".jsonl")
}

fn no_such(text: &str, stores: &Stores<'_>, suite: &LocalSuite<'_>) -> Result<Fault> {
    let store = stores.of(suite.file())?;
    let commits = match why_unknown(Path::new("."), text) {
        Unknown::NoRepository => return Ok(store.missing(text)),
        Unknown::Because(fault) => return Ok(fault),
        Unknown::Names(names) => names,
    };
    let baselines = store.names();
    let known: Vec<&str> = commits.iter().chain(&baselines).map(String::as_str).collect();
    let next = match near(text, &known).as_slice() {
        [] => format!(
            "name a commit, fetched before (`git fetch`), or save a baseline: `gbench-ci run`, then `gbench-ci baseline \
             save {}`",
            shell_word(text)
        ),
        _ => advise(text, &known),
    };
    Ok(Fault::at(format!("`{text}`"), "no commit, baseline or file is called so", next))
}
