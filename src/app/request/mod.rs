//! The parts of requests that several use cases share: which suite file and which of its cases, the settings above it,
//! where results go, and how a comparison of two commits is measured.

mod commits;
pub(crate) mod effective_settings;
pub(crate) mod environment;
pub(crate) mod job_flags;
mod measuring;
pub(crate) mod profile;
mod selection;

pub(crate) use commits::{Audience, CommitsRequest, RoundsRequest};
pub(crate) use measuring::{OutputRequest, RunRequest, SettingsRequest};
pub(crate) use selection::{GivenFlag, LocalSuite, SelectionRequest, absolute_suite, shell_flags};
