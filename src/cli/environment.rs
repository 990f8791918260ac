//! The settings in the environment of this process, and what is said of them.

use std::io::Write;

use crate::model::Result;
use crate::suite::Environment;

/// Errors: those of [`Environment::read`].
pub fn read() -> Result<Environment> {
    let in_action = std::env::var_os("GITHUB_ACTION_PATH").is_some();
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    Environment::read(std::env::vars_os().filter_map(text), in_action)
}

/// Says on standard error what the environment sets and what in it nothing reads: neither is passed over in silence.
pub fn announce() -> Result<()> {
    let environment = read()?;
    let mut err = std::io::stderr();
    for (name, value) in environment.settings() {
        let _ = writeln!(err, "note: {name}={} is set in the environment", value.escape_debug());
    }
    for warning in environment.warnings() {
        let _ = writeln!(err, "warning: {}", warning.escape_debug());
    }
    Ok(())
}

/// What to say of settings that have no meaning between commits.
pub fn unused_between_commits() -> Result<Option<&'static str>> {
    let is_set = read()?.settings().iter().any(|(name, _)| name == "GBENCH_PROCESSES");
    Ok(is_set
        .then_some("GBENCH_PROCESSES has no meaning between commits: each round starts a process a side"))
}

/// The same settings for a shell, in front of a command.
pub fn as_prefix() -> String {
    let set = read().map(|environment| environment.settings().to_vec()).unwrap_or_default();
    set.iter().map(|(name, value)| format!("{name}={} ", super::compare::quoted(value))).collect()
}
