//! Checks the result of every adapter's reader: its values are safe to compare.

use std::collections::HashSet;

use super::adapter::{Adapter, CaseName, End, MetricReading, Reading};
use super::case::fail;
use super::output::{HarnessOutput, OutputFiles, Place, ReadError};
use gbench_model::{convert, direction_of_unit, is_time};

/// Seconds that are less than a clock cycle of any processor: the compiler removed the measured code.
const WITHIN_A_CYCLE: f64 = 1e-10;

/// The checked results of each case. Errors: the output does not follow the harness's format; it contains no benchmark; a
/// case appears twice or has no name; a value is missing or not finite; a time is negative; the direction of a judged
/// metric is unknown.
pub fn read(adapter: &dyn Adapter, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
    let mut readings = adapter.read(output)?;
    if readings.is_empty() {
        return Err(ReadError::new(Place::HarnessOutput, "it contains no benchmark"));
    }
    sound_all(&readings)?;
    readings.iter_mut().for_each(|reading| fail_within_a_cycle(adapter, reading));
    Ok(readings)
}

/// Fails a case whose harness repeated code that takes less than a clock cycle: it measured nothing.
pub(crate) fn fail_within_a_cycle(adapter: &dyn Adapter, reading: &mut Reading) {
    if adapter.about().per_operation {
        return;
    }
    if let Some((time, value)) = own_time_up_to(reading, WITHIN_A_CYCLE) {
        let message = format!(
            "its `{}` is {value:e} {}, less than a clock cycle: the compiler removed the code, and nothing was measured",
            time.name, time.unit
        );
        fail(reading, message);
    }
}

/// Fails a case that reports 0 as its time.
pub(crate) fn fail_without_time(reading: &mut Reading) {
    if let Some((time, _)) = own_time_up_to(reading, 0.0) {
        let message = format!("its `{}` is 0 {}: nothing was measured", time.name, time.unit);
        fail(reading, message);
    }
}

/// The time by which a case is judged, the first if it has several, and its largest value, if that is at most `seconds`.
fn own_time_up_to(reading: &Reading, seconds: f64) -> Option<(&MetricReading, f64)> {
    let time = reading.metrics.iter().find(|metric| metric.judged && is_time(&metric.unit))?;
    let mut values = time.values.iter().copied().chain(time.summary.map(|summary| summary.value));
    let largest = values.clone().reduce(f64::max)?;
    let is_short = |value| convert(value, &time.unit, "s").is_some_and(|it| (0.0..=seconds).contains(&it));
    values.all(is_short).then_some((time, largest))
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
/// Errors: as [`read`]; the program's own lines differ from process to process; a case is named like a flag.
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
    if let Some(flag) = cases.iter().find(|case| case.native.starts_with("--")) {
        let what = "it is named like a flag: the program uses its first argument itself, such as for a pattern. Give it that argument in `command`, \
                    before the flags";
        return Err(ReadError::case(&flag.native, what));
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
        if let Some(value) = values.find(|value| *value < 0.0 && is_time(&metric.unit)) {
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
