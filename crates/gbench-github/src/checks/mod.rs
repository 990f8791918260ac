//! One check for each name and head commit: begun when a job starts, finished when its verdict is there, and a commit
//! status where a token may write no checks.
//!
//! GitHub appends the annotations of every change of a check, and takes none back. So after a change whose
//! outcome is unknown, the annotations that are there are read, and only the missing ones are sent.

mod commit_status;
mod conclusion;
pub mod kept;
pub(crate) mod output;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use conclusion::order;
pub use conclusion::{CheckConclusion, CheckReport, CheckStatus, Reported, external};
use output::{AT_ONCE, ExistingAnnotation};
pub use output::{Annotation, AnnotationLevel, CheckOutput};

use crate::api::address::{Sha, encoded};
use crate::api::client::Client;
use crate::api::error::{ApiError, ApiResult};
use crate::api::optimistic::{UpdateError, retry_update};
use crate::api::response::or_default;
use gbench_model::{Host, backoff};

/// Pages of 100 checks of one name on one commit.
const PAGES: u32 = 10;
/// How a check of ours begins its `external_id`. The jobs of a workflow are checks of the same app, and one of them may
/// have the same name.
const OURS: &str = "gbench-ci/";

/// The state of the check of this name; `None` where we have written none. Where checks may not be read the status is
/// used; where neither may be, nothing is known.
pub fn stand(client: &Client, name: &str, head: &Sha) -> ApiResult<Option<CheckStatus>> {
    if client.host() != Host::GitHub {
        return commit_status::stand(client, name, head);
    }
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
        let run = check.run()?;
        Some(CheckStatus { run, conclusion: check.conclusion.clone().filter(|_| check.is_completed()) })
    };
    Ok(ours.iter().filter_map(of).max_by_key(|stand| stand.run))
}

#[derive(Deserialize)]
struct Check {
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    head_sha: String,
    external_id: Option<String>,
    #[serde(default)]
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
    details_url: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    output: Shown,
}

#[skip_serializing_none]
#[derive(Default, Serialize, Deserialize)]
struct Shown {
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    summary: String,
    text: Option<String>,
    /// Absent on servers other than GitHub.
    #[serde(skip_serializing)]
    annotations_count: Option<u64>,
}

impl Check {
    /// The id that gbench-ci wrote into it; `None` for a check of another app.
    fn external(&self) -> Option<&str> {
        self.external_id.as_deref()?.strip_prefix(OURS)
    }

    fn run(&self) -> Option<(u64, u32)> {
        self.external().and_then(order)
    }

    fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    fn reported(self) -> Reported {
        Reported::Check(self.id, self.html_url.unwrap_or_default())
    }
}

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

fn is_refusal(error: &ApiError) -> bool {
    matches!(error.status(), Some(403 | 404))
}

impl CheckReport<'_> {
    /// Writes the check, whether or not it was begun. On hosts without checks it is a status.
    pub fn send(&self) -> ApiResult<Reported> {
        if self.client.host() != Host::GitHub {
            return commit_status::set(self);
        }
        let send = || retry_update(self.client, || self.step());
        let refused = match send() {
            Err(refused) if is_refusal(&refused) => refused,
            reported => return reported,
        };
        // A refusal may be of the moment. A status next to a check would be a second answer, possibly the opposite one.
        self.client.sleep(backoff::pause(self.client.limits().pause, 0));
        match send() {
            Err(again) if is_refusal(&again) => {}
            reported => return reported,
        }
        if ours(self.client, self.name, self.head).is_ok_and(|ours| !ours.is_empty()) {
            return Err(refused);
        }
        match commit_status::set(self) {
            Err(error) if is_refusal(&error) => Err(refused),
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
        let last = ours
            .iter()
            .filter(|check| check.run() >= Some(mine))
            .max_by_key(|check| (check.run(), check.is_completed(), check.id))?;
        if last.run() > Some(mine) {
            return Some((last, Reported::Superseded));
        }
        (self.conclusion.is_none() && last.is_completed()).then_some((last, Reported::Ended))
    }

    /// GitHub shows the newest check of a name. A twin that is newer than the last word must show the same.
    fn repeat(&self, last: &Check, ours: &[Check]) -> ApiResult<()> {
        let Some(conclusion) = last.conclusion.as_ref().filter(|_| last.is_completed()) else {
            return Ok(());
        };
        let hides =
            |check: &&Check| check.id > last.id && (!check.is_completed() || check.run() < last.run());
        let mut body = json!({
            "external_id": last.external_id, "status": "completed", "conclusion": conclusion, "output": last.output,
        });
        if let Some(url) = &last.details_url {
            body["details_url"] = json!(url);
        }
        ours.iter().filter(hides).try_for_each(|check| self.overwrite(check, &body))
    }

    fn overwrite(&self, check: &Check, body: &Value) -> ApiResult<()> {
        match self.client.patch::<Check>(&self.route(check), body) {
            Err(error) if is_refusal(&error) => Ok(()),
            written => written.map(drop),
        }
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
        // Another job may have looked at the same time and found none either: the second one sees both.
        let now = ours(self.client, self.name, self.head)?;
        let others: Vec<Check> = now.into_iter().filter(|other| other.id != check.id).collect();
        if others.iter().any(|other| other.id > check.id) || self.above(&others).is_some() {
            Err(UpdateError::conflict(self.client.asked(route)))
        } else {
            Ok(check.reported())
        }
    }

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
        self.overwrite(twin, &body)
    }

    fn stands_in(&self, check: &Check) -> bool {
        match self.conclusion {
            None => !check.is_completed(),
            Some(conclusion) => check.conclusion.as_deref() == Some(conclusion.into_str()),
        }
    }

    fn missing(&self, check: &Check) -> ApiResult<Vec<Annotation>> {
        let wanted = self.output.fitting();
        let count = check.output.annotations_count;
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
