//! Which machines, cases and settings may be compared, and which cases belong together.

pub(crate) mod cases;
pub(crate) mod comparability;
pub(crate) mod settings;
pub(crate) mod speedups;
pub(crate) mod units;
pub(crate) mod variants;
