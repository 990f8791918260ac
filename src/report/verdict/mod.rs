//! A verdict in every format. Each shows what `view` works out, in its own way.
//!
//! ```text
//! view      what every format shows: groups, rows, suites, as text
//! method    what a comparison in rounds says of itself
//! summary   each suite in one line, and the speed on the whole
//! table     rows as a Markdown table
//! render    one verdict or several in the format that is asked for; the formats stand beside it
//! ```

mod csv;
mod jsonl;
mod junit;
pub(super) mod markdown;
pub(super) mod method;
mod render;
pub(super) mod summary;
pub(super) mod table;
mod terminal;
pub(super) mod view;

pub use self::render::{merged, verdict};
