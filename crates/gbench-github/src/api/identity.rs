//! Who speaks: only what the same account wrote before is ever overwritten.

use serde::Deserialize;

use super::client::Client;
use super::error::ApiResult;
use gbench_model::Host;

/// The account of every job's own token.
const ACTIONS: &str = "github-actions[bot]";

/// The account whose words we may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A workflow's own token.
    Actions,
    /// A person, or an app as `its-name[bot]`.
    Login(String),
}

/// The author of something, as the host sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "SentUser")]
pub(crate) struct User {
    pub(crate) login: String,
    /// `User`, `Bot`, `Organization`.
    pub(crate) kind: String,
}

/// GitHub has a `login`, GitLab a `username`, and Gitea both.
#[derive(Deserialize)]
struct SentUser {
    login: Option<String>,
    username: Option<String>,
    #[serde(default, rename = "type")]
    kind: String,
}

impl From<SentUser> for User {
    fn from(sent: SentUser) -> Self {
        Self { login: sent.login.or(sent.username).unwrap_or_default(), kind: sent.kind }
    }
}

impl Identity {
    /// Asks GitHub whose token this is. A job's own token has no user, and GitHub refuses to answer; other apps'
    /// tokens likewise, so their login has to be given. Errors: no valid token; on other hosts also one that may not ask.
    pub fn of(client: &Client) -> ApiResult<Self> {
        match client.get::<User>("/user") {
            Ok(user) => Ok(Identity::named(&user.login)),
            Err(error) if client.host() == Host::GitHub && matches!(error.status(), Some(403 | 404)) => {
                Ok(Identity::Actions)
            }
            Err(error) => Err(error),
        }
    }

    pub fn named(login: &str) -> Self {
        if login.eq_ignore_ascii_case(ACTIONS) {
            Identity::Actions
        } else {
            Identity::Login(login.to_owned())
        }
    }

    pub fn login(&self) -> &str {
        match self {
            Identity::Actions => ACTIONS,
            Identity::Login(login) => login,
        }
    }

    /// True if this account wrote it. A person cannot be called `…[bot]`, but the kind of the account is checked, too.
    pub(crate) fn wrote(&self, user: &User) -> bool {
        let login_is_ours = !user.login.is_empty() && user.login.eq_ignore_ascii_case(self.login());
        login_is_ours && (user.kind == "Bot" || !self.login().ends_with("[bot]"))
    }
}
