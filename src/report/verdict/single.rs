//! One verdict in the format that is asked for.

use std::io;

use super::view::VerdictView;
use super::{csv, jsonl, junit, markdown, terminal};
use crate::compare::VerdictDocument;
use crate::report::format::{Format, Options};
use crate::report::layout::json;

/// Writes the verdict of a comparison. Errors: only those of `out`.
pub fn verdict(
    document: &VerdictDocument,
    options: &Options,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let view = VerdictView::new(document);
    match options.format {
        Format::Terminal => terminal::render(&view, options.style, options.all, out),
        Format::Markdown => markdown::render(&view, options.all, out),
        Format::Json => json::render(document, out),
        Format::Jsonl => jsonl::render(document, out),
        Format::Csv => csv::render(&view, out),
        Format::Junit => junit::render(&view, out),
    }
}
