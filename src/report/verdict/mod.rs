//! A verdict in every format. Each shows what `view` works out, in its own way.
//!
//! ```text
//! view      what every format shows: groups, rows, suites, as text
//! method    what a comparison in rounds says of itself
//! summary   each suite in one line, and the speed on the whole
//! status    how a conclusion and a verdict show
//! single    one verdict in the format that is asked for; the formats stand beside it
//! merged    the verdicts of several machines as one report
//! ```

mod csv;
mod jsonl;
mod junit;
pub(super) mod markdown;
mod merged;
pub(super) mod method;
mod single;
pub(super) mod status;
mod summary;
mod terminal;
pub(super) mod view;

pub use self::merged::merged;
pub use self::single::verdict;
