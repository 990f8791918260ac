//! Figures over commits: every case of a history as a series, what broke it, what changed it for good, and what drifts.
//!
//! ```text
//! run        one run's figures, and the facts that decide whether they may be compared with earlier ones
//! encoding   a run's figures as a few bytes, for a cache
//! table      the figures of all runs, a column each case and metric
//! breaks     where the machine or the settings changed between two runs
//! analysis   change points, drift and noise of one series
//! document   the public document
//! check      the consistency of a document
//! common     steps that most cases took at once
//! open       the findings for a person
//! ```
//!
//! No I/O: `app` brings runs from a store or from a cache.

mod analysis;
mod breaks;
mod check;
mod common;
mod document;
mod encoding;
mod open;
mod run;
mod table;

pub use analysis::{
    LEAST_SEARCHED, LastingChange, SeriesDrift, SeriesState, SeriesTrend, is_worse, trends_of,
};
pub use breaks::{V1Break, V1BrokenField};
pub use common::CommonStep;
pub use document::{
    SCHEMA_TRENDS, TrendsDocument, V1AcceptedChange, V1ChangePoint, V1Drift, V1Point, V1Series, V1TrendRun,
    V1Unmeasured,
};
pub use encoding::{CACHE_VERSION, DecodedRun, Dictionary, EncodingError};
pub use open::{OpenFinding, OpenTrend, OpenTrends, ToldFinding, ToldTrend};
pub use run::{MetricPoint, RunPoints, TrendRun};
pub use table::{SeriesFilter, SeriesId, TableBuilder, TrendPoint, TrendSeries, TrendTable};
