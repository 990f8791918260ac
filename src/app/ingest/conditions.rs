//! `--where` next to a format that is known: only some of the cases in a file.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::formats::RunReading;
use crate::adapters::{End, Reading};
use crate::model::{Fault, Result};

/// Names of a condition besides the parameters of the cases.
const CASE: &str = "case";
const METRIC: &str = "metric";

/// Values that an error names.
const MAX_VALUES: usize = 12;

/// The cases with these values of their parameters. `case` is the name of a case and `metric` that of a metric, unless a
/// parameter is called so. Errors: no case has a parameter of that name; none is left.
pub(super) fn keep(
    mut runs: Vec<RunReading>,
    conditions: &BTreeMap<String, String>,
    file: &str,
) -> Result<Vec<RunReading>> {
    for (name, value) in conditions {
        let fault =
            |what: String, next: String| Fault::at_flag(format!("--where {name}={value}"), what, next);
        let readings = || runs.iter().flat_map(|run| &run.readings);
        let known: BTreeSet<&str> =
            readings().flat_map(|reading| reading.case.params.keys().map(String::as_str)).collect();
        if !known.contains(name.as_str()) && ![CASE, METRIC].contains(&name.as_str()) {
            let known: Vec<&str> = known.into_iter().chain([CASE, METRIC]).collect();
            let what = format!("no case in {file} has a parameter of this name");
            return Err(fault(what, format!("use one of: {}", known.join(", "))));
        }
        let is_param = known.contains(name.as_str());
        let values: BTreeSet<String> =
            readings().flat_map(|reading| values_of(reading, name, is_param)).collect();
        for run in &mut runs {
            if name == METRIC && !is_param {
                run.readings
                    .iter_mut()
                    .for_each(|reading| reading.metrics.retain(|metric| metric.name == *value));
                run.readings.retain(|reading| reading.end != End::Measured || !reading.metrics.is_empty());
            } else {
                run.readings.retain(|reading| values_of(reading, name, is_param).contains(value));
            }
        }
        runs.retain(|run| !run.readings.is_empty());
        let is_there = values.contains(value);
        if runs.is_empty() || !is_there {
            let some: Vec<&str> = values.iter().map(String::as_str).take(MAX_VALUES).collect();
            let more = values.len() - some.len();
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let what = if is_there {
                format!("no case in {file} fulfils all conditions")
            } else {
                format!("no case in {file} has this value")
            };
            return Err(fault(what, format!("`{name}` is one of: {}{more}", some.join(", "))));
        }
    }
    Ok(runs)
}

fn values_of(reading: &Reading, name: &str, is_param: bool) -> Vec<String> {
    match name {
        _ if is_param => reading.case.params.get(name).map(ToString::to_string).into_iter().collect(),
        METRIC => reading.metrics.iter().map(|metric| metric.name.clone()).collect(),
        _ => vec![reading.case.case.clone(), reading.case.native.clone()],
    }
}
