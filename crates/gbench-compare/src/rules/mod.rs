//! From the evidence of a whole suite to one decision for each row.

pub(crate) mod absolute;
pub(crate) mod instruction_counts;
pub(crate) mod known;
pub(crate) mod process_session;
pub(crate) mod row_test;
pub(crate) mod rule;
pub(crate) mod seq_e;
pub(crate) mod summary_only;
pub(crate) mod two_states;
pub(crate) mod welch_holm;
