//! Stands before every adapter's reader: what comes through can be measured by.

use std::collections::HashSet;

use super::adapter::{Adapter, CaseName, End, Reading};
use super::output::{HarnessOutput, OutputFiles, Place, ReadError};
use gbench_model::direction_of_unit;

/// What a harness wrote about each case, checked. Errors: it cannot be read as this harness's output; nothing in it is a benchmark; a case
/// stands twice or has no name; a value is not a finite number, or there is none; a time below zero; a judged metric whose unit and
/// harness do not say which way is better.
pub fn read(adapter: &dyn Adapter, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
    let readings = adapter.read(output)?;
    if readings.is_empty() {
        return Err(ReadError::new(Place::HarnessOutput, "it holds no benchmark"));
    }
    sound_all(&readings)?;
    Ok(readings)
}

/// Each case once, and each of its values one to measure by.
pub(crate) fn sound_all(readings: &[Reading]) -> Result<(), ReadError> {
    once(readings.iter().map(|reading| &reading.case))?;
    readings.iter().try_for_each(sound)
}

/// The cases that a harness has, each once, in its order. Errors: as [`read`].
pub fn list(adapter: &dyn Adapter, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
    list_beside(adapter, output, b"", true)
}

/// Likewise, without what the program prints by itself. `own`: what stood on stdout after [`Adapter::list_none`]; `steady`: the list is
/// the same from process to process, so that what stands there alone is of that process alone. Errors: as [`read`]; the program's
/// own text is another one in each process.
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

/// The cases without the lines that the program prints by itself.
fn without(cases: Vec<CaseName>, own: Vec<CaseName>, steady: bool) -> Result<Vec<CaseName>, ReadError> {
    // A program that takes no notice of the words that list none lists all again.
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
                "the program prints text of its own beside its list, and not the same each time, such as `{}`: let it print that on \
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
            return Err(ReadError::case(&case.native, "it stands there twice"));
        }
    }
    Ok(())
}

/// Cases that differ in what their short names leave out keep their whole names.
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
            return refused("stands there twice".into());
        }
        if metric.values.is_empty() && metric.summary.is_none() {
            return refused("has no value".into());
        }
        let summary = metric.summary.map(|summary| summary.value);
        let mut values = metric.values.iter().copied().chain(summary);
        if let Some(value) = values.clone().find(|value| !value.is_finite()) {
            return refused(format!("is {value}, which is no number to measure by"));
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
