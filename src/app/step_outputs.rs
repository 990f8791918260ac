//! The outputs of a step of GitHub Actions; elsewhere nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::compare::{Conclusion, Verdict};
use crate::github::commands;
use crate::model::Result;

/// Sets outputs where the runner names a file for them.
pub fn set(values: &[(&str, String)]) -> Result<()> {
    let file = std::env::var_os("GITHUB_OUTPUT").filter(|value| !value.is_empty()).map(PathBuf::from);
    let Some(file) = file else { return Ok(()) };
    values.iter().try_for_each(|(name, value)| commands::set_output(&file, name, value))
}

/// The outputs that say what was found: the conclusion in a word, and rows by what became of them.
pub fn of_answer(conclusion: Conclusion, counts: &BTreeMap<Verdict, u32>) -> Result<()> {
    let count = |verdict| counts.get(&verdict).copied().unwrap_or(0).to_string();
    set(&[
        ("verdict", conclusion.into_str().to_owned()),
        ("regressions", count(Verdict::Regressed)),
        ("improvements", count(Verdict::Improved)),
        ("inconclusive", count(Verdict::Inconclusive)),
    ])
}

/// The same where nothing was measured because nothing was touched.
pub fn of_untouched() -> Result<()> {
    set(&[
        ("verdict", "untouched".to_owned()),
        ("regressions", "0".to_owned()),
        ("improvements", "0".to_owned()),
        ("inconclusive", "0".to_owned()),
    ])
}
