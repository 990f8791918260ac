//! Formats that are described by their fields instead of by code.
//!
//! [`description`] has the words of a description, [`field`] the references to fields, [`source`] finds the rows of JSON
//! and tables, [`text`] those of texts, [`plan`] has the parsed fields, [`reading`] makes a case of each row, and [`runs`] the runs
//! of the cases. [`failures`] says how rows fail. [`shelf`] has the formats that are described in the `.toml` files of this
//! folder; users describe theirs by flags, in the suite file, or in a file of the same form.

pub(crate) mod description;
mod failures;
mod field;
pub(crate) mod file;
pub(crate) mod guess;
mod plan;
mod reading;
mod runs;
pub(super) mod shelf;
pub(super) mod source;
mod text;
