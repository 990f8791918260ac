//! How a comparison of two commits spends its time: which cases each round measures, and for how long.

pub(crate) mod budgeted_time;
pub(crate) mod scheduler;
#[cfg(test)]
pub(crate) mod shared_screen_tests;
pub(crate) mod trial_process;
