//! Stored runs, baselines and comparisons: where they are kept, how a command finds one, and how they are copied and removed.

pub(crate) mod baselines;
pub(crate) mod comparison;
pub(crate) mod copy;
pub(crate) mod gc;
pub(crate) mod stores;
pub(crate) mod subject;
