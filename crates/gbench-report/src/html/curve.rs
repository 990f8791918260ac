//! A curve of a serving benchmark: latency over throughput, or what there is of them over the load, on base and on head. Both axes
//! are logarithmic, because loads double.

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
struct DrawnPoint<'v> {
    point: &'v PointView<'v>,
    x: f64,
    y: f64,
}

/// The quantity along an axis.
struct AxisOf<'v> {
    name: &'v str,
    /// Empty for the load.
    unit: &'v str,
    value: fn(&PointView<'_>, usize) -> Option<f64>,
}

fn axes<'v>(view: &'v CurveView<'v>) -> Option<[AxisOf<'v>; 2]> {
    let unit = |row: fn(&'v PointView<'v>) -> Option<&'v Row>| {
        view.points.iter().find_map(row).map_or("", |row| row.unit.as_str())
    };
    let throughput = view.curve.throughput.as_deref().map(|name| AxisOf {
        name,
        unit: unit(|point| point.throughput),
        value: |point, side| point.throughput?.centres()[side],
    });
    let latency = view.curve.latency.as_deref().map(|name| AxisOf {
        name,
        unit: unit(|point| point.latency),
        value: |point, side| point.latency?.centres()[side],
    });
    let load = AxisOf { name: &view.curve.load, unit: "", value: |point, _| point.load.parse().ok() };
    match (throughput, latency) {
        (Some(throughput), Some(latency)) => Some([throughput, latency]),
        (Some(only), None) | (None, Some(only)) => Some([load, only]),
        (None, None) => None,
    }
}

/// The points of a side in order of their loads; `None` where it has no figures.
fn places<'v>(view: &'v CurveView<'v>, axes: &[AxisOf<'_>; 2], side: usize) -> Vec<Option<DrawnPoint<'v>>> {
    let place = |point: &'v PointView<'v>| {
        let value = |axis: &AxisOf<'_>| (axis.value)(point, side).filter(|it| *it > 0.0 && it.is_finite());
        Some(DrawnPoint { point, x: value(&axes[0])?, y: value(&axes[1])? })
    };
    view.points.iter().map(place).collect()
}

/// `64: invalid`, for each load that a side has no point of.
fn not_drawn(view: &CurveView<'_>, sides: &[Vec<Option<DrawnPoint<'_>>>; 2]) -> Option<String> {
    let is_drawn = |at: usize| sides.iter().all(|side| side[at].is_some());
    let named = view.points.iter().enumerate().filter(|(at, _)| !is_drawn(*at));
    let named: Vec<String> =
        named.map(|(_, point)| format!("{}: {}", point.load, point.verdict.into_str())).collect();
    (!named.is_empty()).then(|| format!("Not drawn on both sides: {}.", named.join(", ")))
}

fn picture(view: &CurveView<'_>, number: usize) -> Markup {
    let Some(axes) = axes(view) else { return html! {} };
    let sides = [places(view, &axes, 0), places(view, &axes, 1)];
    let all = || sides.iter().flatten().flatten();
    let x = LogAxis::over(all().map(|place| place.x), [LEFT, RIGHT]);
    let y = LogAxis::over(all().map(|place| place.y), [BOTTOM, TOP]);
    let at = |place: &DrawnPoint<'_>| (x.place(place.x), y.place(place.y));
    let [below, left] = &axes;
    let ids = [format!("curve-{number}-title"), format!("curve-{number}-desc")];
    html! {
        @if all().next().is_some() {
            svg.curve viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby={ (ids[0]) " " (ids[1]) } {
                title id=(ids[0]) { (visible(&view.name)) ": " (visible(left.name)) " over " (visible(below.name)) }
                desc id=(ids[1]) { "Base and head " (visible(&view.told())) }
                g.grid {
                    @for tick in y.ticks(5) {
                        @let at = y.place(tick);
                        path d=(path([(LEFT, at), (RIGHT, at)].into_iter(), "")) {}
                        text.end x=(tenth(LEFT - 6.0)) y=(tenth(at + 4.0)) { (value(tick, left.unit)) }
                    }
                    @for tick in x.ticks(3) {
                        @let at = x.place(tick);
                        path d=(path([(at, TOP), (at, BOTTOM)].into_iter(), "")) {}
                        text.mid x=(tenth(at)) y=(tenth(BOTTOM + 18.0)) { (value(tick, below.unit)) }
                    }
                }
                text x="4" y="14" { (visible(left.name)) }
                text.end x=(tenth(RIGHT)) y=(tenth(HEIGHT - 8.0)) { (visible(below.name)) }
                (legend())
                @for (side, places) in sides.iter().enumerate() {
                    g class=(["base", "head"][side]) {
                        @for part in places.split(Option::is_none).filter(|part| !part.is_empty()) {
                            path d=(path(part.iter().flatten().map(at), "")) {}
                        }
                        @for place in places.iter().flatten() {
                            @let (x, y) = at(place);
                            circle cx=(tenth(x)) cy=(tenth(y)) r=(["4", "3.5"][side]) {
                                title {
                                    (["base", "head"][side]) ", " (visible(&view.curve.load)) " "
                                    (visible(&place.point.load)) ": "
                                    @if !below.unit.is_empty() { (value(place.x, below.unit)) ", " }
                                    (value(place.y, left.unit))
                                }
                            }
                        }
                    }
                }
                (labels(&sides, at))
            }
            @if let Some(text) = not_drawn(view, &sides) { p.soft { (visible(&text)) } }
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
fn labels(sides: &[Vec<Option<DrawnPoint<'_>>>; 2], at: impl Fn(&DrawnPoint<'_>) -> (f64, f64)) -> Markup {
    let [base, head] = sides;
    let of_base =
        base.iter().zip(head).filter(|(_, head)| head.is_none()).filter_map(|(base, _)| base.as_ref());
    let all: Vec<&DrawnPoint<'_>> = head.iter().flatten().chain(of_base).collect();
    let is_marked = |place: &&&DrawnPoint<'_>| place.point.verdict != Verdict::Unchanged;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{of_rows, row, timed};
    use gbench_compare::{Conclusion, Curve};
    use gbench_model::ParamValue;

    /// A curve of times alone, whose point at 4 failed.
    #[test]
    fn a_line_ends_where_a_point_failed_and_one_figure_is_over_the_load() {
        let rows: Vec<Row> = [1, 2, 4, 8, 16, 32]
            .map(|load| {
                let mut row = if load == 4 {
                    Row { metric: String::new(), ..row("results/serve", Verdict::Invalid) }
                } else {
                    timed("results/serve", Verdict::Unchanged, 0.1 * load as f64, 0.0, 0.01)
                };
                row.case.params.insert("users".into(), ParamValue::Int(load));
                row
            })
            .into();
        let points = rows.iter().map(|row| row.case.clone()).collect();
        let mut document = of_rows(rows, Conclusion::Failed, 1);
        document.curves.push(Curve {
            case: row("results/serve", Verdict::Invalid).case,
            load: "users".into(),
            verdict: Verdict::Invalid,
            points,
            throughput: None,
            latency: Some("time".into()),
        });
        let page = curves(&CurveView::all(&document)).into_string();
        assert!(page.contains("time over users</title>"), "{page}");
        assert!(page.contains("Not drawn on both sides: 4: invalid."), "{page}");
        let lines = page.split("<g class=\"head\">").last().unwrap().split("</g>").next().unwrap();
        let [first, second] = lines.split("<path d=\"").skip(1).collect::<Vec<_>>().try_into().unwrap();
        let corners = |line: &str| line.split('"').next().unwrap().split('L').count();
        assert_eq!((corners(first), corners(second)), (2, 3), "{page}");
        let style = crate::layout::markdown::MarkdownStyle {
            name: &str::to_owned,
            prose: &str::to_owned,
            rows: 2,
            max_named: 2,
        };
        let table = CurveView::all(&document)[0].markdown(&style);
        let shown = |line: &str| line.starts_with('|') && line.contains("invalid");
        assert!(table.lines().any(shown) && table.contains("4 more rows"), "{table}");
    }
}
