//! One run by itself, compared with nothing: what was measured, how far it can be trusted, and what failed.
//!
//! ```text
//! view       what every format shows
//! metric     one metric of one case
//! ranking    which of several answers to one problem is the best
//! findings   what weakens the figures
//! resources  what the processes took of the machine beside their time
//! render     one run in the format that is asked for; the formats stand beside it
//! ```

mod csv;
mod findings;
mod jsonl;
mod junit;
mod markdown;
mod metric;
mod ranking;
mod render;
mod resources;
mod terminal;
#[cfg(test)]
pub(super) mod test_support;
mod view;

pub use self::render::record;
pub(super) use self::view::{RunStatus, RunView};
