//! The contents of a report about one run, the same for every output format.

pub(crate) mod environment;
pub(crate) mod findings;
pub(crate) mod metric;
pub(crate) mod pairs;
pub(crate) mod precisions;
pub(crate) mod ranking;
pub(crate) mod resources;
pub(crate) mod run;
pub(crate) mod telemetry;
