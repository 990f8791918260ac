//! A page per case: each of its series with its events, its variants together, and its parameters compared.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::addresses::{SeriesNames, case_page, place};
use super::chart::{large, small, together};
use super::contents::{SiteFile, SiteInput};
use super::events::{badge, described, list, not_judged, table};
use super::page::{SiteFrame, facts, part, scrolled};
use crate::layout::escape::visible;
use crate::layout::number::{signed_percent, spread, value};
use crate::trends::series::latest;
use gbench_compare::trend::V1Series;
use gbench_model::text::capitalized;
use gbench_model::{Better, CaseId};

const LINES: usize = 300;

pub(super) fn pages(input: &SiteInput<'_>, frame: &SiteFrame) -> Vec<SiteFile> {
    let names = SeriesNames::new(input.trends);
    let mut of_case: BTreeMap<&CaseId, Vec<&V1Series>> = BTreeMap::new();
    for series in &input.trends.series {
        of_case.entry(&series.case).or_default().push(series);
    }
    let mut of_benchmark: BTreeMap<&str, Vec<&V1Series>> = BTreeMap::new();
    for series in &input.trends.series {
        of_benchmark.entry(series.case.benchmark.as_str()).or_default().push(series);
    }
    let page = |(case, series): (&&CaseId, &Vec<&V1Series>)| {
        let siblings = of_benchmark.get(case.benchmark.as_str()).map_or(&[][..], Vec::as_slice);
        let view = CaseView { input, names: &names, frame, case, series, siblings };
        SiteFile { path: case_page(case), text: frame.page("../", &names.case(case), &view.body()) }
    };
    of_case.iter().map(page).collect()
}

struct CaseView<'v> {
    input: &'v SiteInput<'v>,
    names: &'v SeriesNames<'v>,
    frame: &'v SiteFrame,
    case: &'v CaseId,
    series: &'v [&'v V1Series],
    siblings: &'v [&'v V1Series],
}

impl CaseView<'_> {
    fn body(&self) -> Markup {
        html! {
            nav.crumbs aria-label="Breadcrumb" { a href="../index.html" { "Overview" } " / " (visible(self.case.benchmark.as_str())) }
            h1 { (self.names.case(self.case)) }
            (self.gaps())
            @for (number, series) in self.series.iter().enumerate() { (self.one(number, series)) }
            (self.variants())
            (self.parameters())
            (self.comparisons())
        }
    }

    /// Reports that the newest run has no figure.
    fn gaps(&self) -> Markup {
        html! {
            @for gap in self.input.trends.unmeasured.iter().filter(|gap| gap.case == *self.case) {
                p { span.badge.worse { (visible(&gap.outcome)) } " in the newest run" }
            }
        }
    }

    fn one(&self, number: usize, series: &V1Series) -> Markup {
        let id = format!("series-{number}");
        let heading = match self.names.which(series) {
            which if which.is_empty() => visible(&series.metric).into_owned(),
            which => which,
        };
        let why = not_judged(series, self.names);
        let better = series.better.map_or("neither way is", |better| match better {
            Better::Lower => "less is",
            Better::Higher => "more is",
        });
        let mut shown: Vec<(&str, Markup)> = vec![
            ("latest", html! { (latest(series)) }),
            ("runs", html! { (series.points.len()) }),
            ("noise from run to run", html! { (series.noise.map_or("fewer than 5 runs".into(), spread)) }),
            ("better", html! { (better) }),
        ];
        if !why.is_empty() {
            shown.push(("not judged", html! { (why) }));
        }
        let lines = (LINES / self.series.len().max(1)).max(20);
        let body = html! {
            (facts(&shown))
            (scrolled(&format!("{heading}: chart"), &large(series, self.names, &id, &described(series, self.names))))
            (list(series, self.names, self.frame))
            details {
                summary { "The runs as a table" }
                (scrolled(&format!("{heading}: runs"), &table(series, self.names, self.frame, lines)))
            }
        };
        part(&format!("{id}-heading"), &capitalized(&heading), true, &body)
    }

    /// Baseline and optimized: series that differ only in the variant.
    fn variants(&self) -> Markup {
        let is_twin = |one: &V1Series, other: &V1Series| {
            let same =
                |it: &V1Series| (it.metric.clone(), it.unit.clone(), place(it), it.case.params.clone());
            one.case.variant != other.case.variant && same(one) == same(other)
        };
        let twins: Vec<(&V1Series, &V1Series)> = self
            .series
            .iter()
            .filter_map(|own| Some((*own, *self.siblings.iter().find(|other| is_twin(own, other))?)))
            .collect();
        let variant = |series: &V1Series| {
            series.case.variant.map_or("without a variant", |variant| variant.into_str()).to_owned()
        };
        let body = html! {
            @for (number, (own, other)) in twins.iter().enumerate() {
                @let newest = |it: &V1Series| it.points.last().map_or(f64::NAN, |point| point.value);
                p {
                    (variant(own)) ": " (value(newest(own), &own.unit)) "; "
                    a href={ "../" (case_page(&other.case)) } { (variant(other)) } ": " (value(newest(other), &other.unit))
                    span.soft { " (" (signed_percent(newest(own) / newest(other) - 1.0)) " " (own.metric) ")" }
                }
                (scrolled("Variants", &together(&[(*own, variant(own)), (*other, variant(other))], &format!("variants-{number}"))))
            }
        };
        part("variants", "Against the other variant", !twins.is_empty(), &body)
    }

    /// The newest figures of the cases that differ only in parameters.
    fn parameters(&self) -> Markup {
        let Some(own) = self.series.first() else { return html! {} };
        let is_like = |it: &V1Series| {
            (&it.metric, &it.unit, it.case.variant, place(it))
                == (&own.metric, &own.unit, own.case.variant, place(own))
        };
        let like: Vec<&V1Series> = self.siblings.iter().copied().filter(|it| is_like(it)).collect();
        let names: BTreeSet<&String> = like.iter().flat_map(|it| it.case.params.keys()).collect();
        let param = |it: &V1Series, name: &String| {
            it.case.params.get(name).map_or(String::new(), |value| visible(&value.to_string()).into_owned())
        };
        let table = html! {
            table {
                thead { tr {
                    @for name in &names { th scope="col" { (visible(name)) } }
                    th scope="col" { "runs" } th.figure scope="col" { (visible(&own.metric)) } th scope="col" { "last change" }
                } }
                tbody {
                    @for series in &like {
                        @let is_own = series.case == *self.case;
                        tr.own[is_own] {
                            @for (at, name) in names.iter().enumerate() {
                                td {
                                    @if at == 0 && !is_own {
                                        a href={ "../" (case_page(&series.case)) } { (param(series, name)) }
                                    } @else {
                                        (param(series, name))
                                    }
                                }
                            }
                            td { (small(series)) }
                            td.figure { (latest(series)) }
                            td { @if let Some(change) = series.last_change() { (badge(change)) } }
                        }
                    }
                }
            }
        };
        part("parameters", "Parameters against each other", like.len() > 1, &scrolled("Parameters", &table))
    }

    fn comparisons(&self) -> Markup {
        let judged: Vec<_> = self
            .input
            .comparisons
            .iter()
            .filter(|it| it.document.rows.iter().any(|row| row.case == *self.case))
            .collect();
        let list = html! {
            ul {
                @for comparison in &judged {
                    li {
                        a href={ "../" (comparison.path()) } {
                            (visible(&comparison.document.base.name)) " → " (visible(&comparison.document.head.name))
                        }
                        @for row in comparison.document.rows.iter().filter(|row| row.case == *self.case) {
                            " " span.soft { (visible(&row.metric)) " " (row.verdict.into_str()) }
                        }
                    }
                }
            }
        };
        part("comparisons", "Comparisons of it", !judged.is_empty(), &list)
    }
}
