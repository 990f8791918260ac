//! How text and figures are laid out, whatever a report says.
//!
//! ```text
//! terminal  headings, folded lines and tables that keep within a width
//! width     columns of text, folding, cutting
//! escape    text from elsewhere made harmless, a function for each destination
//! number    figures with units, percentages, changes
//! names     the name of a case
//! grouped   what holds for many is said once
//! markdown, csv, json, junit: parts of these documents that verdicts and records share
//! ```

pub mod csv;
pub mod escape;
pub mod grouped;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod names;
pub mod number;
pub mod terminal;
pub mod width;
