//! Sends requests again: how often, after which pause, and how many of them one run may make.

use std::cell::Cell;
use std::time::Duration;

use super::backoff::{Backoff, ClientLimits, limited_for};
use super::error::{ApiError, ApiRequest, ApiResult};
use super::response::{Attempt, Response, limited, message_of, root_cause, too_long};

/// Not for several threads at once: each makes its own.
pub(crate) struct Sender {
    /// Without credentials. Follows no redirect.
    pub http: reqwest::Client,
    pub runtime: tokio::runtime::Runtime,
    pub limits: ClientLimits,
    pub requests_used: Cell<u32>,
}

impl Sender {
    /// Errors: the machine's certificates cannot be used, in words.
    pub(crate) fn new(limits: ClientLimits) -> Result<Self, String> {
        install_crypto();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        Ok(Self { http: http_client(&limits)?, runtime, limits, requests_used: Cell::new(0) })
    }

    pub(crate) fn http_client(&self) -> Result<reqwest::Client, String> {
        http_client(&self.limits)
    }

    pub(crate) fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    /// Sends once, and reads at most `most` bytes of the answer.
    pub(crate) fn plain(&self, request: reqwest::RequestBuilder, most: usize) -> Attempt {
        let exchange = async {
            let answer = request.send().await;
            let answer = answer.map_err(|error| Attempt::Silent(root_cause(&error.without_url())))?;
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            let body = limited(reqwest::Body::from(answer), most).await?;
            Ok(Response { status, headers, body })
        };
        self.runtime.block_on(exchange).map_or_else(|broken| broken, Attempt::Answered)
    }

    /// The pause before another attempt, for requests that may be repeated.
    pub(crate) fn wait_for_next<T>(
        &self,
        wait: &mut Backoff,
        request: &ApiRequest,
        cause: &str,
    ) -> ApiResult<Option<T>> {
        self.sleep(wait.next(request, cause)?);
        Ok(None)
    }

    /// Sends until the answer is there. `uncertain`: what follows where the host may have done it or not, with its cause;
    /// `Some` ends it.
    pub(crate) fn settle<T>(
        &self,
        request: &ApiRequest,
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
                    let (request, status) = (request.clone(), answer.status);
                    if !matches!(status, 408 | 500..=599) {
                        let wanted = answer.header("x-accepted-github-permissions").map(str::to_owned);
                        return Err(ApiError::Refused { request, status, message, wanted });
                    }
                    format!("{} answers {status}", request.host)
                }
            };
            if let Some(found) = uncertain(&mut wait, &cause)? {
                return Ok(found);
            }
        }
    }

    pub(crate) fn count(&self) -> ApiResult<()> {
        let requests_used = self.requests_used.get();
        if requests_used >= self.limits.requests {
            return Err(ApiError::RequestsUsed { requests: requests_used });
        }
        self.requests_used.set(requests_used + 1);
        Ok(())
    }
}

/// Chooses the library that TLS computes with.
pub(crate) fn install_crypto() {
    // Fails only where another part of the process has installed one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn http_client(limits: &ClientLimits) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    builder.timeout(limits.timeout).build().map_err(|error| root_cause(&error))
}
