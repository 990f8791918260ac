//! The request for a bisection, and its result.

use std::path::PathBuf;

use crate::app::request::environment;
use crate::app::request::{RunRequest, shell_flags};
use crate::model::{BisectDocument, Budget, RunId, shell_word};

/// Probability of the answer where none is asked for.
pub(super) const USUAL_CONFIDENCE: f64 = 0.95;
/// The least change that is looked for where the suite asks for none, as a share.
pub(super) const USUAL_LEAST: f64 = 0.02;
/// Rounds after which a bisection gives up.
pub(super) const MOST_ROUNDS: u32 = 200;
#[derive(Clone, Debug, Default)]
pub(crate) struct BisectRequest {
    /// `None`: that of the bisection that is resumed.
    pub case: Option<String>,
    /// As typed; `None`: what a history proposes, or that of the bisection that is resumed.
    pub range: Option<String>,
    /// `None`: the one by which the case is judged.
    pub metric: Option<String>,
    pub run: RunRequest,
    pub store: Option<String>,
    pub suite_file: Option<PathBuf>,
    pub no_sandbox: bool,
    /// The bisection to resume: its id or folder; empty: the latest one.
    pub resume: Option<String>,
    /// For builds and processes of this call.
    pub budget: Option<Budget>,
    /// Between 0 and 1; `None`: the usual one, or that of the bisection that is resumed.
    pub confidence: Option<f64>,
    /// All commits, not first parents alone.
    pub full: bool,
    /// A change in either direction.
    pub any: bool,
}

pub(crate) struct Bisected {
    pub document: BisectDocument,
    pub interrupted: Option<i32>,
    /// The command that continues, where something is open.
    pub resume: Option<String>,
}

/// The command that continues, with every flag of this request that defines what is measured, so that it can be pasted.
pub(super) fn resume_command(id: &RunId, request: &BisectRequest) -> String {
    let shown = |path: &PathBuf| path.display().to_string();
    let given = [
        ("--artifacts", request.run.output.artifacts.as_ref().map(shown)),
        ("--store", request.store.clone()),
    ];
    let settings = request.run.settings.given.iter().map(|(flag, value)| (*flag, Some(value.clone())));
    let bare: String = request.run.settings.without_value().map(|flag| format!(" {flag}")).collect();
    format!(
        "{}gbench-ci bisect --resume {}{}{}{bare}",
        environment::as_prefix(),
        shell_word(id.as_str()),
        request.run.selection.flags(),
        shell_flags(settings.chain(given)),
    )
}
