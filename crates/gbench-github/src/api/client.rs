//! The client of one repository at GitHub: octocrab carries the requests, and whether one is sent again is decided here.
//!
//! Reading and overwriting are repeated after a server error or no answer. Creating is not: the caller says how to find
//! what may have been created, and only what is not there is asked for again. A rate limit is waited for as GitHub says,
//! within limits. Nothing here prints, so that no token reaches a log.

use std::time::Duration;

use http::{HeaderValue, Method};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::address::{Endpoint, Slug, Token, encoded};
use super::backoff::ClientLimits;
use super::error::{ApiError, ApiRequest, ApiResult};
use gbench_model::Host;

use super::response::{Attempt, Response, limited, not_redirected, parsed, root_cause, too_long};
use super::sender::Sender;

/// One repository of one server, with or without a token. Not for several threads at once: each makes its own.
pub struct Client {
    transport: octocrab::Octocrab,
    /// Its own requests carry no credentials: it follows a redirect to a file.
    sender: Sender,
    endpoint: Endpoint,
    slug: Slug,
}

impl Client {
    /// Errors: the machine's certificates or the address cannot be used.
    pub fn new(
        endpoint: &Endpoint,
        slug: &Slug,
        token: Option<&Token>,
        limits: ClientLimits,
    ) -> ApiResult<Self> {
        let fault = |cause: String| ApiError::Unreachable {
            request: ApiRequest { host: endpoint.host, line: endpoint.api.clone() },
            cause,
        };
        let sender = Sender::new(limits).map_err(fault)?;
        let ours = sender.http_client().map_err(fault)?;
        let mut builder = octocrab::Octocrab::builder()
            .base_uri(endpoint.api.as_str())
            .map_err(|error| fault(root_cause(&error)))?;
        if let Some(token) = token {
            builder = builder.personal_token(token.reveal());
        }
        // It starts its own tasks, and so needs a runtime already here.
        let inside = sender.runtime.enter();
        let transport = builder.build_with_reqwest(ours).map_err(|error| fault(root_cause(&error)))?;
        drop(inside);
        Ok(Self { transport, sender, endpoint: endpoint.clone(), slug: slug.clone() })
    }

    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    pub fn requests_used(&self) -> u32 {
        self.sender.requests_used.get()
    }

    pub fn host(&self) -> Host {
        self.endpoint.host
    }

    /// `https://github.com/OWNER/NAME`
    pub(crate) fn repository_page(&self) -> String {
        format!("{}/{}", self.endpoint.server, self.slug)
    }

    pub(crate) fn asked(&self, line: String) -> ApiRequest {
        ApiRequest { host: self.endpoint.host, line }
    }

    /// A route of this client's repository: `/repos/OWNER/NAME` and what follows, which begins with a slash.
    pub fn route(&self, rest: &str) -> String {
        match self.endpoint.host {
            Host::GitLab => format!("/projects/{}{rest}", encoded(&self.slug.to_string())),
            _ => format!("{}{rest}", self.slug.route()),
        }
    }

    /// Reads. It tries again after server errors and silence.
    pub fn get<T: DeserializeOwned>(&self, route: &str) -> ApiResult<T> {
        let request = self.asked(format!("GET {route}"));
        parsed(&request, &self.again(Method::GET, route, None)?)
    }

    pub(crate) fn find<T: DeserializeOwned>(&self, route: &str) -> ApiResult<Option<T>> {
        match self.get(route) {
            Err(error) if error.status() == Some(404) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Reads every page of a list: a JSON array, or an object with the list under `key`. At most `most` pages.
    pub fn pages<T: DeserializeOwned>(&self, route: &str, key: Option<&str>, most: u32) -> ApiResult<Vec<T>> {
        let mut all = Vec::new();
        let separator = if route.contains('?') { '&' } else { '?' };
        let (name, size) = match self.endpoint.host {
            // Not more, unless its administrator allows it.
            Host::Gitea => ("limit", 50),
            _ => ("per_page", 100),
        };
        // Pages by number, not by the answer's links: a link may lead to another host.
        for page in 1..=most {
            let route = format!("{route}{separator}{name}={size}&page={page}");
            let request = self.asked(format!("GET {route}"));
            let answer = self.again(Method::GET, &route, None)?;
            let mut value: Value = parsed(&request, &answer)?;
            let list = match key {
                // Gitea answers nothing at all for a commit without a status.
                Some(_) if value.is_null() && self.endpoint.host == Host::Gitea => Value::Array(Vec::new()),
                Some(key) => value.get_mut(key).map(Value::take).unwrap_or_default(),
                None => value,
            };
            let items: Vec<T> = serde_json::from_value(list)
                .map_err(|error| ApiError::Unreadable { request, cause: error.to_string() })?;
            let full = items.len() >= size;
            all.extend(items);
            let more = answer.header("link").is_some_and(|link| link.contains("rel=\"next\""));
            if !full && !more {
                break;
            }
        }
        Ok(all)
    }

    /// Overwrites: the same twice is the same, so it is tried again like reading.
    pub fn patch<T: DeserializeOwned>(&self, route: &str, body: &Value) -> ApiResult<T> {
        let request = self.asked(format!("PATCH {route}"));
        parsed(&request, &self.again(Method::PATCH, route, Some(body))?)
    }

    /// Creates, once. Where it is not known whether GitHub did it, `find` looks for what may have been created; only
    /// if it finds nothing is it asked for again.
    pub fn create<T: DeserializeOwned>(
        &self,
        route: &str,
        body: &Value,
        mut find: impl FnMut() -> ApiResult<Option<T>>,
    ) -> ApiResult<T> {
        let request = self.asked(format!("POST {route}"));
        let done = |answer| parsed(&request, &not_redirected(&request, answer)?);
        self.sender.settle(
            &request,
            || self.once(Method::POST, route, Some(body)),
            done,
            |wait, cause| {
                let pause = wait.next(&request, cause);
                self.sender.sleep(*pause.as_ref().unwrap_or(&Duration::ZERO));
                // After the last try too: it may have been the one that was done.
                match find()? {
                    Some(found) => Ok(Some(found)),
                    None => pause.map(|_| None),
                }
            },
        )
    }

    /// One request and whatever answers it, for calls whose refusals mean something: see the history branch.
    /// Repeated for a rate limit only. `Err` also where the outcome is unknown.
    pub fn post_once<T: DeserializeOwned>(&self, route: &str, body: &Value) -> ApiResult<T> {
        self.once_or_later(Method::POST, route, body)
    }

    /// Likewise for a text that is there: GitLab calls it another method.
    pub(crate) fn change_once<T: DeserializeOwned>(&self, route: &str, body: &Value) -> ApiResult<T> {
        let method = if self.endpoint.host == Host::GitLab { Method::PUT } else { Method::PATCH };
        self.once_or_later(method, route, body)
    }

    /// Likewise for what must not be overwritten blindly.
    pub fn patch_once<T: DeserializeOwned>(&self, route: &str, body: &Value) -> ApiResult<T> {
        self.once_or_later(Method::PATCH, route, body)
    }

    fn once_or_later<T: DeserializeOwned>(&self, method: Method, route: &str, body: &Value) -> ApiResult<T> {
        let request = self.asked(format!("{method} {route}"));
        let done = |answer| parsed(&request, &not_redirected(&request, answer)?);
        self.sender.settle(
            &request,
            || self.once(method.clone(), route, Some(body)),
            done,
            |_, cause| Err(ApiError::Unreachable { request: request.clone(), cause: cause.to_owned() }),
        )
    }

    /// Removes; what is gone already is as good as removed.
    pub fn delete(&self, route: &str) -> ApiResult<()> {
        match self.again(Method::DELETE, route, None) {
            Err(error) if matches!(error.status(), Some(404 | 410)) => Ok(()),
            answered => answered.map(drop),
        }
    }

    /// The bytes behind a route that answers with them or points to where they are, at most `most` and
    /// [`ClientLimits::answer`]. The token stays here when another host is pointed to. Errors: [`ApiError::Unfit`] for
    /// more, read no further than that.
    pub fn download(&self, route: &str, most: usize) -> ApiResult<Vec<u8>> {
        let most = most.min(self.sender.limits.answer);
        let answer = self.answered(Method::GET, route, None)?;
        let Some(location) = answer.header("location").filter(|_| answer.is_redirect()) else {
            let request = self.asked(format!("GET {route}"));
            let body = not_redirected(&request, answer)?.body;
            return if body.len() <= most { Ok(body) } else { Err(too_long(&request, most)) };
        };
        // Its query is a key to the file and must not appear in a message.
        let request = self.asked(format!("GET {}", location.split('?').next().unwrap_or_default()));
        if self.endpoint.api.starts_with("https:") && !location.starts_with("https:") {
            let cause = "the file is at an address without encryption".into();
            return Err(ApiError::Unreadable { request, cause });
        }
        let location = location.to_owned();
        let send = || {
            self.sender.count()?;
            Ok(self.sender.plain(self.sender.http.get(&location), most))
        };
        let answer = self
            .sender
            .settle(&request, send, Ok, |wait, cause| self.sender.wait_for_next(wait, &request, cause))?;
        not_redirected(&request, answer).map(|answer| answer.body)
    }

    fn again(&self, method: Method, route: &str, body: Option<&Value>) -> ApiResult<Response> {
        not_redirected(&self.asked(format!("{method} {route}")), self.answered(method.clone(), route, body)?)
    }

    /// Likewise, where the answer may be that it lies elsewhere.
    fn answered(&self, method: Method, route: &str, body: Option<&Value>) -> ApiResult<Response> {
        let request = self.asked(format!("{method} {route}"));
        let send = || self.once(method.clone(), route, body);
        self.sender.settle(&request, send, Ok, |wait, cause| self.sender.wait_for_next(wait, &request, cause))
    }

    fn once(&self, method: Method, route: &str, body: Option<&Value>) -> ApiResult<Attempt> {
        self.sender.count()?;
        let uri = format!("{}{route}", self.endpoint.api);
        let request = self.asked(format!("{method} {route}"));
        let unsendable = |cause: String| ApiError::Unreadable { request: request.clone(), cause };
        let builder =
            http::Request::builder().method(method).uri(uri).header("accept", "application/vnd.github+json");
        let message = self.transport.build_request(builder, body);
        let mut message = message.map_err(|error| unsendable(root_cause(&error)))?;
        // octocrab adds one too; two are one too many.
        message.headers_mut().insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        let exchange = async {
            let answer = self.transport.execute(message).await;
            let answer = answer.map_err(|error| Attempt::Silent(root_cause(&error)))?;
            let (parts, body) = answer.into_parts();
            let body = limited(body, self.sender.limits.answer).await?;
            Ok(Response { status: parts.status.as_u16(), headers: parts.headers, body })
        };
        let answered = self
            .sender
            .runtime
            .block_on(async { tokio::time::timeout(self.sender.limits.timeout, exchange).await });
        let late =
            |_| Attempt::Silent(format!("no answer within {} s", self.sender.limits.timeout.as_secs_f64()));
        Ok(answered.map_or_else(late, |read| read.map_or_else(|broken| broken, Attempt::Answered)))
    }

    /// Waits; callers with their own retries use it, too.
    pub fn sleep(&self, time: Duration) {
        self.sender.sleep(time);
    }

    pub fn limits(&self) -> &ClientLimits {
        &self.sender.limits
    }
}
