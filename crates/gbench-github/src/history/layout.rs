//! Where on its branch a history keeps what: a file for each run, in a folder for each month.
//!
//! ```text
//! README.md
//! history/2026-11/20261121T100102.345Z-3f9a2c.json.gz
//! history/2026-11.2/...     after 1,000 runs of one month
//! history/index/2026-11/... a name for each run: see `index`
//! history/accepted/7-3001.json    what pull request 7 was merged with, by the command in comment 3001
//! ```
//!
//! Files are only ever added, each under its own name, so two writers never touch the same file and two branches that
//! grew apart can be merged without a conflict.

use gbench_model::{Fault, Result, RunId, RunRecord};

pub(super) const ROOT: &str = "history";
pub(super) const INDEX: &str = "index";
pub(super) const ACCEPTED: &str = "accepted";
const SUFFIX: &str = ".json.gz";

/// Files of one folder. GitHub's pages and its contents API show no more.
pub(super) const MAX_FILES: usize = 1_000;

/// The path of a decision, by the numbers of its pull request and of its comment.
pub fn accepted_path(pull: u64, comment: u64) -> String {
    format!("{ROOT}/{ACCEPTED}/{pull}-{comment}.json")
}

/// The README of the root commit, for a user who finds the branch.
pub(super) fn readme(branch: &str) -> String {
    format!(
        "\
# Benchmark history

`gbench-ci` keeps a file for every benchmark run of the default branch here, in a folder for each month. This branch
shares no commit with the code, and nothing on it is ever changed: files are only added. `{ROOT}/{INDEX}` names the same
runs with their commits and verdicts, so that the last green one is found without reading them.

    git show {branch}:{ROOT}/2026-11/RUN{SUFFIX} | zcat

prints one run as JSON: why and when it ran, its commit, its verdict, and the whole record with every sample.
`gbench-ci schema history` prints the JSON Schema of it, `gbench-ci baseline list --store git:{branch}` a table of runs.
"
    )
}

/// Refuses a branch that was made for something else, such as the code itself. `names`: what its root holds.
pub(super) fn is_of_a_history(
    has_runs: bool,
    mut names: impl Iterator<Item = String>,
    address: &str,
) -> Result<()> {
    if has_runs || names.all(|name| name == "README.md" || name.starts_with('.')) {
        return Ok(());
    }
    let what = format!(
        "the branch has no history: it has files and no folder `{ROOT}`, so it was made for something else"
    );
    Err(Fault::at(address, what, "name a branch that is for the history alone, for example gbench-history"))
}

/// The month of a run by its start: `2026-11`. The same run is always of the same month, whenever it is added.
pub(super) fn month(record: &RunRecord) -> Result<&str> {
    let month = record.started.get(..7).filter(|month| folder_of(month).is_some());
    month.ok_or_else(|| {
        let what = format!("`{}` is not a time of a start", record.started.escape_debug());
        Fault::at(format!("run {}", record.run_id), what, "give a record that gbench-ci wrote, unedited")
    })
}

/// A folder's name as month and number: `2026-11` is the first, `2026-11.2` the second.
fn folder_of(name: &str) -> Option<(&str, u32)> {
    let (month, number) = match name.split_once('.') {
        Some((month, number)) => (month, number.parse().ok().filter(|number| *number > 1)?),
        None => (name, 1),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = month.len() == 7 && month.is_ascii() && &month[4..5] == "-";
    (whole && digits(&month[..4]) && digits(&month[5..])).then_some((month, number))
}

pub(super) fn is_folder(name: &str) -> bool {
    folder_of(name).is_some()
}

/// The run that a file of a month's folder is named for.
pub(super) fn run_of(file: &str) -> Option<RunId> {
    file.strip_suffix(SUFFIX)?.parse().ok()
}

pub(super) fn file_of(run: &RunId) -> String {
    format!("{run}{SUFFIX}")
}

/// The run of a path from the branch's root, where it has the form of an entry's.
pub(super) fn run_of_path(path: &str) -> Option<RunId> {
    let (folder, file) = path.strip_prefix(ROOT)?.strip_prefix('/')?.split_once('/')?;
    is_folder(folder).then(|| run_of(file)).flatten()
}

/// The folders of a month among the names of all folders, the first one first.
pub(super) fn folders_of<'a>(month: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut folders: Vec<_> = names
        .filter_map(|name| Some((folder_of(name)?, name)))
        .filter(|((of, _), _)| *of == month)
        .map(|((_, number), name)| (number, name))
        .collect();
    folders.sort();
    folders.into_iter().map(|(_, name)| name).collect()
}

/// Where a new file of a month goes. `last`: the month's last folder and how many files are in it.
pub(super) fn place(month: &str, last: Option<(&str, usize)>, run: &RunId) -> String {
    let folder = match last {
        None => month.to_owned(),
        Some((name, files)) if files < MAX_FILES => name.to_owned(),
        Some((name, _)) => format!("{month}.{}", folder_of(name).map_or(1, |(_, number)| number) + 1),
    };
    format!("{ROOT}/{folder}/{}", file_of(run))
}
