//! Annotations: one per benchmark, on its source line if known. Plain text, not Markdown.

use super::parts::budget::plain;
use super::parts::context::PublishContext;
use super::parts::reproduce::with_ci_advice;
use crate::layout::grouped::{joined, together};
use crate::verdict::rows::margin;
use crate::verdict::summary::{counts, counts_text};
use crate::verdict::view::{RowView, VerdictView};
use gbench_compare::{Merged, Verdict};
use gbench_model::text::percent;
use gbench_model::{BenchmarkId, SourceLine};

/// Annotations of one check; GitHub accepts 50 per request.
const MAX_ANNOTATIONS: usize = 200;

/// Annotations of one level that GitHub accepts from one step's log.
const MAX_IN_LOG: usize = 10;

/// Rows that one annotation describes; the others are counted.
const MAX_ROWS: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchmarkAnnotation {
    /// Path from the repository's root, with `/`, never absolute, never upwards; and the line, counted from one.
    pub place: Option<(String, u32)>,
    /// A failure, else a warning.
    pub failure: bool,
    /// At most 255 bytes, in one line.
    pub title: String,
    /// At most 16 KiB, in lines.
    pub message: String,
}

/// The 10 most severe: GitHub drops further ones of a level. Title and message still have to be escaped for the log.
pub fn annotations_of_log(merged: &Merged, context: &PublishContext) -> Vec<BenchmarkAnnotation> {
    let mut annotations = all(merged, context);
    annotations.truncate(MAX_IN_LOG);
    annotations
}

pub(super) fn on_lines(merged: &Merged, context: &PublishContext) -> Vec<BenchmarkAnnotation> {
    all(merged, context).into_iter().filter(|it| it.place.is_some()).take(MAX_ANNOTATIONS).collect()
}

fn all(merged: &Merged, context: &PublishContext) -> Vec<BenchmarkAnnotation> {
    let merged = &with_ci_advice(merged, context);
    let views: Vec<VerdictView> =
        merged.groups.iter().map(|group| VerdictView::new(&group.verdict)).collect();
    let calm = [Verdict::Improved, Verdict::Mended, Verdict::Gone, Verdict::New, Verdict::Unchanged];
    let mut lines: Vec<(&str, &RowView)> = Vec::new();
    for (group, view) in merged.groups.iter().zip(&views) {
        let failing = view.lines().filter(|line| !calm.contains(&line.row.verdict));
        lines.extend(failing.map(|line| (group.label.as_str(), line)));
    }
    // The sort is stable: within a verdict the largest change stays first.
    lines.sort_by_key(|(_, line)| line.row.verdict);
    let annotation = |(benchmark, rows): (&BenchmarkId, Vec<(&str, &RowView)>)| BenchmarkAnnotation {
        place: place(benchmark, &context.sources),
        failure: rows.iter().any(|(label, line)| {
            let is_accepted = context.accepted.covers(label, line.row);
            line.row.verdict != Verdict::Inconclusive && context.fails_job(line.row.verdict) && !is_accepted
        }),
        title: title(benchmark, &rows),
        message: message(&rows),
    };
    let by_benchmark = together(lines.into_iter().map(|row| (&row.1.row.case.benchmark, row)));
    by_benchmark.into_iter().map(annotation).collect()
}

fn title(benchmark: &BenchmarkId, rows: &[(&str, &RowView)]) -> String {
    let title = match rows {
        [(_, line)] if !line.change.is_empty() => {
            format!("{} {}: {}", line.name, line.row.metric, line.change)
        }
        _ => format!("{benchmark}: {}", counts_text(&counts(rows.iter().map(|(_, line)| line.row)))),
    };
    plain(&title, 255)
}

fn message(rows: &[(&str, &RowView)]) -> String {
    let shown = rows.iter().take(MAX_ROWS).map(|(label, line)| (why(line), said(label, line)));
    let mut lines = Vec::new();
    for (why, alike) in together(shown) {
        let count = alike.len();
        lines.extend(alike);
        match (why.is_empty(), count, lines.last_mut()) {
            (false, 1, Some(only)) => *only += &format!("; {why}"),
            (false, count, _) => lines.push(format!("for these {count}: {why}")),
            _ => {}
        }
    }
    if rows.len() > MAX_ROWS {
        lines.push(format!("and {} more", rows.len() - MAX_ROWS));
    }
    lines.join("\n")
}

/// `h100: kernels/gemm[n=8] time: 12.31 ms -> 13.57 ms, +10.2 % slower (+8.1 % to +12.3 %), margin 5 %`
fn said(label: &str, line: &RowView) -> String {
    let figures = if line.change.is_empty() {
        line.row.verdict.into_str().to_owned()
    } else {
        let interval = if line.interval.is_empty() { String::new() } else { format!(" ({})", line.interval) };
        let (base, head, margin) = (&line.base.value, &line.head.value, percent(margin(line)));
        plain(&format!("{base} -> {head}, {}{interval}, margin {margin}", line.change), 300)
    };
    joined([&plain(label, 100), &plain(&line.title(), 400), &figures], ": ")
}

fn why(line: &RowView) -> String {
    let [reason, next] = [&line.row.reason, &line.row.next].map(|it| plain(it.trim_end_matches('.'), 500));
    joined([&reason, &next], "; ")
}

/// The benchmark's line, unless its path leads anywhere but down from the repository's root.
fn place(benchmark: &BenchmarkId, sources: &[SourceLine]) -> Option<(String, u32)> {
    let name = benchmark.to_string();
    let source = sources.iter().find(|source| source.benchmark == name && source.line > 0)?;
    let step = |step: &str| !matches!(step, "" | "." | "..");
    let plain_path = crate::layout::escape::visible(&source.path) == source.path.as_str()
        && !source.path.contains(['\\', ':'])
        && source.path.len() <= 1000;
    (plain_path && source.path.split('/').all(step)).then(|| (source.path.clone(), source.line))
}
