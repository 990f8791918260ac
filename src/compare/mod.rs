//! Two records in, one verdict document out. Pure: no I/O, no clock.

mod document;

pub use document::*;
