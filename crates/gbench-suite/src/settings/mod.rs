//! Settings of a suite, and their layers: file, environment, command line.

pub(crate) mod environment;
pub(crate) mod keep_runs;
pub(crate) mod options;
pub(crate) mod overrides;
