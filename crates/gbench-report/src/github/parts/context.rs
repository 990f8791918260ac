//! The publishing side beside the verdict, and the limits of what GitHub takes.

use gbench_compare::trend::TrendsDocument;
use gbench_compare::{AppliedAcceptances, Verdict};
use gbench_model::{BaseChoice, SourceLine};

/// Most characters of a comment or an issue at GitHub; here in bytes, of which a text has at least as many.
pub(crate) const MAX_COMMENT: usize = 65_536;

/// Most bytes that a step's summary takes of the 1 MiB after which GitHub drops it whole.
pub(crate) const MAX_SUMMARY: usize = 1_000_000;

/// Most characters of each text of a check at GitHub; likewise in bytes.
pub(crate) const MAX_CHECK: usize = 65_535;

/// The facts that the publishing side adds to the verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishContext {
    /// Name of the check, and of the gate in a comment.
    pub gate: String,
    /// Full commit id of what was judged.
    pub head: Option<String>,
    pub base: BaseChoice,
    /// Address of the workflow run.
    pub run_url: Option<String>,
    /// Address of the report in full.
    pub report_url: Option<String>,
    /// The figures were computed by code without approval.
    pub unverified: bool,
    /// The flags that choose the benchmarks and their settings, ready for a shell, with a blank before each flag.
    pub flags: String,
    /// Where each benchmark's source is.
    pub sources: Vec<SourceLine>,
    /// The classes that fail the job: `regression`, `inconclusive`, `failed`; empty where the gate's own exit code does.
    pub fail_on: Vec<String>,
    /// `https://github.com`.
    pub server: String,
    /// `owner/name`.
    pub slug: Option<String>,
    /// What people have accepted of it.
    pub accepted: AppliedAcceptances,
    /// What the history shows of the rows; empty where there is none.
    pub trends: Vec<TrendsDocument>,
    /// Address of the pages that `gbench-ci site` made.
    pub pages: Option<String>,
}

impl PublishContext {
    /// Whether policy lets the job fail for rows of this verdict.
    pub(crate) fn fails_job(&self, verdict: Verdict) -> bool {
        let class = match verdict {
            Verdict::Regressed => "regression",
            Verdict::Invalid | Verdict::Missing => "failed",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Improved | Verdict::New | Verdict::Unchanged => return false,
        };
        self.fail_on.is_empty() || self.fail_on.iter().any(|word| word == class)
    }
}
