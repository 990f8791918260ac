//! The interface of every harness, the types of its results, and the checks that all readings pass.

pub(crate) mod adapter;
pub(crate) mod case;
pub(crate) mod check;
pub(crate) mod output;
pub(crate) mod prelude;
pub(crate) mod source_tree;
pub(crate) mod wrap;
