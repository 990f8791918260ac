//! The summary of a run: what decides whether its commit can be a reference, and no more.

use super::entry::HistoryEntry;
use gbench_model::Shard;

const PASS: &str = "pass";

/// One run, as far as later runs go by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    pub commit: String,
    /// The commit that it was judged against.
    pub base: Option<String>,
    pub shard: Option<Shard>,
    /// How the suite was cut, where it was.
    pub cut: Option<String>,
    /// The gate said `pass`.
    pub is_green: bool,
    pub started: Started,
}

/// The event that started a run, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Started {
    Schedule,
    Push,
    /// No event at all: a laptop, or another CI.
    #[strum(to_string = "none")]
    Nowhere,
    /// By hand, or by any other event.
    Other,
}

impl HistoryEntry {
    pub fn summary(&self) -> RunSummary {
        RunSummary {
            commit: self.commit.clone(),
            base: self.base.clone(),
            shard: self.shard,
            cut: self.cut.clone(),
            is_green: self.conclusion.as_deref() == Some(PASS),
            started: self.event.parse().unwrap_or(Started::Other),
        }
    }
}

/// How a look at a history ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// One for each run that was passed over.
    pub warnings: Vec<String>,
    /// Entries that cannot be read as runs.
    pub unreadable: usize,
    /// There are older runs that were not looked at.
    pub cut_short: bool,
    /// The branch is there.
    pub is_there: bool,
}
