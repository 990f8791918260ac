//! The index of a history: a name for each run, which has its commit and its verdict, so that the run need not be read.
//!
//! ```text
//! history/2026-11/RUN.json.gz
//! history/index/2026-11/RUN_BRANCH_LABEL_COMMIT_BASE_SHARD_EVENT_COLOUR
//! ```
//!
//! Both files have the same bytes, so the second costs nothing, and both come with the same commit of the branch. A name
//! counts only while it stands for the very bytes of its run; where it does not, or where there is none, the run is read.
//! So a history that an older version wrote needs no index, and one that two writers extended can be merged as before.

use super::entry::HistoryEntry;
use super::layout;
use super::summary::RunSummary;
use gbench_model::{RunId, sha256_hex};

/// Digits of a branch's or a label's digest: names of any length and any letters have one.
const DIGITS: usize = 12;
const GREEN: &str = "green";
const NOT_GREEN: &str = "not-green";
const NONE: &str = "-";

/// The facts of a run that its name holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) run_id: RunId,
    branch: String,
    label: String,
    pub(super) summary: RunSummary,
}

fn digest(text: &str) -> String {
    let mut digest = sha256_hex(text.as_bytes());
    digest.truncate(DIGITS);
    digest
}

impl Mark {
    pub(super) fn is_of(&self, branch: Option<&str>, label: Option<&str>) -> bool {
        branch.is_none_or(|branch| self.branch == digest(branch))
            && label.is_none_or(|label| self.label == digest(label))
    }

    fn parse(name: &str) -> Option<Self> {
        // A run's id may contain the separator.
        let mut fields = name.rsplitn(8, '_');
        let colour = fields.next()?;
        let event = fields.next()?;
        let [shard, base, commit, label, branch] = std::array::from_fn(|_| fields.next());
        let is_hex = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (shard, cut) = match shard? {
            NONE => (None, None),
            shard => {
                let mut parts = shard.splitn(3, '-');
                let shard = format!("{}/{}", parts.next()?, parts.next()?);
                let cut = parts.next().map(|cut| Some(cut).filter(is_hex).map(str::to_owned));
                (Some(shard.parse().ok()?), cut.map_or(Some(None), |cut| cut.map(Some))?)
            }
        };
        let base = match base? {
            NONE => None,
            base => Some(Some(base).filter(is_hex)?.to_owned()),
        };
        Some(Self {
            run_id: fields.next()?.parse().ok()?,
            branch: branch.filter(is_hex)?.to_owned(),
            label: label.filter(is_hex)?.to_owned(),
            summary: RunSummary {
                commit: commit.filter(is_hex)?.to_owned(),
                base,
                shard,
                cut,
                is_green: match colour {
                    GREEN => true,
                    NOT_GREEN => false,
                    _ => return None,
                },
                started: event.parse().ok()?,
            },
        })
    }
}

pub(super) fn name_of(entry: &HistoryEntry) -> String {
    let RunSummary { commit, base, shard, cut, is_green, started } = entry.summary();
    let base = base.as_deref().unwrap_or(NONE);
    let cut = cut.map_or(String::new(), |cut| format!("-{cut}"));
    let shard = shard.map_or(NONE.into(), |shard| format!("{}-{}{cut}", shard.index, shard.of));
    let colour = if is_green { GREEN } else { NOT_GREEN };
    format!(
        "{}_{}_{}_{commit}_{base}_{shard}_{}_{colour}",
        entry.run_id,
        digest(&entry.branch),
        digest(&entry.label),
        started.into_str()
    )
}

pub(super) fn place_of(path: &str, name: &str) -> String {
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    format!("{}/{}/{folder}/{name}", layout::ROOT, layout::INDEX)
}

/// Reads a path from the branch's root, where it is one of the index.
pub(super) fn mark_of(path: &str) -> Option<Mark> {
    let inside = path.strip_prefix(layout::ROOT)?.strip_prefix('/')?.strip_prefix(layout::INDEX)?;
    let (folder, name) = inside.strip_prefix('/')?.split_once('/')?;
    layout::is_folder(folder).then(|| Mark::parse(name)).flatten()
}
