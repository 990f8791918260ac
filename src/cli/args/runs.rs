//! The runs of a history that a command shows.

use std::path::PathBuf;

use crate::app::history::{HistoryRequest, USUAL_RUNS};

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RunsArgs {
    /// Metric by its name, or a glob [default: those that the gate judges by]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Runs since a date (2026-11-01), a time, or so long ago (30d)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Runs of this branch, or of this name in a folder [default: all, apart]
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Runs of this machine of a matrix [default: all, apart]
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// The newest runs that are looked at; 0: all
    #[arg(long, value_name = "COUNT", default_value_t = USUAL_RUNS, allow_negative_numbers = true)]
    runs: usize,
    /// Suite file whose store is meant [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Store instead of the suite file's: dir:PATH, git:BRANCH or github:OWNER/REPO@BRANCH
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
}

impl RunsArgs {
    /// `case`: a name or a glob; `None`: every case.
    pub(crate) fn request(&self, case: Option<String>) -> HistoryRequest {
        let Self { metric, since, branch, label, runs, config, store } = self.clone();
        HistoryRequest { config, store, case, metric, since, branch, label, runs }
    }
}
