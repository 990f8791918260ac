//! The events of a series, in words.

use maud::{Markup, html};

use super::addresses::SeriesNames;
use super::page::SiteFrame;
use crate::layout::escape::visible;
use crate::layout::number::{p_value, signed_percent, value};
use crate::trends::finding::TrendFinding;
use crate::trends::series::{fields, latest, why_not_judged};
use gbench_compare::trend::{V1Break, V1ChangePoint, V1Drift, V1Point, V1Series};
use gbench_model::text::count;

/// Class and word for the direction of a change.
pub(super) fn tone(change: &V1ChangePoint) -> (&'static str, &'static str) {
    match TrendFinding::of_change(change) {
        TrendFinding::Worse => ("worse", "worse"),
        TrendFinding::Better => ("better", "better"),
        TrendFinding::Accepted => ("accepted", "worse, accepted"),
        _ => ("neutral", "changed"),
    }
}

/// `1.25 ms (1.24 ms to 1.26 ms)`.
pub(super) fn figure_words(point: &V1Point, unit: &str) -> String {
    let own = value(point.value, unit);
    match (point.low, point.high) {
        (Some(low), Some(high)) => format!("{own} ({} to {})", value(low, unit), value(high, unit)),
        _ => own,
    }
}

/// `driver 550.54 → 560.28, cuda 12.4 → 12.6`.
pub(super) fn broken_fields(broken: &V1Break) -> String {
    visible(&fields(broken, "→")).into_owned()
}

/// The size of a change with an arrow: colour alone must not show its direction.
pub(super) fn size(change: &V1ChangePoint) -> String {
    let arrow = match TrendFinding::of_change(change) {
        TrendFinding::Accepted => '✓',
        _ if change.change > 0.0 => '▲',
        _ => '▼',
    };
    format!("{arrow} {}", signed_percent(change.change))
}

pub(super) fn badge(change: &V1ChangePoint) -> Markup {
    let (class, word) = tone(change);
    html! { span class={ "badge " (class) } { (size(change)) " " (word) } }
}

/// The date and the commits of a change.
pub(super) fn since(
    series: &V1Series,
    change: &V1ChangePoint,
    names: &SeriesNames<'_>,
    frame: &SiteFrame,
) -> Markup {
    html! {
        (names.day(series, change.at))
        @match (&change.good, &change.bad) {
            (Some(commit), _) if change.is_of_one_commit() => { ", on both sides " (frame.commit(commit)) }
            (Some(good), Some(bad)) => { " in " (frame.commits(good, bad)) }
            (None, Some(bad)) => { " by " (frame.commit(bad)) }
            _ => {}
        }
    }
}

/// All events of a series as a list, the newest first; empty if there are none.
pub(super) fn list(series: &V1Series, names: &SeriesNames<'_>, frame: &SiteFrame) -> Markup {
    let mut events: Vec<(u32, Markup)> = Vec::new();
    events.extend(series.changes.iter().map(|it| (it.at, change(series, it, names, frame))));
    events.extend(series.breaks.iter().map(|it| {
        let words =
            html! { span.badge.neutral { "break" } " " (names.day(series, it.at)) ": " (broken_fields(it)) };
        (it.at, words)
    }));
    events.extend(series.drift.iter().map(|it| (it.from, drift(series, it, names))));
    events.extend(series.withdrawn.iter().map(|it| {
        let words = html! {
            span.badge.neutral { "withdrawn" } " " (signed_percent(it.change)) " of " (names.day(series, it.at))
            ": the newest run takes it back"
        };
        (it.at, words)
    }));
    events.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    html! {
        @if !events.is_empty() {
            ul.events { @for (_, words) in &events { li { (words) } } }
        }
    }
}

fn change(series: &V1Series, change: &V1ChangePoint, names: &SeriesNames<'_>, frame: &SiteFrame) -> Markup {
    html! {
        (badge(change)) " since " (since(series, change, names, frame))
        span.soft { "; " (signed_percent(change.low)) " to " (signed_percent(change.high)) ", " (p_value(change.p)) }
        @if change.new { span.soft { "; new with the newest run" } }
        @if let Some(accepted) = &change.accepted {
            "; accepted by " (visible(&accepted.by)) " in #" (accepted.pull) ": " q { (visible(&accepted.reason)) }
        }
    }
}

fn drift(series: &V1Series, drift: &V1Drift, names: &SeriesNames<'_>) -> Markup {
    html! {
        span class={ "badge " (if drift.worse == Some(true) { "doubt" } else { "neutral" }) } { "drift " (signed_percent(drift.total)) }
        " since " (names.day(series, drift.from)) ", " (signed_percent(drift.per_run)) " a run"
        span.soft { "; " (p_value(drift.p)) }
    }
}

/// The chart's content in a sentence, for screen readers.
pub(super) fn described(series: &V1Series, names: &SeriesNames<'_>) -> String {
    let newest = latest(series);
    let last = series.points.len().saturating_sub(1) as u32;
    let mut text = format!(
        "From {} to {}; the newest figure is {newest}.",
        names.day(series, 0),
        names.day(series, last)
    );
    for change in &series.changes {
        let (_, word) = tone(change);
        text += &format!(" {} {word} since {}.", signed_percent(change.change), names.day(series, change.at));
    }
    for broken in &series.breaks {
        text += &format!(" Break on {}: {}.", names.day(series, broken.at), broken_fields(broken));
    }
    if let Some(drift) = &series.drift {
        text +=
            &format!(" Drift of {} since {}.", signed_percent(drift.total), names.day(series, drift.from));
    }
    text
}

/// Why the newest part of a series was not judged; empty if it was.
pub(super) fn not_judged(series: &V1Series, names: &SeriesNames<'_>) -> String {
    why_not_judged(series, |at| names.day(series, at).to_owned())
}

/// The runs of a series as a table, the newest first, as an alternative to the chart.
pub(super) fn table(series: &V1Series, names: &SeriesNames<'_>, frame: &SiteFrame, most: usize) -> Markup {
    let newest = series.points.iter().enumerate().rev().take(most);
    let left_out = series.points.len().saturating_sub(most);
    html! {
        table {
            thead { tr { th scope="col" { "day" } th scope="col" { "commit" } th.figure scope="col" { "figure" } th scope="col" { "" } } }
            tbody {
                @for (at, point) in newest {
                    tr {
                        td { (names.day(series, at as u32)) }
                        td { @if let Some(run) = names.run(series, at as u32) { (frame.commit(&run.commit)) } }
                        td.figure { (figure_words(point, &series.unit)) }
                        td { (marks(series, at as u32)) }
                    }
                }
            }
        }
        @if left_out > 0 {
            p.soft { (count(left_out, "older run")) " are in the chart alone; " code { "gbench-ci history --format csv" } " has them all." }
        }
    }
}

fn marks(series: &V1Series, at: u32) -> Markup {
    html! {
        @for change in series.changes.iter().filter(|it| it.at == at) { (badge(change)) " " }
        @for broken in series.breaks.iter().filter(|it| it.at == at) { span.soft { "break: " (broken_fields(broken)) } }
    }
}
