//! How a process ended, in words and as an outcome.

pub(crate) mod classify;
pub(crate) mod first_line;
pub(crate) mod nothing_done;
pub(crate) mod refused_writes;
pub(crate) mod reported;
pub(crate) mod requirements;
pub(crate) mod telling_line;
