//! Descriptions of rows in files, for `--format`.

use std::path::Path;
use std::sync::Arc;

use crate::adapters::formats::Described;
use crate::model::{Fault, Result, sha256_hex};

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
