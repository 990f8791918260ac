//! The place of each changed row among its recent runs: a trend as text, and words for it.

use super::budget::{ByteBudget, ShortNames, figure, prose};
use super::context::PublishContext;
use super::links::{link, page_of_case};
use crate::layout::case_names::CaseNames;
use crate::layout::number::value;
use crate::trends::series::fields;
use crate::trends::spark::spark;
use gbench_compare::trend::{TrendsDocument, V1Break, V1Series};
use gbench_compare::{Merged, Row, Verdict};
use gbench_model::Better;
use gbench_model::text::count;

const MAX_ROWS: usize = 20;
/// Changed rows of a machine that are looked up: a hostile document must not cause unbounded work.
const LOOKED_UP: usize = 1000;
/// Runs before the newest that are shown.
const RUNS: usize = 30;
/// Columns of a trend: the runs, and their breaks.
const COLUMNS: usize = 40;

/// The table with its surroundings; empty if no history contains a changed row.
pub(crate) fn recent_runs(merged: &Merged, context: &PublishContext, budget: &mut ByteBudget) -> String {
    let found = of_rows(merged, &context.trends);
    let names = CaseNames::new(found.iter().map(|(series, _)| &series.case));
    let has_metrics = found.windows(2).any(|pair| pair[0].0.metric != pair[1].0.metric);
    let metric = |series: &V1Series| if has_metrics { series.metric.clone() } else { String::new() };
    let titles: Vec<String> =
        found.iter().map(|(series, _)| names.title(&series.case, &metric(series))).collect();
    let short = ShortNames::new(titles.iter().map(String::as_str), 60);
    let Some((first, _)) = found.first() else { return String::new() };
    let branch = prose(&first.branch, 100);
    let runs = found.iter().map(|(series, _)| series.points.len() - 1).max().unwrap_or_default();
    let runs = if runs == 1 { "run".into() } else { format!("{runs} runs") };
    let head = format!(
        "**Compared with the last {runs} of {branch}**\n\n| case | the runs before, and this one | this one |\n|---|---|---|\n"
    );
    if !budget.take(head.len() + 2) {
        return String::new();
    }
    let row = |((series, _), title): (&(V1Series, &Row), &String)| {
        let label =
            if series.label.is_empty() { String::new() } else { format!("{}: ", prose(&series.label, 60)) };
        let name = short.name_in_cell(title);
        let name = link(&name, page_of_case(&series.case, context).as_deref()).unwrap_or(name);
        let row = format!("| {label}{name} | `{}` | {} |\n", drawn(series), place(series));
        Some(row).filter(|row| budget.take(row.len()))
    };
    let rows: Vec<String> = found.iter().zip(&titles).take(MAX_ROWS).map_while(row).collect();
    if rows.is_empty() { String::new() } else { format!("{head}{}\n", rows.concat()) }
}

/// The changed rows whose newest figure is that of the head, each with its last runs.
fn of_rows<'m>(merged: &'m Merged, trends: &[TrendsDocument]) -> Vec<(V1Series, &'m Row)> {
    let mut found = Vec::new();
    for group in &merged.groups {
        let head = group.verdict.head.commit.as_deref();
        let changed = |row: &&Row| matches!(row.verdict, Verdict::Regressed | Verdict::Improved);
        for row in group.verdict.rows.iter().filter(changed).take(LOOKED_UP) {
            let of_row = |series: &&V1Series| {
                series.case == row.case && series.metric == row.metric && series.label == group.label
            };
            let is_heads = |document: &TrendsDocument, series: &V1Series| {
                let run = series.points.last().and_then(|point| document.runs.get(point.run as usize));
                run.is_some_and(|run| Some(run.commit.as_str()) == head)
            };
            let series = trends.iter().find_map(|document| {
                document.series.iter().filter(of_row).find(|series| is_heads(document, series))
            });
            found.extend(series.filter(|series| series.points.len() > 1).map(|series| (newest(series), row)));
        }
    }
    found
}

fn newest(series: &V1Series) -> V1Series {
    let skipped = series.points.len().saturating_sub(RUNS + 1);
    let after = |at: u32| at.checked_sub(skipped as u32).filter(|at| *at > 0);
    let breaks = series
        .breaks
        .iter()
        .filter_map(|it| Some(V1Break { at: after(it.at)?, fields: it.fields.clone() }))
        .collect();
    V1Series { points: series.points[skipped..].to_vec(), breaks, ..series.clone() }
}

fn drawn(series: &V1Series) -> String {
    let line = spark(series, COLUMNS, true);
    let is_bar_each = series.points.len() + series.breaks.len() <= COLUMNS;
    let is_apart = series.breaks.last().is_some_and(|it| it.at as usize == series.points.len() - 1);
    match line.char_indices().next_back() {
        Some((last, _)) if is_bar_each && !is_apart => format!("{} {}", &line[..last], &line[last..]),
        _ => line,
    }
}

/// `1.31 ms: worse than all 30`.
fn place(series: &V1Series) -> String {
    let Some((head, before)) = series.points.split_last() else { return String::new() };
    let begins = series.breaks.last().map_or(0, |it| it.at as usize).min(before.len());
    let before = &before[begins..];
    let own = figure(&value(head.value, &series.unit));
    let broken = series.breaks.last().filter(|_| before.is_empty());
    if let Some(broken) = broken {
        return format!("{own}; not comparable with them: {}", prose(&fields(broken, "->"), 200));
    }
    let above = before.iter().filter(|point| point.value < head.value).count();
    let below = before.iter().filter(|point| point.value > head.value).count();
    let (word, than) = match series.better {
        Some(Better::Lower) if above >= below => ("worse than", above),
        Some(Better::Higher) if below >= above => ("worse than", below),
        Some(Better::Lower) => ("better than", below),
        Some(Better::Higher) => ("better than", above),
        None if above >= below => ("above", above),
        None => ("below", below),
    };
    let all = before.len();
    let of = match than {
        than if than == all && all == 1 => "the one".to_owned(),
        than if than == all => format!("all {all}"),
        than => format!("{than} of {all}"),
    };
    let since =
        if begins > 0 { format!(" since the last break, {} ago", count(all, "run")) } else { String::new() };
    format!("{own}: {word} {of}{since}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::series;

    #[test]
    fn the_place_of_the_head_is_said_by_what_is_better() {
        let lower = Some(Better::Lower);
        let place = |values: &[f64], better| place(&V1Series { better, ..series(values, &[]) });
        assert_eq!(place(&[1.0, 1.1, 1.2], lower), "1.200\u{a0}s: worse than all 2");
        assert_eq!(place(&[1.0, 1.3, 1.1, 1.2], lower), "1.200\u{a0}s: worse than 2 of 3");
        assert_eq!(place(&[1.0, 0.9], lower), "900.0\u{a0}ms: better than the one");
        assert_eq!(place(&[1.0, 1.1, 0.9], Some(Better::Higher)), "900.0\u{a0}ms: worse than all 2");
        assert_eq!(place(&[1.0, 1.1, 1.2], None), "1.200\u{a0}s: above all 2");
    }

    #[test]
    fn a_break_is_told_and_what_lies_before_it_does_not_count() {
        let text = place(&series(&[1.0, 1.0, 2.0, 2.1], &[2]));
        assert_eq!(text, "2.100\u{a0}s: worse than the one since the last break, 1 run ago");
        let text = place(&series(&[1.0, 1.0, 2.0], &[2]));
        assert_eq!(text, "2.000\u{a0}s; not comparable with them: driver 550.54 -&#62; 560.28");
    }

    #[test]
    fn the_newest_runs_are_drawn_and_the_head_stands_apart() {
        let values: Vec<f64> = (0..60).map(|run| if run == 59 { 1.2 } else { 1.0 }).collect();
        let shown = newest(&series(&values, &[10, 40]));
        assert_eq!((shown.points.len(), shown.breaks.len(), shown.breaks[0].at), (31, 1, 11));
        assert_eq!(drawn(&shown), format!("{}┊{} █", "▁".repeat(11), "▁".repeat(19)));
    }
}
