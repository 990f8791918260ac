//! A verdict in every format. Each lays out the contents of `view`.

#[cfg(test)]
pub(super) mod case_tests;
mod csv;
pub(super) mod curves;
pub(super) mod device_code;
mod jsonl;
mod junit;
pub(super) mod markdown;
pub(super) mod method;
pub(super) mod render;
pub(super) mod rows;
pub(super) mod summary;
mod terminal;
#[cfg(test)]
mod tests;
pub(super) mod view;

pub use self::render::{merged, verdict};
