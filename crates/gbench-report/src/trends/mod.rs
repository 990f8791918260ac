//! Series over commits, in the formats for people and for programs.

mod columns;
mod csv;
pub(super) mod finding;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;
pub(super) mod series;
pub(super) mod spark;
mod terminal;

use std::collections::BTreeMap;
use std::io;

use super::layout::json;
use super::layout::terminal::Style;
use gbench_compare::trend::TrendsDocument;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum TrendsFormat {
    Terminal,
    Json,
    Csv,
    /// The text format of OpenMetrics, with the time of each run.
    Openmetrics,
    /// A row for each figure, with types; only in builds with the feature `parquet`.
    Parquet,
}

impl TrendsFormat {
    /// True if this build can write it.
    pub fn is_built_in(self) -> bool {
        self != Self::Parquet || cfg!(feature = "parquet")
    }
}

/// Writes trends. `all`: every series, including those that a page would only count because nothing changed. Errors: only
/// those of `out`.
pub fn trends(
    document: &TrendsDocument,
    format: TrendsFormat,
    style: Style,
    all: bool,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        TrendsFormat::Terminal => out.write_all(terminal::render(document, style, all).as_bytes()),
        TrendsFormat::Json => json::render(document, out),
        TrendsFormat::Csv => csv::render(document, out),
        #[cfg(feature = "parquet")]
        TrendsFormat::Parquet => parquet::render(document, out),
        #[cfg(not(feature = "parquet"))]
        TrendsFormat::Parquet => Err(io::ErrorKind::Unsupported.into()),
        TrendsFormat::Openmetrics => openmetrics::render(document, out),
    }
}

/// The Parquet files of [`TrendsFormat::Parquet`], one for each month (`2026-11`, UTC) in which a run started, whose rows a later
/// run of another month never changes. Errors: a build without it.
pub fn trends_by_month(document: &TrendsDocument) -> io::Result<BTreeMap<String, Vec<u8>>> {
    #[cfg(feature = "parquet")]
    return parquet::by_month(document);
    #[cfg(not(feature = "parquet"))]
    {
        let _ = document;
        Err(io::ErrorKind::Unsupported.into())
    }
}
