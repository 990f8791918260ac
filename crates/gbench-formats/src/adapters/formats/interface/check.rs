//! Checks the result of every format's reader, as [`crate::adapters::read`] does for harnesses.

use super::format::{ResultFile, ResultFormat, RunReading};
use super::repeats::Repeats;
use crate::adapters::interface::check;
use crate::adapters::interface::output::ReadError;

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
    let mut runs = repeats.resolve(format.read(file)?);
    if runs.iter().all(|run| run.readings.is_empty()) {
        return Err(file.wrong(format!("it contains no result of {}", format.about().title)));
    }
    runs.iter().try_for_each(|run| check::sound_all(&run.readings))?;
    runs.iter_mut().flat_map(|run| &mut run.readings).for_each(check::fail_without_time);
    Ok(runs)
}
