//! Checks the result of every format's reader, as [`crate::adapters::read`] does for harnesses.

use std::collections::{HashMap, HashSet};

use super::format::{ResultFile, ResultFormat, RunReading};
use super::repeats::Repeats;
use crate::adapters::interface::adapter::{CaseName, Reading};
use crate::adapters::interface::case::named;
use crate::adapters::interface::check;
use crate::adapters::interface::output::ReadError;
use gbench_model::Params;

/// A fact with more values in the rows of one file describes the rows, and not the run.
const MAX_VALUES: usize = 32;

/// The checked runs of a file. Errors: the file does not follow the format; it contains no result; a case appears twice
/// in a run; a value is not finite; a time is negative; a judged metric has no direction.
pub fn read(format: &dyn ResultFormat, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    read_repeated(format, file, Repeats::Refuse)
}

/// Like [`read`], with the given meaning of cases that appear several times in a run.
pub fn read_repeated(
    format: &dyn ResultFormat,
    file: &ResultFile,
    repeats: Repeats,
) -> Result<Vec<RunReading>, ReadError> {
    let mut runs = match repeats {
        Repeats::Samples => format.read_samples(file)?,
        Repeats::Refuse | Repeats::Processes => format.read(file)?,
    };
    for run in &mut runs {
        tell_apart(&mut run.readings);
        run.more.retain(|_, value| value.as_array().is_none_or(|values| values.len() <= MAX_VALUES));
    }
    let mut runs = repeats.resolve(runs);
    if runs.iter().all(|run| run.readings.is_empty()) {
        return Err(file.wrong(format!("it contains no result of {}", format.about().title)));
    }
    runs.iter().try_for_each(|run| check::sound_all(&run.readings))?;
    runs.iter_mut().flat_map(|run| &mut run.readings).for_each(check::fail_without_time);
    Ok(runs)
}

/// Names in full the cases that differ only in parameters which are not in their names.
fn tell_apart(readings: &mut [Reading]) {
    let mut known: HashMap<&str, &Params> = HashMap::new();
    let mut several = HashSet::new();
    for CaseName { native, params, .. } in readings.iter().map(|reading| &reading.case) {
        if *known.entry(native).or_insert(params) != params {
            several.insert(native.clone());
        }
    }
    for reading in readings.iter_mut().filter(|reading| several.contains(&reading.case.native)) {
        reading.case.native = named(&reading.case.case, reading.case.params.clone()).case.native;
    }
}
