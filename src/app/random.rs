//! The only chance in the use cases: seeds that a record keeps, and what tells two runs of one moment apart.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// A seed that is short enough to be typed again.
pub fn seed() -> u64 {
    number() % 1_000_000_000
}

/// What tells two runs apart that began in the same moment.
pub fn salt() -> u32 {
    number() as u32
}

/// The standard library seeds its hash maps from the system's randomness.
fn number() -> u64 {
    RandomState::new().hash_one(SystemTime::now())
}
