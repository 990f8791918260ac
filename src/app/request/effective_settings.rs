//! Settings of `[run]`, `[gate]` and `[profile]` in force, and who set them: for records and for `config show`.

use std::collections::BTreeMap;

use crate::model::{MATCH_FIELDS, Setting, Shown};
use crate::suite::{Gate, ProfileOptions, RunOptions};

/// `[run]`, `[gate]` and `[profile]` by their names in the suite file, with their origins.
pub(crate) fn suite_wide(run: &RunOptions, gate: &Gate, profile: &ProfileOptions) -> BTreeMap<String, Shown> {
    let tables = [("run", run.rows()), ("gate", gate.rows()), ("profile", profile.rows())];
    let mut rows: BTreeMap<String, Shown> =
        tables.into_iter().flat_map(|(table, rows)| of_table(table, rows)).collect();
    // No key of a suite file: it is given where a flag set it.
    if run.jobs.value > 1 {
        rows.insert("run.jobs".into(), run.jobs.shown(run.jobs.value));
    }
    for (field, usual) in MATCH_FIELDS {
        let unset = Setting::default(usual);
        let setting = gate.match_key.get(field).unwrap_or(&unset);
        rows.insert(format!("gate.match.{field}"), setting.shown(setting.value.into_str()));
    }
    rows
}

/// The rows of a table by their whole names, such as `run.deadline`.
pub(crate) fn of_table(table: &str, rows: BTreeMap<String, Shown>) -> impl Iterator<Item = (String, Shown)> {
    rows.into_iter().map(move |(key, shown)| (format!("{table}.{key}"), shown))
}
