//! Reads the file formats that several harnesses write.

pub(crate) mod callgrind_summary;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod loose_json;
pub(crate) mod xml;
