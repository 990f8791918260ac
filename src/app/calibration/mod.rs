//! The smallest differences that this machine can detect: measured by `run`, read by comparisons from `figures`.

pub(crate) mod figures;
pub(crate) mod run;
