//! Texts that the gate posts and finds again: comments of a pull request, issues, answers to commands.

pub mod answers;
pub mod comments;
pub mod issues;
pub(crate) mod marker;
