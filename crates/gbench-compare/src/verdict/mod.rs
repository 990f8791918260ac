//! The comparison as a whole: its rows, its conclusion and the public document.

pub(crate) mod acceptance;
pub(crate) mod change;
pub(crate) mod compare;
pub(crate) mod conclusion;
pub(crate) mod curves;
pub(crate) mod document;
pub(crate) mod outcome;
pub(crate) mod policy;
pub(crate) mod progress;
pub(crate) mod replay;
pub(crate) mod rows;
pub(crate) mod trace;
pub(crate) mod warnings;
