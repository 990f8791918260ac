//! What every harness implements and returns, and the checks that all of their readings pass.

pub(crate) mod adapter;
pub(crate) mod case;
pub(crate) mod check;
pub(crate) mod output;
pub(crate) mod prelude;
pub(crate) mod source_tree;
pub(crate) mod wrap;
