//! The only randomness of the use cases: seeds that a record keeps, and a number that tells two runs of one moment apart.

use rand::RngExt;

/// A seed that is short enough to be typed again.
pub fn seed() -> u64 {
    rand::rng().random_range(0..1_000_000_000)
}

/// A number that tells two runs apart that began in the same moment.
pub fn salt() -> u32 {
    rand::rng().random()
}
