//! What is in force of `[run]` and `[gate]`, and who set it: for records and for `config show`.

use std::collections::BTreeMap;

use crate::model::{MATCH_FIELDS, Setting, Shown, Strictness, format_duration};
use crate::suite::{Gate, RunOptions};

/// `[run]` and `[gate]` by their names in the suite file, with their origins.
pub fn suite_wide(run: &RunOptions, gate: &Gate) -> BTreeMap<String, Shown> {
    let policy = |fails: bool| if fails { "fail" } else { "pass" };
    let mut rows = BTreeMap::from([
        ("run.deadline".to_owned(), shown(&run.deadline, format_duration(run.deadline.value))),
        ("run.artifacts".to_owned(), shown(&run.artifacts, run.artifacts.value.display().to_string())),
        ("run.store".to_owned(), shown(&run.store, run.store.value.clone())),
        ("run.keep".to_owned(), shown(&run.keep, run.keep.value)),
        ("run.after_timeout".to_owned(), shown(&run.after_timeout, run.after_timeout.value.clone())),
        ("gate.alpha".to_owned(), shown(&gate.alpha, gate.alpha.value)),
        ("gate.alpha_improved".to_owned(), shown(&gate.alpha_improved, gate.alpha_improved.value)),
        ("gate.rounds".to_owned(), shown(&gate.rounds, gate.rounds.value)),
        (
            "gate.budget".to_owned(),
            shown(&gate.budget, format_duration(gate.budget.value.seconds().unwrap_or(0.0))),
        ),
        ("gate.controls".to_owned(), shown(&gate.controls, gate.controls.value)),
        ("gate.watch".to_owned(), shown(&gate.watch, gate.watch.value)),
        ("gate.way".to_owned(), shown(&gate.interleaving, gate.interleaving.value.into_str())),
        (
            "gate.inconclusive".to_owned(),
            shown(&gate.inconclusive_fails, policy(gate.inconclusive_fails.value)),
        ),
        ("gate.sessions".to_owned(), shown(&gate.sessions, gate.sessions.value)),
        ("gate.paths".to_owned(), shown(&gate.paths, gate.paths.value.clone())),
        ("gate.failed".to_owned(), shown(&gate.failed_fails, policy(gate.failed_fails.value))),
    ]);
    for (field, usual) in MATCH_FIELDS {
        let unset: Setting<Strictness> = Setting::default(usual);
        let setting = gate.match_key.get(field).unwrap_or(&unset);
        rows.insert(format!("gate.match.{field}"), shown(setting, setting.value.into_str()));
    }
    rows
}

fn shown<T>(setting: &Setting<T>, value: impl Into<serde_json::Value>) -> Shown {
    Shown { value: value.into(), origin: setting.origin.clone() }
}
