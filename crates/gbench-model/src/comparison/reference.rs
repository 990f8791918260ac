//! Why a comparison decides nothing: a commit had to be compared with itself, or nothing of the repository was measured.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The missing reference. A comparison that names one decides nothing: it is inconclusive at best, with exit code 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::EnumIter)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoReference {
    /// The run goes by a history, and none was named.
    NoHistoryNamed,
    /// The history's branch is not there.
    NoBranch,
    /// The history contains no run of this branch and machine.
    NoRun,
    /// The history, or a run in it that may matter, cannot be read.
    Unreadable,
    /// None of the runs that were looked at is green, and there are older ones.
    TooFar,
    /// The history begins with this very commit, and no run of it is green.
    OwnCommit,
    /// The first commit of a repository.
    NoParent,
    /// The judged commit is the default branch, without any change.
    NoChange,
    /// All benchmarks are built in: they measure the machine.
    OnlyBuiltIn,
    /// All of the repository's own cases were skipped on both sides: what was compared measures the machine.
    OwnSkipped,
}

impl NoReference {
    /// The missing reference, as part of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoHistoryNamed => "no `--history` says what was green before",
            Self::NoBranch => {
                "the branch of the history is not there: this is the first night, or the branch was deleted, or it was \
                 not fetched"
            }
            Self::NoRun => {
                "the history has no run of this branch and machine: this is the first one, or the others were removed"
            }
            Self::Unreadable => "the history cannot be read, in whole or in part",
            Self::TooFar => "none of the runs that were looked at is green, and there are older ones",
            Self::OwnCommit => "the history begins with this commit, and no run of it is green",
            Self::NoParent => "it has no parent",
            Self::NoChange => "nothing differs from the default branch",
            Self::OnlyBuiltIn => "its benchmarks are all built in, and measure the machine",
            Self::OwnSkipped => {
                "its own cases were all skipped on both sides, and the compared ones are built in"
            }
        }
    }

    pub fn next(self) -> &'static str {
        match self {
            Self::NoHistoryNamed => "name the history: `--history git:BRANCH`",
            Self::NoBranch => {
                "fetch the branch if there is one (`fetch-depth: 0`), or restore it. If this is the first night, the next \
                 commit is judged against this run once it is kept. To accept it as the reference now, run the nightly \
                 workflow by hand with `accept`"
            }
            Self::NoRun => {
                "restore the runs if there were any. If this is the first one, the next commit is judged against it once \
                 it is kept. To accept it as the reference now, run the nightly workflow by hand with `accept`"
            }
            Self::Unreadable => {
                "restore the branch from a clone that has it, or delete the files that gbench-ci cannot read"
            }
            Self::TooFar => "fetch the branch and name it as `git:BRANCH`: then all of its runs are searched",
            Self::OwnCommit => {
                "the next commit is judged against this one; or accept it as the reference: run the nightly workflow by \
                 hand with `accept`"
            }
            Self::NoParent => "the next commit is judged against this one",
            Self::NoChange => "change something, or name a base with `--base`",
            Self::OnlyBuiltIn => "add a benchmark of the repository's own to the suite file",
            Self::OwnSkipped => {
                "provide what the skipped cases require (the warnings say what), or run it on a machine that has it"
            }
        }
    }
}
