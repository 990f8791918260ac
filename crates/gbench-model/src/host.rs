//! The services in whose jobs the gate runs.

/// The service that starts a job and shows its verdict, or a program that receives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display)]
pub enum Host {
    #[default]
    GitHub,
    /// And Forgejo, whose API is the same.
    Gitea,
    GitLab,
    /// It keeps no repository: a build has annotations.
    Buildkite,
    /// Any receiver of a document.
    #[strum(to_string = "the webhook")]
    Webhook,
}

impl Host {
    /// True if the runner obeys lines such as `::warning::` in a job's log.
    pub fn obeys_commands(self) -> bool {
        matches!(self, Host::GitHub | Host::Gitea)
    }
}
