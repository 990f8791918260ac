//! A page per comparison: its verdict, each row with its figures, and the explanation of a row round by round.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::addresses::case_page;
use super::contents::ComparisonPage;
use super::curve::curves;
use super::page::{SiteFrame, facts, part, scrolled, table, tone};
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::visible;
use crate::verdict::curves::CurveView;
use crate::verdict::view::{RowView, VerdictView};
use gbench_compare::Difference;
use gbench_compare::trend::TrendsDocument;
use gbench_model::CaseId;
use gbench_model::text::{capitalized, count};

/// The page as a separate file, without links to other pages.
pub fn comparison_file(comparison: &ComparisonPage, title: &str, repository: &str) -> String {
    let frame = SiteFrame::new(title, "", repository, false);
    frame.page("", &name(comparison), &body(comparison, None, &frame))
}

/// The page within a site, with links to the pages of its cases.
pub(super) fn page(comparison: &ComparisonPage, trends: &TrendsDocument, frame: &SiteFrame) -> String {
    frame.page("../", &name(comparison), &body(comparison, Some(trends), frame))
}

fn name(comparison: &ComparisonPage) -> String {
    let document = &comparison.document;
    visible(&format!("{} → {}", document.base.name, document.head.name)).into_owned()
}

fn body(comparison: &ComparisonPage, trends: Option<&TrendsDocument>, frame: &SiteFrame) -> Markup {
    let document = &comparison.document;
    let view = VerdictView::new(document);
    let of_loads = CurveView::all(document);
    let rows = Rows { comparison, trends };
    let said: Vec<(&str, Markup)> =
        view.facts().into_iter().map(|(label, text)| (label, html! { (visible(&text)) })).collect();
    let (strict, noted) = view.differences();
    html! {
        @if trends.is_some() {
            nav.crumbs aria-label="Breadcrumb" { a href="../index.html" { "Overview" } " / Comparison" }
        }
        h1 { (name(comparison)) }
        p.verdict {
            span class={ "badge " (tone(document.conclusion.into())) } { (document.conclusion.into_str()) }
            " " strong { (capitalized(&visible(&document.sentence))) }
        }
        p { (capitalized(&visible(&view.counts()))) "." }
        (facts(&said))
        p.soft {
            @if let (Some(good), Some(bad)) = (&document.base.commit, &document.head.commit) {
                "Commits " (frame.commits(good, bad)) ", measured " (document.head.started.get(..10).unwrap_or_default()) "."
            }
        }
        (part("differs", "Differs, and must agree for a comparison", !strict.is_empty(), &differences(&strict)))
        (part("curves", &CurveView::heading(&of_loads), !of_loads.is_empty(), &curves(&of_loads)))
        @for (number, group) in view.groups.iter().enumerate() {
            (part(&format!("group-{number}"), &group.title(), true, &rows.table(&group.shown, &group.title())))
        }
        (rows.explained(&view))
        (part("unchanged", &view.unchanged_title(), !view.unchanged.is_empty(), &rows.table(&view.unchanged, "Unchanged rows")))
        (part("again", view.again(), !document.reproduce.is_empty(), &html! {
            (scrolled("Command", &html! { pre { code { (visible(&document.reproduce)) } } }))
        }))
        (part("warnings", "Warnings", !document.warnings.is_empty(), &html! {
            ul { @for warning in &document.warnings { li { (capitalized(&visible(warning))) } } }
        }))
        (part("environment", &format!("Environment: {}", count(noted.len(), "difference")), !noted.is_empty(), &differences(&noted)))
    }
}

fn differences(differences: &[&Difference]) -> Markup {
    let rows = html! {
        @for it in differences {
            tr { td { (visible(&it.field)) } td { (visible(&it.base)) } td { (visible(&it.head)) } }
        }
    };
    table("Differences", &["field", "base", "head"], &rows)
}

struct Rows<'r> {
    comparison: &'r ComparisonPage,
    trends: Option<&'r TrendsDocument>,
}

impl Rows<'_> {
    /// The case's name, with a link to its page if the site has one.
    fn case(&self, line: &RowView<'_>) -> Markup {
        let case = &line.row.case;
        let has_page =
            self.trends.is_some_and(|trends| trends.series.iter().any(|series| series.case == *case));
        html! {
            @if has_page {
                a href={ "../" (case_page(case)) } { (visible(&line.name)) }
            } @else {
                (visible(&line.name))
            }
            @if !line.row.metric.is_empty() { br; span.soft { (visible(&line.row.metric)) } }
        }
    }

    fn table(&self, lines: &[RowView<'_>], label: &str) -> Markup {
        let rows = html! {
            @for line in lines {
                tr {
                    td { (self.case(line)) }
                    td.figure { (visible(&line.base.value)) }
                    td.figure { (visible(&line.head.value)) }
                    td { (visible(&line.change)) @if !line.interval.is_empty() { br; span.soft { (visible(&line.interval)) } } }
                    td.figure { (line.rounds) @if !line.noise.is_empty() { br; span.soft { (line.noise) } } }
                    td { span class={ "badge " (tone(Emphasis::from(line.row.verdict))) } { (line.row.verdict.into_str()) } }
                }
            }
        };
        table(label, &["case", ".base", ".head", "change", ".rounds", "verdict"], &rows)
    }

    /// The reasons of all verdicts other than plainly unchanged, and the available pictures.
    fn explained(&self, view: &VerdictView<'_>) -> Markup {
        let lines: Vec<&RowView<'_>> = view.groups.iter().flat_map(|group| &group.shown).collect();
        let picture = |line: &RowView<'_>| {
            let pictures = self.comparison.pictures.iter();
            let of_row = |(case, metric, _): &&(CaseId, String, String)| {
                *case == line.row.case && *metric == line.row.metric
            };
            pictures.clone().find(of_row).map(|(.., picture)| picture)
        };
        let is_told = |line: &&&RowView<'_>| !line.row.reason.is_empty() || picture(line).is_some();
        let told: Vec<&&RowView<'_>> = lines.iter().filter(is_told).collect();
        let body = html! {
            @for (number, line) in told.iter().enumerate() {
                details open[number == 0] {
                    summary { (visible(&line.name)) " " span.soft { (visible(&line.row.metric)) } ": " (line.row.verdict.into_str()) }
                    @if !line.row.reason.is_empty() { p { (capitalized(&visible(&line.row.reason))) } }
                    @if !line.row.next.is_empty() { p { strong { "Next: " } (visible(&line.row.next)) } }
                    @if let Some(picture) = picture(line) {
                        @let alt = format!("{} {}: the change in each round, and how the evidence grew", line.name, line.row.metric);
                        (scrolled("Rounds", &html! {
                            img.rounds src={ "data:image/svg+xml;base64," (STANDARD.encode(picture)) } alt=(visible(&alt)) width="800" height="560";
                        }))
                    }
                }
            }
        };
        part("why", "Why", !told.is_empty(), &body)
    }
}
