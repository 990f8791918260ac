//! The client of one repository at GitHub: octocrab carries the requests, and whether one is sent again is decided here.
//!
//! Reading and overwriting are repeated after a server error or no answer. Creating is not: the caller says how to find
//! what may have been created, and only what is not there is asked for again. A rate limit is waited for as GitHub says,
//! within limits. Nothing here prints, so that no token reaches a log.

use std::cell::Cell;
use std::time::Duration;

use http::{HeaderValue, Method};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::address::{Endpoint, Slug, Token};
use super::backoff::{Backoff, ClientLimits, limited_for};
use super::error::{ApiError, ApiResult};
use super::response::{Attempt, Response, limited, message_of, not_redirected, parsed, root_cause, too_long};

/// Chooses the library that TLS computes with.
pub(crate) fn install_crypto() {
    // Fails only where another part of the process has installed one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// One repository of one server, with or without a token. Not for several threads at once: each makes its own.
pub struct Client {
    transport: octocrab::Octocrab,
    /// Follows a redirect to a file, without credentials.
    redirect_client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    endpoint: Endpoint,
    slug: Slug,
    limits: ClientLimits,
    requests_used: Cell<u32>,
}

impl Client {
    /// Errors: the machine's certificates or the address cannot be used.
    pub fn new(
        endpoint: &Endpoint,
        slug: &Slug,
        token: Option<&Token>,
        limits: ClientLimits,
    ) -> ApiResult<Self> {
        let fault = |cause: String| ApiError::Unreachable { request: endpoint.api.clone(), cause };
        install_crypto();
        let build = || {
            let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
            builder.timeout(limits.timeout).build().map_err(|error| fault(root_cause(&error)))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| fault(error.to_string()))?;
        let (ours, redirect_client) = (build()?, build()?);
        let mut builder = octocrab::Octocrab::builder()
            .base_uri(endpoint.api.as_str())
            .map_err(|error| fault(root_cause(&error)))?;
        if let Some(token) = token {
            builder = builder.personal_token(token.reveal());
        }
        // It starts its own tasks, and so needs a runtime already here.
        let inside = runtime.enter();
        let transport = builder.build_with_reqwest(ours).map_err(|error| fault(root_cause(&error)))?;
        drop(inside);
        Ok(Self {
            transport,
            redirect_client,
            runtime,
            endpoint: endpoint.clone(),
            slug: slug.clone(),
            limits,
            requests_used: Cell::new(0),
        })
    }

    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    pub fn requests_used(&self) -> u32 {
        self.requests_used.get()
    }

    /// A route of this client's repository: `/repos/OWNER/NAME` and what follows, which begins with a slash.
    pub fn route(&self, rest: &str) -> String {
        format!("{}{rest}", self.slug.route())
    }

    /// Reads. It tries again after server errors and silence.
    pub fn get<T: DeserializeOwned>(&self, route: &str) -> ApiResult<T> {
        let request = format!("GET {route}");
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
        // Pages by number, not by the answer's links: a link may lead to another host.
        for page in 1..=most {
            let route = format!("{route}{separator}per_page=100&page={page}");
            let request = format!("GET {route}");
            let answer = self.again(Method::GET, &route, None)?;
            let mut value: Value = parsed(&request, &answer)?;
            let list = match key {
                Some(key) => value.get_mut(key).map(Value::take).unwrap_or_default(),
                None => value,
            };
            let items: Vec<T> = serde_json::from_value(list)
                .map_err(|error| ApiError::Unreadable { request, cause: error.to_string() })?;
            let full = items.len() >= 100;
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
        let request = format!("PATCH {route}");
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
        let request = format!("POST {route}");
        let done = |answer| parsed(&request, &not_redirected(&request, answer)?);
        self.settle(
            &request,
            || self.once(Method::POST, route, Some(body)),
            done,
            |wait, cause| {
                let pause = wait.next(&request, cause);
                self.sleep(*pause.as_ref().unwrap_or(&Duration::ZERO));
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

    /// Likewise for what must not be overwritten blindly.
    pub fn patch_once<T: DeserializeOwned>(&self, route: &str, body: &Value) -> ApiResult<T> {
        self.once_or_later(Method::PATCH, route, body)
    }

    fn once_or_later<T: DeserializeOwned>(&self, method: Method, route: &str, body: &Value) -> ApiResult<T> {
        let request = format!("{method} {route}");
        let done = |answer| parsed(&request, &not_redirected(&request, answer)?);
        self.settle(
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
        let most = most.min(self.limits.answer);
        let answer = self.answered(Method::GET, route, None)?;
        let Some(location) = answer.header("location").filter(|_| answer.is_redirect()) else {
            let request = format!("GET {route}");
            let body = not_redirected(&request, answer)?.body;
            return if body.len() <= most { Ok(body) } else { Err(too_long(&request, most)) };
        };
        // Its query is a key to the file and must not appear in a message.
        let request = format!("GET {}", location.split('?').next().unwrap_or_default());
        if self.endpoint.api.starts_with("https:") && !location.starts_with("https:") {
            let cause = "the file is at an address without encryption".into();
            return Err(ApiError::Unreadable { request, cause });
        }
        let location = location.to_owned();
        let send = || {
            self.count()?;
            let exchange = async {
                let answer = self.redirect_client.get(&location).send().await;
                let answer = answer.map_err(|error| Attempt::Silent(root_cause(&error.without_url())))?;
                let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
                let body = limited(reqwest::Body::from(answer), most).await?;
                Ok(Response { status, headers, body })
            };
            Ok(self.runtime.block_on(exchange).map_or_else(|broken| broken, Attempt::Answered))
        };
        let answer =
            self.settle(&request, send, Ok, |wait, cause| self.wait_for_next(wait, &request, cause))?;
        not_redirected(&request, answer).map(|answer| answer.body)
    }

    fn again(&self, method: Method, route: &str, body: Option<&Value>) -> ApiResult<Response> {
        not_redirected(&format!("{method} {route}"), self.answered(method.clone(), route, body)?)
    }

    /// Likewise, where the answer may be that it lies elsewhere.
    fn answered(&self, method: Method, route: &str, body: Option<&Value>) -> ApiResult<Response> {
        let request = format!("{method} {route}");
        let send = || self.once(method.clone(), route, body);
        self.settle(&request, send, Ok, |wait, cause| self.wait_for_next(wait, &request, cause))
    }

    fn wait_for_next<T>(&self, wait: &mut Backoff, request: &str, cause: &str) -> ApiResult<Option<T>> {
        self.sleep(wait.next(request, cause)?);
        Ok(None)
    }

    /// Sends until the answer is there. `uncertain`: what follows where GitHub may have done it or not, with its cause;
    /// `Some` ends it.
    fn settle<T>(
        &self,
        request: &str,
        send: impl Fn() -> ApiResult<Attempt>,
        done: impl Fn(Response) -> ApiResult<T>,
        mut uncertain: impl FnMut(&mut Backoff, &str) -> ApiResult<Option<T>>,
    ) -> ApiResult<T> {
        let mut wait = Backoff::new(&self.limits);
        loop {
            let cause = match send()? {
                Attempt::Silent(cause) => cause,
                Attempt::TooLong(most) => return Err(too_long(request, most)),
                Attempt::Answered(answer) if answer.status < 400 => return done(answer),
                Attempt::Answered(answer) => {
                    let message = message_of(&answer);
                    if let Some(pause) = limited_for(&answer, &message) {
                        self.sleep(wait.asked(request, pause)?);
                        continue;
                    }
                    let (request, status) = (request.to_owned(), answer.status);
                    if !matches!(status, 408 | 500..=599) {
                        let wanted = answer.header("x-accepted-github-permissions").map(str::to_owned);
                        return Err(ApiError::Refused { request, status, message, wanted });
                    }
                    format!("GitHub answers {status}")
                }
            };
            if let Some(found) = uncertain(&mut wait, &cause)? {
                return Ok(found);
            }
        }
    }

    fn count(&self) -> ApiResult<()> {
        let requests_used = self.requests_used.get();
        if requests_used >= self.limits.requests {
            return Err(ApiError::RequestsUsed { requests: requests_used });
        }
        self.requests_used.set(requests_used + 1);
        Ok(())
    }

    fn once(&self, method: Method, route: &str, body: Option<&Value>) -> ApiResult<Attempt> {
        self.count()?;
        let uri = format!("{}{route}", self.endpoint.api);
        let request = format!("{method} {route}");
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
            let body = limited(body, self.limits.answer).await?;
            Ok(Response { status: parts.status.as_u16(), headers: parts.headers, body })
        };
        let answered =
            self.runtime.block_on(async { tokio::time::timeout(self.limits.timeout, exchange).await });
        let late = |_| Attempt::Silent(format!("no answer within {} s", self.limits.timeout.as_secs_f64()));
        Ok(answered.map_or_else(late, |read| read.map_or_else(|broken| broken, Attempt::Answered)))
    }

    /// Waits; callers with their own retries use it, too.
    pub fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    pub fn limits(&self) -> &ClientLimits {
        &self.limits
    }
}
