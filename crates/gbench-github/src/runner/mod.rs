//! The runner's side: the event and the variables that it hands to a job, and the commands that it takes from the job.

mod actions;
mod buildkite;
pub mod commands;
#[cfg(test)]
mod commands_tests;
pub(crate) mod context;
#[cfg(test)]
pub(crate) mod context_tests;
pub(crate) mod event;
mod gitlab;
mod payload;
mod read;
