//! The environment as a layer of settings: `GBENCH_PROCESSES=9`.
//!
//! A variable is named after its setting as `config show` prints it: `GBENCH_`, the name in capitals, `_` for a point. It says
//! how much is measured, and where. What a verdict is (thresholds, targets, all of `[gate]`) it may not say: a job's
//! environment is made by many, by the machine, the workflow and every earlier step, so that a pull request could loosen its
//! own gate with it. Such a variable is refused and never passed over.

use std::path::PathBuf;
use std::sync::Arc;

use toml::de::DeTable;

use super::reader::{FileText, Item, Table};
use super::settings::Changes;
use super::{RunOptions, Suite};
use gbench_model::{Fault, MATCH_FIELDS, Result, Setting, Settings, line, near};

/// How the names of all variables of this program begin.
pub const PREFIX: &str = "GBENCH_";

/// Settings of a benchmark that the environment may set, beside every deadline.
const AMOUNTS: [&str; 12] = [
    "processes",
    "iterations",
    "warmup",
    "duration",
    "burnin",
    "cold",
    "deadline_multiplier",
    "memory_limit",
    "log_limit",
    "percentiles",
    "seed",
    "device",
];

/// `[run]` likewise.
const OF_RUN: [&str; 3] = ["deadline", "lock_wait", "artifacts"];

/// Keys of `[run]`, `[profile]` and `[gate]` that the environment may not set.
const NOT_OF_RUN: [&str; 9] = [
    "store",
    "keep",
    "keep_runs",
    "after_timeout",
    "monitor",
    "monitor_interval",
    "calm_wait",
    "busy_gpu",
    "max_gpu_temperature",
];
const OF_PROFILE: [&str; 3] = ["profilers", "metrics", "trace"];
const OF_GATE: [&str; 15] = [
    "sandbox",
    "writable",
    "alpha",
    "alpha_improved",
    "rounds",
    "budget",
    "controls",
    "way",
    "watch",
    "lock_sm_clock",
    "lock_memory_clock",
    "inconclusive",
    "failed",
    "paths",
    "sessions",
];

/// The variables that the other commands and the children read.
const OTHERS: [&str; 16] = [
    "GBENCH_TOKEN",
    "GBENCH_CUBINS",
    "GBENCH_NVRTC",
    "GBENCH_CUDA_HOME",
    "GBENCH_NVML_LIBRARY",
    "GBENCH_NSYS",
    "GBENCH_NCU",
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

/// Variables that are no mistake, whatever follows: a child's parameters, and what the tests of this project are told.
const OTHER_PREFIXES: [&str; 3] = [line::env::PARAM_PREFIX, "GBENCH_TEST_", "GBENCH_CORPUS"];

/// How the action hands its inputs to its scripts, which make flags of them.
const OF_THE_ACTION: [&str; 29] = [
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
    "PHASE",
    "SHARD",
    "STORE",
    "SUITE",
    "TOKEN",
    "VERSION",
];

/// The settings of the environment.
#[derive(Default)]
pub struct Environment {
    changes: Vec<Changes>,
    deadline: Option<Setting<f64>>,
    lock_wait: Option<Setting<f64>>,
    artifacts: Option<Setting<PathBuf>>,
    /// Variable and value of each setting, as they were found.
    set: Vec<(String, String)>,
    /// Variables that nothing reads, each with what was probably meant.
    unknown: Vec<String>,
}

impl Environment {
    /// Reads the variables of a process. `in_action`: a step of this project's action, whose inputs are variables, too.
    ///
    /// Errors: values that the suite file would refuse, and what the environment may not decide; exit code 2.
    pub fn read(variables: impl Iterator<Item = (String, String)>, in_action: bool) -> Result<Self> {
        let mut ours: Vec<_> = variables.filter(|(name, _)| name.starts_with(PREFIX)).collect();
        ours.sort();
        // A child of a gate has a request in its environment, which is not addressed to a gate that it starts.
        if ours.iter().any(|(name, _)| name == line::env::REQUEST) {
            return Ok(Self::default());
        }
        let mut environment = Self::default();
        let mut faults = Vec::new();
        for (name, value) in ours {
            // An input that was not given arrives as nothing.
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
        let settings = Settings::default().shown();
        if let Some(key) = settings.keys().find(|key| variable(key) == name) {
            return if AMOUNTS.contains(&key.as_str()) || key.starts_with("deadlines.") {
                self.set(name, key, value)
            } else {
                Err(not_here(name, key))
            };
        }
        if let Some(key) = OF_RUN.into_iter().find(|key| variable(&format!("run.{key}")) == name) {
            return self.set_run(name, key, value);
        }
        if let Some(key) = of_others().into_iter().find(|key| variable(key) == name) {
            return Err(not_here(name, &key));
        }
        let amounts = AMOUNTS.into_iter().map(variable);
        let deadlines = settings.keys().filter(|key| key.starts_with("deadlines.")).map(|key| variable(key));
        let of_run = OF_RUN.into_iter().map(|key| variable(&format!("run.{key}")));
        let names: Vec<String> =
            amounts.chain(deadlines).chain(of_run).chain(OTHERS.map(str::to_owned)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = match near(name, &names).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`gbench-ci config show` lists the settings".into(),
        };
        self.unknown.push(format!("nothing reads the variable `{name}`: {meant}"));
        Ok(())
    }

    /// A setting of every benchmark.
    fn set(&mut self, name: &str, key: &str, value: &str) -> Result<()> {
        let changes = as_line(name, key, value, Changes::read)?;
        self.changes.push(changes);
        self.set.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn set_run(&mut self, name: &str, key: &'static str, value: &str) -> Result<()> {
        match key {
            "deadline" => {
                self.deadline = as_line(name, key, value, |table| read(table, key, |item| item.seconds()))?
            }
            "lock_wait" => {
                self.lock_wait = as_line(name, key, value, |table| read(table, key, |item| item.seconds()))?
            }
            _ => {
                let path = |item: &Item| item.filled().map(PathBuf::from);
                self.artifacts = as_line(name, key, value, |table| read(table, key, path))?;
            }
        }
        self.set.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Lays it over what the suite file says of its benchmarks.
    pub fn apply(&self, suite: &mut Suite) {
        for benchmark in &mut suite.benchmarks {
            self.changes.iter().for_each(|changes| changes.apply(&mut benchmark.settings));
        }
    }

    /// Lays it over `[run]`. A folder counts from where the command was started, as that of a flag does.
    pub fn apply_run(&self, run: &mut RunOptions, here: &std::path::Path) {
        if let Some(Setting { value, origin }) = &self.deadline {
            run.deadline.set(*value, origin.clone());
        }
        if let Some(Setting { value, origin }) = &self.lock_wait {
            run.lock_wait.set(*value, origin.clone());
        }
        if let Some(Setting { value, origin }) = &self.artifacts {
            run.artifacts.set(here.join(value), origin.clone());
        }
    }

    /// Variable and value of each setting.
    pub fn settings(&self) -> &[(String, String)] {
        &self.set
    }

    /// Warnings about variables that nothing reads.
    pub fn warnings(&self) -> &[String] {
        &self.unknown
    }
}

fn read<T>(table: &mut Table, key: &'static str, read: impl Fn(&Item) -> Option<T>) -> Option<Setting<T>> {
    let item = table.take(key)?;
    Some(Setting { value: read(&item)?, origin: item.origin() })
}

/// `run.deadline` is `GBENCH_RUN_DEADLINE`.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// The keys of `[run]`, `[profile]` and `[gate]` that the environment may not set, also as a user may write them without their table.
fn of_others() -> Vec<String> {
    let of = |table: &'static str, keys: &'static [&'static str]| keys.iter().map(move |key| (table, *key));
    let keys = || of("gate", &OF_GATE).chain(of("run", &NOT_OF_RUN)).chain(of("profile", &OF_PROFILE));
    let whole = keys().map(|(table, key)| format!("{table}.{key}"));
    let short = keys().map(|(_, key)| key.to_owned());
    let fields = MATCH_FIELDS.iter().map(|(field, _)| format!("gate.match.{field}"));
    whole.chain(short).chain(fields).collect()
}

fn not_here(name: &str, key: &str) -> Fault {
    let flag = match key.strip_prefix("gate.").unwrap_or(key) {
        "threshold" => ", or give `--threshold`",
        "budget" => ", or give `--budget`",
        "rounds" => ", or give `--rounds`",
        "way" => ", or give `--interleave`",
        "controls" => ", or give `--controls`",
        "sessions" => ", or give `--sessions`",
        "lock_sm_clock" => ", or give `--lock-sm-clock`",
        "lock_memory_clock" => ", or give `--lock-memory-clock`",
        "run.store" => ", or give `--store`",
        "profile.profilers" => ", or give `--profile`",
        "profile.metrics" => ", or give `--profile-metrics`",
        "run.monitor" => ", or give `--monitor`",
        "run.monitor_interval" => ", or give `--monitor-interval`",
        _ => "",
    };
    let what = format!("the environment says how much is measured, and not what `{key}` is");
    Fault::at(name, what, format!("unset it, and set `{key}` in the suite file{flag}"))
}

/// The value read as the suite file's line `key = value` would be.
fn as_line<T>(name: &str, key: &str, value: &str, read: impl FnOnce(&mut Table) -> T) -> Result<T> {
    let value = value.trim();
    let is_plain = |text: &str| {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        plain && key != "device" && key != "artifacts" && DeTable::parse(&format!("x = {text}")).is_ok()
    };
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let written = match key {
        // Percentages between commas.
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
pub(super) mod tests {
    use std::path::Path;

    use gbench_model::Origin;

    use super::super::suite_case_tests::{differing, fault_text, settings_text};
    use super::super::{Action, Benchmark, Source};
    use super::*;
    use case_files::Given;

    fn read(variables: &[(&str, &str)], in_action: bool) -> Result<Environment> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment::read(owned, in_action)
    }

    /// Applies the variables and lists what they changed in a benchmark and a run; `in action` reads them as inside the action.
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
        for key in AMOUNTS {
            let is_set = |value: &&str| {
                let mut suite = Suite::new("s", Source::Builtin, vec![benchmark.clone()]);
                read(&[(&variable(key), value)], false).is_ok_and(|environment| {
                    environment.apply(&mut suite);
                    let shown = suite.benchmarks[0].settings.shown();
                    shown[key].origin == Origin::Environment(variable(key))
                })
            };
            assert!(["1", "true"].iter().any(is_set), "{key}");
        }
    }

    #[test]
    fn n23_whatever_is_shown_can_be_set_or_is_refused_by_its_name() {
        for key in gbench_model::Settings::default().shown().keys() {
            let known = read(&[(&variable(key), "no value of any setting")], false);
            assert!(known.is_err() || key == "device", "{key}");
        }
    }
}
