//! One check for each name and head commit: begun when a job starts, finished when its verdict is there, and a commit
//! status where a token may write no checks.
//!
//! GitHub appends the annotations of every change of a check, and takes none back. So after a change that nobody knows
//! the end of, the annotations that are there are read, and only the missing ones are sent.

mod commit_status;
mod conclusion;
mod output;

use serde::Deserialize;
use serde_json::{Value, json};

use commit_status::StatusWritten;
use conclusion::CommitState;
pub use conclusion::{CheckConclusion, CheckStatus};
pub(super) use output::cut;
use output::{AT_ONCE, ExistingAnnotation};
pub use output::{Annotation, AnnotationLevel, CheckOutput};

use super::address::{Sha, encoded};
use super::client::Client;
use super::error::{ApiError, ApiResult};
use super::optimistic::{UpdateError, retry_update};

/// Pages of 100 checks of one name on one commit.
const PAGES: u32 = 10;
/// How a check of ours begins its `external_id`. The jobs of a workflow are checks of the same app, and one of them may
/// have the same name.
const OURS: &str = "gbench-ci/";

/// Where it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Number and page of the check.
    Check(u64, String),
    /// A commit status: the token may write no checks.
    Status,
    /// A later run has the check of this commit; nothing was written.
    Superseded,
    /// This very run has ended it already, and a late word of its beginning changes nothing.
    Ended,
}

/// The `external` of a workflow run: later ones of the same commit are not overwritten by earlier ones.
pub fn external(run: u64, attempt: u32) -> String {
    format!("{run}/{attempt}")
}

/// How the check of this name stands; `None` where we have written none. Where checks may not be read the status counts,
/// and where neither may be, nothing is known.
pub fn stand(client: &Client, name: &str, head: &Sha) -> ApiResult<Option<CheckStatus>> {
    let ours = match ours(client, name, head) {
        Err(refused) if is_refusal(&refused) => {
            return match commit_status::stand(client, name, head) {
                Err(refused) if is_refusal(&refused) => Ok(None),
                stand => stand,
            };
        }
        ours => ours?,
    };
    let of = |check: &Check| {
        let run = check.external().and_then(order)?;
        Some(CheckStatus { run, conclusion: check.conclusion.clone().filter(|_| check.is_completed()) })
    };
    Ok(ours.iter().filter_map(of).max_by_key(|stand| stand.run))
}

/// A check in progress. One of ours that is there already is begun anew, unless this run has ended it.
pub fn begin(
    client: &Client,
    name: &str,
    head: &Sha,
    external: &str,
    details_url: Option<&str>,
    output: &CheckOutput,
) -> ApiResult<Reported> {
    Report { client, name, head, external, details_url, output, conclusion: None }.done()
}

/// The check's end, whether or not it was begun.
pub fn finish(
    client: &Client,
    name: &str,
    head: &Sha,
    external: &str,
    details_url: Option<&str>,
    conclusion: CheckConclusion,
    output: &CheckOutput,
) -> ApiResult<Reported> {
    Report { client, name, head, external, details_url, output, conclusion: Some(conclusion) }.done()
}

/// A check as GitHub has it.
#[derive(Deserialize)]
struct Check {
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    head_sha: String,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    html_url: Option<String>,
    #[serde(default)]
    details_url: Option<String>,
    #[serde(default)]
    output: Option<Shown>,
}

#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    text: Option<String>,
    /// Absent on servers other than GitHub.
    #[serde(default)]
    annotations_count: Option<u64>,
}

impl Check {
    /// The id that gbench-ci wrote into it; `None` for a check of another app.
    fn external(&self) -> Option<&str> {
        self.external_id.as_deref()?.strip_prefix(OURS)
    }

    fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    fn reported(self) -> Reported {
        Reported::Check(self.id, self.html_url.unwrap_or_default())
    }
}

/// The checks of this name and commit that we wrote, oldest first.
fn ours(client: &Client, name: &str, head: &Sha) -> ApiResult<Vec<Check>> {
    let query = format!("check_name={}&filter=all", encoded(name));
    let route = client.route(&format!("/commits/{head}/check-runs?{query}"));
    let mut all: Vec<Check> = client.pages(&route, Some("check_runs"), PAGES)?;
    all.retain(|check| {
        check.name == name && check.head_sha.eq_ignore_ascii_case(head.as_str()) && check.external().is_some()
    });
    all.sort_by_key(|check| check.id);
    Ok(all)
}

/// Run and attempt; `None` for what another caller chose.
fn order(external: &str) -> Option<(u64, u32)> {
    let (run, attempt) = external.split_once('/')?;
    Some((run.parse().ok()?, attempt.parse().ok()?))
}

fn is_refusal(error: &ApiError) -> bool {
    matches!(error.status(), Some(403 | 404))
}

/// One call of [`begin`] or [`finish`].
struct Report<'a> {
    client: &'a Client,
    name: &'a str,
    head: &'a Sha,
    external: &'a str,
    details_url: Option<&'a str>,
    output: &'a CheckOutput,
    conclusion: Option<CheckConclusion>,
}

impl Report<'_> {
    fn done(&self) -> ApiResult<Reported> {
        match retry_update(self.client, || self.step()) {
            Err(refused) if is_refusal(&refused) => {
                let state = self.conclusion.map_or(CommitState::Pending, CheckConclusion::state);
                let title = &self.output.title;
                let mine = order(self.external);
                match commit_status::set(
                    self.client,
                    self.name,
                    self.head,
                    state,
                    title,
                    self.details_url,
                    mine,
                ) {
                    Ok(StatusWritten::Done) => Ok(Reported::Status),
                    Ok(StatusWritten::Superseded) => Ok(Reported::Superseded),
                    Ok(StatusWritten::Ended) => Ok(Reported::Ended),
                    // The permission to ask for is the first one's.
                    Err(error) if is_refusal(&error) => Err(refused),
                    Err(error) => Err(error),
                }
            }
            reported => reported,
        }
    }

    fn step(&self) -> Result<Reported, UpdateError> {
        let mut ours = ours(self.client, self.name, self.head)?;
        if let Some((above, reported)) = self.above(&ours) {
            self.repeat(above, &ours)?;
            return Ok(reported);
        }
        // GitHub shows the newest of a name.
        let Some(check) = ours.pop() else { return self.create() };
        for twin in &ours {
            self.conclude(twin)?;
        }
        let is_begun = check.status == "in_progress" && check.external() == Some(self.external);
        if self.conclusion.is_none() && is_begun {
            return Ok(check.reported());
        }
        let missing = self.missing(&check)?;
        let written = match self.write(&check, &missing) {
            // It carries our sign but belongs to another app.
            Err(UpdateError::Final(error)) if is_refusal(&error) => return self.create(),
            written => written?,
        };
        if self.stands_in(&written) {
            Ok(written.reported())
        } else {
            // GitHub may keep a check that has ended as it is; the next one of the name takes its place.
            self.create()
        }
    }

    /// The check that has the last word instead of this report: of a later run, or the end of the run whose beginning is
    /// reported. GitHub promises no order of its events.
    fn above<'c>(&self, ours: &'c [Check]) -> Option<(&'c Check, Reported)> {
        let mine = order(self.external)?;
        let of = |check: &Check| check.external().and_then(order);
        let last = ours.iter().filter(|check| of(check) >= Some(mine)).max_by_key(|check| {
            let run = of(check);
            (run, check.is_completed(), check.id)
        })?;
        if of(last) > Some(mine) {
            return Some((last, Reported::Superseded));
        }
        (self.conclusion.is_none() && last.is_completed()).then_some((last, Reported::Ended))
    }

    /// GitHub shows the newest check of a name. One that was made beside the last word, and after it, says the same.
    fn repeat(&self, last: &Check, ours: &[Check]) -> ApiResult<()> {
        let Some(conclusion) = last.conclusion.as_ref().filter(|_| last.is_completed()) else {
            return Ok(());
        };
        let external = |check: &Check| check.external().and_then(order);
        let hides = |check: &&Check| {
            check.id > last.id && (!check.is_completed() || external(check) < external(last))
        };
        let said =
            |of: fn(&Shown) -> &Option<String>| last.output.as_ref().and_then(|shown| of(shown).clone());
        for check in ours.iter().filter(hides) {
            let mut output = json!({
                "title": said(|shown| &shown.title).unwrap_or_default(),
                "summary": said(|shown| &shown.summary).unwrap_or_default(),
            });
            if let Some(text) = said(|shown| &shown.text) {
                output["text"] = json!(text);
            }
            let mut body = json!({
                "external_id": last.external_id, "status": "completed", "conclusion": conclusion, "output": output,
            });
            if let Some(url) = &last.details_url {
                body["details_url"] = json!(url);
            }
            match self.client.patch::<Check>(&self.route(check), &body) {
                // Another app's: it stays as it is.
                Err(error) if is_refusal(&error) => {}
                written => drop(written?),
            }
        }
        Ok(())
    }

    fn create(&self) -> Result<Reported, UpdateError> {
        let annotations = self.output.fitting();
        let (first, rest) = annotations.split_at(annotations.len().min(AT_ONCE));
        let mut body = self.body(first);
        body["name"] = json!(self.name);
        body["head_sha"] = json!(self.head.as_str());
        let route = self.client.route("/check-runs");
        let check: Check = self.client.post_once(&route, &body).map_err(UpdateError::of_write)?;
        self.append(&check, rest)?;
        // Another job may have looked at the same time and found none either: whoever comes second sees both.
        let now = ours(self.client, self.name, self.head)?;
        let others: Vec<Check> = now.into_iter().filter(|other| other.id != check.id).collect();
        if others.iter().any(|other| other.id > check.id) || self.above(&others).is_some() {
            Err(UpdateError::conflict(format!("POST {route}")))
        } else {
            Ok(check.reported())
        }
    }

    /// Brings a check up to date, with those annotations that it lacks.
    fn write(&self, check: &Check, missing: &[Annotation]) -> Result<Check, UpdateError> {
        let (first, rest) = missing.split_at(missing.len().min(AT_ONCE));
        let written =
            self.client.patch_once(&self.route(check), &self.body(first)).map_err(UpdateError::of_write)?;
        self.append(check, rest)?;
        Ok(written)
    }

    fn append(&self, check: &Check, annotations: &[Annotation]) -> Result<(), UpdateError> {
        for some in annotations.chunks(AT_ONCE) {
            let body = json!({ "output": self.output.sent(some) });
            self.client.patch_once::<Check>(&self.route(check), &body).map_err(UpdateError::of_write)?;
        }
        Ok(())
    }

    /// Ends one that nobody sees any more: two jobs were equally fast, or a request came late.
    fn conclude(&self, twin: &Check) -> ApiResult<()> {
        if twin.is_completed() {
            return Ok(());
        }
        let output =
            json!({ "title": "Superseded", "summary": "A newer check of the same name has the result." });
        // Without a run: it is the end of none.
        let body = json!({
            "external_id": format!("{OURS}superseded"), "status": "completed", "conclusion": "neutral", "output": output,
        });
        match self.client.patch::<Check>(&self.route(twin), &body) {
            // Another app's: it stays as it is.
            Err(error) if is_refusal(&error) => Ok(()),
            written => written.map(drop),
        }
    }

    /// Whether GitHub took over what was asked.
    fn stands_in(&self, check: &Check) -> bool {
        match self.conclusion {
            None => !check.is_completed(),
            Some(conclusion) => check.conclusion.as_deref() == Some(conclusion.into_str()),
        }
    }

    /// Those of our annotations that the check does not show yet.
    fn missing(&self, check: &Check) -> ApiResult<Vec<Annotation>> {
        let wanted = self.output.fitting();
        let count = check.output.as_ref().and_then(|output| output.annotations_count);
        if wanted.is_empty() || count == Some(0) {
            return Ok(wanted);
        }
        let route = format!("{}/annotations", self.route(check));
        let there: Vec<ExistingAnnotation> = self.client.pages(&route, None, PAGES)?;
        Ok(output::missing(wanted, there))
    }

    /// All fields but those that a check keeps for life.
    fn body(&self, annotations: &[Annotation]) -> Value {
        let mut body = json!({
            "external_id": format!("{OURS}{}", self.external),
            "status": if self.conclusion.is_some() { "completed" } else { "in_progress" },
            "output": self.output.sent(annotations),
        });
        if let Some(conclusion) = self.conclusion {
            body["conclusion"] = json!(conclusion.into_str());
        }
        if let Some(url) = self.details_url {
            body["details_url"] = json!(url);
        }
        body
    }

    fn route(&self, check: &Check) -> String {
        self.client.route(&format!("/check-runs/{}", check.id))
    }
}
