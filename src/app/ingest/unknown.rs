//! Files of no known format: a guess at what they hold, and the description that would read them.

use std::path::{Path, PathBuf};

use super::files::{LoadedFile, is_known};
use crate::adapters::formats::{self, Guess, ResultFile};
use crate::app::paths::shown;
use crate::model::{Fault, Result, shell_word};
use crate::store::write_atomically;

/// A file that no format recognises.
pub(crate) struct UnknownFile {
    /// As it was given.
    pub path: PathBuf,
    pub guess: Guess,
}

/// The first of these files that no format recognises; `None`: there is none, or it cannot be read.
pub(crate) fn unknown_file(paths: &[PathBuf]) -> Option<UnknownFile> {
    paths.iter().filter(|path| path.is_file()).find_map(|path| {
        let file = LoadedFile::read(path).ok()?;
        let is_unknown = !is_known(&file);
        is_unknown.then(|| UnknownFile { path: path.clone(), guess: guess_at(&file) })
    })
}

/// A guess at the JSON within a log, if it has figures, else at the whole file.
fn guess_at(file: &LoadedFile) -> Guess {
    let file = file.result();
    let alone = formats::documents_alone(file.bytes);
    let alone = alone.map(|(bytes, _)| Guess::of(&ResultFile { bytes: &bytes, ..file }));
    alone.filter(|guess| guess.described.is_some()).unwrap_or_else(|| Guess::of(&file))
}

/// The description that a guess at a file gives. Errors: no field of it looks like a figure.
pub(crate) fn describe(path: &Path) -> Result<String> {
    let file = LoadedFile::read(path)?;
    let guess = guess_at(&file);
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
