//! What this machine can tell apart: measured by `run`, read by comparisons from `figures`.

pub(crate) mod figures;
pub(crate) mod run;
