//! The meaning of the words of `compare`: commits, or records.

use std::path::{Component, Path};

use crate::app::request::LocalSuite;
use crate::app::store::stores::Stores;
use crate::model::{Fault, Result, near, shell_word};
use crate::suite::words::advise;
use crate::trees::{Unknown, names_revision, why_unknown};

/// Commits or records, as the words of the command line mean them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompareTarget<'a> {
    /// A range; `None` for the default one, or that of a comparison that is resumed.
    Commits(Option<&'a str>),
    /// The base's record. `also_a_commit`: a note for the reader where its name means a commit, too.
    Records { base: &'a str, also_a_commit: Option<String> },
}

/// Tells commits from records. Dots make a range; a path or the name of a stored baseline is a record; any other name is
/// looked for among the commits. `rounds_flag`: a flag that speaks of rounds between two commits, if one is given.
pub(crate) fn target<'a>(
    base: Option<&'a str>,
    head: Option<&str>,
    rounds_flag: Option<&'static str>,
    stores: &Stores<'_>,
    suite: &LocalSuite<'_>,
) -> Result<CompareTarget<'a>> {
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
    let commits = head.is_none() && (is_range || is_commit(base)?);
    if let Some(head) = head
        && is_commit(base)?
        && is_commit(head)?
    {
        let what = "both name commits, and two words mean two records";
        return Err(Fault::at("compare", what, format!("write them as a range: `{base}..{head}`")));
    }
    let is_record = looks_like_a_record(base);
    if !commits && head.is_none() && !is_record && !path.exists() && !is_baseline(base)? {
        return Err(no_such(base, stores, suite)?);
    }
    match (commits, rounds_flag) {
        (true, _) => Ok(CompareTarget::Commits(Some(base))),
        (false, None) => {
            let both = !is_range && !is_record && head.is_none() && names_revision(here, base);
            let note = || {
                format!("note: `{base}` is a stored baseline and a commit; for the commit write `{base}..`")
            };
            Ok(CompareTarget::Records { base, also_a_commit: both.then(note) })
        }
        (false, Some(flag)) => {
            let what = "it speaks of rounds between two commits, and records are compared here";
            Err(Fault::at_flag(flag, what, "take it out, or name commits: `gbench-ci compare BASE..HEAD`"))
        }
    }
}

/// Whether a word is a record's path and no name.
pub(crate) fn looks_like_a_record(text: &str) -> bool {
    text.contains('/') || text.ends_with(".json") || text.ends_with(".jsonl")
}

/// The fault of a word that is no commit, no baseline and no file.
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
