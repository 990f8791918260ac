//! Reads `gbench.toml`. Every fault in the file is found in one pass.

pub(crate) mod benchmark;
pub(crate) mod file_patterns;
pub(crate) mod file_text;
pub(crate) mod item;
pub(crate) mod item_quantities;
pub(crate) mod settings_reader;
pub(crate) mod suite_file;
pub(crate) mod table;
