//! How much one run may ask of GitHub, and how long a call waits: between its attempts, and when GitHub asks for it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::error::{ApiError, ApiRequest, ApiResult};
use super::response::Response;
use gbench_model::backoff;

/// How much one run may ask of GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Requests of one client, repeated ones among them. GitHub gives a repository's jobs 1,000 an hour together.
    pub requests: u32,
    /// Times that one call is tried.
    pub attempts: u32,
    /// The first pause between two tries; each one after it doubles.
    pub pause: Duration,
    /// The longest time that one call waits altogether.
    pub max_wait: Duration,
    /// For one request and its answer.
    pub timeout: Duration,
    /// Bytes of an answer, beyond which it is not read on.
    pub answer: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            requests: 200,
            attempts: 5,
            pause: Duration::from_secs(1),
            max_wait: Duration::from_secs(180),
            timeout: Duration::from_secs(30),
            answer: 100 << 20,
        }
    }
}

pub(crate) struct Backoff {
    limits: ClientLimits,
    tries: u32,
    waited: Duration,
}

impl Backoff {
    pub(crate) fn new(limits: &ClientLimits) -> Self {
        Self { limits: *limits, tries: 1, waited: Duration::ZERO }
    }

    /// The pause before another attempt. Errors: it was tried often enough.
    pub(crate) fn next(&mut self, request: &ApiRequest, cause: &str) -> ApiResult<Duration> {
        if self.tries >= self.limits.attempts {
            let cause = format!("{cause}, {} times", self.tries);
            return Err(ApiError::Unreachable { request: request.clone(), cause });
        }
        let pause = backoff::pause(self.limits.pause, self.tries - 1);
        self.tries += 1;
        self.waited += pause;
        Ok(pause)
    }

    /// The pause that GitHub asks for. Errors: it is longer than this call waits.
    pub(crate) fn asked(&mut self, request: &ApiRequest, pause: Duration) -> ApiResult<Duration> {
        if self.waited + pause > self.limits.max_wait || self.tries >= self.limits.attempts {
            return Err(ApiError::Limited { request: request.clone(), wait: pause });
        }
        self.tries += 1;
        self.waited += pause;
        Ok(pause)
    }
}

/// How long to stay away, where the answer is a rate limit. GitHub: obey `retry-after`, else wait for the reset, else at
/// least a minute.
pub(crate) fn limited_for(answer: &Response, message: &str) -> Option<Duration> {
    if !matches!(answer.status, 403 | 429) {
        return None;
    }
    let number = |name: &str| answer.header(name)?.trim().parse::<u64>().ok();
    if let Some(seconds) = number("retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    if number("x-ratelimit-remaining") == Some(0) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let reset = number("x-ratelimit-reset").unwrap_or(now + 60);
        return Some(Duration::from_secs(reset.saturating_sub(now) + 1));
    }
    let limited = answer.status == 429 || message.to_ascii_lowercase().contains("rate limit");
    limited.then_some(Duration::from_secs(60))
}
