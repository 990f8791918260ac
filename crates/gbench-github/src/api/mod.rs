//! GitHub's API: one client, its errors and retries, and what reads and writes by it without more.

pub(crate) mod address;
pub mod artifacts;
pub(crate) mod backoff;
pub mod branch;
pub(crate) mod client;
pub(crate) mod error;
pub(crate) mod identity;
pub(crate) mod optimistic;
pub(crate) mod response;
pub(crate) mod sender;
