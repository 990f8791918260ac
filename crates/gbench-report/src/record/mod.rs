//! The report of one run, without a comparison: its measurements, their reliability, and its failures.

#[cfg(test)]
pub(super) mod case_tests;
mod chart;
mod csv;
mod jsonl;
mod junit;
mod markdown;
mod terminal;
#[cfg(test)]
pub(super) mod test_support;
#[cfg(test)]
mod tests;
pub(super) mod view;

use std::io;

use self::markdown::PageExtent;
use self::view::run::RunView;
use super::format::{Format, Options};
use super::layout::{json, junit as junit_document};
use gbench_model::RunRecord;

/// The rankings of a run as an SVG image of bars; `None` if nothing is ranked.
pub fn ranking_chart(record: &RunRecord) -> Option<String> {
    chart::bars(&RunView::new(record))
}

/// The Markdown page that a run keeps next to its record: every case, without metrics that only explain a time.
pub fn summary_page(record: &RunRecord) -> String {
    markdown::text(&RunView::new(record), PageExtent::Kept)
}

/// Writes the report of one run. Errors: only those of `out`.
pub fn record(record: &RunRecord, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    let view = RunView::new(record);
    match options.format {
        Format::Terminal => out.write_all(terminal::render(&view, options.style, options.all).as_bytes()),
        Format::Markdown => out.write_all(
            markdown::text(&view, if options.all { PageExtent::All } else { PageExtent::Cut }).as_bytes(),
        ),
        Format::Json => json::render(record, out),
        Format::Jsonl => jsonl::render(&view, out),
        Format::Csv => csv::render(&view, out),
        Format::Junit => junit_document::write(junit::cases(&view), out),
    }
}
