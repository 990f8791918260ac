//! Keeps run records: a folder for each run, and named baselines.

mod baselines;
mod comparison;
mod folder;
mod read;

pub use baselines::{BaselineEntry, Store};
pub use comparison::{ComparisonFolder, latest_comparison, read_comparison};
pub use folder::{RunFolder, latest_run, make_unwatched};
pub use read::{read_record, read_two_records, without_temporary, write_atomically};
