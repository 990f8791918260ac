//! The errors of talking to GitHub and to hosts like it, each with a next step for the user.

use std::fmt;
use std::time::Duration;

use gbench_model::{DEFECT, Exit, Fault, Host};

pub type ApiResult<T> = Result<T, ApiError>;

/// A request as an error names it: `POST /repos/o/r/issues/1/comments`, and the host that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest {
    pub host: Host,
    pub line: String,
}

/// Of GitHub: most requests are for it alone.
impl<T: Into<String>> From<T> for ApiRequest {
    fn from(line: T) -> Self {
        Self { host: Host::GitHub, line: line.into() }
    }
}

impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// The failure of a call. No message contains a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The host said no.
    #[error("{} answers {status}: {message}", request.host)]
    Refused {
        request: ApiRequest,
        status: u16,
        /// The host's own words.
        message: String,
        /// `issues=write; pull_requests=write`: what GitHub says would have been enough.
        wanted: Option<String>,
    },
    /// The conversation is locked: whatever the token may do elsewhere, it may not speak there.
    #[error("the conversation of the pull request is locked")]
    Locked { request: ApiRequest },
    /// Every try ended without an answer or with a server error.
    #[error("{} cannot be reached: {cause}", request.host)]
    Unreachable { request: ApiRequest, cause: String },
    /// Too many requests; it would take longer than this call waits.
    #[error("{} takes no more requests for {} s", request.host, wait.as_secs())]
    Limited { request: ApiRequest, wait: Duration },
    /// This run's own limit on requests is reached: something goes round in circles.
    #[error("all {requests} requests that one run may make are spent")]
    RequestsUsed { requests: u32 },
    /// The answer is not what the host's description says.
    #[error("{}'s answer cannot be understood: {cause}", request.host)]
    Unreadable { request: ApiRequest, cause: String },
    /// The content at the host cannot be used: too large, expired, or not what its digest says.
    #[error("what {} has cannot be used: {cause}", request.host)]
    Unfit { request: ApiRequest, cause: String },
}

impl ApiError {
    pub(crate) fn unreadable(route: &str, cause: impl ToString) -> Self {
        Self::Unreadable { request: format!("GET {route}").into(), cause: cause.to_string() }
    }

    pub fn status(&self) -> Option<u16> {
        match self {
            ApiError::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    pub fn message(&self) -> &str {
        match self {
            ApiError::Refused { message, .. } => message,
            _ => "",
        }
    }
}

/// A permission of a job's token, as a workflow's YAML writes it, by what the route is about.
const PERMISSIONS: [(&str, &str); 8] = [
    ("/check-runs", "checks"),
    ("/check-suites", "checks"),
    ("/statuses", "statuses"),
    ("/issues", "issues"),
    ("/pulls", "pull-requests"),
    ("/git/", "contents"),
    ("/contents/", "contents"),
    ("/actions/", "actions"),
];

/// True if a request reads what is written next: a permission to read alone would end in the next refusal. A pull request
/// is looked up to comment on it.
fn to_be_written(request: &str) -> bool {
    ["/comments", "/check-runs", "/issues", "/pulls"].iter().any(|part| request.contains(part))
}

/// The YAML line that grants a call, such as `pull-requests: write`; lines with `` ` and ` `` between them.
fn permission(request: &str, wanted: Option<&str>) -> Option<String> {
    // GitHub parts sets of which one is enough by `;`, and the permissions of a set by `,`. A comment on a pull request
    // goes by either of two sets; the narrower one is the one to give.
    if let Some(wanted) = wanted {
        let sets: Vec<&str> = wanted.split(';').map(str::trim).filter(|set| set.contains('=')).collect();
        let chosen = sets.iter().find(|set| set.starts_with("pull_requests")).or(sets.first())?;
        let lines = chosen.split(',').map(|way| way.trim().replace('_', "-").replace('=', ": "));
        let lines = lines.collect::<Vec<_>>().join("` and `");
        return Some(if to_be_written(request) { lines.replace(": read", ": write") } else { lines });
    }
    let (method, route) = request.split_once(' ')?;
    let level = if method == "GET" && !to_be_written(request) { "read" } else { "write" };
    let comment = route.contains("/issues/") && route.contains("comments");
    let name =
        if comment { "pull-requests" } else { PERMISSIONS.iter().find(|(part, _)| route.contains(part))?.1 };
    Some(format!("{name}: {level}"))
}

/// The right that a token of another host lacks, and where it is given.
fn right(host: Host, request: &str) -> &'static str {
    match host {
        Host::GitLab if request.contains("/statuses/") => {
            "give the token of GITLAB_TOKEN the scope `api` and the role Developer, in `Settings > Access tokens` of the \
             project. On a protected branch, allow it to push or merge there"
        }
        Host::GitLab => {
            "give the token of GITLAB_TOKEN the scope `api` and the role Developer, in `Settings > Access tokens` of the \
             project"
        }
        Host::Webhook => "give GBENCH_WEBHOOK_SECRET the secret that the receiver has, and see its log",
        _ if request.contains("/user") => {
            "give the token the scope `read:user`, in `Settings > Applications` of its account, or name the account with \
             `--login`"
        }
        _ => {
            "give the token the scopes `write:issue` and `write:repository`, in `Settings > Applications` of its account, \
             which needs write access to the repository"
        }
    }
}

impl ApiError {
    fn request(&self) -> Option<&ApiRequest> {
        match self {
            ApiError::RequestsUsed { .. } => None,
            ApiError::Refused { request, .. }
            | ApiError::Locked { request }
            | ApiError::Unreachable { request, .. }
            | ApiError::Limited { request, .. }
            | ApiError::Unreadable { request, .. }
            | ApiError::Unfit { request, .. } => Some(request),
        }
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        let host = error.request().map_or(Host::GitHub, |request| request.host);
        let next = match &error {
            ApiError::Refused { status: 401, request, .. } if host != Host::GitHub => {
                match host {
                    Host::Webhook => right(host, &request.line).into(),
                    _ => format!("renew the token: it is wrong, revoked or expired; and {}", right(host, &request.line)),
                }
            }
            ApiError::Refused { status: 403, request, .. } if host != Host::GitHub => {
                right(host, &request.line).into()
            }
            ApiError::Refused { status: 404, request, .. } if host != Host::GitHub => {
                format!("see whether it is still there; if it is, {}", right(host, &request.line))
            }
            ApiError::Refused { status: 401, .. } => {
                "give a token that is valid: `token: ${{ github.token }}`".to_owned()
            }
            ApiError::Locked { .. } => {
                "unlock the conversation and run this job again, or publish without a comment: `--comment never`".into()
            }
            ApiError::Refused { request, status: status @ (403 | 404), wanted, .. } => {
                match permission(&request.line, wanted.as_deref()) {
                    // GitHub answers 404 also for what a token may not see.
                    Some(line) if *status == 404 => format!(
                        "see whether it is still there; if it is, add `{line}` below `permissions:` of the job in the \
                         workflow file"
                    ),
                    Some(line) => {
                        format!("add `{line}` below `permissions:` of the job in the workflow file")
                    }
                    None => "give the job's token the permission that GitHub names".into(),
                }
            }
            ApiError::Refused { status: 300..=399, .. } if host == Host::Webhook => {
                "give the address that it redirects to: a redirect is not followed".into()
            }
            ApiError::Refused { status: 300..=399, .. } => {
                "give the repository's new name: it was renamed or moved".into()
            }
            ApiError::Refused { .. } => format!("see what {host} says; `gbench-ci publish` can be run again"),
            ApiError::Unreachable { .. } => {
                format!("run `gbench-ci publish` on the same folder again when {host} can be reached")
            }
            ApiError::Limited { wait, .. } => format!("run `gbench-ci publish` again in {} s", wait.as_secs()),
            ApiError::RequestsUsed { .. } => DEFECT.into(),
            ApiError::Unreadable { .. } => {
                let variable = if host == Host::GitLab { "CI_API_V4_URL" } else { "GITHUB_API_URL" };
                format!("check `{variable}`; else {DEFECT}")
            }
            ApiError::Unfit { .. } => "run the measuring workflow again, so that it uploads the artifact again".into(),
        };
        let place = error.request().map_or_else(|| host.to_string(), |request| request.line.clone());
        Fault::at(place, &error, next).exits(Exit::Unpublished)
    }
}
