//! How long a call waits: between tries of its own, and when GitHub asks for it.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::answer::Answer;
use super::client::Limits;
use super::error::{ApiError, ApiResult};

/// The pauses of one call.
pub(super) struct Wait {
    limits: Limits,
    tries: u32,
    waited: Duration,
}

impl Wait {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { limits: *limits, tries: 1, waited: Duration::ZERO }
    }

    /// The pause before another try, twice as long each time and a little random, so that many jobs that failed at
    /// once do not come back at once. Errors: it was tried often enough.
    pub(super) fn next(&mut self, request: &str, cause: &str) -> ApiResult<Duration> {
        if self.tries >= self.limits.attempts {
            let cause = format!("{cause}, {} times", self.tries);
            return Err(ApiError::Unreachable { request: request.to_owned(), cause });
        }
        let pause = jittered(self.limits.pause * (1 << (self.tries - 1).min(6)));
        self.tries += 1;
        self.waited += pause;
        Ok(pause)
    }

    /// The pause that GitHub asks for. Errors: it is longer than this call waits.
    pub(super) fn asked(&mut self, request: &str, pause: Duration) -> ApiResult<Duration> {
        if self.waited + pause > self.limits.patience || self.tries >= self.limits.attempts {
            return Err(ApiError::Limited { request: request.to_owned(), wait: pause });
        }
        self.tries += 1;
        self.waited += pause;
        Ok(pause)
    }
}

/// Between half and one and a half times the pause.
pub(super) fn jittered(pause: Duration) -> Duration {
    // The standard library seeds its hash maps from the system's randomness.
    let random = RandomState::new().hash_one(pause) as f64 / u64::MAX as f64;
    pause.mul_f64(0.5 + random)
}

/// How long to stay away, where the answer is a rate limit. GitHub: obey `retry-after`, else wait for the reset, else at
/// least a minute.
pub(super) fn limited_for(answer: &Answer, message: &str) -> Option<Duration> {
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
