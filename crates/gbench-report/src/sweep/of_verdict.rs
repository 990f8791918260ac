//! The tables of a comparison: the relative speed of head, by the parameters of its rows.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{CaseFields, UnknownField, conditions};
use super::request::SweepRequest;
use super::table::{Cell, SweepTable};
use crate::layout::number::{self, geometric_mean};
use crate::verdict::summary::{counts, counts_text, left_out};
use gbench_compare::{Row, VerdictDocument};
use gbench_model::ParamValue;
use gbench_model::text::count;

const MIN_ROWS: usize = 8;
const MAX_VALUES: usize = 24;

pub(super) fn tables(
    document: &VerdictDocument,
    request: &SweepRequest,
) -> Result<Vec<SweepTable>, UnknownField> {
    CaseFields::check(document.rows.iter().map(|row| &row.case), request)?;
    let rows: Vec<&Row> =
        document.rows.iter().filter(|row| CaseFields::fits(&row.case, &request.conditions)).collect();
    let metrics: BTreeSet<&str> = rows.iter().map(|row| row.metric.as_str()).collect();
    let metrics: Vec<&str> = match &request.metric {
        None => metrics.into_iter().filter(|name| !name.is_empty()).collect(),
        Some(name) if metrics.contains(name.as_str()) => vec![name.as_str()],
        Some(name) => {
            return Err(UnknownField::new("metric", Some(name), metrics));
        }
    };
    let by = &request.by;
    let tables = metrics.into_iter().map(|metric| {
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.metric == metric).collect();
        let title = format!("{}{metric}", conditions(request));
        match (&request.group_by, by.is_empty()) {
            (None, true) => points(&rows, &title),
            (Some(group), true) => by_values(&rows, std::slice::from_ref(group), &title),
            (None, false) => by_values(&rows, by, &title),
            (Some(group), false) => matrix(&rows, by, group, &title),
        }
    });
    let mut tables: Vec<SweepTable> = tables.collect();
    if tables.is_empty() {
        tables.push(SweepTable::of_nothing(format!("{}nothing compared", conditions(request))));
    }
    if let (Some(first), Some(lost)) = (tables.first_mut(), without_figures(&rows)) {
        first.table.notes.push(lost);
    }
    Ok(tables)
}

fn without_figures(rows: &[&Row]) -> Option<String> {
    let lost = rows.iter().filter(|row| row.change.is_none()).count();
    let lost = (lost > 0).then(|| {
        format!("{} without a speed, because something failed, is missing or is new", count(lost, "row"))
    });
    let unknown = rows.iter().filter(|row| row.change.is_some() && row.known_change().is_none()).count();
    let notes: Vec<String> = lost.into_iter().chain(left_out(unknown as u32)).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// A table for each parameter with several values, for the first metric with enough rows.
pub(super) fn overview(document: &VerdictDocument) -> Vec<SweepTable> {
    let mut by_metric: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in document.rows.iter().filter(|row| row.change.is_some()) {
        by_metric.entry(&row.metric).or_default().push(row);
    }
    let mut tables = Vec::new();
    for (metric, rows) in by_metric.into_iter().filter(|(_, rows)| rows.len() >= MIN_ROWS) {
        let all: Vec<&Row> = document.rows.iter().collect();
        let lost = without_figures(&all);
        let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.case.params.keys()).collect();
        for name in names {
            let values: BTreeSet<&ParamValue> =
                rows.iter().filter_map(|row| row.case.params.get(name)).collect();
            // A value for each row would only repeat the rows.
            if (2..=MAX_VALUES).contains(&values.len()) && values.len() * 2 <= rows.len() {
                let mut table = by_values(&rows, std::slice::from_ref(name), metric);
                table.table.notes.extend(lost.clone());
                tables.push(table);
            }
        }
    }
    tables
}

/// The speed of head relative to base; below 1 it is slower. `None` if unknown.
fn speedup(row: &Row) -> Option<f64> {
    let factor = 1.0 / (1.0 + row.known_change()?.slowdown);
    (factor.is_finite() && factor > 0.0).then_some(factor)
}

fn factor(value: Option<f64>) -> Cell {
    Cell::shown(value, number::times)
}

fn value_cell(value: &ParamValue) -> Cell {
    Cell::text(value.to_string())
}

const SPEED: &str = "Speed of head against base, above 1 is faster, below 1 slower";
const MEAN: &str =
    "Speed of head against base, above 1 is faster, below 1 slower: geometric mean over all other parameters";

fn points(rows: &[&Row], title: &str) -> SweepTable {
    let rows = rows.iter().map(|row| {
        let end = |slowdown: f64| number::times(1.0 / (1.0 + slowdown));
        let interval = match (row.known_change(), &row.change) {
            (Some(change), _) => format!("{} to {}", end(change.high), end(change.low)),
            (None, Some(_)) => "unknown".into(),
            (None, None) => String::new(),
        };
        vec![
            Cell::text(CaseFields::point(&row.case, &[])),
            factor(speedup(row)),
            Cell::text(interval),
            Cell::text(row.verdict.into_str()),
        ]
    });
    let columns = ["case", "speed", "interval", "verdict"];
    SweepTable::of_factors(format!("{title} of each row"), columns, rows, SPEED)
}

/// One row per value: the mean speed over the rest, its extremes, and the verdicts.
fn by_values(rows: &[&Row], names: &[String], title: &str) -> SweepTable {
    let lines = CaseFields::grouped(rows, |row| &row.case, names).into_iter().map(|(values, rows)| {
        let factors = || rows.iter().filter_map(|row| speedup(row));
        let figures = [
            Cell::count(rows.len()),
            factor(geometric_mean(factors())),
            factor(factors().reduce(f64::min)),
            factor(factors().reduce(f64::max)),
            Cell::text(counts_text(&counts(rows.iter().copied()))),
        ];
        values.iter().map(value_cell).chain(figures).collect()
    });
    let more = ["rows", "speed", "slowest", "fastest", "verdicts"];
    let columns = names.iter().map(String::as_str).chain(more);
    SweepTable::of_factors(format!("{title} by {}", names.join(", ")), columns, lines, MEAN)
}

fn matrix(rows: &[&Row], by: &[String], group: &str, title: &str) -> SweepTable {
    let mean = |rows: &[&Row]| factor(geometric_mean(rows.iter().filter_map(|row| speedup(row))));
    let (columns, lines) = CaseFields::matrix(rows, |row| &row.case, (by, group), value_cell, mean);
    SweepTable::of_factors(format!("{title} by {} and {group}", by.join(", ")), columns, lines, MEAN)
}
