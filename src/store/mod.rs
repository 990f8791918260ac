//! Keeps run records: a folder for each run, named baselines, and a history on a branch.

mod address;
mod atomic;
mod baselines;
mod bisect;
mod comparison;
mod frames;
mod history;
mod journal;
mod read;
mod started;

pub use address::Address;
pub use atomic::{without_temporary, write_atomically};
pub use baselines::{BaselineEntry, Store};
pub use bisect::{BisectFolder, bisect_folder};
pub use comparison::{
    ComparisonFolder, comparison_of, comparisons_below, holds_run, keep_whole_rounds, latest_comparison,
    read_comparison, read_sides,
};
pub use frames::{FrameFile, FramesRead};
pub use history::{
    Appended, BesideFile, HistoryBranch, HistoryEntry, Listed, Looked, RunSummary, SCHEMA_HISTORY, Started,
    accepted_path,
};
pub use journal::{RunFolder, create_ignored_dir, latest_run};
pub use read::{read_record, read_two_records};
pub use started::note_start;
