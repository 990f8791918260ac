//! The figures that a rule may decide by, and the reasons to doubt them.

pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod quantized;
pub(crate) mod rounds;
pub(crate) mod samples;
pub(crate) mod scale;
pub(crate) mod session_variance;
pub(crate) mod stored_runs;
pub(crate) mod throttling;
pub(crate) mod validity;
