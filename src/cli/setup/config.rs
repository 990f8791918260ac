//! `gbench-ci config show`: each effective value and who set it. Starts no child.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::app::request::RunRequest;
use crate::app::request::effective_settings::{of_table, suite_wide};
use crate::cli::args::{SelectionArgs, SettingsArgs};
use crate::cli::terminal::write::{table, wrap, write_json, wrote};
use crate::model::{BenchmarkId, Exit, Result, Settings, Shown};
use crate::suite::{Benchmark, Gate, LauncherOptions, ProfileOptions, RunOptions};

/// Show the effective configuration
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(clap::Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// Print every effective setting with its origin
    Show(ShowArgs),
}

#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Print the built-in defaults, without reading any file
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
    /// `run.*`, `gate.*` and `profile.*`.
    suite: BTreeMap<String, Shown>,
    /// Under `--defaults`: what a benchmark that sets nothing has.
    #[serde(skip_serializing_if = "Option::is_none")]
    defaults: Option<BTreeMap<String, Shown>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    benchmarks: BTreeMap<BenchmarkId, BTreeMap<String, Shown>>,
}

/// Said below the tables: no file can know it.
const AT_RUN_TIME: &str = "A program may set its own values at run time through the child protocol, except \
                           those that the environment or a flag has set. The record shows what was in force.";

pub(crate) fn run(args: &ConfigArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let Command::Show(args) = &args.command;
    let schema = "gbench-ci/config/v1";
    let mut launcher = LauncherOptions::default();
    let mut config = if args.defaults {
        let suite = suite_wide(&RunOptions::default(), &Gate::default(), &ProfileOptions::default());
        let defaults = Some(Settings::default().shown());
        V1Config { schema, suite, defaults, benchmarks: BTreeMap::new() }
    } else {
        let (selection, settings) = (args.selection.request()?, args.settings.request()?);
        let suite = RunRequest { selection, settings, ..RunRequest::default() }.suite(builtins)?;
        let shown = |benchmark: &Benchmark| (benchmark.id.clone(), benchmark.settings.shown());
        let benchmarks = suite.benchmarks.iter().map(shown).collect();
        launcher = suite.launcher.clone();
        V1Config {
            schema,
            suite: suite_wide(&suite.run, &suite.gate, &suite.profile),
            defaults: None,
            benchmarks,
        }
    };
    config.suite.extend(of_table("launcher", launcher.rows()));
    wrote(if args.json { write_json(&config, out) } else { write!(out, "{}", text(&config)) })?;
    Ok(Exit::Pass)
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
pub(crate) fn settings_table(heading: &str, settings: &BTreeMap<String, Shown>) -> String {
    let rows = settings.iter().map(|(name, shown)| {
        let value = match &shown.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        vec![format!("  {name}"), value, shown.origin.to_string()]
    });
    format!("{}\n{}", wrap(heading, 78).join("\n"), table(&[], rows))
}
