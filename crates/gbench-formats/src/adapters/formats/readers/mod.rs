//! Reads the tables, JSON documents and times that several formats write.

pub(crate) mod fields;
pub(crate) mod outline;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod time_statistics;
pub(crate) mod values;
