//! The child protocol: one JSON object a line, child to gate; for children that take turns also gate to child.
//! `docs/protocol.md` is its manual.

mod message;
mod non_finite;
mod parse;
mod shape;

pub use message::*;
pub use parse::{LineError, parse};
