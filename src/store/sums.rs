//! A record's fingerprint, written beside it at the end of its run and asked for whenever it is read.

use std::path::Path;

use super::folder::{RECORD, SUMS};
use crate::model::{Exit, Fault, Result, sha256_hex};

/// Refuses a record whose bytes are not those that the file `SHA256SUMS` beside it names. One without that file was made
/// elsewhere, or its run was killed before the end: there is nothing to hold it against.
///
/// Errors: exit code 4.
pub(super) fn check(record: &Path, bytes: &[u8]) -> Result<()> {
    let sums = record.with_file_name(file_name(SUMS));
    let said = match std::fs::read(&sums) {
        Ok(said) => said,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let what = format!("cannot be read: {error}");
            return Err(Fault::at_path(&sums, what, "make it readable").exits(Exit::Failed));
        }
    };
    let name = record.file_name().unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let mut lines = said.lines().filter_map(|line| line.split_once(char::is_whitespace));
    // `sha256sum` marks a file that it read as binary with a star.
    let of_record = lines.find(|(_, of)| name == of.trim_start().trim_start_matches('*'));
    let next = "measure again, or take the record from where it was measured: it was edited or damaged since";
    let of_a_run = record.ends_with(RECORD);
    match of_record {
        Some((sum, _)) if sum.eq_ignore_ascii_case(&sha256_hex(bytes)) => Ok(()),
        Some(_) => {
            let what = "the record is not the one that was written: its SHA-256 is not that of SHA256SUMS";
            Err(Fault::at_path(record, what, next).exits(Exit::Failed))
        }
        None if of_a_run => {
            let what = "SHA256SUMS does not name the record that lies beside it";
            Err(Fault::at_path(record, what, next).exits(Exit::Failed))
        }
        // A user's own list of other files.
        None => Ok(()),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
