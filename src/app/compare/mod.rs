//! Comparisons: of two commits, of two records, of files of other programs; which of them is meant, and what an answer fails.

pub(crate) mod commits;
pub(crate) mod fail_on;
pub(crate) mod records;
pub(crate) mod redefined;
pub(crate) mod resume;
pub(crate) mod selection_filter;
pub(crate) mod side_suites;
pub(crate) mod suite_of_commit;
pub(crate) mod target;
