//! Comparisons as lines of a file, so that a later call goes on where one was cut.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::comparison::Came;

/// What is there already, in the order of the file.
///
/// A last line without its end was being written when something stopped the run, and is taken out. Errors: lines that
/// are none, or of another setup or seed, which say nothing about this one.
pub fn read(path: &Path, setup: &str, seed: u64) -> Result<Vec<Came>, Box<dyn Error>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = Vec::new();
    for (at, line) in text[..whole].lines().enumerate() {
        let place = format!("{}:{}", path.display(), at + 1);
        let came: Came = serde_json::from_str(line).map_err(|error| format!("{place}: {error}"))?;
        if came.setup != setup {
            return Err(format!("{place}: of another program, suite or gate; give another file").into());
        }
        if came.seed != seed {
            return Err(format!("{place}: of seed {}; give `--seed {0}` or another file", came.seed).into());
        }
        lines.push(came);
    }
    if whole < text.len() {
        File::options().write(true).open(path)?.set_len(whole as u64)?;
    }
    Ok(lines)
}

pub fn append(path: &Path, came: &Came) -> Result<(), Box<dyn Error>> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let line = serde_json::to_string(came)?;
    // In one call: a line is there or is not.
    Ok(file.write_all(format!("{line}\n").as_bytes())?)
}
