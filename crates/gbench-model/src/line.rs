//! The child protocol: one JSON object per line from child to gate, and from gate to child for children that take turns.
//! `docs/protocol.md` documents it.

mod message;
mod non_finite;
mod parse;
mod shape;

pub use message::*;
pub use parse::{LineError, parse};
