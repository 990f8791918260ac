//! Who runs the shards of a comparison.

use strum::IntoEnumIterator;

use super::balance::BalanceArgs;
use super::selection::value;
use crate::model::{Fault, Result, Shard};
use crate::suite::words::parse_seconds;
use crate::suite::{LauncherKind, LauncherOptions};

#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "On a cluster")]
pub(crate) struct LauncherArgs {
    /// Let a scheduler run the comparison: one job for each shard, with both commits in one allocation. Ctrl-C cancels the
    /// jobs; `--launcher slurm --resume` finds them again. `none` measures here [default: `kind` in [launcher] of the base's
    /// suite file, else none]
    #[arg(long, value_name = "NAME", value_parser = kind)]
    pub launcher: Option<LauncherKind>,
    /// Number of jobs to split the suite into [default: `shards` in [launcher], else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=Shard::MAX as i64))]
    pub shards: Option<u32>,
    #[command(flatten)]
    pub balance: BalanceArgs,
    /// Option for the scheduler, such as --launcher-option=--gres=gpu:h100:1; repeatable [default: `options` in [launcher],
    /// else --exclusive]
    #[arg(long = "launcher-option", value_name = "OPTION", allow_hyphen_values = true)]
    pub launcher_option: Vec<String>,
    /// How long a job may wait for its allocation [default: `queue_wait` in [launcher], else no limit]
    #[arg(long, value_name = "DURATION")]
    pub queue_wait: Option<String>,
}

fn kind(text: &str) -> std::result::Result<LauncherKind, String> {
    let words: Vec<&str> = LauncherKind::iter().map(|kind| kind.into_str()).collect();
    let found = LauncherKind::iter().find(|kind| kind.into_str() == text);
    found.ok_or_else(|| format!("the launchers are {}", words.join(", ")))
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
    /// The flags over the options of a suite file. Errors: flags of a launcher without one; not a duration.
    pub(crate) fn over(&self, mut options: LauncherOptions) -> Result<LauncherOptions> {
        options.kind.set_by_flag("--launcher", self.launcher);
        if options.kind.value == LauncherKind::None && self.balance.balance.is_some() {
            let next = "take it out, or let a scheduler run the shards with `--launcher slurm`; for a matrix of GitHub the plan \
                        is made by `gbench-ci matrix --balance`";
            return Err(Fault::at_flag("--balance", "one process measures the whole suite", next));
        }
        let of_jobs = [
            ("--shards", self.shards.is_some()),
            ("--launcher-option", !self.launcher_option.is_empty()),
            ("--queue-wait", self.queue_wait.is_some()),
        ];
        let given = of_jobs.iter().find(|(_, given)| *given);
        if let (LauncherKind::None, Some((flag, _))) = (options.kind.value, given) {
            let next = "add `--launcher slurm`, or take it out";
            return Err(Fault::at_flag(*flag, "no launcher runs this comparison", next));
        }
        options.shards.set_by_flag("--shards", self.shards);
        let words = (!self.launcher_option.is_empty()).then(|| self.launcher_option.clone());
        options.options.set_by_flag("--launcher-option", words);
        let wait = value("--queue-wait", &self.queue_wait, parse_seconds, "a duration such as 30m or 4h")?;
        options.queue_wait.set_by_flag("--queue-wait", wait.map(Some));
        Ok(options)
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
