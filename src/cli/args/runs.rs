//! The runs of a history that a command shows.

use std::path::PathBuf;

use crate::app::history::{HistoryRequest, USUAL_RUNS};

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RunsArgs {
    /// Suite by name; repeatable, or separated by commas [default: all]
    #[arg(long = "suite", value_name = "NAME")]
    suites: Vec<String>,
    /// Only cases whose parameter has one of these values: n=32,64; repeatable
    #[arg(long = "param", value_name = "NAME=VALUES")]
    params: Vec<String>,
    /// Metric, by name or glob [default: the metrics that the gate judges]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Runs since a date (2026-11-01), a time, or an age such as 30d
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Runs of this branch, or saved under this name in a folder [default: all, shown separately]
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Runs of the machine with this label in a matrix [default: all, shown separately]
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// How many of the newest runs to read; 0: all
    #[arg(long, value_name = "COUNT", default_value_t = USUAL_RUNS, allow_negative_numbers = true)]
    runs: usize,
    /// Suite file whose store is used [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Store instead of the suite file's: dir:PATH, git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
}

impl RunsArgs {
    /// `case`: a name or a glob; `None`: every case.
    pub(crate) fn request(&self, case: Option<String>) -> HistoryRequest {
        let Self { suites, params, metric, since, branch, label, runs, config, store } = self.clone();
        HistoryRequest { config, store, case, suites, params, metric, since, branch, label, runs }
    }
}
