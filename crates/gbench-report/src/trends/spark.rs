//! A series in one line: a bar for each run, or for several if they do not fit.

use crate::record::view::metric::median;
use gbench_compare::trend::V1Series;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ',', '-', '=', '+', '*', '#'];
/// Precedes the first figure after a break.
const BREAK: [char; 2] = ['┊', '|'];

/// The height covers at least this share, so that noise of a percent does not look large.
const LEAST_RANGE: f64 = 0.05;

/// At most `width` characters; with more runs, several share a bar, which shows their median.
pub(crate) fn spark(series: &V1Series, width: usize, unicode: bool) -> String {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let (bars, breaks) = if unicode { (BARS, BREAK[0]) } else { (ASCII, BREAK[1]) };
    let room = width.saturating_sub(series.breaks.len()).max(1);
    let each = values.len().div_ceil(room).max(1);
    // A bar never combines figures of both sides of a break.
    let mut starts: Vec<usize> = vec![0];
    starts.extend(series.breaks.iter().map(|it| it.at as usize));
    starts.push(values.len());
    let middle = |values: &[f64]| median(&mut values.to_vec()).unwrap_or(f64::NAN);
    let pieces: Vec<Vec<f64>> = starts
        .windows(2)
        .map(|piece| values[piece[0]..piece[1]].chunks(each).map(middle).collect())
        .collect();
    let all = || pieces.iter().flatten().copied().filter(|value| value.is_finite());
    let (low, high) =
        all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
    let range = (high - low).max(LEAST_RANGE * high.abs());
    let foot = (high + low - range) / 2.0;
    let bar = |value: &f64| {
        let share = if range > 0.0 { (value - foot) / range } else { 0.5 };
        bars[(share * 7.0).round().clamp(0.0, 7.0) as usize]
    };
    let drawn = pieces.iter().map(|piece| piece.iter().map(bar).collect::<String>());
    let line = drawn.collect::<Vec<_>>().join(&breaks.to_string());
    // If breaks leave less space than there are pieces, the newest are shown.
    let skipped = line.chars().count().saturating_sub(width);
    line.chars().skip(skipped).collect()
}
