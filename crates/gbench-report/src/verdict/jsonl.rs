//! A verdict as JSON lines, for programs that read line by line: each row of the document unchanged, in the document's
//! order, with the case's name as text in addition to its parts.

use std::io;

use serde::Serialize;

use crate::layout::case_names::CaseNames;
use crate::layout::json::line;
use gbench_compare::{Row, VerdictDocument};

#[derive(Serialize)]
struct RowLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    /// The case, unambiguous within the document.
    name: String,
    #[serde(flatten)]
    row: &'a Row,
}

/// Writes one line per row; nothing if nothing was compared.
pub(super) fn render(
    label: Option<&str>,
    document: &VerdictDocument,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let names = CaseNames::new(document.rows.iter().map(|row| &row.case));
    let mut lines = document.rows.iter().map(|row| RowLine { label, name: names.name(&row.case), row });
    lines.try_for_each(|row| line(&row, out))
}
