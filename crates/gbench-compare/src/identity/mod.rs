//! The module that decides whether two figures may be compared: by their case, their machine, their measurement
//! and their answer.
//! `docs/identity.md` says which field of a record or of a result file belongs to which.

pub(crate) mod answers;
pub(crate) mod cases;
pub(crate) mod machines;
pub(crate) mod measurement;
pub(crate) mod units;
pub(crate) mod wholes;
