//! What several test files share.

pub mod json;
pub mod records;

use std::path::PathBuf;

/// A path below `fixtures/`.
pub fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}
