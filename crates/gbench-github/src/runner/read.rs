//! Which service's job this is, by the variable that each of them sets.

use super::context::{Context, Variables};
use super::{actions, buildkite, gitlab};
use gbench_model::{Fault, Host, Result};

type Reader = fn(&Variables<'_>) -> Result<Context>;

/// The variable that is `true` in every job of a service.
const SERVICES: [(&str, Reader); 3] =
    [("GITHUB_ACTIONS", of_actions), ("GITLAB_CI", gitlab::read), ("BUILDKITE", buildkite::read)];

impl Context {
    /// Reads the job from its environment. `None`: this is not a job of a service that is known.
    ///
    /// Errors: a variable or a field of the event file that is missing or is not what the service documents; variables of
    /// two services. Exit code 2.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut found = SERVICES.iter().filter(|(name, _)| is_set(&given, name));
        let Some((name, read)) = found.next() else { return Ok(None) };
        if let Some((other, _)) = found.next() {
            let what = format!("`{name}` and `{other}` are both `true`");
            let next = "unset the variable of the service that did not start this job";
            return Err(Fault::at("the environment", what, next));
        }
        read(&given).map(Some)
    }
}

fn is_set(given: &Variables<'_>, name: &str) -> bool {
    given(name).as_deref() == Some("true")
}

/// The runners of Gitea and Forgejo are made for workflows of GitHub, and set its variables too.
fn of_actions(given: &Variables<'_>) -> Result<Context> {
    let is_gitea = ["GITEA_ACTIONS", "FORGEJO_ACTIONS"].iter().any(|name| is_set(given, name));
    actions::read(given, if is_gitea { Host::Gitea } else { Host::GitHub })
}
