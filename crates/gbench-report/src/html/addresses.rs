//! Addresses of the pages, and the names of series on them.

use crate::layout::case_names::CaseNames;
use crate::layout::escape::visible;
use crate::trends::series;
use gbench_compare::trend::{TrendsDocument, V1Series, V1TrendRun};
use gbench_model::text::short_commit;
use gbench_model::{CaseId, sha256_hex};

const NAME: usize = 60;

/// The address of a case's page from the site's folder: `case/kernels-gemm-n-1024-0a1b2c3d4e.html`. Different cases have
/// different addresses, also on case-insensitive file systems.
pub fn case_page(case: &CaseId) -> String {
    format!("case/{}.html", slug(&case.to_string(), &serde_json::to_string(case).unwrap_or_default()))
}

/// A name of harmless characters, with a digest of `whole`.
pub(crate) fn slug(name: &str, whole: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let plain: String = name.chars().map(plain).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(NAME).collect();
    format!("{}-{}", name.trim_end_matches('-'), &sha256_hex(whole.as_bytes())[..10])
}

pub(crate) struct SeriesNames<'d> {
    document: &'d TrendsDocument,
    cases: CaseNames,
    has_metrics: bool,
    has_places: bool,
}

impl<'d> SeriesNames<'d> {
    pub(crate) fn new(document: &'d TrendsDocument) -> Self {
        let series = &document.series;
        let place = |it: &V1Series| (it.branch.clone(), it.label.clone());
        Self {
            document,
            cases: CaseNames::new(series.iter().map(|it| &it.case)),
            has_metrics: series.windows(2).any(|pair| pair[0].metric != pair[1].metric),
            has_places: series.windows(2).any(|pair| place(&pair[0]) != place(&pair[1])),
        }
    }

    pub(crate) fn case(&self, case: &CaseId) -> String {
        visible(&self.cases.name(case)).into_owned()
    }

    /// The metric and the place if the document has several; else empty.
    pub(crate) fn which(&self, series: &V1Series) -> String {
        let metric = if self.has_metrics { series.metric.as_str() } else { "" };
        let place = if self.has_places { place(series) } else { String::new() };
        let both: Vec<&str> = [metric, &place].into_iter().filter(|part| !part.is_empty()).collect();
        visible(&both.join(", ")).into_owned()
    }

    pub(crate) fn run(&self, series: &V1Series, point: u32) -> Option<&'d V1TrendRun> {
        series::run_of(self.document, series, point)
    }

    pub(crate) fn day(&self, series: &V1Series, point: u32) -> &'d str {
        self.run(series, point).map_or("", series::day)
    }
}

pub(crate) fn place(series: &V1Series) -> String {
    series::place(&series.branch, &series.label)
}

/// A commit's short id; empty if there is none.
pub(crate) fn short(commit: &str) -> String {
    visible(short_commit(commit)).into_owned()
}
