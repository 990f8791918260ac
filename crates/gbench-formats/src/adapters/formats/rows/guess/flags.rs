//! A guessed description as flags.

use super::roles::{FieldRole, Sorted};
use crate::adapters::formats::rows::description::{Described, DescribedMetric, RowLayout};

/// Figures that flags name; a description in a file has all.
const MAX_METRICS: usize = 5;
const MAX_OPEN_METRICS: usize = 2;

/// Instead of a direction that the user has to give.
pub const WAY: &str = "WAY";

pub(super) fn flags(described: &Described) -> Vec<(&'static str, String)> {
    let rows = match &described.layout {
        RowLayout::Json(path) => Some(("--rows", path.clone())),
        RowLayout::Auto | RowLayout::Csv | RowLayout::Text(_) => None,
    };
    let keys = Some(described.parameters.join(",")).filter(|keys| !keys.is_empty());
    let metric = |metric: &DescribedMetric| {
        let DescribedMetric { name, field, unit, .. } = metric;
        let unit = match (metric.shown, unit.as_str()) {
            (true, unit) => format!(":{unit}:{WAY}"),
            (false, "") => String::new(),
            (false, unit) => format!(":{unit}"),
        };
        ("--metric", format!("{name}={field}{unit}"))
    };
    let keys = keys.map(|keys| ("--parameters", keys));
    rows.into_iter().chain(keys).chain(described.metrics.iter().map(metric)).collect()
}

/// True if a row's own fields may say that it failed or was skipped. Flags cannot express that: such a row would be measured.
fn may_fail(described: &Described, fields: &[Sorted]) -> bool {
    let Described { errors, positive, zero, equal, passed, failed, skipped, failed_words, .. } = described;
    let has_list = [errors, positive, zero, failed_words].into_iter().any(|list| !list.is_empty());
    let has_table = [passed, failed, skipped].into_iter().any(|table| !table.is_empty());
    has_list
        || has_table
        || !equal.is_empty()
        || fields.iter().any(|field| matches!(field.role, FieldRole::Passed(_)))
}

/// The part of a description that flags can express; `None`: nothing would be read by it, or rows that failed would be
/// measured. A figure of unknown direction is only in it if there is no other, and the user has to say its direction.
pub(super) fn by_flags(described: &Described, fields: &[Sorted]) -> Option<Described> {
    if may_fail(described, fields) {
        return None;
    }
    let is_sound = |name: &str| {
        let field = fields.iter().find(|field| field.column.field == name);
        field.is_some_and(|field| field.words.is_empty() && field.role == FieldRole::Figure { main: true })
    };
    let is_plain = |metric: &&DescribedMetric| {
        let fits = !metric.optional && metric.unit_field.is_none() && !metric.name.contains('{');
        fits && !metric.field.contains(':') && is_sound(&metric.field)
    };
    let plain = || described.metrics.iter().filter(is_plain);
    let is_judged = plain().any(|metric| !metric.shown);
    let metric = |metric: &DescribedMetric| DescribedMetric { summary: None, ..metric.clone() };
    let most = if is_judged { MAX_METRICS } else { MAX_OPEN_METRICS };
    let metrics: Vec<DescribedMetric> =
        plain().filter(|metric| metric.shown != is_judged).take(most).map(metric).collect();
    let is_text = matches!(described.layout, RowLayout::Text(_));
    let is_said = !is_text && described.parameters.iter().all(|name| !name.contains(','));
    (is_said && described.optional_parameters.is_empty() && !metrics.is_empty()).then(|| Described {
        layout: described.layout.clone(),
        case: described.case.clone(),
        parameters: described.parameters.clone(),
        metrics,
        ..Described::default()
    })
}
