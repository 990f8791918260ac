//! The settings above the suite file's, and where the results of a measurement go.

use std::path::PathBuf;

use super::environment;
use super::selection::{GivenFlag, SelectionRequest};
use crate::app::paths::current_folder;
use crate::model::{Fault, LayOver, Origin, Result, format_duration, shell_word};
use crate::suite::{Benchmark, Gate, Overrides, RunOptions, Suite};

/// Settings that win over the suite file and the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingsRequest {
    pub overrides: Overrides,
    pub given: Vec<GivenFlag>,
    /// Flags that were given and take none.
    pub bare: Vec<&'static str>,
}

impl SettingsRequest {
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
    /// Other settings of flags; the file of the samples is from the current folder.
    pub run: RunOptions,
}

impl OutputRequest {
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

    /// The flags of monitoring and of waiting, for a shell, with a blank before each.
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
    pub(crate) fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        self.configured(self.selection.suite(builtins)?)
    }

    /// Refuses what has no meaning where cases run under profilers alone. Errors: such a flag; exit code 2.
    pub(crate) fn refuse_where_nothing_is_timed(&self) -> Result<()> {
        let Gate { lock_sm_clock, lock_memory_clock, power_limit, .. } = &self.settings.overrides.gate;
        let clocks = [lock_sm_clock, lock_memory_clock].into_iter().filter(|clock| clock.given().is_some());
        let clocks =
            clocks.map(|clock| &clock.origin).chain(power_limit.given().map(|_| &power_limit.origin));
        let clocks = clocks.map(ToString::to_string);
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
