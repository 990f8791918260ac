//! Commands of the jobs on GitHub.

pub(super) mod accept;
pub(super) mod guard;
pub(super) mod matrix;
pub(super) mod merge;
pub(super) mod publish;
