//! Optimistic updates, where others write too: read, decide, write once; where the write may or may not have been done,
//! read again.
//!
//! A write that is merely sent again may undo what another writer did in between, and a creation may leave a second
//! one. So the whole step is repeated, from reading on.

use super::client::Client;
use super::error::{ApiError, ApiRequest, ApiResult};
use gbench_model::backoff;

pub(crate) enum UpdateError {
    /// Another attempt would not help.
    Final(ApiError),
    /// The write may have been done or not.
    Uncertain(ApiError),
    /// The values that were read are out of date: another writer was faster.
    Conflict(ApiError),
}

/// Reading fails for good: it has been tried often enough by then.
impl From<ApiError> for UpdateError {
    fn from(error: ApiError) -> Self {
        UpdateError::Final(error)
    }
}

impl UpdateError {
    /// For a write. An answer that cannot be read came after the write.
    pub(crate) fn of_write(error: ApiError) -> Self {
        match error {
            ApiError::Unreachable { .. } | ApiError::Unreadable { .. } => UpdateError::Uncertain(error),
            error => UpdateError::Final(error),
        }
    }

    pub(crate) fn conflict(request: ApiRequest) -> Self {
        UpdateError::Conflict(ApiError::Unreachable {
            request,
            cause: "others write there all the time".into(),
        })
    }
}

/// Takes the step until it is known how it ended, as often as [`crate::ClientLimits::attempts`] says.
pub(crate) fn retry_update<T>(
    client: &Client,
    mut step: impl FnMut() -> Result<T, UpdateError>,
) -> ApiResult<T> {
    let limits = client.limits();
    let mut tries = 0;
    loop {
        tries += 1;
        match step() {
            Ok(done) => return Ok(done),
            Err(UpdateError::Final(error)) => return Err(error),
            Err(UpdateError::Uncertain(error) | UpdateError::Conflict(error)) if tries >= limits.attempts => {
                return Err(error);
            }
            Err(UpdateError::Uncertain(_)) => client.sleep(backoff::pause(limits.pause, tries - 1)),
            Err(UpdateError::Conflict(_)) => {}
        }
    }
}
