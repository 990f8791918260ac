//! The runs of a history that a command shows.

use std::path::PathBuf;

use crate::app::history::{HistoryRequest, USUAL_RUNS};
use crate::model::{Fault, Result};

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
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true,
        help = format!("How many of the newest runs to read; 0: all [default: {USUAL_RUNS}]"))]
    runs: Option<usize>,
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
        let runs = runs.unwrap_or(USUAL_RUNS);
        HistoryRequest { config, store, case, suites, params, metric, since, branch, label, runs }
    }

    /// Every run and metric, for what keeps a file for each month. `place`: of these files. Errors: flags by which a month
    /// would have a part of its runs.
    pub(crate) fn request_of_all(&self, case: Option<String>, place: &str) -> Result<HistoryRequest> {
        let narrowing =
            [("--since", self.since.is_some()), ("--runs", self.runs.is_some_and(|runs| runs > 0))];
        if let Some((flag, _)) = narrowing.into_iter().find(|(_, is_given)| *is_given) {
            let what =
                format!("{place} has a file for each month, and a month would lose the runs before it");
            return Err(Fault::at_flag(
                flag,
                what,
                format!("leave out `{flag}`, or name one file: `--output figures.parquet`"),
            ));
        }
        let request = self.request(case);
        let metric = request.metric.or_else(|| Some("*".into()));
        Ok(HistoryRequest { runs: 0, metric, ..request })
    }
}
