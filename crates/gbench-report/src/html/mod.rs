//! Pages of HTML for people: the history of a suite as a site, and one comparison as a file. Each page stands alone: its style
//! is in it, its pictures are too, and there is no script. Names come from records and are hostile: `maud` escapes all that is
//! written, and a page's policy forbids everything that is not in it.
//!
//! ```text
//! input       what pages are made of
//! page        the frame of every page: policy, style, navigation
//! names       addresses of the pages, and how they name things
//! axis        places and ticks of a chart
//! chart       one series over its runs, or two side by side
//! events      what happened to a series, in words
//! overview    the first page
//! case        a page for a case
//! comparison  a page for a comparison
//! ```

mod axis;
mod case;
mod chart;
mod comparison;
mod events;
mod input;
mod names;
mod overview;
mod page;

pub use comparison::comparison_file;
pub use input::{ComparisonPage, SiteFile, SiteInput};
pub use names::case_page;

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
    use gbench_compare::trend::{
        SCHEMA_TRENDS, SeriesState, TrendsDocument, V1ChangePoint, V1Point, V1Series, V1TrendRun,
    };

    /// One series of so many runs, with a change in their middle.
    fn document(points: u32) -> TrendsDocument {
        let run = |number: u32| V1TrendRun {
            run_id: format!("{:08}T000000.000Z-{number:06x}", 20_240_101 + number).parse().unwrap(),
            started: format!(
                "20{:02}-{:02}-{:02}T00:00:00Z",
                number / 336,
                number / 28 % 12 + 1,
                number % 28 + 1
            ),
            commit: format!("{number:040x}"),
            branch: "main".into(),
            label: String::new(),
            event: "schedule".into(),
            conclusion: None,
        };
        let value = |at: u32| 0.001_234_567 * (1.0 + f64::from(at * 7919 % 100) / 1e4);
        let point = |at: u32| V1Point {
            run: at,
            value: value(at),
            low: Some(value(at) * 0.998),
            high: Some(value(at) * 1.002),
        };
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
        let case = r#"{"benchmark":"kernels/gemm","params":{"n":1024},"timing":"protocol","thermal":"warm"}"#;
        TrendsDocument {
            schema: SCHEMA_TRENDS.into(),
            store: "git:gbench-history".into(),
            runs: (0..points).map(run).collect(),
            series: vec![V1Series {
                case: serde_json::from_str(case).unwrap(),
                metric: "time".into(),
                unit: "s".into(),
                better: Some(gbench_model::Better::Lower),
                branch: "main".into(),
                label: String::new(),
                points: (0..points).map(point).collect(),
                breaks: Vec::new(),
                changes: if points > 0 { vec![change] } else { Vec::new() },
                withdrawn: Vec::new(),
                drift: None,
                noise: Some(0.008),
                state: SeriesState::Searched,
            }],
            unmeasured: Vec::new(),
            left_out: 0,
            warnings: Vec::new(),
        }
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
