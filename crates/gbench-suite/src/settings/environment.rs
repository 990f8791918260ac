//! The environment as a layer of settings: `GBENCH_PROCESSES=9`.
//!
//! A variable is named after its setting in `config show`: `GBENCH_`, the name in capitals, `_` for a point. It may set how
//! much is measured, and where. It must not set what decides a verdict (thresholds, targets, `[gate]`): the machine, the
//! workflow and every earlier step contribute to a job's environment, so that a pull request could loosen its own gate. Such a
//! variable is refused, never ignored.

use std::sync::Arc;

use strum::IntoEnumIterator;
use toml::de::DeTable;

use super::options::{Gate, LauncherOptions, ProfileOptions, RunOptions};
use crate::reader::file_text::FileText;
use crate::reader::settings_reader;
use crate::reader::table::Table;
use crate::suite::Suite;
use gbench_model::{Fault, LayOver, MATCH_FIELDS, Result, SetBy, Settings, Stage, line, near};

pub const PREFIX: &str = "GBENCH_";

const OTHERS: [&str; 20] = [
    "GBENCH_TOKEN",
    "GBENCH_WEBHOOK_SECRET",
    "GBENCH_CUBINS",
    "GBENCH_NVRTC",
    "GBENCH_CUDA_HOME",
    "GBENCH_NVML_LIBRARY",
    "GBENCH_NSYS",
    "GBENCH_NCU",
    "GBENCH_COMPUTE_SANITIZER",
    "GBENCH_ROCPROFV3",
    "GBENCH_TRACER",
    "GBENCH_PLANTED_WORK",
    "GBENCH_CI_BINARY",
    "GBENCH_CI_MIRROR",
    "GBENCH_CI_ACTION",
    line::env::LOCKS,
    line::env::FD,
    line::env::EVENTS,
    line::env::TURNS,
    line::env::TURN_FD,
];

/// Prefixes of known variables: a child's parameters, and the tests of this project.
const OTHER_PREFIXES: [&str; 3] = [line::env::PARAM_PREFIX, "GBENCH_TEST_", "GBENCH_CORPUS"];

/// The action's inputs, which its scripts turn into flags.
const OF_THE_ACTION: [&str; 31] = [
    "ACTION_REPOSITORY",
    "ALLOW_FORKS",
    "ARTIFACT",
    "ARTIFACTS",
    "BASE",
    "BINARY",
    "BINARY_SHA256",
    "BUDGET",
    "COMMAND",
    "COMMENT",
    "ENDED",
    "EVENT_ACTION",
    "EXPECT",
    "FAIL_ON",
    "FOLDER",
    "HAS_TOKEN",
    "HISTORY",
    "ISSUE",
    "LABEL",
    "MEASURED",
    "NAME",
    "OUTCOME",
    "PAGES",
    "PARTIAL",
    "PHASE",
    "SHARD",
    "SHARD_PLAN",
    "STORE",
    "SUITE",
    "TOKEN",
    "VERSION",
];

#[derive(Default)]
pub struct Environment {
    settings: Settings,
    run: RunOptions,
    set: Vec<(String, String)>,
    /// Messages about unknown variables, each with a suggestion.
    unknown: Vec<String>,
}

impl Environment {
    /// Reads the variables of a process. `in_action`: a step of this project's action, whose inputs are variables, too.
    ///
    /// Errors: values that the suite file would refuse, and settings that the environment must not set; exit code 2.
    pub fn read(variables: impl Iterator<Item = (String, String)>, in_action: bool) -> Result<Self> {
        let mut ours: Vec<_> = variables.filter(|(name, _)| name.starts_with(PREFIX)).collect();
        ours.sort();
        // A request is for this child, not for a gate that it starts.
        if ours.iter().any(|(name, _)| name == line::env::REQUEST) {
            return Ok(Self::default());
        }
        let mut environment = Self::default();
        let mut faults = Vec::new();
        for (name, value) in ours {
            if value.trim().is_empty() {
                continue;
            }
            if let Err(fault) = environment.take(&name, &value, in_action) {
                faults.push(fault);
            }
        }
        match Fault::chain(faults) {
            Some(fault) => Err(fault),
            None => Ok(environment),
        }
    }

    fn take(&mut self, name: &str, value: &str, in_action: bool) -> Result<()> {
        let is_input = in_action && OF_THE_ACTION.contains(&&name[PREFIX.len()..]);
        let is_other = OTHERS.contains(&name) || OTHER_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if is_input || is_other {
            return Ok(());
        }
        let known = known();
        match known.iter().find(|(key, _)| variable(key) == name) {
            Some((key, SetBy::Environment)) => return self.set(name, key, value),
            Some((key, SetBy::Flag(flag))) => {
                return Err(not_here(name, key, &format!(", or give `{flag}`")));
            }
            Some((key, SetBy::FileAlone)) => return Err(not_here(name, key, "")),
            None => {}
        }
        let ours = known.iter().filter(|(_, by)| *by == SetBy::Environment).map(|(key, _)| variable(key));
        let names: Vec<String> = ours.chain(OTHERS.map(str::to_owned)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = match near(name, &names).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`gbench-ci config show` lists the settings".into(),
        };
        self.unknown.push(format!("the variable `{name}` has no effect: {meant}"));
        Ok(())
    }

    fn set(&mut self, name: &str, key: &str, value: &str) -> Result<()> {
        match key.strip_prefix("run.") {
            Some(key) => as_line(name, key, value, |table| self.run.take(table))?,
            None => as_line(name, key, value, |table| settings_reader::take(&mut self.settings, table))?,
        }
        self.set.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Overrides the suite file's settings of its benchmarks.
    pub fn apply(&self, suite: &mut Suite) {
        suite.benchmarks.iter_mut().for_each(|benchmark| self.settings.lay_over(&mut benchmark.settings));
    }

    /// Overrides `[run]`. Like a flag's, a folder is relative to the working directory.
    pub fn apply_run(&self, run: &mut RunOptions, here: &std::path::Path) {
        let mut own = self.run.clone();
        own.artifacts.value = here.join(own.artifacts.value);
        own.lay_over(run);
    }

    pub fn settings(&self) -> &[(String, String)] {
        &self.set
    }

    pub fn warnings(&self) -> &[String] {
        &self.unknown
    }
}

/// `run.deadline` is `GBENCH_RUN_DEADLINE`.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// Each setting as in `config show`, and who may set it. Settings that the environment must not set are also known without
/// their table's name.
fn known() -> Vec<(String, SetBy)> {
    let of_tables = [
        ("gate", Gate::KEYS),
        ("run", RunOptions::KEYS),
        ("profile", ProfileOptions::KEYS),
        ("launcher", LauncherOptions::KEYS),
    ];
    let of_tables =
        || of_tables.iter().flat_map(|(table, keys)| keys.iter().map(move |(key, by)| (*table, *key, *by)));
    let own = Settings::KEYS.iter().map(|(key, by)| ((*key).to_owned(), *by));
    let deadlines = Stage::iter().map(|stage| (format!("deadlines.{stage}"), SetBy::Environment));
    let whole = of_tables().map(|(table, key, by)| (format!("{table}.{key}"), by));
    let short = of_tables()
        .filter(|(.., by)| *by != SetBy::Environment)
        .map(|(table, key, by)| (key.to_owned(), if table == "gate" { by } else { SetBy::FileAlone }));
    let fields = MATCH_FIELDS.iter().map(|(field, _)| (format!("gate.match.{field}"), SetBy::FileAlone));
    own.chain(deadlines).chain(whole).chain(short).chain(fields).collect()
}

fn not_here(name: &str, key: &str, flag: &str) -> Fault {
    let what = format!("the environment cannot set `{key}`");
    Fault::at(name, what, format!("unset it, and set `{key}` in the suite file{flag}"))
}

/// Reads the value like the suite file's line `key = value`.
fn as_line<T>(name: &str, key: &str, value: &str, read: impl FnOnce(&mut Table) -> T) -> Result<T> {
    let value = value.trim();
    let is_plain = |text: &str| {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        plain && key != "device" && key != "artifacts" && DeTable::parse(&format!("x = {text}")).is_ok()
    };
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let written = match key {
        "percentiles" => {
            let parts = value.trim_matches(['[', ']']).split(',').map(str::trim);
            let parts: Vec<String> =
                parts.map(|part| if is_plain(part) { part.to_owned() } else { quoted(part) }).collect();
            format!("[{}]", parts.join(", "))
        }
        "cold" if value == "1" || value == "0" => (value == "1").to_string(),
        _ if is_plain(value) => value.to_owned(),
        _ => quoted(value),
    };
    let text: Arc<str> = format!("{key} = {written}").into();
    let page = FileText::of_variable(name, text.clone());
    let of_variable = |fault: &Fault| Fault::at(format!("{name}={value}"), &fault.what, &fault.next);
    let broken = |what: &str| Fault::at(format!("{name}={value}"), what, "write it as in the suite file");
    let tree = DeTable::parse(&text).map_err(|error| broken(error.message()))?;
    let given = read(&mut Table::root(&page, tree.get_ref()));
    match page.into_fault() {
        Some(fault) => Err(of_variable(&fault)),
        None => Ok(given),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use gbench_model::Origin;

    use super::*;
    use crate::benchmark::definition::Benchmark;
    use crate::benchmark::launch::Action;
    use crate::suite::Source;
    use crate::suite_case_tests::{differing, fault_text, settings_text};
    use case_files::Given;

    fn read(variables: &[(&str, &str)], in_action: bool) -> Result<Environment> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment::read(owned, in_action)
    }

    /// Applies the variables, and lists the changes in a benchmark and a run; `in action` reads them as in the action.
    pub(crate) fn answer(given: &Given) -> String {
        let variables = given.get("variables").unwrap_or_else(|| given.text());
        let variables: Vec<&str> = match given.get("variables") {
            Some(_) => variables.lines().collect(),
            None => vec![&variables],
        };
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|variable| variable.split_once('=').unwrap()).collect();
        let environment = match read(&variables, given.get("in action").is_some()) {
            Ok(environment) => environment,
            Err(fault) => return fault_text(&fault),
        };
        let benchmark = Benchmark::new("s/x".parse().unwrap(), Action::Shell("true".into()), "/".into());
        let mut suite = Suite::new("s", Source::Builtin, vec![benchmark]);
        environment.apply(&mut suite);
        environment.apply_run(&mut suite.run, Path::new("/here"));
        let mut text = settings_text(&suite.benchmarks[0].settings);
        differing!(text, suite.run, RunOptions::default(), RunOptions {
            deadline lock_wait lock jobs artifacts store keep keep_runs monitor monitor_interval monitor_output calm_wait busy_gpu
            max_gpu_temperature after_timeout
        });
        text.extend(environment.settings().iter().map(|(name, value)| format!("set {name}={value}\n")));
        text.extend(environment.warnings().iter().map(|warning| format!("warning: {warning}\n")));
        text
    }

    #[test]
    fn n23_every_amount_can_be_set() {
        let benchmark = Benchmark::new("s/x".parse().unwrap(), Action::Shell("true".into()), "/".into());
        for (key, _) in Settings::KEYS.iter().filter(|(_, by)| *by == SetBy::Environment) {
            let is_set = |value: &&str| {
                let mut suite = Suite::new("s", Source::Builtin, vec![benchmark.clone()]);
                read(&[(&variable(key), value)], false).is_ok_and(|environment| {
                    environment.apply(&mut suite);
                    let shown = suite.benchmarks[0].settings.shown();
                    shown[*key].origin == Origin::Environment(variable(key))
                })
            };
            assert!(["1", "true"].iter().any(is_set), "{key}");
        }
    }

    #[test]
    fn n23_whatever_is_shown_can_be_set_or_is_refused_by_its_name() {
        for key in gbench_model::Settings::default().shown().keys() {
            let known = read(&[(&variable(key), "no setting has this name")], false);
            assert!(known.is_err() || key == "device", "{key}");
        }
    }
}
