//! Commands that measure.

pub(super) mod bisect;
pub(super) mod calibrate;
pub(super) mod ci;
pub(super) mod compare;
mod foreign_flags;
pub(super) mod profile;
pub(super) mod run;
