//! Stands before every format's reader, as `adapters::check` does before every harness's.

use super::format::{ResultFile, ResultFormat, RunReading};
use crate::adapters::interface::check;
use crate::adapters::interface::output::ReadError;

/// The runs of a file, checked as every harness's output is. Errors: it cannot be read as this format; it holds no result; a case stands
/// twice in a run; a value is not a finite number; a time below zero; a judged metric without a direction.
pub fn read(format: &dyn ResultFormat, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let runs = format.read(file)?;
    if runs.iter().all(|run| run.readings.is_empty()) {
        return Err(file.wrong(format!("it holds no result of {}", format.about().title)));
    }
    runs.iter().try_for_each(|run| check::sound_all(&run.readings))?;
    Ok(runs)
}
