//! Cells and lines of tables for spreadsheets (RFC 4180), alike in verdicts and records.

use std::io;

use super::escape::csv as cell;
use super::names::timing_word;
use crate::model::{CaseId, Thermal, Variant};

/// RFC 4180 asks for CRLF.
pub(in crate::report) fn writer<W: io::Write + ?Sized>(out: &mut W) -> ::csv::Writer<&mut W> {
    ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out)
}

/// The eight columns that name a case: `suite` to `case`.
pub(in crate::report) fn case_cells(case: &CaseId, name: &str) -> Vec<String> {
    let params: Vec<_> = case.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let variant = match case.variant {
        None => "",
        Some(Variant::Baseline) => "baseline",
        Some(Variant::Optimized) => "optimized",
    };
    let thermal = match case.thermal {
        Thermal::Warm => "warm",
        Thermal::Cold => "cold",
    };
    vec![
        cell(case.benchmark.suite()),
        cell(case.benchmark.name()),
        variant.to_owned(),
        cell(&params.join(",")),
        timing_word(case.timing).to_owned(),
        thermal.to_owned(),
        cell(&case.device),
        cell(name),
    ]
}

/// The shortest text that reads back as the same number.
pub(in crate::report) fn number(value: f64) -> String {
    format!("{value:?}")
}

pub(in crate::report) fn optional(value: Option<f64>) -> String {
    value.map_or(String::new(), number)
}
