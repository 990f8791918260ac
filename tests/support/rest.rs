//! Bare requests to a GitHub, for tests that ask what it answers rather than what our client makes of it.

use std::time::Duration;

use gbench_ci::github::{Client, ClientLimits, Endpoint, Slug, Token};
use serde_json::Value;

/// A server and the token that goes along.
pub struct Rest {
    url: String,
    token: Option<String>,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

pub struct RestAnswer {
    pub status: u16,
    pub headers: http::HeaderMap,
    /// Null where the body is empty or no JSON.
    pub body: Value,
}

impl RestAnswer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and `message`, for refusals.
    pub fn said(&self) -> (u16, &str) {
        (self.status, self.body["message"].as_str().unwrap_or(""))
    }
}

impl Rest {
    pub fn new(url: &str, token: Option<&str>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        Self {
            url: url.into(),
            token: token.map(str::to_owned),
            http: http.user_agent("a test").build().unwrap(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// Errors: no answer came.
    pub fn send(&self, method: &str, route: &str, body: Option<&Value>) -> Result<RestAnswer, String> {
        let method = method.parse().unwrap();
        let mut request = self.http.request(method, format!("{}{route}", self.url));
        request = request.header("accept", "application/vnd.github+json").timeout(Duration::from_secs(120));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        self.runtime.block_on(async {
            let answer = request.send().await.map_err(|error| error.to_string())?;
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            let bytes = answer.bytes().await.map_err(|error| error.to_string())?;
            Ok(RestAnswer { status, headers, body: serde_json::from_slice(&bytes).unwrap_or_default() })
        })
    }

    pub fn get(&self, route: &str) -> RestAnswer {
        self.send("GET", route, None).unwrap()
    }

    pub fn post(&self, route: &str, body: Value) -> RestAnswer {
        self.send("POST", route, Some(&body)).unwrap()
    }

    pub fn patch(&self, route: &str, body: Value) -> RestAnswer {
        self.send("PATCH", route, Some(&body)).unwrap()
    }
}

/// Our client with pauses of milliseconds.
pub fn hasty() -> ClientLimits {
    ClientLimits {
        pause: Duration::from_millis(2),
        max_wait: Duration::from_secs(5),
        timeout: Duration::from_secs(120),
        ..ClientLimits::default()
    }
}

/// Our client at a server's address.
pub fn client(url: &str, slug: &str, token: Option<&str>, limits: ClientLimits) -> Client {
    let endpoint = Endpoint::new(Some(url), None).unwrap();
    let slug: Slug = slug.parse().unwrap();
    let token = token.map(|text| Token::new(text).unwrap());
    Client::new(&endpoint, &slug, token.as_ref(), limits).unwrap()
}
