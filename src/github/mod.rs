//! Carries bytes to GitHub and back: comments, checks, issues, artifacts, a branch with the history.
//!
//! octocrab is the transport; the types of what is sent and read are our own and small, because GitHub adds fields and
//! other servers leave some out. What is retried, and when, is decided here alone: see [`Client`].

mod answer;
pub mod approval;
pub mod artifacts;
pub mod branch;
pub mod checks;
mod client;
pub mod commands;
pub mod comments;
mod context;
mod error;
mod identity;
pub mod issues;
mod marker;
mod patience;
mod place;
pub mod pulls;
mod statuses;
mod writes;

pub use answer::Answer;
pub use client::{Client, Limits};
pub use context::{Context, Event, PullRequest, Run, WorkflowRun};
pub use error::{ApiError, ApiResult};
pub use identity::Identity;
pub use place::{Endpoint, Sha, Slug, Token};
