//! One measurement: the lock on the machine, its clocks and what watches it, the cases and the processes.

pub(crate) mod clocks;
pub(crate) mod executor;
pub(crate) mod listing;
pub(crate) mod lock;
pub(crate) mod profiling;
pub(crate) mod session;
pub(crate) mod side_by_side;
pub(crate) mod watch;
