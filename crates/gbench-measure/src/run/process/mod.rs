//! One process of a benchmark: how it starts, what it prints, how it ends.

pub(crate) mod binaries;
pub(crate) mod environment;
pub(crate) mod executor;
pub(crate) mod interrupt;
pub(crate) mod io;
pub(crate) mod oom_kills;
pub(crate) mod running;
pub(crate) mod spawn;
pub(crate) mod stages;
pub(crate) mod temporary;
pub(crate) mod tracer;
pub(crate) mod watched;
pub(crate) mod wrapping;
