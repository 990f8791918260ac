//! The places that a verdict is sent to: the service that started the job, and webhooks.

use std::str::FromStr;

use crate::github::webhook::WebhookAddress;
use crate::github::{Context, Host};
use crate::model::{Fault, Result};

/// One place that a verdict is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The service that started the job, which has to be this one.
    Host(Host),
    Webhook(WebhookAddress),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if let Some(address) = text.strip_prefix("webhook=") {
            return address.parse().map(Self::Webhook);
        }
        let host = match text {
            "github" => Host::GitHub,
            "gitlab" => Host::GitLab,
            "gitea" | "forgejo" => Host::Gitea,
            "buildkite" => Host::Buildkite,
            _ => return Err("this is neither a service that is known nor webhook=URL".into()),
        };
        Ok(Self::Host(host))
    }
}

/// The receivers among destinations.
pub(super) fn webhooks(to: &[Destination]) -> impl Iterator<Item = &WebhookAddress> {
    to.iter().filter_map(|destination| match destination {
        Destination::Webhook(address) => Some(address),
        Destination::Host(_) => None,
    })
}

/// True if the service of the job gets the verdict: `to` names it, or is empty. Errors: another service is named.
pub(super) fn is_service_told(to: &[Destination], context: Option<&Context>) -> Result<bool> {
    let hosts = to.iter().filter_map(|destination| match destination {
        Destination::Host(host) => Some(*host),
        Destination::Webhook(_) => None,
    });
    let mut is_named = to.is_empty();
    for host in hosts {
        match context {
            Some(context) if context.host() == host => is_named = true,
            Some(context) => {
                let what = format!("it names {host}, and this job is one of {}", context.host());
                let next = "name the service whose job this is, or take the flag out: it is found by itself";
                return Err(Fault::at_flag("--to", what, next));
            }
            None => {
                let what = format!("this is not a job of {host}: its variables are not set");
                let next = "publish in a job, or look at what would be said with `--dry-run`";
                return Err(Fault::at_flag("--to", what, next));
            }
        }
    }
    Ok(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_service_or_the_address_of_a_receiver() {
        assert_eq!("forgejo".parse(), Ok(Destination::Host(Host::Gitea)));
        assert_eq!("gitlab".parse(), Ok(Destination::Host(Host::GitLab)));
        let webhook: Destination = "webhook=https://ci.example.com/gbench?key=1".parse().unwrap();
        assert!(!format!("{webhook:?}").contains("key"), "{webhook:?}");
        for wrong in ["", "GitLab", "webhook", "webhook=", "webhook=ci.example.com", "https://ci.example.com"]
        {
            assert!(wrong.parse::<Destination>().is_err(), "{wrong}");
        }
    }
}
