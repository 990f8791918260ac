//! Slurm by its own commands. The states come from `squeue` and, for jobs that it has forgotten, `sacct`, in the text form that
//! all versions print; the keys of `--json` have changed with most versions, and old ones lack it.
//! <https://slurm.schedmd.com/squeue.html>

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::model::{Exit, Fault, Result};

/// The command that submits a job.
const SUBMIT: &str = "sbatch";

/// The number of a job, as `sbatch` prints it.
pub(crate) type JobId = String;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    /// Why it waits, in Slurm's word: `Resources`, `Priority`.
    Pending(String),
    /// Its node.
    Running(String),
    Ended(JobEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// Its program ended; its files show how.
    Exited,
    Cancelled,
    Timeout,
    NodeFailed,
    Preempted,
    OutOfMemory,
    /// Slurm does not know it any more.
    Forgotten,
}

impl JobEnd {
    /// The event, and the next step for the user.
    pub(crate) fn words(self) -> [&'static str; 2] {
        match self {
            Self::Exited => [
                "it ended without a verdict",
                "read the last lines of its log, mend what they name, and continue with `--resume`",
            ],
            Self::Cancelled => ["it was cancelled", "continue with `--resume`, which submits it again"],
            Self::Timeout => [
                "it reached its time limit",
                "give it more with `--launcher-option=--time=2:00:00`, or less to do with more `--shards`; `--resume` continues \
                 with its rounds",
            ],
            Self::NodeFailed => [
                "its node failed",
                "continue with `--resume`; `--launcher-option=--exclude=NODE` avoids the node",
            ],
            Self::Preempted => [
                "a job of higher priority took its place",
                "continue with `--resume`, or use a partition whose jobs are not preempted",
            ],
            Self::OutOfMemory => {
                ["it needed more memory than it may use", "ask for more with `--launcher-option=--mem=32G`"]
            }
            Self::Forgotten => [
                "Slurm knows no such job any more, and it left no verdict",
                "continue with `--resume`, which submits it again",
            ],
        }
    }
}

impl JobState {
    /// The state that `squeue` or `sacct` prints, such as `CANCELLED by 1000`. A state that is not listed is on its way into another one:
    /// `COMPLETING`, `CONFIGURING`, `REQUEUED`.
    fn of(word: &str, reason: &str, node: &str) -> Self {
        match word.split([' ', '+']).next().unwrap_or_default() {
            "COMPLETED" | "FAILED" => Self::Ended(JobEnd::Exited),
            "CANCELLED" | "REVOKED" => Self::Ended(JobEnd::Cancelled),
            "TIMEOUT" | "DEADLINE" => Self::Ended(JobEnd::Timeout),
            "NODE_FAIL" | "BOOT_FAIL" | "LAUNCH_FAILED" => Self::Ended(JobEnd::NodeFailed),
            "PREEMPTED" => Self::Ended(JobEnd::Preempted),
            "OUT_OF_MEMORY" => Self::Ended(JobEnd::OutOfMemory),
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
                Self::Pending(reason.to_owned())
            }
            _ => Self::Running(node.to_owned()),
        }
    }
}

/// Submits a script. `options`: words for `sbatch` before it. Errors: Slurm is not installed, or refuses it, with its own words.
pub(crate) fn submit<S: AsRef<OsStr>>(options: impl IntoIterator<Item = S>, script: &Path) -> Result<JobId> {
    let mut command = Command::new(SUBMIT);
    command.arg("--parsable").args(options).arg(script);
    let text = output(command)?;
    // `17;cluster` where Slurm has several clusters.
    let id = text.trim().split(';').next().unwrap_or_default();
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()) {
        let what = format!("it printed `{}` and no number of a job", text.trim());
        return Err(Fault::at("sbatch", what, "look for the job with `squeue --me`"));
    }
    Ok(id.to_owned())
}

/// The states of all jobs of these names that Slurm knows, by name: the newest job of each. Errors: Slurm does not answer.
pub(crate) fn states(prefix: &str) -> Result<BTreeMap<String, (JobId, JobState)>> {
    let mut command = Command::new("squeue");
    command.args(["--noheader", "--states=all", "--format=%i|%j|%T|%r|%N"]).arg(format!("--user={}", user()));
    let mut known = read(&output(command)?, prefix);
    if known.values().all(|(_, state)| matches!(state, JobState::Ended(_))) {
        let mut command = Command::new("sacct");
        command.args(["--noheader", "--allocations", "--parsable2", "--starttime=now-30days"]);
        command.arg("--format=JobIDRaw,JobName%64,State,Reason,NodeList");
        // Without a database of jobs, it ends with an error.
        let older = output(command).map(|text| read(&text, prefix)).unwrap_or_default();
        for (name, (id, state)) in older {
            let is_newer = known.get(&name).is_none_or(|(other, _)| number(&id) > number(other));
            if is_newer {
                known.insert(name, (id, state));
            }
        }
    }
    Ok(known)
}

fn user() -> String {
    nix::unistd::getuid().to_string()
}

fn read(text: &str, prefix: &str) -> BTreeMap<String, (JobId, JobState)> {
    let mut known: BTreeMap<String, (JobId, JobState)> = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [id, name, state, reason, node] = cells.as_slice() else { continue };
        let is_newer = known.get(*name).is_none_or(|(other, _)| number(id) > number(other));
        if name.starts_with(prefix) && is_newer {
            known.insert((*name).to_owned(), ((*id).to_owned(), JobState::of(state, reason, node)));
        }
    }
    known
}

fn number(id: &str) -> u64 {
    id.parse().unwrap_or_default()
}

/// Ends jobs; those that have ended are not an error.
pub(crate) fn cancel(ids: &[JobId]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("scancel");
    command.args(ids);
    output(command).map(drop)
}

fn output(mut command: Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ran = command.stdin(Stdio::null()).output().map_err(|error| {
        let next = "run the gate where Slurm's commands are in PATH, such as a login node; or measure here: `--launcher none`";
        Fault::at(&name, format!("it cannot be started: {error}"), next).exits(Exit::Machine)
    })?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let said = said.trim().lines().last().unwrap_or("it failed and said nothing").to_owned();
        let next = match &*name {
            SUBMIT => {
                "see `sbatch --help`; options for the job are given with `--launcher-option`".to_owned()
            }
            _ => format!("run `{name}` by hand: the gate needs a machine where it answers"),
        };
        return Err(Fault::at(&name, said, next).exits(Exit::Machine));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_job_of_a_name_counts_and_words_of_all_versions_are_known() {
        // Printed by Slurm 22.05.8; the last three in the words of its documentation.
        let text = "7|gate-a-1|FAILED|NonZeroExitCode|vm\n9|gate-a-1|PENDING|Resources|\n8|gate-a-2|RUNNING|None|vm\n\
                    6|other|RUNNING|None|vm\n10|gate-a-3|CANCELLED by 1000|None|None assigned\n\
                    11|gate-a-4|OUT_OF_MEMORY|None|n1\n12|gate-a-5|COMPLETING|None|n2\n";
        let known = read(text, "gate-a-");
        let state = |name: &str| known[name].1.clone();
        assert_eq!(known.len(), 5);
        assert_eq!(known["gate-a-1"], ("9".into(), JobState::Pending("Resources".into())));
        assert_eq!(state("gate-a-2"), JobState::Running("vm".into()));
        assert_eq!(state("gate-a-3"), JobState::Ended(JobEnd::Cancelled));
        assert_eq!(state("gate-a-4"), JobState::Ended(JobEnd::OutOfMemory));
        assert_eq!(state("gate-a-5"), JobState::Running("n2".into()));
    }
}
