//! A curve of a serving benchmark: latency over throughput, on base and on head. Both axes are logarithmic, because loads double.

use maud::{Markup, html};

use super::axis::LogAxis;
use super::page::{table, tone};
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::visible;
use crate::layout::number::value;
use crate::layout::svg::path;
use crate::verdict::curves::{CurveView, PointView};
use gbench_compare::{Row, Verdict};

/// Narrow, so that its labels stay readable on a phone.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 420.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 250.0;
/// The column of a point's verdict.
const STATUS: usize = 1;
/// Least distance between the labels of two points.
const APART: f64 = 24.0;

/// The picture and the points of each curve.
pub(super) fn curves(curves: &[CurveView<'_>]) -> Markup {
    html! {
        @for (number, view) in curves.iter().enumerate() {
            p {
                span class={ "badge " (tone(Emphasis::from(view.curve.verdict))) } { (view.curve.verdict.into_str()) }
                " " strong { (visible(&view.name)) } " " (visible(&view.told()))
            }
            (picture(view, number))
            details open[view.curve.verdict != Verdict::Unchanged && number == 0] {
                summary { "Points" }
                (points(view))
            }
        }
    }
}

fn points(view: &CurveView<'_>) -> Markup {
    let table_of = view.table(|verdict| verdict.into_str().to_owned());
    let columns: Vec<&str> = table_of.columns.iter().map(String::as_str).collect();
    let rows = html! {
        @for (cells, point) in table_of.rows.iter().zip(&view.points) {
            tr {
                @for (at, cell) in cells.iter().enumerate() {
                    @let (above, below) = cell.split_once('\n').unwrap_or((cell, ""));
                    td {
                        @if at == STATUS {
                            span class={ "badge " (tone(Emphasis::from(point.verdict))) } { (visible(above)) }
                        } @else {
                            (visible(above))
                        }
                        @if !below.is_empty() { br; span.soft { (visible(below)) } }
                    }
                }
            }
        }
    };
    html! {
        div.loads { (table("Points of the curve", &columns, &rows)) }
        @for note in &table_of.notes { p.soft { (visible(note)) "." } }
    }
}

/// A point of one side.
struct Place<'v> {
    point: &'v PointView<'v>,
    throughput: f64,
    latency: f64,
}

fn places<'v>(view: &'v CurveView<'v>, side: usize) -> Vec<Place<'v>> {
    let centre = |row: Option<&Row>| row?.centres()[side].filter(|value| *value > 0.0 && value.is_finite());
    let place = |point: &'v PointView<'v>| {
        let (throughput, latency) = (centre(point.throughput)?, centre(point.latency)?);
        Some(Place { point, throughput, latency })
    };
    view.points.iter().filter_map(place).collect()
}

fn picture(view: &CurveView<'_>, number: usize) -> Markup {
    let sides = [places(view, 0), places(view, 1)];
    let all = || sides.iter().flatten();
    let unit =
        |row: fn(&PointView<'_>) -> Option<String>| view.points.iter().find_map(row).unwrap_or_default();
    let units = [
        unit(|point| point.throughput.map(|row| row.unit.clone())),
        unit(|point| point.latency.map(|row| row.unit.clone())),
    ];
    let (Some(throughput), Some(latency)) = (&view.curve.throughput, &view.curve.latency) else {
        return html! {};
    };
    let x = LogAxis::over(all().map(|place| place.throughput), [LEFT, RIGHT]);
    let y = LogAxis::over(all().map(|place| place.latency), [BOTTOM, TOP]);
    let at = |place: &Place<'_>| (x.place(place.throughput), y.place(place.latency));
    let ids = [format!("curve-{number}-title"), format!("curve-{number}-desc")];
    html! {
        @if all().next().is_some() {
            svg.curve viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby={ (ids[0]) " " (ids[1]) } {
                title id=(ids[0]) { (visible(&view.name)) ": " (visible(latency)) " over " (visible(throughput)) }
                desc id=(ids[1]) { "Base and head " (visible(&view.told())) }
                g.grid {
                    @for tick in y.ticks(5) {
                        @let at = y.place(tick);
                        path d=(path([(LEFT, at), (RIGHT, at)].into_iter(), "")) {}
                        text.end x=(tenth(LEFT - 6.0)) y=(tenth(at + 4.0)) { (value(tick, &units[1])) }
                    }
                    @for tick in x.ticks(3) {
                        @let at = x.place(tick);
                        path d=(path([(at, TOP), (at, BOTTOM)].into_iter(), "")) {}
                        text.mid x=(tenth(at)) y=(tenth(BOTTOM + 18.0)) { (value(tick, &units[0])) }
                    }
                }
                text x="4" y="14" { (visible(latency)) }
                text.end x=(tenth(RIGHT)) y=(tenth(HEIGHT - 8.0)) { (visible(throughput)) }
                (legend())
                @for (side, places) in sides.iter().enumerate() {
                    g class=(["base", "head"][side]) {
                        path d=(path(places.iter().map(at), "")) {}
                        @for place in places {
                            @let (x, y) = at(place);
                            circle cx=(tenth(x)) cy=(tenth(y)) r=(["4", "3.5"][side]) {
                                title {
                                    (["base", "head"][side]) ", " (visible(&view.curve.load)) " " (visible(&place.point.load)) ": "
                                    (value(place.throughput, &units[0])) ", " (value(place.latency, &units[1]))
                                }
                            }
                        }
                    }
                }
                (labels(&sides, at))
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        @for (side, x) in [("base", 236.0), ("head", 336.0)] {
            g class=(side) {
                path d=(path([(x, 10.0), (x + 26.0, 10.0)].into_iter(), "")) {}
                circle cx=(tenth(x + 13.0)) cy="10" r="3.5" {}
            }
            text x=(tenth(x + 32.0)) y="14" { (side) }
        }
    }
}

/// The load of each point of head, or of base where head has none, as far as they do not cover each other. A point that is
/// not unchanged always has its label, and a ring in the colour of its verdict, and the verdict itself if
/// that is bad.
fn labels(sides: &[Vec<Place<'_>>; 2], at: impl Fn(&Place<'_>) -> (f64, f64)) -> Markup {
    let [base, head] = sides;
    let of_base = base.iter().filter(|it| !head.iter().any(|other| other.point.load == it.point.load));
    let all: Vec<&Place<'_>> = head.iter().chain(of_base).collect();
    let is_marked = |place: &&&Place<'_>| place.point.verdict != Verdict::Unchanged;
    let mut shown: Vec<(f64, f64)> = Vec::new();
    let mut labelled = Vec::new();
    for place in all.iter().filter(is_marked).chain(all.iter().filter(|it| !is_marked(it))) {
        let (x, y) = at(place);
        let is_free = shown.iter().all(|other| (x - other.0).hypot(y - other.1) >= APART);
        if is_free || is_marked(&place) {
            shown.push((x, y));
            labelled.push((*place, x, y));
        }
    }
    html! {
        @for (place, x, y) in &labelled {
            @if is_marked(&place) {
                g class={ "marked " (tone(Emphasis::from(place.point.verdict))) } {
                    circle cx=(tenth(*x)) cy=(tenth(*y)) r="8" {}
                    text.end x=(tenth(x - 11.0)) y=(tenth(y - 7.0)) {
                        (visible(&place.point.load))
                        @if Emphasis::from(place.point.verdict) == Emphasis::Bad { " " (place.point.verdict.into_str()) }
                    }
                }
            } @else {
                text.end x=(tenth(x - 7.0)) y=(tenth(y - 5.0)) { (visible(&place.point.load)) }
            }
        }
    }
}

fn tenth(value: f64) -> String {
    format!("{value:.1}")
}
