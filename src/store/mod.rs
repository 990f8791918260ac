//! Keeps run records: a folder for each run, named baselines, and a history on a branch.

mod address;
mod baselines;
mod comparison;
mod folder;
mod history;
mod read;

pub use address::Address;
pub use baselines::{BaselineEntry, Store};
pub use comparison::{ComparisonFolder, holds_run, latest_comparison, read_comparison};
pub use folder::{RunFolder, latest_run, make_unwatched};
pub use history::{Appended, History, HistoryEntry, Listed, SCHEMA_HISTORY};
pub use read::{read_record, read_two_records, without_temporary, write_atomically};
