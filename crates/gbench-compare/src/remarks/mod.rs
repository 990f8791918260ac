//! Context that may explain a row and decides nothing: sampled telemetry, GPU cycles, profiles, device code.

pub(crate) mod cycles;
pub(crate) mod device_code;
pub(crate) mod device_code_rows;
pub(crate) mod kernel_figures;
pub(crate) mod peak;
pub(crate) mod profiles;
pub(crate) mod telemetry;
