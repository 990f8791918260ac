//! HTML pages: the history of a suite as a site, and one comparison as a file. Each page is self-contained: style and
//! pictures are inline, and there is no script. Names come from records and may be hostile: `maud` escapes all text, and
//! a page's policy forbids everything external.
//!
//! ```text
//! contents    contents of the pages
//! page        the frame of every page: policy, style, navigation
//! addresses   addresses of the pages, and names on them
//! axis        positions and ticks of a chart
//! chart       one series over its runs, or several together
//! events      the events of a series, in words
//! overview    the first page
//! case        a page per case
//! comparison  a page per comparison
//! curve       a serving benchmark at several loads
//! ```

pub(super) mod addresses;
mod axis;
mod case;
mod chart;
mod comparison;
mod contents;
mod curve;
mod events;
mod overview;
mod page;

pub use addresses::case_page;
pub use comparison::comparison_file;
pub use contents::{ComparisonPage, SiteFile, SiteInput};

use page::SiteFrame;

/// Every page: the overview, one for each case, one for each comparison.
pub fn site(input: &SiteInput<'_>) -> Vec<SiteFile> {
    let frame = SiteFrame::new(input.title, input.note, input.repository, true);
    let mut files = vec![SiteFile { path: "index.html".into(), text: overview::page(input, &frame) }];
    files.extend(case::pages(input, &frame));
    files.extend(input.comparisons.iter().map(|comparison| SiteFile {
        path: comparison.path(),
        text: comparison::page(comparison, input.trends, &frame),
    }));
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support as documents;
    use gbench_compare::trend::{TrendsDocument, V1ChangePoint, V1Point};

    fn document(points: u32) -> TrendsDocument {
        let value = |at: u32| 0.001_234_567 * (1.0 + f64::from(at * 7919 % 100) / 1e4);
        let mut series = documents::series(&(0..points).map(value).collect::<Vec<_>>(), &[]);
        series.case = documents::case("kernels/gemm", &[("n", 1024)]);
        series.noise = Some(0.008);
        for V1Point { value, low, high, .. } in &mut series.points {
            (*low, *high) = (Some(*value * 0.998), Some(*value * 1.002));
        }
        let middle = points / 2;
        let change = V1ChangePoint {
            at: middle,
            from: middle.saturating_sub(1),
            to: middle,
            good: Some(format!("{middle:040x}")),
            bad: Some(format!("{:040x}", middle + 1)),
            change: 0.031,
            low: 0.028,
            high: 0.034,
            p: 1e-9,
            worse: Some(true),
            new: false,
            accepted: None,
        };
        series.changes.extend((points > 0).then_some(change));
        documents::trends(series)
    }

    fn pages(trends: &TrendsDocument) -> Vec<SiteFile> {
        let repository = "https://github.com/a-long-organisation/a-long-repository";
        site(&SiteInput { trends, comparisons: &[], title: "Kernels", note: "", repository })
    }

    #[test]
    fn a_page_with_a_thousand_figures_stays_below_300_kb() {
        for page in pages(&document(1000)) {
            assert!(page.text.len() < 300_000, "{} has {} bytes", page.path, page.text.len());
        }
    }

    #[test]
    fn a_history_of_few_or_no_runs_is_drawn_all_the_same() {
        for points in [0, 1, 2] {
            for page in pages(&document(points)) {
                assert!(!page.text.contains("NaN") && !page.text.contains("inf"), "{points}: {}", page.text);
            }
        }
    }
}
