//! The GPUs that a process uses: which, how idle, at what power.

pub(crate) mod bound;
pub(crate) mod devices;
pub(crate) mod energy;
pub(crate) mod idle;
pub(crate) mod peaks;
pub(crate) mod queues;
