//! Results of processes become records.

pub(crate) mod arm;
pub(crate) mod case_record;
pub(crate) mod code_files;
