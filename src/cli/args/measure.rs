//! The flags that say what is measured, where results go, and how much is reported on the way.

use std::path::PathBuf;

use super::rounds::duration;
use super::selection::{SelectionArgs, SettingsArgs};
use crate::app::request::{MonitorRequest, OutputRequest, RunRequest};
use crate::app::stored_comparison::ArtifactsRequest;
use crate::model::{Fault, Result, format_duration};
use crate::suite::MIN_MONITOR_INTERVAL;

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
        let next = "give a duration such as 90s or 2h";
        let deadline = duration("--deadline", self.output.deadline.as_deref(), next)?;
        let lock_wait = duration("--lock-wait", self.output.lock_wait.as_deref(), next)?;
        Ok(RunRequest {
            selection: self.selection.request()?,
            settings: self.settings.request()?,
            output: OutputRequest {
                artifacts: self.output.artifacts.clone(),
                deadline,
                monitor: self.monitor.request()?,
                lock_wait,
                no_lock: self.output.no_lock,
            },
        })
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.output.quiet
    }
}

/// Where results go and how much progress is shown.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Folder for run folders [default: `artifacts` beside the suite file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Time for the whole run; 0: no limit [default: 4h, or the suite file's]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    deadline: Option<String>,
    /// How long to wait for other gates that measure on this machine; 0: not at all [default: 2h, or the suite file's]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    lock_wait: Option<String>,
    /// Measure beside other gates on this machine, whose numbers suffer
    #[arg(long, conflicts_with = "lock_wait")]
    no_lock: bool,
    /// No progress on standard error
    #[arg(long, short)]
    quiet: bool,
}

/// How the machine is sampled while processes run.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Monitoring")]
struct MonitorArgs {
    /// Sample processors, memory and GPUs while processes run [default: where NVIDIA's library knows a GPU]
    #[arg(long, overrides_with = "no_monitor")]
    monitor: bool,
    /// Sample nothing while processes run
    #[arg(long, conflicts_with_all = ["monitor_interval", "monitor_output"])]
    no_monitor: bool,
    /// Time between two samples; turns sampling on [default: 1s, or 100ms where NVIDIA's library is asked]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    monitor_interval: Option<String>,
    /// Write the samples to this file as a JSON array; turns sampling on
    #[arg(long, value_name = "FILE")]
    monitor_output: Option<PathBuf>,
}

impl MonitorArgs {
    fn request(&self) -> Result<MonitorRequest> {
        const FLAG: &str = "--monitor-interval";
        let next = "give a duration such as 1s or 50ms";
        let interval = duration(FLAG, self.monitor_interval.as_deref(), next)?;
        if let Some(interval) = interval.filter(|interval| *interval < MIN_MONITOR_INTERVAL) {
            let what = format!("{} between two samples is too short", format_duration(interval));
            return Err(Fault::at_flag(FLAG, what, "give 5ms or more"));
        }
        let implied = interval.is_some() || self.monitor_output.is_some();
        let on = (self.monitor || implied).then_some(true).or(self.no_monitor.then_some(false));
        Ok(MonitorRequest { on, interval, output: self.monitor_output.clone() })
    }
}

/// Where comparisons lie.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ArtifactsArgs {
    /// Suite file that says where artifacts are [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of run folders and comparisons [default: `artifacts` beside the suite file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
}

impl ArtifactsArgs {
    pub(crate) fn request(&self) -> ArtifactsRequest {
        ArtifactsRequest { config: self.config.clone(), artifacts: self.artifacts.clone() }
    }
}
