//! Carries bytes to GitHub and back: comments, checks, issues, artifacts, a branch with the history.
//!
//! octocrab is the transport; the types of what is sent and read are our own and small, because GitHub adds fields and
//! other servers leave some out. What is retried, and when, is decided here alone: see [`Client`].

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod address;
mod answer;
pub mod answers;
pub mod approval;
pub mod artifacts;
mod backoff;
pub mod branch;
pub mod checks;
mod client;
pub mod commands;
pub mod comments;
mod context;
mod error;
pub mod guard;
pub mod history;
mod identity;
pub mod issues;
pub mod kept;
#[cfg(test)]
mod kind_tests;
mod marker;
mod optimistic;
pub mod people;
pub mod pulls;

pub use address::{Endpoint, Sha, Slug, Token};
pub use backoff::ClientLimits;
pub use client::Client;
pub use context::{Context, PullRequest, Run, WorkflowEvent, WorkflowRun};
pub use error::{ApiError, ApiResult};
pub use identity::Identity;
