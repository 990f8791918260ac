//! Why one row has its verdict: the whole argument, for a person, as a picture and as numbers.

mod json;
mod picture;
mod plot;
mod sentences;
mod steps;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;

pub use self::json::render as json;
pub use self::sentences::{Explained, Rowless};
pub use self::svg::render as svg;
pub use self::terminal::terminal;
