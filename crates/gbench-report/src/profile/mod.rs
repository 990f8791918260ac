//! Profilers' findings in reports: the kernels of a case, and base and head side by side.

mod document;
mod figures;
pub(super) mod kernels;
pub(super) mod moved;

pub use document::{V1Profiles, profile_page, profiles_document};
