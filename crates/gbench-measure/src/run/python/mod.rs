//! Processes of the Python driver.

pub(crate) mod driver_advice;
pub(crate) mod driver_process;
pub(crate) mod interpreter;
