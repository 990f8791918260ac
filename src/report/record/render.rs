//! One run in the format that is asked for.

use std::io;

use super::view::RunView;
use super::{csv, jsonl, junit, markdown, terminal};
use crate::model::RunRecord;
use crate::report::format::{Format, Options};
use crate::report::layout::json;

/// Writes what one run measured, compared with nothing. Errors: only those of `out`.
pub fn record(record: &RunRecord, options: &Options, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let view = RunView::new(record);
    match options.format {
        Format::Terminal => terminal::render(&view, options.style, options.all, out),
        Format::Markdown => markdown::render(&view, options.all, out),
        Format::Json => json::render(record, out),
        Format::Jsonl => jsonl::render(&view, out),
        Format::Csv => csv::render(&view, out),
        Format::Junit => junit::render(&view, out),
    }
}
