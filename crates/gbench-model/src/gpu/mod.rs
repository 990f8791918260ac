//! GPUs: their clocks, locks, code and activity.

pub(crate) mod caches;
pub(crate) mod clocks;
pub(crate) mod code_union;
pub(crate) mod counting;
pub(crate) mod device_code;
pub(crate) mod exclusive;
pub(crate) mod kernel_call;
pub(crate) mod telemetry;
pub(crate) mod tensor_map;
