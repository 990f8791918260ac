//! The fields of a case in a sweep: its parameters, and its name, variant and device.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::request::SweepRequest;
use super::table::Cell;
use gbench_model::{CaseId, ParamValue};

/// A field or a value that no case has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    pub name: String,
    /// Present if the field exists but the value does not.
    pub value: Option<String>,
    /// The existing fields or values.
    pub known: Vec<String>,
}

/// Fields other than parameters; a parameter of the same name takes precedence.
const OWN: [&str; 5] = ["benchmark", "device", "suite", "thermal", "variant"];

pub(super) struct CaseFields;

impl UnknownField {
    pub(super) fn new(name: &str, value: Option<&String>, known: BTreeSet<impl ToString>) -> Self {
        let known = known.iter().map(ToString::to_string).collect();
        Self { name: name.to_owned(), value: value.cloned(), known }
    }
}

impl CaseFields {
    pub(super) fn value(case: &CaseId, name: &str) -> Option<ParamValue> {
        let text = |text: &str| Some(ParamValue::Text(text.to_owned()));
        match (case.params.get(name), name) {
            (Some(value), _) => Some(value.clone()),
            (None, "benchmark") => text(case.benchmark.name()),
            (None, "device") => text(&case.device),
            (None, "suite") => text(case.benchmark.suite()),
            (None, "thermal") => text(case.thermal.into_str()),
            (None, "variant") => case.variant.and_then(|variant| text(variant.into_str())),
            (None, _) => None,
        }
    }

    /// Groups items by the values of their cases' fields, in the natural order of the values; an item whose case lacks one
    /// is omitted.
    pub(super) fn grouped<'i, T>(
        items: &[&'i T],
        case: fn(&T) -> &CaseId,
        names: &[String],
    ) -> Vec<(Vec<ParamValue>, Vec<&'i T>)> {
        let mut found: BTreeMap<Vec<ParamValue>, Vec<&T>> = BTreeMap::new();
        for item in items {
            let values = names.iter().map(|name| Self::value(case(item), name));
            if let Some(values) = values.collect() {
                found.entry(values).or_default().push(item);
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|(ones, _), (others, _)| {
            let orders = ones.iter().zip(others).map(|(one, other)| one.natural_order(other));
            orders.fold(Ordering::Equal, Ordering::then)
        });
        found
    }

    /// Columns and rows: one row for each combination of the values of `by`, one column for each value of `group`, and
    /// `value` for the cells.
    pub(super) fn matrix<T>(
        items: &[&T],
        case: fn(&T) -> &CaseId,
        (by, group): (&[String], &str),
        value: fn(&ParamValue) -> Cell,
        cell: impl Fn(&[&T]) -> Cell,
    ) -> (Vec<String>, Vec<Vec<Cell>>) {
        let columns: BTreeSet<ParamValue> =
            items.iter().filter_map(|item| Self::value(case(item), group)).collect();
        let mut columns = Vec::from_iter(columns);
        columns.sort_by(ParamValue::natural_order);
        let rows = Self::grouped(items, case, by).into_iter().map(|(values, items)| {
            let own = |column| {
                let is_own = |item: &&T| Self::value(case(item), group).as_ref() == Some(column);
                cell(&items.iter().copied().filter(is_own).collect::<Vec<_>>())
            };
            values.iter().map(value).chain(columns.iter().map(own)).collect()
        });
        let rows = rows.collect();
        (by.iter().cloned().chain(columns.iter().map(ParamValue::to_string)).collect(), rows)
    }

    pub(super) fn fits(case: &CaseId, conditions: &[(String, String)]) -> bool {
        conditions
            .iter()
            .all(|(name, text)| Self::value(case, name).is_some_and(|value| value.is_written(text)))
    }

    /// Errors: no case has a requested field or value.
    pub(super) fn check<'a>(
        cases: impl Iterator<Item = &'a CaseId> + Clone,
        request: &SweepRequest,
    ) -> Result<(), UnknownField> {
        let names = request.by.iter().chain(&request.group_by);
        for name in names.chain(request.conditions.iter().map(|(name, _)| name)) {
            if !cases.clone().any(|case| Self::value(case, name).is_some()) {
                let params = cases.clone().flat_map(|case| case.params.keys().map(String::as_str));
                let is_known = |name: &&str| cases.clone().any(|case| Self::value(case, name).is_some());
                let known = params.chain(OWN.into_iter().filter(is_known)).collect();
                return Err(UnknownField::new(name, None, known));
            }
        }
        for (name, text) in &request.conditions {
            let found = cases.clone().filter_map(|case| Self::value(case, name));
            let known: BTreeSet<ParamValue> = found.collect();
            if !known.iter().any(|value| value.is_written(text)) {
                return Err(UnknownField::new(name, Some(text), known));
            }
        }
        Ok(())
    }

    pub(super) fn common<'a>(cases: impl Iterator<Item = &'a CaseId> + Clone) -> Vec<(String, ParamValue)> {
        let names: BTreeSet<&str> =
            cases.clone().flat_map(|case| case.params.keys().map(String::as_str)).chain(OWN).collect();
        let same = |name: &str| {
            let mut values = cases.clone().map(|case| Self::value(case, name));
            let first = values.next()??;
            values.all(|value| value.as_ref() == Some(&first)).then_some(first)
        };
        names.into_iter().filter_map(|name| Some((name.to_owned(), same(name)?))).collect()
    }

    /// A case without some of its fields: its point in the sweep.
    pub(super) fn point(case: &CaseId, without: &[&str]) -> String {
        let shown = |name: &str| !without.contains(&name);
        let own = OWN.into_iter().filter(|name| *name != "suite" && shown(name)).filter_map(|name| {
            let value = Self::value(case, name).filter(|_| !case.params.contains_key(name))?;
            let is_usual =
                matches!((name, value.to_string().as_str()), ("device", "host") | ("thermal", "warm"));
            (!is_usual)
                .then(|| if name == "benchmark" { value.to_string() } else { format!("{name}={value}") })
        });
        let params = case.params.iter().filter(|(name, _)| shown(name));
        let params: Vec<String> = params.map(|(name, value)| format!("{name}={value}")).collect();
        let own: Vec<String> = own.collect();
        own.into_iter().chain(params).collect::<Vec<_>>().join(", ")
    }
}

/// `operation=LayerNorm, `: the conditions, before a title.
pub(super) fn conditions(request: &SweepRequest) -> String {
    request.conditions.iter().map(|(name, value)| format!("{name}={value}, ")).collect()
}
