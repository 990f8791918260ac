//! The outputs and the summary of a step of GitHub Actions; elsewhere nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::compare::Verdict;
use crate::github::commands;
use crate::model::Result;

/// Sets outputs where the runner names a file for them.
pub(crate) fn set(values: &[(&str, String)]) -> Result<()> {
    let Some(file) = file_of("GITHUB_OUTPUT") else { return Ok(()) };
    values.iter().try_for_each(|(name, value)| commands::set_output(&file, name, value))
}

/// Appends to the step's summary, where the runner names a file for it.
pub(crate) fn append_summary(page: &str) -> Result<()> {
    file_of("GITHUB_STEP_SUMMARY").map_or(Ok(()), |file| commands::append_summary(&file, page))
}

/// The file that a variable of the runner names.
pub(crate) fn file_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// [`answer`] where nothing was measured because nothing was touched.
pub(crate) fn of_untouched() -> Result<()> {
    answer("untouched", &BTreeMap::new())
}

/// The outputs with the result: the conclusion in a word, and rows by what became of them.
pub(crate) fn answer(verdict: &str, counts: &BTreeMap<Verdict, u32>) -> Result<()> {
    let count = |verdict| counts.get(&verdict).copied().unwrap_or(0).to_string();
    set(&[
        ("verdict", verdict.to_owned()),
        ("regressions", count(Verdict::Regressed)),
        ("improvements", count(Verdict::Improved)),
        ("inconclusive", count(Verdict::Inconclusive)),
    ])
}
