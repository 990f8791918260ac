//! Artifacts of a workflow run. The author of a pull request may have made one, so its size and its digest are
//! held against what GitHub says before anyone looks inside.

use serde::Deserialize;

use super::client::Client;
use super::error::{ApiError, ApiResult};
use gbench_model::sha256_hex;

/// Pages of 100. GitHub keeps at most 500 artifacts of one job.
const PAGES: u32 = 10;

/// A zip archive that GitHub keeps for a while.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Artifact {
    pub id: u64,
    /// As the uploading job called it: not to be trusted.
    pub name: String,
    #[serde(default, rename = "size_in_bytes")]
    pub size: u64,
    #[serde(default)]
    pub expired: bool,
    /// `sha256:` and the archive's sum; older servers give none.
    pub digest: Option<String>,
}

pub fn list(client: &Client, run: u64) -> ApiResult<Vec<Artifact>> {
    client.pages(&client.route(&format!("/actions/runs/{run}/artifacts")), Some("artifacts"), PAGES)
}

/// The archive's bytes. Errors: expired, more than `most` bytes, not what its digest says.
pub fn fetch(client: &Client, artifact: &Artifact, most: usize) -> ApiResult<Vec<u8>> {
    let route = client.route(&format!("/actions/artifacts/{}/zip", artifact.id));
    let unfit = |cause: String| {
        // The name comes from the job that uploaded it.
        let name: String = artifact.name.escape_debug().take(100).collect();
        let cause = format!("artifact `{name}` {cause}");
        Err(ApiError::Unfit { request: format!("GET {route}").into(), cause })
    };
    if artifact.expired {
        return unfit("has expired".into());
    }
    if usize::try_from(artifact.size).map_or(true, |size| size > most) {
        return unfit(format!("has {} bytes, more than the {most} that are read", artifact.size));
    }
    let bytes = client.download(&route, most)?;
    let stated = artifact.digest.as_deref().and_then(|digest| digest.strip_prefix("sha256:"));
    match stated {
        Some(stated) if !sha256_hex(&bytes).eq_ignore_ascii_case(stated) => {
            unfit("is not what its digest says".into())
        }
        _ => Ok(bytes),
    }
}
