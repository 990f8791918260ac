//! The settings in the environment of this process, and the notes about them.

use crate::model::{Result, shell_word};
use crate::suite::Environment;

pub(crate) fn read() -> Result<Environment> {
    let in_action = std::env::var_os("GITHUB_ACTION_PATH").is_some();
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    Environment::read(std::env::vars_os().filter_map(text), in_action)
}

/// A line for each setting of the environment, and a warning for each of its names that nothing reads.
pub(crate) fn notices() -> Result<Vec<String>> {
    let environment = read()?;
    let settings = environment.settings().iter();
    let settings = settings
        .map(|(name, value)| format!("note: {name}={} is set in the environment", value.escape_debug()));
    let warnings = environment.warnings().iter().map(|text| format!("warning: {}", text.escape_debug()));
    Ok(settings.chain(warnings).collect())
}

/// Warnings about settings that have no meaning between commits.
pub(crate) fn unused_between_commits() -> Result<Option<&'static str>> {
    let is_set = read()?.settings().iter().any(|(name, _)| name == "GBENCH_PROCESSES");
    Ok(is_set
        .then_some("GBENCH_PROCESSES has no meaning between commits: each round starts a process a side"))
}

/// The same settings for a shell, in front of a command.
pub(crate) fn as_prefix() -> String {
    let set = read().map(|environment| environment.settings().to_vec()).unwrap_or_default();
    set.iter().map(|(name, value)| format!("{name}={} ", shell_word(value))).collect()
}
