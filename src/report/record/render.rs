//! One run in the format that is asked for.

use std::io;

use super::view::RunView;
use super::{csv, jsonl, junit, markdown, terminal};
use crate::model::RunRecord;
use crate::report::format::{Format, Options};
use crate::report::layout::{json, junit as junit_document};

/// Writes what one run measured, compared with nothing. Errors: only those of `out`.
pub fn record(record: &RunRecord, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    let view = RunView::new(record);
    match options.format {
        Format::Terminal => out.write_all(terminal::render(&view, options.style, options.all).as_bytes()),
        Format::Markdown => out.write_all(markdown::text(&view, options.all).as_bytes()),
        Format::Json => json::render(record, out),
        Format::Jsonl => jsonl::render(&view, out),
        Format::Csv => csv::render(&view, out),
        Format::Junit => junit_document::write(junit::cases(&view), out),
    }
}
