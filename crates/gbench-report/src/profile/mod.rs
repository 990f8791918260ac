//! What profilers saw, as reports show it: the kernels of a case, and base and head side by side.

mod kernels;
mod moved;
mod page;
mod words;

pub(crate) use kernels::RunProfiles;
pub(crate) use moved::{ProfilesView, SHOWN_ROWS, TITLE};
pub use page::{V1Profiles, profile_page, profiles_document};
