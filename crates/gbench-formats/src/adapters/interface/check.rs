//! Checks the result of every adapter's reader: its values are safe to compare.

use std::collections::HashSet;

use super::adapter::{Adapter, CaseName, End, Reading};
use super::output::{HarnessOutput, OutputFiles, Place, ReadError};
use gbench_model::direction_of_unit;

/// The checked results of each case. Errors: the output does not follow the harness's format; it contains no benchmark; a
/// case appears twice or has no name; a value is missing or not finite; a time is negative; the direction of a judged
/// metric is unknown.
pub fn read(adapter: &dyn Adapter, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
    let readings = adapter.read(output)?;
    if readings.is_empty() {
        return Err(ReadError::new(Place::HarnessOutput, "it contains no benchmark"));
    }
    sound_all(&readings)?;
    Ok(readings)
}

pub(crate) fn sound_all(readings: &[Reading]) -> Result<(), ReadError> {
    once(readings.iter().map(|reading| &reading.case))?;
    readings.iter().try_for_each(sound)
}

/// The cases of a harness, each once, in its order. Errors: as [`read`].
pub fn list(adapter: &dyn Adapter, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
    list_beside(adapter, output, b"", true)
}

/// Like [`list`], without the lines that the program prints by itself. `own`: the names from stdout after
/// [`Adapter::list_none`]; `steady`: the list is the same in every process, so a line in one process alone is not a case.
/// Errors: as [`read`]; the program's own lines differ from process to process.
pub fn list_beside(
    adapter: &dyn Adapter,
    output: &HarnessOutput,
    own: &[u8],
    steady: bool,
) -> Result<Vec<CaseName>, ReadError> {
    let mut cases = adapter.read_list(output)?;
    if !own.is_empty() {
        let own = adapter.read_list(&HarnessOutput { stdout: own, files: &OutputFiles::default() })?;
        cases = without(cases, own, steady)?;
    }
    if cases.is_empty() {
        return Err(ReadError::new(Place::HarnessOutput, "it names no benchmark"));
    }
    once(cases.iter())?;
    tell_apart(&mut cases);
    Ok(cases)
}

fn without(cases: Vec<CaseName>, own: Vec<CaseName>, steady: bool) -> Result<Vec<CaseName>, ReadError> {
    // A program that ignores the words that list no case lists all again.
    if own == cases {
        return Ok(cases);
    }
    let mut kept = cases;
    for line in own {
        let Some(place) = kept.iter().position(|case| case.native == line.native) else {
            if steady {
                continue;
            }
            let what = format!(
                "the program prints other text next to its list, and not the same each time, such as `{}`: let it print that on \
                 standard error",
                line.native
            );
            return Err(ReadError::new(Place::Stdout, what));
        };
        kept.remove(place);
    }
    Ok(kept)
}

fn once<'a>(cases: impl Iterator<Item = &'a CaseName>) -> Result<(), ReadError> {
    let mut seen = HashSet::new();
    for case in cases {
        if case.native.trim().is_empty() {
            return Err(ReadError::case(&case.native, "a case without a name"));
        }
        if !seen.insert(case.native.as_str()) {
            return Err(ReadError::case(&case.native, "it appears twice"));
        }
    }
    Ok(())
}

/// Cases whose short names are equal keep their full names.
fn tell_apart(cases: &mut [CaseName]) {
    let mut seen = HashSet::new();
    let ambiguous: HashSet<(String, gbench_model::Params)> = cases
        .iter()
        .map(|case| (case.case.clone(), case.params.clone()))
        .filter(|key| !seen.insert(key.clone()))
        .collect();
    for case in cases {
        if ambiguous.contains(&(case.case.clone(), case.params.clone())) {
            *case = CaseName::plain(case.native.clone());
        }
    }
}

fn sound(reading: &Reading) -> Result<(), ReadError> {
    let name = &reading.case.native;
    if reading.end != End::Measured {
        return Ok(());
    }
    if reading.metrics.is_empty() {
        return Err(ReadError::case(name, "it has no measurement"));
    }
    let mut seen = HashSet::new();
    for metric in &reading.metrics {
        let refused = |what: String| Err(ReadError::case(name, format!("`{}` {what}", metric.name)));
        if !seen.insert(&metric.name) {
            return refused("appears twice".into());
        }
        if metric.values.is_empty() && metric.summary.is_none() {
            return refused("has no value".into());
        }
        let summary = metric.summary.map(|summary| summary.value);
        let mut values = metric.values.iter().copied().chain(summary);
        if let Some(value) = values.clone().find(|value| !value.is_finite()) {
            return refused(format!("is {value}, which is not a usable number"));
        }
        if let Some(value) = values.find(|value| *value < 0.0 && gbench_model::is_time(&metric.unit)) {
            return refused(format!("is {value} {}: nothing takes that time", metric.unit));
        }
        if metric.judged && metric.better.or_else(|| direction_of_unit(&metric.unit)).is_none() {
            let unit =
                if metric.unit.is_empty() { "no unit".into() } else { format!("the unit `{}`", metric.unit) };
            return refused(format!("has {unit}, and nothing says which way is better"));
        }
    }
    Ok(())
}
