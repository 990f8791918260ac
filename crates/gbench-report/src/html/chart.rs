//! One series over its runs: figures with their intervals, levels, changes and breaks; small for a table, large for a
//! page. The style sheet defines colours and lines, so that a chart follows the page's light or dark theme.

use std::ops::Range;

use maud::{Markup, html};

use super::addresses::SeriesNames;
use super::axis::Axis;
use super::events::{broken_fields, figure_words, size, tone};
use crate::layout::number::value;
use crate::layout::svg::path;
use crate::layout::width::cut_middle;
use crate::trends::series::day;
use gbench_compare::trend::{V1Point, V1Series};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 884.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 250.0;
/// Most days written below a chart.
const DAYS: usize = 7;
/// Approximate limit of the figures in a small picture.
const SMALL: usize = 60;
const LABEL: usize = 26;

struct Drawn<'s> {
    series: &'s V1Series,
    y: Axis,
}

impl<'s> Drawn<'s> {
    fn new(series: &'s V1Series) -> Self {
        let values = series.points.iter().map(|point| point.value);
        Self { series, y: Axis::over(values, [BOTTOM, TOP]) }
    }

    fn x(&self, point: usize) -> f64 {
        let last = self.series.points.len().saturating_sub(1).max(1);
        LEFT + (RIGHT - LEFT) * point as f64 / last as f64
    }

    fn before(&self, point: u32) -> f64 {
        let point = point as usize;
        if point == 0 { self.x(0) } else { f64::midpoint(self.x(point - 1), self.x(point)) }
    }

    fn points(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &'s V1Point)> {
        let start = range.start;
        let finite = |(_, point): &(usize, &V1Point)| point.value.is_finite();
        self.series.points[range]
            .iter()
            .enumerate()
            .map(move |(at, point)| (start + at, point))
            .filter(finite)
    }
}

fn pieces(series: &V1Series) -> Vec<Range<usize>> {
    cut_at(series.points.len(), series.breaks.iter().map(|it| it.at as usize))
}

fn levels(series: &V1Series) -> Vec<Range<usize>> {
    let mut cuts: Vec<usize> = series.breaks.iter().map(|it| it.at as usize).collect();
    cuts.extend(series.changes.iter().map(|it| it.at as usize));
    cuts.sort_unstable();
    cut_at(series.points.len(), cuts.into_iter())
}

fn cut_at(count: usize, cuts: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    starts.extend(cuts);
    starts.push(count);
    starts.windows(2).map(|pair| pair[0]..pair[1].max(pair[0])).filter(|range| !range.is_empty()).collect()
}

fn level(points: &[V1Point]) -> Option<f64> {
    let mut values: Vec<f64> = points.iter().map(|point| point.value).filter(|it| it.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A series as a picture of fixed size for a table: its line (for many runs, medians of groups) and its newest figure. It
/// is hidden from screen readers, because the table contains the same in words.
pub(super) fn small(series: &V1Series) -> Markup {
    let (width, height) = (120.0, 26.0);
    let each = series.points.len().div_ceil(SMALL).max(1);
    let x = |at: f64| 3.0 + (width - 8.0) * at / series.points.len().saturating_sub(1).max(1) as f64;
    // A median never combines runs on both sides of a break.
    let medians: Vec<Vec<(f64, f64)>> = pieces(series)
        .into_iter()
        .map(|piece| {
            let places = piece.clone().step_by(each).map(|at| at..(at + each).min(piece.end));
            let middle = |place: &Range<usize>| f64::midpoint(place.start as f64, (place.end - 1) as f64);
            places.filter_map(|place| Some((middle(&place), level(&series.points[place])?))).collect()
        })
        .collect();
    let y = Axis::over(medians.iter().flatten().map(|(_, value)| *value), [height - 3.0, 3.0]);
    let line = |piece: &[(f64, f64)]| path(piece.iter().map(|(at, value)| (x(*at), y.place(*value))), "");
    let last = medians.last().and_then(|piece| piece.last()).map(|(at, value)| (x(*at), y.place(*value)));
    html! {
        svg.small viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) aria-hidden="true" focusable="false" {
            @for piece in &medians { path.line d=(line(piece)) {} }
            @if let Some((x, y)) = last { circle.newest cx=(tenth(x)) cy=(tenth(y)) r="2.5" {} }
        }
    }
}

fn tenth(value: f64) -> String {
    format!("{value:.1}")
}

/// A series as a picture of the width of the page. `id`: of its description, unique on the page.
pub(super) fn large(series: &V1Series, names: &SeriesNames<'_>, id: &str, described: &str) -> Markup {
    let drawn = Drawn::new(series);
    let (title, desc) = (format!("{id}-title"), format!("{id}-desc"));
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby={ (title) " " (desc) } {
            title id=(title) { (names.case(&series.case)) " " (series.metric) " over " (series.points.len()) " runs" }
            desc id=(desc) { (described) }
            (grid(&drawn.y, &series.unit))
            (days(&drawn, names))
            (breaks(&drawn))
            // The interval of few processes may exceed the chart: it is clipped, so that the days stay readable.
            svg x=(tenth(LEFT)) y=(tenth(TOP)) width=(tenth(RIGHT - LEFT)) height=(tenth(BOTTOM - TOP))
                viewBox={ (LEFT) " " (TOP) " " (RIGHT - LEFT) " " (BOTTOM - TOP) } {
                @for piece in pieces(series) { path.band d=(band(&drawn, piece)) {} }
            }
            @for piece in levels(series) { (level_line(&drawn, piece)) }
            @for piece in pieces(series) {
                path.line d=(path(drawn.points(piece).map(|(at, point)| (drawn.x(at), drawn.y.place(point.value))), "")) {}
            }
            (drift(&drawn))
            (changes(&drawn))
            g.points { @for (at, point) in drawn.points(0..series.points.len()) { (dot(&drawn, at, point, names)) } }
        }
    }
}

fn grid(y: &Axis, unit: &str) -> Markup {
    html! {
        g.grid {
            @for tick in y.ticks(4) {
                @let at = y.place(tick);
                path d=(path([(LEFT, at), (RIGHT, at)].into_iter(), "")) {}
                text.end x=(tenth(LEFT - 8.0)) y=(tenth(at + 4.0)) { (value(tick, unit)) }
            }
        }
    }
}

fn days(drawn: &Drawn<'_>, names: &SeriesNames<'_>) -> Markup {
    let count = drawn.series.points.len();
    let step = count.div_ceil(DAYS).max(1);
    html! {
        g.days {
            @for at in (0..count).step_by(step) {
                text.mid x=(tenth(drawn.x(at))) y=(tenth(BOTTOM + 20.0)) { (names.day(drawn.series, at as u32)) }
            }
        }
    }
}

fn band(drawn: &Drawn<'_>, piece: Range<usize>) -> String {
    let ends = |point: &V1Point| (point.low.unwrap_or(point.value), point.high.unwrap_or(point.value));
    let upper = drawn.points(piece.clone()).map(|(at, point)| (drawn.x(at), drawn.y.place(ends(point).1)));
    let mut lower: Vec<(f64, f64)> =
        drawn.points(piece).map(|(at, point)| (drawn.x(at), drawn.y.place(ends(point).0))).collect();
    lower.reverse();
    path(upper.chain(lower), "Z")
}

fn level_line(drawn: &Drawn<'_>, piece: Range<usize>) -> Markup {
    let level = level(&drawn.series.points[piece.clone()]);
    html! {
        @if let Some(level) = level.filter(|_| piece.len() >= 3) {
            @let y = drawn.y.place(level);
            path.level d=(path([(drawn.x(piece.start), y), (drawn.x(piece.end - 1), y)].into_iter(), "")) {}
        }
    }
}

/// The label of a vertical line, on the side with more space.
fn label(class: &str, x: f64, y: f64, text: &str) -> Markup {
    let text = cut_middle(text, LABEL, "…");
    let is_right = x > f64::midpoint(LEFT, RIGHT);
    let (anchor, x) = if is_right { ("end", x - 5.0) } else { ("", x + 5.0) };
    html! { text class={ (class) " " (anchor) } x=(tenth(x)) y=(tenth(y)) { (text) } }
}

fn breaks(drawn: &Drawn<'_>) -> Markup {
    html! {
        @for broken in &drawn.series.breaks {
            @let x = drawn.before(broken.at);
            g.broken {
                path d=(path([(x, TOP - 22.0), (x, BOTTOM)].into_iter(), "")) {}
                (label("", x, TOP - 14.0, &broken_fields(broken)))
            }
        }
    }
}

fn changes(drawn: &Drawn<'_>) -> Markup {
    html! {
        @for change in &drawn.series.changes {
            @let x = drawn.before(change.at);
            g class={ "change " (tone(change).0) } {
                @let last = drawn.before(change.to + 1).max(x + 1.0);
                @let first = drawn.before(change.from).min(x);
                rect.range x=(tenth(first)) y=(tenth(TOP)) width=(tenth(last - first)) height=(tenth(BOTTOM - TOP)) {}
                path d=(path([(x, TOP - 8.0), (x, BOTTOM)].into_iter(), "")) {}
                (label("", x, TOP - 1.0, &size(change)))
            }
        }
    }
}

fn drift(drawn: &Drawn<'_>) -> Markup {
    let series = drawn.series;
    html! {
        @if let Some(drift) = &series.drift {
            @let last = series.points.len() - 1;
            @if let Some(level) = level(&series.points[(drift.from as usize)..]) {
                @let half = (1.0 + drift.total).sqrt();
                @let ends = [(drift.from as usize, level / half), (last, level * half)];
                path.drift d=(path(ends.into_iter().map(|(at, value)| (drawn.x(at), drawn.y.place(value))), "")) {}
            }
        }
    }
}

fn dot(drawn: &Drawn<'_>, at: usize, point: &V1Point, names: &SeriesNames<'_>) -> Markup {
    let series = drawn.series;
    let run = names.run(series, at as u32);
    // Many points must not cover their line.
    let radius = match series.points.len() {
        0..=120 => "3",
        121..=400 => "2.2",
        _ => "1.6",
    };
    html! {
        circle cx=(tenth(drawn.x(at))) cy=(tenth(drawn.y.place(point.value))) r=(radius) {
            title {
                @if let Some(run) = run { (day(run)) " " (super::addresses::short(&run.commit)) ": " }
                (figure_words(point, &series.unit))
            }
        }
    }
}

/// Several series of one unit over the runs of both, each a line with its name at the end.
pub(super) fn together(lines: &[(&V1Series, String)], id: &str) -> Markup {
    let points = || lines.iter().flat_map(|(series, _)| &series.points);
    let runs = || points().map(|point| f64::from(point.run));
    let (first, last) =
        runs().fold((f64::INFINITY, 0.0), |(first, last): (f64, f64), it| (first.min(it), last.max(it)));
    let x = |run: u32| LEFT + (RIGHT - 110.0 - LEFT) * (f64::from(run) - first) / (last - first).max(1.0);
    let y = Axis::over(points().map(|point| point.value), [BOTTOM, TOP]);
    let unit = lines.first().map_or("", |(series, _)| series.unit.as_str());
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby=(id) {
            title id=(id) { "The newest runs of " (lines.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" and ")) }
            (grid(&y, unit))
            @for (number, (series, name)) in lines.iter().enumerate() {
                g class={ "one of" (number % 4) } {
                    @for piece in pieces(series) {
                        path.line d=(path(series.points[piece].iter().map(|point| (x(point.run), y.place(point.value))), "")) {}
                    }
                    @if let Some(point) = series.points.last() {
                        text x=(tenth(x(point.run) + 8.0)) y=(tenth(y.place(point.value) + 4.0)) { (cut_middle(name, 16, "…")) }
                    }
                }
            }
        }
    }
}
