//! A document that the gate keeps with a commit, in the text of a separate check. Only an app with the right to write
//! checks can write it, and only its own: a comment can come from any workflow under the same account, with any text.
//!
//! Each part has its own check, so that two jobs at once do not overwrite each other.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::address::{Sha, encoded};
use crate::api::client::Client;
use crate::api::error::{ApiError, ApiResult};
use crate::api::identity::Identity;
use crate::api::response::or_default;

const PAGES: u32 = 10;

/// The `external_id` of such a check, or its beginning before `/` and the name of a part: it is of no run.
const EXTERNAL: &str = "gbench-ci/kept";

/// Bytes of a document: what the text of a check takes.
pub const MAX_KEPT: usize = 60_000;

const OPENS: &str = "```json\n";
const CLOSES: &str = "\n```\n";

#[derive(Deserialize)]
struct Keeper {
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    head_sha: String,
    external_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    app: App,
    #[serde(default, deserialize_with = "or_default")]
    output: Shown,
}

#[derive(Default, Deserialize)]
struct App {
    #[serde(default, deserialize_with = "or_default")]
    slug: String,
}

#[derive(Default, Deserialize)]
struct Shown {
    text: Option<String>,
}

/// The documents that are kept with a commit under a name, the newest first. Errors: the checks cannot be read.
pub fn kept(client: &Client, name: &str, head: &Sha, me: &Identity) -> ApiResult<Vec<Value>> {
    let found = ours(client, name, head, me)?;
    let document = |check: &Keeper| {
        let text = check.output.text.as_deref()?.replace('\r', "");
        serde_json::from_str(text.strip_prefix(OPENS)?.trim_end().strip_suffix(CLOSES.trim_end())?).ok()
    };
    Ok(found.iter().filter_map(document).collect())
}

/// Keeps a document with a commit, in place of an earlier one of the same part. `title` is plain text, `summary`
/// Markdown. Errors: it is longer than [`MAX_KEPT`]; the checks cannot be written.
pub fn keep(
    client: &Client,
    [name, part]: [&str; 2],
    head: &Sha,
    me: &Identity,
    [title, summary]: [&str; 2],
    document: &Value,
) -> ApiResult<()> {
    // Nothing in a text may end the block; JSON can spell the sign without using it.
    let text = document.to_string().replace('`', "\\u0060");
    if text.len() > MAX_KEPT {
        let cause = format!("the document has {} bytes, more than the {MAX_KEPT} that are kept", text.len());
        return Err(ApiError::Unfit { request: format!("the check `{name}`").into(), cause });
    }
    let external = format!("{EXTERNAL}/{part}");
    let of_part = |check: &Keeper| check.external_id.as_deref() == Some(&external);
    let body = json!({
        "external_id": external, "status": "completed", "conclusion": "neutral",
        "output": { "title": title, "summary": summary, "text": format!("{OPENS}{text}{CLOSES}") },
    });
    if let Some(check) = ours(client, name, head, me)?.into_iter().find(of_part) {
        let route = client.route(&format!("/check-runs/{}", check.id));
        return client.patch::<Keeper>(&route, &body).map(drop);
    }
    let mut new = body;
    new["name"] = json!(name);
    new["head_sha"] = json!(head.as_str());
    let find = || Ok(ours(client, name, head, me)?.into_iter().find(of_part));
    client.create::<Keeper>(&client.route("/check-runs"), &new, find).map(drop)
}

fn ours(client: &Client, name: &str, head: &Sha, me: &Identity) -> ApiResult<Vec<Keeper>> {
    let query = format!("check_name={}&filter=all", encoded(name));
    let route = client.route(&format!("/commits/{head}/check-runs?{query}"));
    let mut all: Vec<Keeper> = client.pages(&route, Some("check_runs"), PAGES)?;
    all.retain(|check| {
        check.name == name
            && check.head_sha.eq_ignore_ascii_case(head.as_str())
            && check.external_id.as_deref().is_some_and(is_kept)
            && is_of(&check.app, me)
    });
    all.sort_by_key(|check| std::cmp::Reverse(check.id));
    Ok(all)
}

fn is_kept(external: &str) -> bool {
    external.strip_prefix(EXTERNAL).is_some_and(|part| part.is_empty() || part.starts_with('/'))
}

/// A person has no app: what is kept cannot be theirs.
fn is_of(app: &App, me: &Identity) -> bool {
    me.login().strip_suffix("[bot]").is_some_and(|slug| app.slug.eq_ignore_ascii_case(slug))
}
