//! Who runs the shards of a comparison.

use std::time::Duration;

use super::balance::BalanceArgs;
use super::selection::value;
use crate::model::{Fault, Result};
use crate::suite::words::parse_seconds;

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchedulerKind {
    Slurm,
}

#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "On a cluster")]
pub(crate) struct LauncherArgs {
    /// Let a scheduler run the comparison: one job for each shard, with both commits in one allocation. Ctrl-C cancels the
    /// jobs; `--launcher slurm --resume` finds them again
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["shard", "json", "embed", "markdown", "html", "anchor", "suite_file", "base_files"]
    )]
    pub launcher: Option<SchedulerKind>,
    /// Number of jobs to split the suite into [default: 1]
    #[arg(long, value_name = "N", requires = "launcher", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub shards: Option<u32>,
    #[command(flatten)]
    pub balance: BalanceArgs,
    /// Option for the scheduler, such as --launcher-option=--gres=gpu:h100:1; repeatable [default: --exclusive]
    #[arg(
        long = "launcher-option",
        value_name = "OPTION",
        requires = "launcher",
        allow_hyphen_values = true
    )]
    pub launcher_option: Vec<String>,
    /// How long a job may wait for its allocation [default: no limit]
    #[arg(long, value_name = "DURATION", requires = "launcher")]
    pub queue_wait: Option<String>,
}

/// The flags that are not for the jobs, and whether a value follows.
const NOT_OF_A_JOB: [(&str, bool); 9] = [
    ("--launcher", true),
    ("--shards", true),
    ("--balance", true),
    ("--costs", true),
    ("--launcher-option", true),
    ("--queue-wait", true),
    ("--artifacts", true),
    ("--format", true),
    ("--all", false),
];

impl LauncherArgs {
    /// Errors: a cut for jobs that are not launched here.
    pub(crate) fn refuse_without_launcher(&self) -> Result<()> {
        if self.launcher.is_none() && self.balance.balance.is_some() {
            let next = "take it out, or let a scheduler run the shards with `--launcher slurm`; for a matrix of GitHub the plan \
                        is made by `gbench-ci matrix --balance`";
            return Err(Fault::at_flag("--balance", "one process measures the whole suite", next));
        }
        Ok(())
    }

    /// Errors: not a duration.
    pub(crate) fn queue_wait(&self) -> Result<Option<Duration>> {
        value("--queue-wait", &self.queue_wait, parse_seconds, "a duration such as 30m or 4h")
            .map(|seconds| seconds.map(Duration::from_secs_f64))
    }
}

/// The words behind `compare` that its jobs have, too. `range`: the word that names the commits.
pub(crate) fn words_of_jobs(words: impl Iterator<Item = String>, range: Option<&str>) -> Vec<String> {
    let mut words = words.skip_while(|word| word != "compare").skip(1);
    let (mut kept, mut range) = (Vec::new(), range);
    while let Some(word) = words.next() {
        let flag = word.split_once('=').map_or(word.as_str(), |(flag, _)| flag);
        if let Some((_, has_value)) = NOT_OF_A_JOB.iter().find(|(known, _)| *known == flag) {
            if *has_value && !word.contains('=') {
                words.next();
            }
        } else if Some(word.as_str()) == range {
            range = None;
        } else {
            kept.push(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_the_words_that_are_not_for_the_launcher() {
        let words = "gbench-ci --color never compare a..b --launcher=slurm --balance cost --shards 4 --costs=x --benchmark k/* --launcher-option \
                     --gres=gpu:1 --all --budget=2m --artifacts /x";
        let words = words.split_whitespace().map(str::to_owned);
        assert_eq!(words_of_jobs(words, Some("a..b")), ["--benchmark", "k/*", "--budget=2m"]);
    }
}
