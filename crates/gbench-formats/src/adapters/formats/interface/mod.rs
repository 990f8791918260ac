//! What every format implements and returns, and the checks that all of their readings pass.

pub(crate) mod check;
pub(crate) mod described;
pub(crate) mod format;
pub(crate) mod harness_file;
pub(crate) mod prelude;
pub(crate) mod program;
