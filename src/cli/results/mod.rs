//! Commands that read, keep, show and remove results.

pub(super) mod baseline;
pub(super) mod explain;
pub(super) mod export;
pub(super) mod gc;
mod guess;
pub(super) mod history;
pub(super) mod ingest;
pub(super) mod manifest;
pub(super) mod replay;
pub(super) mod report;
pub(super) mod site;
