//! Pull requests, repositories and users, as they are read.

use serde_json::{Value, json};

use super::call::{Call, Handled, Reply};
use super::world::{Issue, Pull, World, user, written};

pub fn handle(world: &mut World, call: &Call) -> Handled {
    match call.operation.as_str() {
        "pulls/list" => list(world, call),
        "pulls/get" => {
            let number = call.number("pull_number");
            let issue = call.repository(world)?.issues.get(&number).cloned();
            let pull = issue.as_ref().and_then(|issue| Some((issue, issue.pull.as_ref()?)));
            let (issue, pull) = pull.ok_or_else(Reply::not_found)?;
            Ok(Reply::ok(shown(world, call, issue, pull)))
        }
        "repos/get-collaborator-permission-level" => {
            let login = call.name("username").to_owned();
            let known = call.repository(world)?.collaborators.get(&login).cloned();
            let permission = known.unwrap_or_else(|| "none".into());
            Ok(Reply::ok(json!({ "permission": permission, "role_name": permission, "user": user(&login) })))
        }
        "repos/compare-commits-with-basehead" => compare(world, call),
        "repos/get" => {
            let slug = call.repository(world)?.slug.clone();
            Ok(Reply::ok(repository(world, &slug)))
        }
        "users/get-authenticated" => {
            let mut value = user(&call.token.login);
            value["user_view_type"] = "private".into();
            Ok(Reply::ok(value))
        }
        "rate-limit/get" => {
            let (left, until) = world.rate;
            let until = until.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
            let rate =
                json!({ "limit": 1000, "remaining": left, "reset": until, "used": 1000 - left.min(1000) });
            let resources = json!({ "core": rate, "search": rate });
            Ok(Reply::ok(json!({ "resources": resources, "rate": rate })))
        }
        _ => Err(Reply::not_found()),
    }
}

fn list(world: &mut World, call: &Call) -> Handled {
    let wanted = call.asked("state").unwrap_or("open").to_owned();
    let is_wanted = |issue: &&Issue| {
        let Some(pull) = &issue.pull else { return false };
        // `OWNER:BRANCH`; GitHub passes over a filter without an owner.
        let head = call.asked("head").and_then(|head| head.split_once(':'));
        let is_head = head.is_none_or(|(owner, branch)| {
            pull.head_owner.eq_ignore_ascii_case(owner) && pull.head_ref == branch
        });
        let state = wanted == "all" || (wanted == "open") == issue.open;
        state && is_head && call.asked("base").is_none_or(|base| pull.base == base)
    };
    let mut found: Vec<Issue> = call.repository(world)?.issues.values().filter(is_wanted).cloned().collect();
    if call.asked("direction") != Some("asc") {
        found.reverse();
    }
    let shown = |issue: &Issue| {
        let mut value = shown(world, call, issue, issue.pull.as_ref().unwrap());
        // A list shows less of each.
        for key in ["merged", "mergeable", "comments", "commits", "additions", "deletions", "changed_files"] {
            value.as_object_mut().unwrap().remove(key);
        }
        value
    };
    let found: Vec<Value> = found.iter().map(shown).collect();
    Ok(call.page(world, None, found))
}

/// The commits after one up to another, oldest first.
fn compare(world: &mut World, call: &Call) -> Handled {
    let repository = call.repository(world)?;
    let (base, head) = call.name("basehead").split_once("...").ok_or_else(Reply::not_found)?;
    let known = repository.between.get(&(base.to_owned(), head.to_owned())).cloned();
    let walked = || -> Option<Vec<String>> {
        let [base, head] = [base, head].map(|name| git2::Oid::from_str(&repository.commit_of(name)?).ok());
        let mut walk = repository.git.revwalk().ok()?;
        walk.push(head?).ok()?;
        walk.hide(base?).ok()?;
        let mut commits: Vec<String> = walk.flatten().map(|id| id.to_string()).collect();
        commits.reverse();
        Some(commits)
    };
    let commits = known.or_else(walked).ok_or_else(Reply::not_found)?;
    let shown = |sha: &String| json!({ "sha": sha, "node_id": "C", "parents": [] });
    let commits: Vec<Value> = commits.iter().map(shown).collect();
    let total = commits.len();
    let mut reply = call.page(world, Some("commits"), commits);
    let body = reply.body.as_mut().unwrap();
    body.as_object_mut().unwrap().remove("total_count");
    body["total_commits"] = json!(total);
    body["ahead_by"] = json!(total);
    body["behind_by"] = json!(0);
    body["status"] = json!("ahead");
    Ok(reply)
}

/// A repository, known here or not: that of a fork is only a name.
pub fn repository(world: &World, slug: &str) -> Value {
    let known = world.repositories.iter().find(|one| one.slug.eq_ignore_ascii_case(slug));
    let (owner, name) = slug.split_once('/').unwrap();
    let branch = known.map_or("main", |one| one.default_branch.as_str());
    json!({
        "id": known.map_or(99, |one| one.id),
        "name": name,
        "full_name": slug,
        "owner": user(owner),
        "private": true,
        "fork": known.is_none(),
        "default_branch": branch,
        "html_url": format!("https://github.invalid/{slug}"),
        "url": format!("{}/repos/{slug}", world.api),
    })
}

fn shown(world: &World, call: &Call, issue: &Issue, pull: &Pull) -> Value {
    let number = issue.number;
    let side = |owner: &str, slug: Option<&str>, branch: &str, sha: &str| {
        json!({
            "label": format!("{owner}:{branch}"), "ref": branch, "sha": sha, "user": user(owner),
            "repo": slug.map(|slug| repository(world, slug)),
        })
    };
    let slug = call.slug();
    let (owner, _) = slug.split_once('/').unwrap();
    json!({
        "id": 6_000_000 + number,
        "number": number,
        "state": if issue.open { "open" } else { "closed" },
        "title": issue.title,
        "locked": issue.locked,
        "body": issue.body,
        "user": user(&issue.login),
        "head": side(&pull.head_owner, pull.head_repository.as_deref(), &pull.head_ref, &pull.head_sha),
        "base": side(owner, Some(&slug), &pull.base, &pull.base_sha),
        "merged": pull.merged.is_some(),
        "merged_at": pull.merged.as_ref().map(|(_, at)| written(*at)),
        "merge_commit_sha": pull.merged.as_ref().map(|(commit, _)| commit),
        "html_url": format!("https://github.invalid/{slug}/pull/{number}"),
        "url": format!("{}/repos/{slug}/pulls/{number}", world.api),
    })
}
