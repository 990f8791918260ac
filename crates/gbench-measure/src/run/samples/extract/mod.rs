//! Numbers from the output of programs without the protocol, as declared in the suite file.

pub(super) mod error;
mod json;

use std::collections::BTreeMap;

use gbench_suite::{Extract, ExtractFrom};

use crate::run::harness::left_files::LeftFiles;
use crate::run::process::io::capture::Capture;
use error::ExtractError;

/// The values of a rule, in order; `None`: not a finite number, which only optional metrics may have.
type Found<'a> = (&'a Extract, Vec<Option<f64>>);

/// Each rule with its numbers: at least one, unless the metric is optional. `files`: the program's files that rules name, or why
/// they cannot be used.
pub(crate) fn all<'a>(
    rules: &'a [Extract],
    stdout: &Capture,
    files: &LeftFiles,
    optional: impl Fn(&str) -> bool,
) -> Result<Vec<Found<'a>>, ExtractError> {
    if !stdout.is_whole() {
        return Err(ExtractError::NotKept(stdout.total()));
    }
    let bytes = stdout.bytes();
    let stdout = String::from_utf8_lossy(&bytes);
    let text = |rule: &Extract| match &rule.rows.file {
        None => Ok(stdout.clone()),
        Some(file) => match files.get(file) {
            Some(Ok(bytes)) => Ok(String::from_utf8_lossy(bytes)),
            Some(Err(cause)) => Err(ExtractError::File { file: file.clone(), cause: cause.clone() }),
            None => Err(ExtractError::File { file: file.clone(), cause: "it was not read".into() }),
        },
    };
    rules.iter().map(|rule| Ok((rule, one(rule, &text(rule)?, optional(&rule.metric))?))).collect()
}

fn one(rule: &Extract, text: &str, optional: bool) -> Result<Vec<Option<f64>>, ExtractError> {
    let name = match &rule.from {
        ExtractFrom::JsonPath(path) => format!("json = \"{path}\""),
        ExtractFrom::Regex(pattern) => format!("regex = \"{pattern}\""),
        ExtractFrom::CsvColumn { column, .. } => format!("csv = \"{column}\""),
    };
    let texts = match &rule.from {
        ExtractFrom::JsonPath(path) => json::texts(&name, path, &rule.rows, text)?,
        ExtractFrom::Regex(pattern) => regex(&name, pattern, text)?,
        ExtractFrom::CsvColumn { column, rows } => match csv(&name, column, rows, text) {
            // A table without the column is a table without the metric.
            Err(ExtractError::Unreadable { .. }) if optional => return Ok(Vec::new()),
            texts => texts?,
        },
    };
    if texts.is_empty() && !optional {
        return Err(ExtractError::Nothing(name));
    }
    let number = |text: String| match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Some(value)),
        _ if optional => Ok(None),
        _ => Err(ExtractError::NotANumber { rule: name.clone(), text: text.chars().take(60).collect() }),
    };
    texts.into_iter().map(number).collect()
}

fn regex(rule: &str, pattern: &str, text: &str) -> Result<Vec<String>, ExtractError> {
    let regex = regex::RegexBuilder::new(pattern).multi_line(true).build();
    let regex = regex.map_err(|error| ExtractError::unreadable(rule, error))?;
    let group = |captures: regex::Captures<'_>| captures.get(1).map(|group| group.as_str().to_owned());
    Ok(regex.captures_iter(text).filter_map(group).collect())
}

/// The cells of a column in the rows that match `rows`. A table with a column of names has several metrics unless all rows have
/// the same name.
fn csv(
    rule: &str,
    column: &str,
    rows: &BTreeMap<String, String>,
    text: &str,
) -> Result<Vec<String>, ExtractError> {
    let unreadable = |error: csv::Error| ExtractError::unreadable(rule, error);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(unreadable)?.clone();
    let find = |wanted: &str| {
        let columns = || format!("its columns are {}", headers.iter().collect::<Vec<_>>().join(", "));
        headers
            .iter()
            .position(|header| header == wanted)
            .ok_or_else(|| ExtractError::unreadable(rule, columns()))
    };
    let index = find(column)?;
    let wanted: Vec<(usize, &String)> =
        rows.iter().map(|(name, value)| Ok((find(name)?, value))).collect::<Result<_, ExtractError>>()?;
    let mut chosen = Vec::new();
    for row in reader.records() {
        let row = row.map_err(unreadable)?;
        if wanted.iter().all(|(index, value)| row.get(*index) == Some(value.as_str())) {
            chosen.push(row);
        }
    }
    let names = headers.iter().enumerate().filter(|(_, header)| json::NAMES.contains(header));
    for (place, header) in names.filter(|(place, _)| *place != index) {
        let name = |row: &csv::StringRecord| row.get(place).unwrap_or_default().to_owned();
        let first = chosen.first().map(name).unwrap_or_default();
        if let Some(other) = chosen.iter().map(name).find(|other| *other != first) {
            return Err(ExtractError::Mixed {
                rule: rule.to_owned(),
                what: format!("its rows have different values of `{header}`: `{first}` and `{other}`"),
                next: format!("choose one of them: rows = {{ {header} = \"{first}\" }}"),
            });
        }
    }
    Ok(chosen.iter().map(|row| row.get(index).unwrap_or_default().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_was_not_kept_whole_is_not_read() {
        let mut capture = Capture::new(4);
        capture.push(b"123456");
        assert_eq!(all(&[], &capture, &LeftFiles::default(), |_| false), Err(ExtractError::NotKept(6)));
    }
}
