//! `gbench-ci config show`: each effective value and who set it. Starts no child.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::args::selection::{SelectionArgs, SettingsArgs};
use super::terminal::write::{table, wrap, write_json, wrote};
use crate::app::environment;
use crate::app::paths::current_folder;
use crate::model::{BenchmarkId, Exit, MATCH_FIELDS, Result, Setting, Settings, Shown, format_duration};
use crate::suite::{Benchmark, Gate, RunOptions, Strictness, Suite};

/// Show the effective configuration
#[derive(clap::Args, Clone, Debug)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(clap::Subcommand, Clone, Debug)]
pub enum Command {
    /// Print each effective value with its origin
    Show(ShowArgs),
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct ShowArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Print the built-in defaults and look at no file
    #[arg(long)]
    pub defaults: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// The document of `config show --json`.
#[derive(Serialize)]
struct V1Config {
    schema: &'static str,
    /// `run.*` and `gate.*`.
    suite: BTreeMap<String, Shown>,
    /// Under `--defaults`: what a benchmark that sets nothing has.
    #[serde(skip_serializing_if = "Option::is_none")]
    defaults: Option<BTreeMap<String, Shown>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    benchmarks: BTreeMap<BenchmarkId, BTreeMap<String, Shown>>,
}

/// What no file can know.
const AT_RUN_TIME: &str = "A program may set its own values at run time through the child protocol, except \
                           those that the environment or a flag has set; the record holds what was in force.";

pub fn run(args: &ConfigArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let Command::Show(args) = &args.command;
    let config = match args.defaults {
        true => defaults(),
        false => {
            let mut suite = args.selection.suite(builtins)?;
            args.settings.apply(&mut suite)?;
            environment::read()?.apply_run(&mut suite.run, &current_folder()?);
            effective(&suite)
        }
    };
    wrote(if args.json { write_json(&config, out) } else { write!(out, "{}", text(&config)) })?;
    Ok(Exit::Pass)
}

fn defaults() -> V1Config {
    V1Config {
        schema: "gbench-ci/config/v1",
        suite: suite_wide(&RunOptions::default(), &Gate::default()),
        defaults: Some(Settings::default().shown()),
        benchmarks: BTreeMap::new(),
    }
}

fn effective(suite: &Suite) -> V1Config {
    let shown = |benchmark: &Benchmark| (benchmark.id.clone(), benchmark.settings.shown());
    V1Config {
        schema: "gbench-ci/config/v1",
        suite: suite_wide(&suite.run, &suite.gate),
        defaults: None,
        benchmarks: suite.benchmarks.iter().map(shown).collect(),
    }
}

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
        ("gate.budget".to_owned(), shown(&gate.budget, format_duration(gate.budget.value))),
        ("gate.controls".to_owned(), shown(&gate.controls, gate.controls.value)),
        ("gate.watch".to_owned(), shown(&gate.watch, gate.watch.value)),
        ("gate.way".to_owned(), shown(&gate.interleaving, gate.interleaving.value.word())),
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
        rows.insert(format!("gate.match.{field}"), shown(setting, setting.value.word()));
    }
    rows
}

fn shown<T>(setting: &Setting<T>, value: impl Into<serde_json::Value>) -> Shown {
    Shown { value: value.into(), origin: setting.origin.clone() }
}

fn text(config: &V1Config) -> String {
    let mut text = settings_table("the suite", &config.suite);
    if let Some(defaults) = &config.defaults {
        text += &format!("\n{}", settings_table("a benchmark", defaults));
    }
    // Benchmarks that agree in everything share one table.
    let mut groups: Vec<(Vec<&str>, &BTreeMap<String, Shown>)> = Vec::new();
    for (id, settings) in &config.benchmarks {
        match groups.iter_mut().find(|(_, known)| *known == settings) {
            Some((ids, _)) => ids.push(id.as_str()),
            None => groups.push((vec![id.as_str()], settings)),
        }
    }
    for (ids, settings) in groups {
        text += &format!("\n{}", settings_table(&ids.join(", "), settings));
    }
    format!("{text}\n{}\n", wrap(AT_RUN_TIME, 78).join("\n"))
}

/// A heading and one line a setting: name, value, origin.
pub fn settings_table(heading: &str, settings: &BTreeMap<String, Shown>) -> String {
    let rows = settings.iter().map(|(name, shown)| {
        let value = match &shown.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        vec![format!("  {name}"), value, shown.origin.to_string()]
    });
    format!("{}\n{}", wrap(heading, 78).join("\n"), table(&[], rows))
}
