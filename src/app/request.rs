//! The parts of requests that several use cases share: which suite file and which of its cases, the settings above it,
//! where results go, and how a comparison of two commits is measured.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::environment;
use super::paths::current_folder;
use super::profile_request::ProfileRequest;
use crate::model::text::count;
use crate::model::{
    Budget, Fault, Interleaving, LayOver, NoReference, Origin, Result, Shard, format_duration, shell_word,
};
use crate::suite::plan::keep_shard;
use crate::suite::{Benchmark, FILE_NAME, Gate, Overrides, Registry, RunOptions, Selection, Suite};

/// A flag with its value, as the user typed it.
pub(crate) type GivenFlag = (&'static str, String);

#[derive(Clone, Debug, Default)]
pub(crate) struct SelectionRequest {
    pub config: Option<PathBuf>,
    /// Names are checked when it is applied.
    pub selection: Selection,
    /// One part of the cases, where several jobs measure a suite together.
    pub shard: Option<Shard>,
    /// The words that `selection` was read from, for commands that are shown.
    pub given: Vec<GivenFlag>,
}

impl SelectionRequest {
    /// Everything of one suite file.
    pub(crate) fn of_file(config: Option<PathBuf>) -> Self {
        Self { config, ..Self::default() }
    }

    /// The suite file: the one that is named, else the usual one of the current folder.
    pub(crate) fn suite_file(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(FILE_NAME))
    }

    /// [`SelectionRequest::suite_file`] from the root of the file system.
    pub(crate) fn suite_path(&self) -> Result<PathBuf> {
        absolute_suite(self.suite_file())
    }

    /// The suite file if there is one, and the built-in members. Errors: a file that is named and missing, and every mistake
    /// in one that is there.
    pub(crate) fn registry(&self, builtins: &[Benchmark]) -> Result<Registry> {
        let path = self.suite_file();
        // Also a link that leads nowhere: a broken suite file must not become the built-in suite.
        let is_there = self.config.is_some() || path.symlink_metadata().is_ok();
        let file = is_there.then(|| Suite::load(path, builtins)).transpose()?;
        Ok(Registry::new(file, builtins))
    }

    /// The selected cases of the suite file, or of the built-in members.
    pub(crate) fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        self.select(&self.registry(builtins)?)
    }

    /// The selected cases of a registry, and of these the shard's.
    pub(crate) fn select(&self, registry: &Registry) -> Result<Suite> {
        let mut suite = registry.select(&self.selection)?;
        self.keep_shard(&mut [&mut suite])?;
        Ok(suite)
    }

    /// Keeps the cases of the shard in suites that are measured together. Returns the shard, and how many cases all suites
    /// had. Errors: more shards than cases.
    pub(crate) fn keep_shard(&self, suites: &mut [&mut Suite]) -> Result<Option<(Shard, usize)>> {
        let Some(shard) = self.shard else { return Ok(None) };
        match keep_shard(suites, shard) {
            Ok(common) => Ok(Some((shard, common))),
            Err(cases) => {
                let what = format!("there are more shards than cases: {}", count(cases, "case"));
                let next = format!("cut the suite into {cases} at most, in every job alike");
                Err(Fault::at_flag(format!("--shard {shard}"), what, next))
            }
        }
    }

    /// The selection as flags for a shell, with a blank before each.
    pub(crate) fn flags(&self) -> String {
        let config = ("--config", self.config.as_ref().map(|path| path.display().to_string()));
        let shard = ("--shard", self.shard.map(|shard| shard.to_string()));
        let given = self.given.iter().map(|(flag, value)| (*flag, Some(value.clone())));
        shell_flags(std::iter::once(config).chain(given).chain([shard]))
    }
}

/// The flags that have a value, for a shell, with a blank before each.
pub(crate) fn shell_flags(flags: impl IntoIterator<Item = (&'static str, Option<String>)>) -> String {
    let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
    given.map(|(flag, value)| format!(" {flag} {}", shell_word(&value))).collect()
}

/// The path of a suite file from the root of the file system.
pub(crate) fn absolute_suite(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Fault::at_path(path, error, "name a suite file with `--config`"))
}

/// The suite file of a request, read when it is first needed and at most once.
pub(crate) struct LocalSuite<'a> {
    request: &'a SelectionRequest,
    builtins: &'a [Benchmark],
    registry: OnceCell<Result<Registry>>,
}

impl<'a> LocalSuite<'a> {
    pub(crate) fn new(request: &'a SelectionRequest, builtins: &'a [Benchmark]) -> Self {
        Self { request, builtins, registry: OnceCell::new() }
    }

    /// Errors: those of [`SelectionRequest::registry`].
    pub(crate) fn registry(&self) -> Result<&Registry> {
        let read = self.registry.get_or_init(|| self.request.registry(self.builtins));
        read.as_ref().map_err(Clone::clone)
    }

    /// The suite file's content; `None` also for a file with mistakes, where the answer does not depend on it.
    pub(crate) fn file(&self) -> Option<&Suite> {
        self.registry().ok()?.file.as_ref()
    }
}

/// Settings that win over the suite file and the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingsRequest {
    pub overrides: Overrides,
    /// Flags that were given with a value.
    pub given: Vec<GivenFlag>,
    /// Flags that were given and take none.
    pub bare: Vec<&'static str>,
}

impl SettingsRequest {
    /// The flags that are given and take no value.
    pub(crate) fn without_value(&self) -> impl Iterator<Item = &'static str> {
        self.bare.iter().copied()
    }

    /// Lets the environment win over the suite file, and the request over both.
    pub(crate) fn apply(&self, suite: &mut Suite) -> Result<()> {
        environment::read()?.apply(suite);
        self.overrides.apply(suite);
        Ok(())
    }

    /// Refuses what has no meaning between commits, rather than passing over it.
    pub(crate) fn refuse_between_commits(&self) -> Result<()> {
        if self.overrides.settings.processes.given().is_none() {
            return Ok(());
        }
        let next = "each round starts a process a side: see `--rounds`";
        Err(Fault::at_flag("--processes", "it has no meaning between commits", next))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OutputRequest {
    /// Folder for run folders, from the current one.
    pub artifacts: Option<PathBuf>,
    /// What else flags have set; the file of the samples is from the current folder.
    pub run: RunOptions,
}

impl OutputRequest {
    /// The flags that say how the machine is sampled, each with its value where it takes one.
    fn monitor_flags(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        let RunOptions { monitor, monitor_interval, monitor_output, .. } = &self.run;
        let interval = monitor_interval.value.map(|it| ("--monitor-interval", Some(format_duration(it))));
        let output = monitor_output.value.as_ref();
        let output = output.map(|path| ("--monitor-output", Some(path.display().to_string())));
        // These two turn it on by themselves.
        let bare = monitor.value.filter(|_| interval.is_none() && output.is_none());
        let bare = bare.map(|on| (if on { "--monitor" } else { "--no-monitor" }, None));
        bare.into_iter().chain(interval).chain(output)
    }

    /// The flags that say how the machine is watched and waited for, for a shell, with a blank before each.
    pub(crate) fn watch_flags(&self) -> String {
        let wait = self.run.lock_wait.given().map(|it| ("--lock-wait", Some(format_duration(*it))));
        let no_lock = self.run.lock.given().map(|_| ("--no-lock", None));
        let shown = |(flag, value): (&str, Option<String>)| {
            value.map_or(format!(" {flag}"), |value| format!(" {flag} {}", shell_word(&value)))
        };
        self.monitor_flags().chain(wait).chain(no_lock).map(shown).collect()
    }

    /// Lets the environment win over the suite file, and the request over both.
    pub(crate) fn apply(&self, suite: &mut Suite) -> Result<()> {
        environment::read()?.apply_run(&mut suite.run, &current_folder()?);
        self.run.lay_over(&mut suite.run);
        if let Some(folder) = &self.artifacts {
            let flag = || format!("--artifacts {}", folder.display());
            let folder = std::path::absolute(folder)
                .map_err(|error| Fault::at_flag(flag(), error, "give another folder"))?;
            suite.run.artifacts.set(folder, Origin::Cli("--artifacts".into()));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RunRequest {
    pub selection: SelectionRequest,
    pub settings: SettingsRequest,
    pub output: OutputRequest,
}

impl RunRequest {
    /// The suite as it is to be measured.
    pub(crate) fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        self.configured(self.selection.suite(builtins)?)
    }

    /// Refuses what has no meaning where cases run under profilers alone. Errors: such a flag; exit code 2.
    pub(crate) fn refuse_where_nothing_is_timed(&self) -> Result<()> {
        let Gate { lock_sm_clock, lock_memory_clock, .. } = &self.settings.overrides.gate;
        let clocks = [lock_sm_clock, lock_memory_clock].into_iter().filter(|clock| clock.given().is_some());
        let clocks = clocks.map(|clock| clock.origin.to_string());
        match self.output.monitor_flags().map(|(flag, _)| flag.to_owned()).chain(clocks).next() {
            Some(flag) => {
                let next = "take it out, or measure with `gbench-ci run --profile`";
                Err(Fault::at_flag(flag, "nothing is timed here, so that it has no meaning", next))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn configured(&self, mut suite: Suite) -> Result<Suite> {
        self.settings.apply(&mut suite)?;
        self.output.apply(&mut suite)?;
        Ok(suite)
    }
}

/// How a comparison of two commits is measured; what is absent is as the suite file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundsRequest {
    pub budget: Option<Budget>,
    pub rounds: Option<u32>,
    pub interleave: Option<Interleaving>,
    pub controls: Option<u32>,
    /// Seed of the random run order.
    pub order_seed: Option<u64>,
    /// Nothing is put into a sandbox.
    pub no_sandbox: bool,
}

impl RoundsRequest {
    pub(crate) fn apply(&self, gate: &mut Gate) {
        gate.budget.set_by_flag("--budget", self.budget);
        gate.rounds.set_by_flag("--rounds", self.rounds);
        gate.interleaving.set_by_flag("--interleave", self.interleave);
        gate.controls.set_by_flag("--controls", self.controls);
        gate.sandbox.set_by_flag("--no-sandbox", self.no_sandbox.then_some(false));
    }
}

/// For whom a comparison is made, as far as the text of notes and faults depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Audience {
    #[default]
    Person,
    /// It has named its base and why.
    Job,
    /// A job about a pull request, whose base nobody can choose.
    PullRequest,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CommitsRequest {
    /// As typed; `None` for the default range, or for a comparison that is resumed.
    pub range: Option<String>,
    pub run: RunRequest,
    pub rounds: RoundsRequest,
    pub profile: ProfileRequest,
    pub store: Option<String>,
    /// The comparison to resume: its id or folder; empty: the latest one.
    pub resume: Option<String>,
    /// One suite file for both sides.
    pub suite_file: Option<PathBuf>,
    pub fail_inconclusive: bool,
    /// The missing reference, where a commit is compared with itself because there is no other.
    pub no_reference: Option<NoReference>,
    pub audience: Audience,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_can_be_pasted() {
        let given = |flag, value: &str| (flag, value.to_owned());
        let request = SelectionRequest {
            given: vec![given("--benchmark", "k/*"), given("--benchmark", "a"), given("--param", "n=1,2")],
            shard: Some(Shard { index: 2, of: 3 }),
            ..SelectionRequest::default()
        };
        assert_eq!(request.flags(), " --benchmark 'k/*' --benchmark a --param n=1,2 --shard 2/3");
        assert_eq!(SelectionRequest::default().flags(), "");
    }
}
