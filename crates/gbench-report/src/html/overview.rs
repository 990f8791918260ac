//! The first page: recent changes, drifts, missing and noisy series, and every case.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::addresses::{SeriesNames, case_page, place};
use super::chart::small;
use super::contents::SiteInput;
use super::events::{badge, broken_fields, not_judged, since};
use super::page::{SiteFrame, part, table, tone};
use crate::layout::escape::visible;
use crate::layout::number::{p_value, signed_percent, spread};
use crate::trends::finding::{TrendFinding, is_drifting, is_drifting_worse};
use crate::trends::series::{day, latest, newest_first, place as place_of};
use gbench_compare::trend::{SeriesState, V1Series, V1Unmeasured};
use gbench_model::text::{capitalized, count};

const NOISIEST: usize = 10;
const BREAKS: usize = 12;
/// This count is also shown if it is zero.
const WORSE: &str = "lastingly worse";

pub(super) fn page(input: &SiteInput<'_>, frame: &SiteFrame) -> String {
    let names = SeriesNames::new(input.trends);
    let view = Overview { input, names: &names, frame };
    let body = html! {
        h1 { (visible(input.title)) }
        (view.summary())
        (view.changed())
        (view.drifting())
        (view.missing())
        (view.comparisons())
        (view.breaks())
        (view.noisy())
        (view.not_judged())
        (view.all())
        (view.warnings())
    };
    frame.page("", "", &body)
}

struct Overview<'v> {
    input: &'v SiteInput<'v>,
    names: &'v SeriesNames<'v>,
    frame: &'v SiteFrame,
}

/// Series that are searched, and whose last change or drift still applies.
fn is_searched(series: &V1Series) -> bool {
    series.state == SeriesState::Searched
}

impl Overview<'_> {
    fn series(&self, is_meant: impl Fn(&V1Series) -> bool) -> Vec<&V1Series> {
        self.input.trends.series.iter().filter(|it| is_meant(it)).collect()
    }

    fn found(&self, finding: TrendFinding) -> usize {
        self.series(|it| TrendFinding::of(it) == finding).len()
    }

    fn summary(&self) -> Markup {
        let trends = self.input.trends;
        let days = match (trends.runs.first(), trends.runs.last()) {
            (Some(first), Some(last)) if day(first) != day(last) => {
                format!("{} to {}", day(first), day(last))
            }
            (_, Some(last)) => day(last).to_owned(),
            _ => String::new(),
        };
        let places: BTreeSet<String> = trends.series.iter().map(place).collect();
        let places: Vec<String> = places.into_iter().take(4).collect();
        let cases: BTreeSet<_> = trends.series.iter().map(|it| &it.case).collect();
        let tile = |figure: usize, words: &str, tone: &str| {
            // Zero counts are hidden, except that of worse series.
            let (is_shown, tone) = (figure > 0 || words == WORSE, if figure == 0 { "neutral" } else { tone });
            html! { @if is_shown { li class={ "tile " (tone) } { strong { (figure) } " " (words) } } }
        };
        html! {
            p.lead {
                (count(trends.runs.len(), "run")) " of " (visible(&places.join(", "))) ", " (days) ", "
                (count(cases.len(), "case")) ", from " code { (visible(&trends.store)) }
                @if trends.left_out > 0 { "; " (count(trends.left_out as usize, "older run")) " left out" }
                "."
            }
            ul.tiles {
                (tile(self.found(TrendFinding::Worse), WORSE, "worse"))
                (tile(self.series(is_drifting_worse).len(), "drifting for the worse", "doubt"))
                (tile(self.found(TrendFinding::Accepted), "worse, and accepted", "accepted"))
                (tile(self.found(TrendFinding::Better), "lastingly better", "better"))
                (tile(trends.unmeasured.len(), "without a figure", "worse"))
                (tile(self.series(|it| !is_searched(it)).len(), "not judged", "doubt"))
            }
        }
    }

    fn link(&self, series: &V1Series) -> Markup {
        let which = self.names.which(series);
        html! {
            a href=(case_page(&series.case)) { (self.names.case(&series.case)) }
            @if !which.is_empty() { " " span.soft { (which) } }
        }
    }

    /// Each series whose newest level differs from the one before, the newest change first.
    fn changed(&self) -> Markup {
        let mut changed = self.series(|it| is_searched(it) && it.last_change().is_some());
        newest_first(&mut changed);
        let rows = html! {
            @for series in &changed {
                @if let Some(change) = series.last_change() {
                    tr {
                        td { (self.link(series)) }
                        td {
                            (badge(change))
                            br;
                            span.soft { (signed_percent(change.low)) " to " (signed_percent(change.high)) }
                        }
                        td { (small(series)) }
                        td {
                            (since(series, change, self.names, self.frame))
                            @if change.new { br; span.soft { "new with the newest run" } }
                            @if let Some(accepted) = &change.accepted {
                                br;
                                span.soft { "accepted by " (visible(&accepted.by)) " in #" (accepted.pull) }
                            }
                        }
                        td.figure { (latest(series)) }
                    }
                }
            }
        };
        let nothing = html! { p.soft { "No series has changed for good." } };
        let columns = ["case", "change", "runs", "since", ".latest"];
        let body = if changed.is_empty() { nothing } else { table("What changed", &columns, &rows) };
        html! {
            (part("changed", "What changed, and stayed so", true, &body))
            (self.withdrawn())
        }
    }

    fn withdrawn(&self) -> Markup {
        let withdrawn = self.series(|it| !it.withdrawn.is_empty());
        let list = html! {
            ul {
                @for series in &withdrawn {
                    @for change in &series.withdrawn {
                        li { (self.link(series)) ": " (signed_percent(change.change)) " of " (self.names.day(series, change.at)) }
                    }
                }
            }
        };
        part("withdrawn", "Taken back by the newest run", !withdrawn.is_empty(), &list)
    }

    fn drifting(&self) -> Markup {
        let mut drifting = self.series(is_drifting);
        drifting.sort_by_key(|it| Reverse(it.drift.as_ref().map(|drift| (drift.total.abs() * 1e6) as u64)));
        let rows = html! {
            @for series in &drifting {
                @if let Some(drift) = &series.drift {
                    tr {
                        td { (self.link(series)) }
                        td { (small(series)) }
                        td.figure {
                            span class={ "badge " (if drift.worse == Some(true) { "doubt" } else { "neutral" }) } {
                                (signed_percent(drift.total))
                            }
                        }
                        td.figure { (signed_percent(drift.per_run)) }
                        td { (self.names.day(series, drift.from)) " " span.soft { (p_value(drift.p)) } }
                        td.figure { (latest(series)) }
                    }
                }
            }
        };
        let columns = ["case", "runs", ".drift", ".a run", "since", ".latest"];
        let table = table("What drifts", &columns, &rows);
        part("drifting", "What drifts, without a step", !drifting.is_empty(), &table)
    }

    fn missing(&self) -> Markup {
        let gaps = &self.input.trends.unmeasured;
        let place = |gap: &V1Unmeasured| place_of(&gap.branch, &gap.label);
        let has_page: BTreeSet<_> = self.input.trends.series.iter().map(|it| &it.case).collect();
        let list = html! {
            ul {
                @for gap in gaps {
                    li {
                        @if has_page.contains(&gap.case) {
                            a href=(case_page(&gap.case)) { (self.names.case(&gap.case)) }
                        } @else {
                            (self.names.case(&gap.case))
                        }
                        ": " span.badge.worse { (visible(&gap.outcome)) } " in the newest run of " (visible(&place(gap)))
                    }
                }
            }
        };
        part("missing", "Without a figure in the newest run", !gaps.is_empty(), &list)
    }

    fn comparisons(&self) -> Markup {
        let comparisons = self.input.comparisons;
        let list = html! {
            ul.plain {
                @for comparison in comparisons {
                    @let document = &comparison.document;
                    li {
                        span class={ "badge " (tone(document.conclusion.into())) } { (document.conclusion.into_str()) }
                        " " a href=(comparison.path()) { (visible(&document.base.name)) " → " (visible(&document.head.name)) }
                        " " span.soft { (document.head.started.get(..10).unwrap_or_default()) }
                        br;
                        (capitalized(&visible(&document.sentence)))
                    }
                }
            }
        };
        part("comparisons", "Comparisons", !comparisons.is_empty(), &list)
    }

    fn breaks(&self) -> Markup {
        let mut found: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for series in &self.input.trends.series {
            for broken in &series.breaks {
                *found.entry((self.names.day(series, broken.at), broken_fields(broken))).or_default() += 1;
            }
        }
        let list = html! {
            ul {
                @for ((day, fields), series) in found.iter().rev().take(BREAKS) {
                    li { (day) ": " (fields) " " span.soft { "(" (series) " series)" } }
                }
            }
            @if found.len() > BREAKS { p.soft { "and " (found.len() - BREAKS) " older ones" } }
        };
        part(
            "breaks",
            "Breaks: figures on both sides are not set against each other",
            !found.is_empty(),
            &list,
        )
    }

    fn noisy(&self) -> Markup {
        let mut noisy = self.series(|it| it.noise.is_some_and(|noise| noise > 0.0));
        noisy.sort_by(|one, other| other.noise.unwrap_or(0.0).total_cmp(&one.noise.unwrap_or(0.0)));
        noisy.truncate(NOISIEST);
        let rows = html! {
            @for series in &noisy {
                tr {
                    td { (self.link(series)) }
                    td { (small(series)) }
                    td.figure { (series.noise.map_or(String::new(), spread)) }
                }
            }
        };
        let table = table("The noisiest", &["case", "runs", ".from run to run"], &rows);
        part("noisy", "The noisiest", !noisy.is_empty(), &table)
    }

    fn not_judged(&self) -> Markup {
        let series = self.series(|it| !is_searched(it));
        let list = html! {
            ul { @for series in &series { li { (self.link(series)) ": " (not_judged(series, self.names)) } } }
        };
        part("not-judged", "Not judged", !series.is_empty(), &list)
    }

    fn all(&self) -> Markup {
        let mut benchmarks: BTreeMap<&str, Vec<&V1Series>> = BTreeMap::new();
        for series in &self.input.trends.series {
            benchmarks.entry(series.case.benchmark.as_str()).or_default().push(series);
        }
        let body = html! {
            @for (benchmark, series) in &benchmarks {
                details open[benchmarks.len() <= 12] {
                    summary { (visible(benchmark)) " " span.soft { (series.len()) " series" } }
                    (self.table_of(benchmark, series))
                }
            }
        };
        part("all", "Every case", !benchmarks.is_empty(), &body)
    }

    fn table_of(&self, benchmark: &str, series: &[&V1Series]) -> Markup {
        let rows = html! {
            @for series in series {
                tr {
                    td { (self.link(series)) }
                    td { (small(series)) }
                    td.figure { (latest(series)) }
                    td.figure { (series.noise.map_or("–".into(), spread)) }
                    td { @if let Some(change) = series.last_change() { (badge(change)) } }
                }
            }
        };
        table(&visible(benchmark), &["case", "runs", ".latest", ".noise", "last change"], &rows)
    }

    fn warnings(&self) -> Markup {
        let warnings = &self.input.trends.warnings;
        let list = html! { ul { @for warning in warnings { li { (capitalized(&visible(warning))) } } } };
        part("warnings", "Warnings", !warnings.is_empty(), &list)
    }
}
