//! The errors of talking to GitHub, each with a next step for the user.

use std::time::Duration;

use gbench_model::{DEFECT, Exit, Fault};

pub type ApiResult<T> = Result<T, ApiError>;

/// The failure of a call. No message contains a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// GitHub said no.
    #[error("GitHub answers {status}: {message}")]
    Refused {
        /// `POST /repos/o/r/issues/1/comments`.
        request: String,
        status: u16,
        /// GitHub's own words.
        message: String,
        /// `issues=write; pull_requests=write`: what GitHub says would have been enough.
        wanted: Option<String>,
    },
    /// The conversation is locked: whatever the token may do elsewhere, it may not speak there.
    #[error("the conversation of the pull request is locked")]
    Locked { request: String },
    /// Every try ended without an answer or with a server error.
    #[error("GitHub cannot be reached: {cause}")]
    Unreachable { request: String, cause: String },
    /// Too many requests; it would take longer than this call waits.
    #[error("GitHub takes no more requests for {} s", wait.as_secs())]
    Limited { request: String, wait: Duration },
    /// This run's own limit on requests is reached: something goes round in circles.
    #[error("all {requests} requests that one run may make are spent")]
    RequestsUsed { requests: u32 },
    /// The answer is not what GitHub's description says.
    #[error("GitHub's answer cannot be understood: {cause}")]
    Unreadable { request: String, cause: String },
    /// The content at GitHub cannot be used: too large, expired, or not what its digest says.
    #[error("what GitHub has cannot be used: {cause}")]
    Unfit { request: String, cause: String },
}

impl ApiError {
    pub(crate) fn unreadable(route: &str, cause: impl ToString) -> Self {
        Self::Unreadable { request: format!("GET {route}"), cause: cause.to_string() }
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

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        let next = match &error {
            ApiError::Refused { status: 401, .. } => {
                "give a token that is valid: `token: ${{ github.token }}`".to_owned()
            }
            ApiError::Locked { .. } => {
                "unlock the conversation and run this job again, or publish without a comment: `--comment never`".into()
            }
            ApiError::Refused { request, status: status @ (403 | 404), wanted, .. } => {
                match permission(request, wanted.as_deref()) {
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
            ApiError::Refused { status: 300..=399, .. } => {
                "give the repository's new name: it was renamed or moved".into()
            }
            ApiError::Refused { .. } => "see what GitHub says; `gbench-ci publish` can be run again".into(),
            ApiError::Unreachable { .. } => {
                "run `gbench-ci publish` on the same folder again when GitHub can be reached".into()
            }
            ApiError::Limited { wait, .. } => format!("run `gbench-ci publish` again in {} s", wait.as_secs()),
            ApiError::RequestsUsed { .. } => DEFECT.into(),
            ApiError::Unreadable { .. } => format!("check `GITHUB_API_URL`; else {DEFECT}"),
            ApiError::Unfit { .. } => "run the measuring workflow again, so that it uploads the artifact again".into(),
        };
        let place = match &error {
            ApiError::RequestsUsed { .. } => "GitHub",
            ApiError::Refused { request, .. }
            | ApiError::Locked { request }
            | ApiError::Unreachable { request, .. }
            | ApiError::Limited { request, .. }
            | ApiError::Unreadable { request, .. }
            | ApiError::Unfit { request, .. } => request,
        };
        Fault::at(place, &error, next).exits(Exit::Unpublished)
    }
}
