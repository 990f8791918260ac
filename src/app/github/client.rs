//! The way to GitHub out of the environment of this process.

use crate::github::{Client, ClientLimits, Endpoint, Slug, Token};
use crate::history::Address;
use crate::model::{Fault, Host, Result};

/// Reading a history costs a request for every run.
const REQUESTS: u32 = 400;

/// A client for a repository of GitHub. Without a token, what is public can be read. The server is the runner's:
/// `GITHUB_API_URL`, `GITHUB_SERVER_URL`, else github.com.
pub(crate) fn client_of(slug: &Slug) -> Result<Client> {
    let [api, server] = ["GITHUB_API_URL", "GITHUB_SERVER_URL"].map(variable);
    let endpoint = Endpoint::new(api.as_deref(), server.as_deref());
    let endpoint = endpoint.map_err(|what| fault("GITHUB_API_URL", what))?;
    client_at(&endpoint, slug)
}

/// A client for a repository of the host that started this job, with the token for that host.
pub(crate) fn client_at(endpoint: &Endpoint, slug: &Slug) -> Result<Client> {
    let limits = ClientLimits { requests: REQUESTS, ..ClientLimits::default() };
    Ok(Client::new(endpoint, slug, token(endpoint.host)?.as_ref(), limits)?)
}

/// The client that a history needs; none for one that is here.
pub(crate) fn client_for(address: &Address) -> Result<Option<Client>> {
    match address {
        Address::GitHub { slug, .. } => client_of(slug).map(Some),
        Address::Git(_) | Address::Dir(_) | Address::Bucket(_) => Ok(None),
    }
}

/// The token of this process for a host: `GBENCH_TOKEN`, else the one that is named after the host. Errors: it cannot be a
/// token.
pub(crate) fn token(host: Host) -> Result<Option<Token>> {
    let names: &[&str] = match host {
        // There GBENCH_TOKEN is GitLab's, and must not go to another host.
        Host::GitHub if variable("GITLAB_CI").is_some() => &["GITHUB_TOKEN"],
        Host::GitHub => &["GBENCH_TOKEN", "GITHUB_TOKEN"],
        Host::GitLab => &["GBENCH_TOKEN", "GITLAB_TOKEN"],
        Host::Gitea => &["GBENCH_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN", "GITHUB_TOKEN"],
        Host::Buildkite | Host::Webhook => &[],
    };
    let given = names.iter().find_map(|name| Some((*name, variable(name)?)));
    given.map(|(name, text)| Token::new(&text).map_err(|what| fault(name, what))).transpose()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn fault(name: &str, what: String) -> Fault {
    Fault::at(name, what, "set it right, or take it out")
}
