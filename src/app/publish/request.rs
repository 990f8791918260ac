//! The request of `publish`, and the sink of its log.

use std::path::PathBuf;

use crate::app::fail_on::FailOn;
use crate::github::comments::CommentMode;
use crate::model::Result;

/// Takes lines for the log of the job.
pub type Log<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// The flags of `publish`, which say more of each.
#[derive(Clone, Debug)]
pub struct PublishRequest {
    /// A comparison's folder, a verdict, or the folder of a merge; `None`: the latest comparison.
    pub what: Option<PathBuf>,
    pub start: bool,
    pub ended: Option<u8>,
    pub comment: CommentMode,
    /// Name of the check; see [`super::gate_name`].
    pub name: String,
    /// Machine of a matrix; empty for the only one.
    pub label: String,
    /// Empty: what the measuring job was told.
    pub fail_on: Vec<FailOn>,
    pub allow_forks: bool,
    pub expect: Option<u32>,
    /// How the measuring jobs ended, in GitHub's words.
    pub measured: Option<String>,
    pub issue: bool,
    /// Address of a history to append to.
    pub history: Option<String>,
    /// Beginning of the names of the artifacts that are fetched.
    pub artifact: String,
    pub summary: bool,
    /// The account whose comments and issues are ours; `None`: the token's.
    pub login: Option<String>,
}
