//! The interface of every format, the types of its results, and the checks that all readings pass.

pub(crate) mod around;
pub(crate) mod check;
pub(crate) mod format;
pub(crate) mod harness_file;
pub(crate) mod prelude;
pub(crate) mod program;
pub(crate) mod repeats;
