//! Keeps run records: a folder for each run, and named baselines; removes old ones.

mod atomic;
mod baselines;
mod bisect;
pub(crate) mod comparison;
mod frames;
pub(crate) mod held;
mod housekeeping;
pub(crate) mod journal;
mod read;
pub(crate) mod remove;
pub(crate) mod started;

pub use atomic::{without_temporary, write_atomically};
pub use baselines::{BaselineEntry, Store};
pub use bisect::{BisectFolder, bisect_folder};
pub use comparison::{
    ComparisonFolder, begun_for_nothing, comparison_of, comparisons_below, holds_run, keep_whole_rounds,
    latest_comparison, note_begun, read_comparison, read_sides,
};
pub use frames::{FrameFile, FramesRead};
pub use held::hold;
pub use housekeeping::{ArtifactsEntry, ArtifactsFolder, ArtifactsKind, INGEST};
pub use journal::{RunFolder, create_ignored_dir, latest_run};
pub use read::{read_record, read_two_records};
pub use started::note_start;
