//! A branch through the git data API: reading its files, and adding some without taking anything away.
//!
//! ```text
//! get ref -> blobs -> tree on the tip's -> commit on the tip -> update ref, never forced
//! ```
//!
//! Objects are named by their content, so making one twice makes it once, and only the last step counts. GitHub takes it
//! if the tip is still the commit's parent; else another writer was faster, and all is repeated on the new tip, unless
//! that already has the same files. Without an answer the branch is read again: a file that arrived has its name and its
//! bytes.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::address::{Sha, encoded};
use super::client::Client;
use super::error::{ApiError, ApiResult};
use gbench_model::{DEFECT, Exit, Fault, Result, backoff};

/// Times that a commit is tried to be put on a branch on which others write, too.
pub const TRIES: u32 = 8;

/// A pause, in tries: writers miss each other if they spread over more tries than there are writers. With eight who
/// write without a break, a simulated one gives up after [`TRIES`] in one of a thousand commits at 4, in none at 16.
const SPREAD: u32 = 16;

const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The tip of a branch at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchTip {
    pub commit: Sha,
    pub tree: Sha,
}

/// One line of a folder, or of everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeItem {
    /// From the folder that was asked for, with `/`. Anyone who can write the branch can choose it.
    pub path: String,
    pub id: Sha,
    pub kind: TreeKind,
    pub size: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    File,
    Folder,
    /// A link or a submodule.
    Other,
}

/// The change that a tip needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchChange {
    /// Files by path from the root. The first is there only where all of them are.
    Add(Vec<(String, Vec<u8>)>),
    /// All of it is there.
    Nothing,
}

/// How adding to a branch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// One on the branch that holds it.
    pub commit: Sha,
    /// Another writer had added it before.
    pub already: bool,
}

/// Why no change was decided: an error of GitHub, which may be asked again, or a fault of the branch's content.
#[derive(Debug)]
pub enum AppendError {
    Api(ApiError),
    Fault(Fault),
}

impl From<ApiError> for AppendError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl From<Fault> for AppendError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

#[derive(Deserialize)]
struct Object {
    sha: Sha,
}

#[derive(Deserialize)]
struct Reference {
    object: Object,
}

#[derive(Deserialize)]
struct Commit {
    tree: Object,
}

#[derive(Deserialize)]
struct Tree {
    tree: Vec<Item>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct Item {
    path: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    sha: Sha,
    size: Option<u64>,
}

#[derive(Deserialize)]
struct Blob {
    content: String,
    encoding: String,
}

fn reference_route(client: &Client, kind: &str, branch: &str) -> String {
    client.route(&format!("/git/{kind}/heads/{}", encoded_path(branch)))
}

/// A path may contain characters that a route may not.
fn encoded_path(path: &str) -> String {
    path.split('/').map(encoded).collect::<Vec<_>>().join("/")
}

fn is_empty_repository(error: &ApiError) -> bool {
    error.status() == Some(409) && error.message().to_ascii_lowercase().contains("repository is empty")
}

/// The branch's tip; nothing if it is not there, or if the repository has no commit yet.
pub fn tip(client: &Client, branch: &str) -> ApiResult<Option<BranchTip>> {
    let route = reference_route(client, "ref", branch);
    let reference: Reference = match client.get(&route) {
        Ok(reference) => reference,
        Err(error) if error.status() == Some(404) || is_empty_repository(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let commit = reference.object.sha;
    let found: Commit = client.get(&client.route(&format!("/git/commits/{commit}")))?;
    Ok(Some(BranchTip { commit, tree: found.tree.sha }))
}

fn tree(client: &Client, id: &Sha, recursive: bool) -> ApiResult<(Vec<TreeItem>, bool)> {
    let suffix = if recursive { "?recursive=1" } else { "" };
    let found: Tree = client.get(&client.route(&format!("/git/trees/{id}{suffix}")))?;
    let item = |item: Item| {
        let kind = match (item.kind.as_str(), item.mode.as_str()) {
            ("blob", "100644" | "100755") => TreeKind::File,
            ("tree", _) => TreeKind::Folder,
            _ => TreeKind::Other,
        };
        TreeItem { id: item.sha, path: item.path, kind, size: item.size }
    };
    Ok((found.tree.into_iter().map(item).collect(), found.truncated))
}

/// The entries of a folder, without those of folders below it.
pub fn folder(client: &Client, id: &Sha) -> ApiResult<Vec<TreeItem>> {
    Ok(tree(client, id, false)?.0)
}

/// Every file below the root's folder `under`, by its path from the root. Where GitHub cuts the list short (100,000
/// entries or 7 MB), folder by folder.
pub fn files(client: &Client, root: &Sha, under: &str) -> ApiResult<Vec<TreeItem>> {
    let root = folder(client, root)?;
    let is_it = |item: &&TreeItem| item.path == under && item.kind == TreeKind::Folder;
    let Some(top) = root.iter().find(is_it) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut open = vec![(under.to_owned(), top.id.clone())];
    while let Some((prefix, id)) = open.pop() {
        let (mut items, truncated) = tree(client, &id, true)?;
        if truncated {
            items = folder(client, &id)?;
        }
        for item in items {
            let path = format!("{prefix}/{}", item.path);
            match item.kind {
                TreeKind::File => found.push(TreeItem { path, ..item }),
                TreeKind::Folder if truncated => open.push((path, item.id)),
                TreeKind::Folder | TreeKind::Other => {}
            }
        }
    }
    Ok(found)
}

fn is_there(client: &Client, tip: &BranchTip, path: &str) -> ApiResult<bool> {
    let route = format!("/contents/{}?ref={}", encoded_path(path), tip.commit);
    Ok(client.find::<IgnoredAny>(&client.route(&route))?.is_some())
}

/// A file's bytes. GitHub gives files of up to 100 MB; the client may take less.
pub fn blob(client: &Client, id: &Sha) -> ApiResult<Vec<u8>> {
    let route = client.route(&format!("/git/blobs/{id}"));
    let blob: Blob = client.get(&route)?;
    match blob.encoding.as_str() {
        "base64" => {
            let text: Vec<u8> = blob.content.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            STANDARD.decode(text).map_err(|error| ApiError::unreadable(&route, error))
        }
        "utf-8" => Ok(blob.content.into_bytes()),
        other => {
            let cause = format!("the encoding `{}` is not known", other.escape_debug());
            Err(ApiError::unreadable(&route, cause))
        }
    }
}

/// Adds files to a branch, which is made if it is not there. `decide` is given the tip and returns the change that it
/// still needs; it is asked again wherever the tip that it saw may have been our own or may be gone. Where another was
/// merely faster it is asked only if the first of the files is there now: that costs a request each, and the less lies
/// between reading the tip and moving it, the fewer writers meet.
///
/// Errors: rules of the repository forbid it, which is never tried again; it is empty; [`TRIES`] times another
/// writer was faster; a fault that `decide` finds. Exit code 6.
pub fn append(
    client: &Client,
    branch: &str,
    message: &str,
    decide: &mut dyn FnMut(Option<&BranchTip>) -> Result<BranchChange, AppendError>,
) -> Result<Added> {
    let mut writer = Writer { client, branch, message, seen: None, blobs: Vec::new(), sent: false };
    let mut last = None;
    for tried in 0..TRIES {
        let begun = Instant::now();
        match writer.try_once(decide) {
            Ok(added) => return Ok(added),
            Err(AppendError::Fault(fault)) => return Err(fault),
            Err(AppendError::Api(error)) if may_pass(&error) => {
                if tried + 1 < TRIES {
                    let pause = client.limits().pause.max(begun.elapsed() * SPREAD);
                    client.sleep(backoff::pause(pause, tried).min(MAX_PAUSE));
                }
                if matches!(error, ApiError::Unreachable { .. }) {
                    writer.seen = None;
                }
                last = Some(error);
            }
            Err(AppendError::Api(error)) => return Err(with_advice(branch, error)),
        }
    }
    let why = last.map_or_else(String::new, |error| format!("; the last time {error}"));
    let what = format!("the branch `{branch}` could not be added to, {TRIES} times{why}");
    Err(Fault::at(
        client.slug().to_string(),
        what,
        "publish again: nothing was lost, and nothing is added twice",
    )
    .exits(Exit::Unpublished))
}

fn may_pass(error: &ApiError) -> bool {
    let words = error.message().to_ascii_lowercase();
    let overtaken = ["fast forward", "fast-forward", "already exists", "does not exist"];
    match error {
        ApiError::Unreachable { .. } => true,
        _ if is_ruled_out(error) || is_empty_repository(error) => false,
        ApiError::Refused { status: 409, .. } => true,
        ApiError::Refused { status: 422, .. } => overtaken.iter().any(|it| words.contains(it)),
        _ => false,
    }
}

fn is_ruled_out(error: &ApiError) -> bool {
    let words = error.message().to_ascii_lowercase();
    matches!(error.status(), Some(403 | 409 | 422))
        && ["rule violation", "protected branch", "protected ref", "changes must be made through"]
            .iter()
            .any(|it| words.contains(it))
}

fn with_advice(branch: &str, error: ApiError) -> Fault {
    let next = match &error {
        error if is_empty_repository(error) => {
            "push a first commit: an empty repository takes no branches".to_owned()
        }
        error if is_ruled_out(error) => {
            format!("take `{branch}` out of the repository's rules, or let the job's token bypass them")
        }
        _ => return error.into(),
    };
    Fault { next, ..Fault::from(error) }
}

struct Writer<'a> {
    client: &'a Client,
    branch: &'a str,
    message: &'a str,
    /// The files to add to the branch, decided on an earlier tip.
    seen: Option<Vec<(String, Vec<u8>)>>,
    /// The blobs that GitHub has already; the bytes stay the same from try to try.
    blobs: Vec<(Vec<u8>, Sha)>,
    /// The outcome of moving the branch is unknown: a file that is found there may be of this writer.
    sent: bool,
}

impl Writer<'_> {
    fn try_once(
        &mut self,
        decide: &mut dyn FnMut(Option<&BranchTip>) -> Result<BranchChange, AppendError>,
    ) -> Result<Added, AppendError> {
        let tip = tip(self.client, self.branch)?;
        let seen = match (self.seen.take(), &tip) {
            (Some(files), Some(tip)) => (!self.has_any(tip, &files)?).then_some(files),
            _ => None,
        };
        let files = match (seen, &tip) {
            (Some(files), _) => files,
            (None, tip) => match (decide(tip.as_ref())?, tip) {
                (BranchChange::Add(files), _) => files,
                (BranchChange::Nothing, Some(tip)) => {
                    return Ok(Added { commit: tip.commit.clone(), already: !self.sent });
                }
                (BranchChange::Nothing, None) => {
                    let what = "nothing is to be added to a branch that is not there";
                    return Err(Fault::at(self.branch, what, DEFECT).into());
                }
            },
        };
        let mut items = Vec::new();
        for (path, bytes) in &files {
            let id = self.blob(bytes)?;
            items.push(json!({"path": path, "mode": "100644", "type": "blob", "sha": id.as_str()}));
        }
        // A branch that another writer has made meanwhile needs another change than a root commit.
        self.seen = tip.is_some().then_some(files);
        let mut body = json!({ "tree": items });
        if let Some(tip) = &tip {
            body["base_tree"] = tip.tree.as_str().into();
        }
        let tree = self.made("/git/trees", &body)?;
        let parents: Vec<_> = tip.iter().map(|tip| tip.commit.as_str()).collect();
        let body = json!({"message": self.message, "tree": tree.as_str(), "parents": parents});
        let commit = self.made("/git/commits", &body)?;
        let moved = match tip {
            Some(_) => {
                let route = reference_route(self.client, "refs", self.branch);
                self.client.patch_once::<Value>(&route, &json!({"sha": commit.as_str(), "force": false}))
            }
            None => {
                let body = json!({"ref": format!("refs/heads/{}", self.branch), "sha": commit.as_str()});
                self.client.post_once::<Value>(&self.client.route("/git/refs"), &body)
            }
        };
        // A refusal is an answer: what is there then is another's.
        self.sent |= moved.as_ref().is_err_and(|error| error.status().is_none());
        moved?;
        Ok(Added { commit, already: false })
    }

    /// True if the first of the files, and so all of them, arrived since the branch was read: the same run, published
    /// twice at once.
    fn has_any(&self, tip: &BranchTip, files: &[(String, Vec<u8>)]) -> ApiResult<bool> {
        files.first().map_or(Ok(false), |(path, _)| is_there(self.client, tip, path))
    }

    fn blob(&mut self, bytes: &[u8]) -> ApiResult<Sha> {
        if let Some((_, id)) = self.blobs.iter().find(|(known, _)| known == bytes) {
            return Ok(id.clone());
        }
        let body = json!({"content": STANDARD.encode(bytes), "encoding": "base64"});
        let id = self.made("/git/blobs", &body)?;
        self.blobs.push((bytes.to_vec(), id.clone()));
        Ok(id)
    }

    /// Makes an object. Twice is once, but for a commit's time, and of two commits only one gets onto the branch; so
    /// it is asked for again after a conflict, too.
    fn made(&self, rest: &str, body: &Value) -> ApiResult<Sha> {
        let route = self.client.route(rest);
        let limits = self.client.limits();
        let mut tries = 1;
        loop {
            match self.client.create::<Object>(&route, body, || Ok(None)) {
                Ok(object) => return Ok(object.sha),
                Err(error) if error.status() == Some(409) && may_pass(&error) && tries < limits.attempts => {
                    self.client.sleep(backoff::pause(limits.pause, 0));
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
