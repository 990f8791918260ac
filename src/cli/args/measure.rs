//! The flags of what is measured, where results go, and how much progress is reported.

use std::path::PathBuf;

use super::selection::{SelectionArgs, SettingsArgs, value};
use crate::app::request::{OutputRequest, RunRequest};
use crate::app::store::comparison::ArtifactsRequest;
use crate::model::{Fault, Result, format_duration};
use crate::suite::words::parse_seconds;
use crate::suite::{MIN_MONITOR_INTERVAL, RunOptions};

/// The flags of every command that measures a suite.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    monitor: MonitorArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl MeasureArgs {
    /// Errors: flags that cannot be followed.
    pub(crate) fn request(&self) -> Result<RunRequest> {
        let OutputArgs { artifacts, deadline, lock_wait, no_lock, .. } = &self.output;
        let wanted = "a duration such as 90s or 2h";
        let mut run = RunOptions::default();
        run.deadline.set_by_flag("--deadline", value("--deadline", deadline, parse_seconds, wanted)?);
        run.lock_wait.set_by_flag("--lock-wait", value("--lock-wait", lock_wait, parse_seconds, wanted)?);
        run.lock.set_by_flag("--no-lock", no_lock.then_some(false));
        let (selection, settings) = (self.selection.request()?, self.settings.request()?);
        self.monitor.apply(&mut run)?;
        Ok(RunRequest { selection, settings, output: OutputRequest { artifacts: artifacts.clone(), run } })
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.output.quiet
    }
}

/// Where results go and how much progress is shown.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Folder for run folders [default: `artifacts` next to the suite file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Time limit for the whole run; 0: no limit [default: the suite file's, else 4h]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    deadline: Option<String>,
    /// Time to wait for other gates that measure on this machine; 0: do not wait [default: the suite file's, else 2h]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    lock_wait: Option<String>,
    /// Measure without waiting for other gates on this machine; this disturbs their results
    #[arg(long, conflicts_with = "lock_wait")]
    no_lock: bool,
    /// Show no progress on standard error
    #[arg(long, short)]
    quiet: bool,
}

/// How the machine is sampled while processes run.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Monitoring")]
struct MonitorArgs {
    /// Sample processors, memory and GPUs while processes run [default: on if NVML finds a GPU]
    #[arg(long, overrides_with = "no_monitor")]
    monitor: bool,
    /// Do not sample while processes run
    #[arg(long, conflicts_with_all = ["monitor_interval", "monitor_output"])]
    no_monitor: bool,
    /// Time between two samples; turns sampling on [default: 100ms with NVML, else 1s]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    monitor_interval: Option<String>,
    /// Write the samples to this file as a JSON array; turns sampling on
    #[arg(long, value_name = "FILE")]
    monitor_output: Option<PathBuf>,
}

impl MonitorArgs {
    fn apply(&self, run: &mut RunOptions) -> Result<()> {
        const FLAG: &str = "--monitor-interval";
        let interval = value(FLAG, &self.monitor_interval, parse_seconds, "a duration such as 1s or 50ms")?;
        if let Some(interval) = interval.filter(|interval| *interval < MIN_MONITOR_INTERVAL) {
            let what = format!("{} between two samples is too short", format_duration(interval));
            return Err(Fault::at_flag(FLAG, what, "give 5ms or more"));
        }
        let implied = interval.is_some() || self.monitor_output.is_some();
        run.monitor.set_by_flag("--monitor", (self.monitor || implied).then_some(Some(true)));
        run.monitor.set_by_flag("--no-monitor", (self.no_monitor && !implied).then_some(Some(false)));
        run.monitor_interval.set_by_flag(FLAG, interval.map(Some));
        run.monitor_output.set_by_flag("--monitor-output", self.monitor_output.clone().map(Some));
        Ok(())
    }
}

/// Where comparisons lie.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ArtifactsArgs {
    /// Suite file that names the folder of artifacts [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of run folders and comparisons [default: `artifacts` next to the suite file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
}

impl ArtifactsArgs {
    pub(crate) fn request(&self) -> ArtifactsRequest {
        ArtifactsRequest { config: self.config.clone(), artifacts: self.artifacts.clone() }
    }
}
