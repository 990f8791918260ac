//! The GPUs, through NVIDIA's management library, which no other module calls.
//!
//! The library is loaded at run time, so that one binary serves machines with and without a GPU. A function that an
//! old driver lacks costs only its own field.

mod clock_setter;
mod health;
mod library;
mod standing;
mod telemetry;

pub use clock_setter::HeldSetting;
pub(super) use clock_setter::{ClockRefusal, ClockSetter};
pub(super) use health::CardHealth;
pub use library::{ClocksNow, clocks};
pub(super) use library::{clocks_and_health, gpus, has_function, knows_locked_clocks, reason_names};
pub(super) use standing::{StandingHealth, standing_health};
pub(super) use telemetry::telemetry;
