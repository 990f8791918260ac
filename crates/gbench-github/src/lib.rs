//! Carries bytes to GitHub and back: comments, checks, issues, artifacts, a branch with the history.
//!
//! octocrab is the transport; the types of requests and answers are our own and small, because GitHub adds fields and
//! other servers leave some out. Retries are decided here alone: see [`Client`].

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` has the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod api;
pub mod checks;
pub mod guard;
pub mod history;
#[cfg(test)]
mod kind_tests;
mod posts;
pub mod pulls;
mod runner;
pub mod webhook;

pub use api::address::{Endpoint, Sha, Slug, Token};
pub use api::backoff::ClientLimits;
pub use api::client::Client;
pub use api::error::{ApiError, ApiResult};
pub use api::identity::Identity;
pub use api::{artifacts, branch};
pub use checks::kept;
pub use gbench_model::Host;
pub use posts::{answers, comments, issues};
pub use pulls::{approval, people};
pub use runner::commands;
pub use runner::context::{Context, Run};
pub use runner::event::{PullRequest, WorkflowEvent, WorkflowRun};
