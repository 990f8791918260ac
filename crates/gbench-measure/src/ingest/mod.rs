//! Files of results of other programs become records: each file a process, each row a case.
//!
//! Nothing here reads a file: `app` does, and knows the format.

mod record;

pub use record::{FileRun, RecordOptions, record};
