//! Descriptions of rows in files: read for `--format`, and written from a guess at a file of no known format.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::LoadedFile;
use crate::adapters::formats::{self, Described, Guess};
use crate::app::paths::shown;
use crate::model::{Fault, Result, sha256_hex, shell_word};
use crate::store::write_atomically;

/// Digits of the sum of a description.
const DIGITS: usize = 12;

/// The description in a file, with its sum; `None`: the name is not that of such a file. Errors: the file cannot be read, or
/// the description in it cannot be followed.
pub(super) fn described_by(name: &str) -> Result<Option<(Described, String)>> {
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        let next = "name a file with a description of rows; `gbench-ci ingest --describe FILE.toml RESULTS` writes one";
        Fault::of_io(path, "the description cannot be read", &error, next)
    })?;
    let described = Described::parse(&text).map_err(|error| {
        let next = "correct it there; docs/formats.md has the keys of a description";
        Fault::in_text(path, &Arc::from(text.as_str()), error.span, error.what, next)
    })?;
    Ok(Some((described, sum_of(&text))))
}

/// The sum of a description, for the record.
pub(crate) fn sum_of(text: &str) -> String {
    let mut sum = sha256_hex(text.as_bytes());
    sum.truncate(DIGITS);
    format!("sha256:{sum}")
}

/// What a file of no known format seems to hold.
pub(crate) struct UnknownFile {
    /// As it was given.
    pub path: PathBuf,
    pub guess: Guess,
}

/// The first of these files that no format recognises; `None`: there is none, or it cannot be read.
pub(crate) fn unknown_file(paths: &[PathBuf]) -> Option<UnknownFile> {
    paths.iter().filter(|path| path.is_file()).find_map(|path| {
        let file = LoadedFile::read(path).ok()?;
        let is_unknown = formats::recognised(&file.result()).is_empty();
        is_unknown.then(|| UnknownFile { path: path.clone(), guess: Guess::of(&file.result()) })
    })
}

/// The description that a guess at a file gives. Errors: no field of it looks like a figure.
pub(crate) fn describe(path: &Path) -> Result<String> {
    let file = LoadedFile::read(path)?;
    let guess = Guess::of(&file.result());
    guess.toml(&shown(path)).ok_or_else(|| {
        let what = format!("no field in it looks like a figure: it is {}", guess.form);
        Fault::at_path(path, what, NO_FIGURE)
    })
}

/// The next step where nothing looks like a figure.
pub(crate) const NO_FIGURE: &str = "name the fields yourself with `--metric` and `--parameters`, or describe the rows, also those of a text, \
    in a file: docs/formats.md, \"A file of no known format\"";

/// Writes a description where there is none yet.
pub(crate) fn write_description(text: &str, to: &Path) -> Result<()> {
    if to.exists() {
        let next = format!("choose another name, or remove it: `rm {}`", shell_word(&shown(to)));
        return Err(Fault::at_path(to, "it exists, and may have been changed by hand", next));
    }
    write_atomically(to, text.as_bytes())
}
