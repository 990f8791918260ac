//! The way to GitHub out of the environment of this process.

use crate::github::{Client, ClientLimits, Endpoint, Slug, Token};
use crate::history::Address;
use crate::model::{Fault, Result};

/// Reading a history costs a request for every run.
const REQUESTS: u32 = 400;

/// A client for a repository. Without a token, what is public can be read. The server is the runner's:
/// `GITHUB_API_URL`, `GITHUB_SERVER_URL`, else github.com.
pub(crate) fn client_of(slug: &Slug) -> Result<Client> {
    let [api, server] = ["GITHUB_API_URL", "GITHUB_SERVER_URL"].map(variable);
    let endpoint = Endpoint::new(api.as_deref(), server.as_deref());
    let endpoint = endpoint.map_err(|what| fault("GITHUB_API_URL", what))?;
    let limits = ClientLimits { requests: REQUESTS, ..ClientLimits::default() };
    Ok(Client::new(&endpoint, slug, token()?.as_ref(), limits)?)
}

/// The client that a history needs; none for one that is here.
pub(crate) fn client_for(address: &Address) -> Result<Option<Client>> {
    match address {
        Address::GitHub { slug, .. } => client_of(slug).map(Some),
        Address::Git(_) | Address::Dir(_) | Address::Bucket(_) => Ok(None),
    }
}

/// The token of this process: `GBENCH_TOKEN`, else `GITHUB_TOKEN`. Errors: it cannot be a token.
pub(crate) fn token() -> Result<Option<Token>> {
    let given = ["GBENCH_TOKEN", "GITHUB_TOKEN"].into_iter().find_map(|name| Some((name, variable(name)?)));
    given.map(|(name, text)| Token::new(&text).map_err(|what| fault(name, what))).transpose()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn fault(name: &str, what: String) -> Fault {
    Fault::at(name, what, "set it right, or take it out")
}
