//! Converts result files of other programs to records: each file is a process, each row a case.
//!
//! No file is read here: `app` reads them and knows the format.

mod lost;
mod record;

pub use record::{FileRun, RecordOptions, record};
