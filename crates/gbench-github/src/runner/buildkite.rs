//! A job of Buildkite, which keeps no repository: it builds commits of one that is elsewhere.
//!
//! Facts: buildkite.com/docs, "Environment variables".

use super::context::{Context, OF_THE_RUNNER, Run, Variables, needed, number};
use super::event::{PullRequest, WorkflowEvent};
use crate::api::address::{Endpoint, Sha, Slug};
use gbench_model::{Fault, Host, Result};

pub(super) fn read(given: &Variables<'_>) -> Result<Context> {
    let slug: Slug = format!(
        "{}/{}",
        needed(given, "BUILDKITE_ORGANIZATION_SLUG")?,
        needed(given, "BUILDKITE_PIPELINE_SLUG")?
    )
    .parse()
    .map_err(|what| Fault::at("BUILDKITE_ORGANIZATION_SLUG, BUILDKITE_PIPELINE_SLUG", what, OF_THE_RUNNER))?;
    let text = needed(given, "BUILDKITE_COMMIT")?;
    let sha: Sha = text.parse().map_err(|what: String| {
        let next = "a build that was started without a commit has `HEAD` there: set it to `git rev-parse HEAD` in the step";
        Fault::at("BUILDKITE_COMMIT", what, next)
    })?;
    let branch = given("BUILDKITE_BRANCH");
    let pull_request = pull_request(given, &slug, &sha, branch.as_deref())?;
    let event = match given("BUILDKITE_SOURCE").as_deref() {
        _ if pull_request.is_some() => WorkflowEvent::PullRequest,
        Some("webhook") => WorkflowEvent::Push,
        Some("schedule") => WorkflowEvent::Schedule,
        _ => WorkflowEvent::WorkflowDispatch,
    };
    let id = number(given, "BUILDKITE_BUILD_NUMBER")?;
    let attempt = number(given, "BUILDKITE_RETRY_COUNT")?.unwrap_or(0).saturating_add(1);
    let attempt = attempt.try_into().unwrap_or(u32::MAX);
    Ok(Context {
        event,
        slug,
        endpoint: Endpoint::default().of(Host::Buildkite),
        branch: branch.filter(|_| pull_request.is_none() && given("BUILDKITE_TAG").is_none()),
        default_branch: given("BUILDKITE_PIPELINE_DEFAULT_BRANCH"),
        head: sha.clone(),
        sha,
        pull_request,
        workflow_run: None,
        comment: None,
        run: id.map(|id| Run { id, attempt, number: id }),
        page: given("BUILDKITE_BUILD_URL"),
        before: None,
        deleted: false,
    })
}

/// The number is `false` where there is no pull request.
fn pull_request(
    given: &Variables<'_>,
    slug: &Slug,
    head: &Sha,
    branch: Option<&str>,
) -> Result<Option<PullRequest>> {
    if matches!(given("BUILDKITE_PULL_REQUEST").as_deref(), None | Some("false")) {
        return Ok(None);
    }
    let Some(number) = number(given, "BUILDKITE_PULL_REQUEST")? else { return Ok(None) };
    let is_own = match (given("BUILDKITE_PULL_REQUEST_REPO"), given("BUILDKITE_REPO")) {
        (Some(from), Some(own)) => repository(&from) == repository(&own),
        // An unknown repository is not trusted.
        (Some(_), None) | (None, _) => false,
    };
    Ok(Some(PullRequest {
        number,
        head: head.clone(),
        head_branch: branch.unwrap_or_default().to_owned(),
        head_repository: is_own.then(|| slug.clone()),
        base_branch: needed(given, "BUILDKITE_PULL_REQUEST_BASE_BRANCH")?,
        base: None,
    }))
}

/// Host and path of a repository's address, in small letters: `git@github.com:acme/kernels.git` and
/// `https://github.com/acme/kernels` are one.
fn repository(address: &str) -> String {
    let address = address.trim().to_ascii_lowercase();
    let (is_url, rest) = match address.split_once("://") {
        Some((_, rest)) => (true, rest.to_owned()),
        None => (false, address),
    };
    let rest = rest.rsplit_once('@').map_or(rest.as_str(), |(_, rest)| rest);
    let rest = rest.trim_end_matches('/').trim_end_matches(".git");
    // Only ssh's short form has a colon before a path.
    if is_url { rest.to_owned() } else { rest.replacen(':', "/", 1) }
}

#[cfg(test)]
mod tests {
    use super::repository;

    #[test]
    fn a_repository_is_known_by_each_of_its_addresses() {
        for other in [
            "https://github.com/acme/kernels.git",
            "https://token@github.com/Acme/kernels",
            "ssh://git@github.com/acme/kernels.git/",
            "git://github.com/acme/kernels",
        ] {
            assert_eq!(repository("git@github.com:acme/kernels.git"), repository(other), "{other}");
        }
        for foreign in ["git://github.com/mallory/kernels", "https://gitlab.com/acme/kernels"] {
            assert_ne!(repository("git@github.com:acme/kernels.git"), repository(foreign), "{foreign}");
        }
    }
}
