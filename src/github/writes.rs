//! Writing where others write too: look, decide, write once, and where nobody knows what became of it, look again.
//!
//! A write that is merely sent again may undo what somebody else wrote in between, and a creation may leave a second
//! one. So the whole step is repeated, with its look and its decision.

use super::client::{Client, jittered};
use super::error::{ApiError, ApiResult};

/// Why a step came to no end.
pub(super) enum Stop {
    /// It is over.
    Known(ApiError),
    /// The write may have been done or not.
    Unsure(ApiError),
    /// The look is out of date: somebody else was faster.
    Overtaken(ApiError),
}

/// Reading fails for good: it has been tried often enough by then.
impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Stop::Known(error)
    }
}

impl Stop {
    /// Of a write. An answer that cannot be read came after the write.
    pub(super) fn of_write(error: ApiError) -> Self {
        match error {
            ApiError::Unreachable { .. } | ApiError::Unreadable { .. } => Stop::Unsure(error),
            error => Stop::Known(error),
        }
    }

    pub(super) fn overtaken(request: String) -> Self {
        Stop::Overtaken(ApiError::Unreachable { request, cause: "others write there all the time".into() })
    }
}

/// Takes the step until it is known how it ended, as often as [`super::Limits::attempts`] says.
pub(super) fn until_known<T>(client: &Client, mut step: impl FnMut() -> Result<T, Stop>) -> ApiResult<T> {
    let limits = client.limits();
    let mut tries = 0;
    loop {
        tries += 1;
        match step() {
            Ok(done) => return Ok(done),
            Err(Stop::Known(error)) => return Err(error),
            Err(Stop::Unsure(error) | Stop::Overtaken(error)) if tries >= limits.attempts => {
                return Err(error);
            }
            Err(Stop::Unsure(_)) => client.sleep(jittered(limits.pause * (1 << (tries - 1).min(6)))),
            Err(Stop::Overtaken(_)) => {}
        }
    }
}
