//! The errors of one form of output.

/// Why nothing can be taken from an output.
pub(super) enum Odd {
    Unreadable(String),
    Mixed { what: String, next: String },
    Failed(String),
}
