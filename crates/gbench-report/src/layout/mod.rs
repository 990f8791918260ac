//! The layout of text and figures, the same for every report.
//!
//! ```text
//! emphasis    how good or bad a result is
//! terminal    headings, folded lines and tables within a width
//! width       columns of text, folding, cutting
//! escape      untrusted text, a function per destination
//! number      figures with units, percentages, changes
//! case_names  the name of a case
//! grouped     equal statements once, with their names
//! svg         elements of an image
//! markdown, csv, json, junit: parts of these documents that verdicts and records share
//! ```

pub(super) mod case_names;
pub(super) mod csv;
pub(super) mod emphasis;
pub(super) mod escape;
pub(super) mod grouped;
pub(super) mod json;
pub(super) mod junit;
pub(super) mod markdown;
pub(super) mod number;
pub(super) mod svg;
pub(super) mod table;
pub(super) mod terminal;
pub(super) mod width;
