//! Workflow runs and their artifacts, which are fetched from another host.

use serde_json::{Value, json};

use super::call::{Call, Handled, Reply};
use super::world::{Artifact, World, now};

pub fn handle(world: &mut World, call: &Call) -> Handled {
    match call.operation.as_str() {
        "actions/get-workflow-run" => {
            let id = call.number("run_id");
            let run = call.repository(world)?.runs.get(&id).cloned();
            Ok(Reply::ok(run.ok_or_else(Reply::not_found)?))
        }
        "actions/list-workflow-run-artifacts" => {
            let id = call.number("run_id");
            let repository = call.repository(world)?;
            if !repository.runs.contains_key(&id) {
                return Err(Reply::not_found());
            }
            let fits =
                |one: &&Artifact| one.run == id && call.asked("name").is_none_or(|name| one.name == name);
            let found: Vec<Artifact> = repository.artifacts.values().rev().filter(fits).cloned().collect();
            let shown = found.iter().map(|artifact| shown(world, call, artifact)).collect();
            Ok(call.page(world, Some("artifacts"), shown))
        }
        "actions/download-artifact" => {
            let id = call.number("artifact_id");
            let artifact = call.repository(world)?.artifacts.get(&id).ok_or_else(Reply::not_found)?;
            if call.name("archive_format") != "zip" {
                return Err(Reply::not_found());
            }
            if artifact.expired {
                return Err(Reply::refusal(410, "Artifact has expired"));
            }
            let place = format!("{}/artifacts/{id}.zip?sig={}", world.files, signature(id));
            Ok(Reply::empty(302).header("location", place))
        }
        _ => Err(Reply::not_found()),
    }
}

/// The key that stands in the address instead of a token.
fn signature(id: u64) -> String {
    format!("k{:016x}", id.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// What the other host answers: the bytes, or why not. It must see no token.
pub fn file(world: &mut World, path: &str, query: &str, authorization: Option<&str>) -> Result<Vec<u8>, u16> {
    if authorization.is_some() {
        world.violations.push(format!("GET {path}: the token went to another host"));
        return Err(400);
    }
    let id = path.strip_prefix("/artifacts/").and_then(|rest| rest.strip_suffix(".zip")).ok_or(404_u16)?;
    let id: u64 = id.parse().map_err(|_| 404_u16)?;
    if query != format!("sig={}", signature(id)) {
        return Err(403);
    }
    let mut all = world.repositories.iter().flat_map(|one| one.artifacts.get(&id));
    all.next().map(|artifact| artifact.zip.clone()).ok_or(404)
}

fn shown(world: &World, call: &Call, artifact: &Artifact) -> Value {
    let address = format!("{}/repos/{}/actions/artifacts/{}", world.api, call.slug(), artifact.id);
    json!({
        "id": artifact.id,
        "node_id": "A",
        "name": artifact.name,
        "size_in_bytes": artifact.size,
        "url": address,
        "archive_download_url": format!("{address}/zip"),
        "expired": artifact.expired,
        "created_at": now(),
        "updated_at": now(),
        "expires_at": now(),
        "digest": artifact.digest,
        "workflow_run": { "id": artifact.run },
    })
}
