//! The one place with sentences: reasons, advice and warnings, each a value and its text, and the sentence of the whole.
//! Rules decide on values. A document keeps the text, too, so that documents without the values are shown as well.

pub(crate) mod advice;
pub(crate) mod calibration;
mod device_code;
pub(crate) mod parts;
pub(crate) mod reason;
pub(crate) mod row;
pub(crate) mod sentence;
mod telemetry;
pub(crate) mod warning;
