//! The publishing job's facts, and GitHub's limits.

use gbench_compare::trend::TrendsDocument;
use gbench_compare::{AppliedAcceptances, Verdict};
use gbench_model::{BaseChoice, Host, SourceLine};

/// Bytes of a step's summary; GitHub drops a summary above 1 MiB.
pub(crate) const MAX_SUMMARY: usize = 1_000_000;

/// The facts that the publishing job adds to the verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishContext {
    /// Name of the check, and of the gate in a comment.
    pub gate: String,
    /// Full id of the judged commit.
    pub head: Option<String>,
    pub base: BaseChoice,
    /// URL of the workflow run.
    pub run_url: Option<String>,
    /// URL of the full report.
    pub report_url: Option<String>,
    /// The figures were computed by code without approval.
    pub unverified: bool,
    /// The flags that select the benchmarks and their settings, quoted for a shell, with a blank before each flag.
    pub flags: String,
    pub sources: Vec<SourceLine>,
    /// The classes that fail the job: `regression`, `inconclusive`, `failed`; empty if the gate's own exit code decides.
    pub fail_on: Vec<String>,
    /// `https://github.com`.
    pub server: String,
    /// The service whose job publishes: its pages have their own addresses.
    pub host: Host,
    /// `owner/name`; of GitLab with all groups. `None`: the service keeps no repository.
    pub slug: Option<String>,
    /// The accepted rows of the verdict.
    pub accepted: AppliedAcceptances,
    /// The rows' history; empty if there is none.
    pub trends: Vec<TrendsDocument>,
    /// URL of the pages by `gbench-ci site`.
    pub pages: Option<String>,
}

impl PublishContext {
    /// True if policy lets the job fail for rows of this verdict.
    pub(crate) fn fails_job(&self, verdict: Verdict) -> bool {
        let class = match verdict {
            Verdict::Regressed => "regression",
            Verdict::Invalid | Verdict::Missing => "failed",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Broken
            | Verdict::Improved
            | Verdict::Mended
            | Verdict::Gone
            | Verdict::New
            | Verdict::Unchanged => return false,
        };
        self.fail_on.is_empty() || self.fail_on.iter().any(|word| word == class)
    }
}
