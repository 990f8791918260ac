//! Why one row has its verdict: the whole argument, for a person, as a picture and as numbers.
//!
//! ```text
//! words     the figures, the noise, the doubts and the advice, in sentences
//! steps     the way to the verdict, likewise
//! plot      where a number falls on an axis
//! picture   differences and e-values by round, in characters
//! svg       the same two panels as an image
//! json      every step as a number
//! terminal  all of them for a terminal
//! ```

mod json;
mod picture;
mod plot;
mod row;
mod steps;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

pub use self::json::render as json;
pub use self::row::{Explained, Rowless};
pub use self::svg::render as svg;
pub use self::terminal::terminal;
