//! Settings of `[run]`, `[gate]` and `[profile]` in force, and who set them: for records and for `config show`.

use std::collections::BTreeMap;

use crate::model::{MATCH_FIELDS, Setting, Shown, Strictness, format_duration};
use crate::suite::{Gate, KeepRuns, ProfileOptions, RunOptions};

/// `[run]`, `[gate]` and `[profile]` by their names in the suite file, with their origins.
pub(crate) fn suite_wide(run: &RunOptions, gate: &Gate, profile: &ProfileOptions) -> BTreeMap<String, Shown> {
    let policy = |fails: bool| if fails { "fail" } else { "pass" };
    let writable: Vec<String> = gate.writable.value.iter().map(|path| path.display().to_string()).collect();
    let budget = format_duration(gate.budget.value.seconds().unwrap_or(0.0));
    let monitor_interval = run.monitor_interval.value.map_or("auto".into(), format_duration);
    let hottest = run.max_gpu_temperature.value.map_or("none".into(), serde_json::Value::from);
    let keep_runs = match run.keep_runs.value {
        Some(KeepRuns::Newest(runs)) => runs.into(),
        Some(age) => age.to_string().into(),
        None => serde_json::Value::from("none"),
    };
    let profilers: Vec<&str> = profile.profilers.value.iter().map(|profiler| profiler.into_str()).collect();
    let rows = [
        ("profile.profilers", shown(&profile.profilers, profilers)),
        ("profile.metrics", shown(&profile.metrics, profile.metrics.value.into_str())),
        ("profile.trace", shown(&profile.trace, profile.trace.value.clone())),
        ("run.deadline", shown(&run.deadline, format_duration(run.deadline.value))),
        ("run.lock_wait", shown(&run.lock_wait, format_duration(run.lock_wait.value))),
        ("run.artifacts", shown(&run.artifacts, run.artifacts.value.display().to_string())),
        ("run.store", shown(&run.store, run.store.value.clone())),
        ("run.keep", shown(&run.keep, run.keep.value)),
        ("run.keep_runs", shown(&run.keep_runs, keep_runs)),
        (
            "run.monitor",
            shown(&run.monitor, run.monitor.value.map_or("auto".into(), serde_json::Value::from)),
        ),
        ("run.monitor_interval", shown(&run.monitor_interval, monitor_interval)),
        ("run.calm_wait", shown(&run.calm_wait, format_duration(run.calm_wait.value))),
        ("run.busy_gpu", shown(&run.busy_gpu, run.busy_gpu.value.into_str())),
        ("run.max_gpu_temperature", shown(&run.max_gpu_temperature, hottest)),
        ("run.after_timeout", shown(&run.after_timeout, run.after_timeout.value.clone())),
        ("gate.alpha", shown(&gate.alpha, gate.alpha.value)),
        ("gate.alpha_improved", shown(&gate.alpha_improved, gate.alpha_improved.value)),
        ("gate.rounds", shown(&gate.rounds, gate.rounds.value)),
        ("gate.budget", shown(&gate.budget, budget)),
        ("gate.controls", shown(&gate.controls, gate.controls.value)),
        ("gate.sandbox", shown(&gate.sandbox, gate.sandbox.value)),
        ("gate.writable", shown(&gate.writable, writable)),
        ("gate.watch", shown(&gate.watch, gate.watch.value)),
        ("gate.way", shown(&gate.interleaving, gate.interleaving.value.into_str())),
        ("gate.inconclusive", shown(&gate.inconclusive_fails, policy(gate.inconclusive_fails.value))),
        ("gate.sessions", shown(&gate.sessions, gate.sessions.value)),
        ("gate.paths", shown(&gate.paths, gate.paths.value.clone())),
        ("gate.lock_sm_clock", shown(&gate.lock_sm_clock, gate.lock_sm_clock.value.to_string())),
        ("gate.lock_memory_clock", shown(&gate.lock_memory_clock, gate.lock_memory_clock.value.to_string())),
        ("gate.failed", shown(&gate.failed_fails, policy(gate.failed_fails.value))),
    ];
    let mut rows: BTreeMap<String, Shown> = rows.map(|(name, shown)| (name.to_owned(), shown)).into();
    // No key of a suite file: it is told where a flag set it.
    if run.jobs.value > 1 {
        rows.insert("run.jobs".into(), shown(&run.jobs, run.jobs.value));
    }
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
