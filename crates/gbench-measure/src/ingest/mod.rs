//! Converts result files of other programs to records: each file is a process, each row a case.
//!
//! No file is read here: `app` reads them and knows the format.

mod file_run;
mod lost;
mod record;

pub use file_run::FileRun;
pub use record::{RecordOptions, record};
