//! GitHub's limits of text, for the crate that writes it and the crate that sends it.

/// Most characters of a comment or an issue. The gate counts bytes, of which a text has at least as many.
pub const MAX_COMMENT: usize = 65_536;

/// Most characters of each text of a check; likewise in bytes.
pub const MAX_CHECK: usize = 65_535;
