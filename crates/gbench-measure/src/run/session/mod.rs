//! A session: builds, processes in their order, progress.

pub(crate) mod build;
pub(crate) mod counting;
pub(crate) mod event;
pub(crate) mod launcher;
pub(crate) mod plan_session;
pub(crate) mod turn;
