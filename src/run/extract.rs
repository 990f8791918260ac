//! Numbers from the stdout of programs that speak no protocol, as the suite file declares.

use crate::suite::{Extract, ExtractFrom};

use super::capture::Capture;

/// Why a declared number is not there.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExtractError {
    #[error("stdout has {0} bytes, more than were kept")]
    NotKept(u64),
    #[error("nothing in stdout matches {0}")]
    Nothing(String),
    #[error("{rule} found `{text}`, which is not a finite number")]
    NotANumber { rule: String, text: String },
    #[error("stdout cannot be read for {rule}: {cause}")]
    Unreadable { rule: String, cause: String },
}

/// What a rule found, in order: `None` where it found what is no finite number. Only optional metrics have such gaps.
type Found<'a> = (&'a Extract, Vec<Option<f64>>);

/// Each rule with the numbers it found, at least one each; none of an optional metric that is not there.
pub fn all<'a>(
    rules: &'a [Extract],
    stdout: &Capture,
    optional: impl Fn(&str) -> bool,
) -> Result<Vec<Found<'a>>, ExtractError> {
    if !stdout.is_whole() {
        return Err(ExtractError::NotKept(stdout.total()));
    }
    let bytes = stdout.bytes();
    let text = String::from_utf8_lossy(&bytes);
    rules.iter().map(|rule| Ok((rule, one(rule, &text, optional(&rule.metric))?))).collect()
}

fn one(rule: &Extract, text: &str, optional: bool) -> Result<Vec<Option<f64>>, ExtractError> {
    let (name, found) = match &rule.from {
        ExtractFrom::JsonPath(path) => (format!("json = \"{path}\""), json(path, text)),
        ExtractFrom::Regex(pattern) => (format!("regex = \"{pattern}\""), regex(pattern, text)),
        ExtractFrom::CsvColumn(column) => (format!("csv = \"{column}\""), csv(column, text)),
    };
    let texts = match found {
        // A table without the column is a table without the metric.
        Err(_) if optional && matches!(rule.from, ExtractFrom::CsvColumn(_)) => return Ok(Vec::new()),
        found => found.map_err(|cause| ExtractError::Unreadable { rule: name.clone(), cause })?,
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

/// One JSON document, or JSON lines.
fn json(path: &str, text: &str) -> Result<Vec<String>, String> {
    let path = serde_json_path::JsonPath::parse(path).map_err(|error| error.to_string())?;
    let documents: Result<Vec<serde_json::Value>, _> = match serde_json::from_str(text) {
        Ok(document) => Ok(vec![document]),
        Err(_) => serde_json::Deserializer::from_str(text).into_iter().collect(),
    };
    let documents = documents.map_err(|error| error.to_string())?;
    let texts = documents.iter().flat_map(|document| path.query(document).all()).map(|value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    Ok(texts.collect())
}

fn regex(pattern: &str, text: &str) -> Result<Vec<String>, String> {
    let regex = regex::RegexBuilder::new(pattern).multi_line(true).build().map_err(|e| e.to_string())?;
    let group = |captures: regex::Captures<'_>| captures.get(1).map(|group| group.as_str().to_owned());
    Ok(regex.captures_iter(text).filter_map(group).collect())
}

fn csv(column: &str, text: &str) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| error.to_string())?.clone();
    let index = headers.iter().position(|header| header == column);
    let index =
        index.ok_or_else(|| format!("its columns are {}", headers.iter().collect::<Vec<_>>().join(", ")))?;
    let cell = |row: csv::Result<csv::StringRecord>| {
        let row = row.map_err(|error| error.to_string())?;
        Ok(row.get(index).unwrap_or_default().to_owned())
    };
    reader.records().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(from: ExtractFrom, text: &str) -> Result<Vec<f64>, ExtractError> {
        let mut capture = Capture::new(1 << 16);
        capture.push(text.as_bytes());
        let rule = Extract { metric: "m".into(), unit: "s".into(), better: None, from };
        Ok(all(&[rule], &capture, |_| false)?.remove(0).1.into_iter().flatten().collect())
    }

    #[test]
    fn json_is_taken_from_a_document_and_from_lines() {
        let path = || ExtractFrom::JsonPath("$.runs[*].ms".into());
        assert_eq!(extract(path(), r#"{"runs":[{"ms":1.5},{"ms":"2"}]}"#), Ok(vec![1.5, 2.0]));
        let lines = "{\"runs\":[{\"ms\":1}]}\n{\"runs\":[{\"ms\":3}]}\n";
        assert_eq!(extract(path(), lines), Ok(vec![1.0, 3.0]));
        assert!(matches!(extract(path(), "no json"), Err(ExtractError::Unreadable { .. })));
        assert!(matches!(extract(path(), "{}"), Err(ExtractError::Nothing(_))));
    }

    #[test]
    fn a_regular_expression_gives_its_first_group_for_every_match() {
        let pattern = || ExtractFrom::Regex(r"^time: ([\d.e+-]+|nan) ms$".into());
        assert_eq!(extract(pattern(), "time: 1.5 ms\nother\ntime: 2e1 ms\n"), Ok(vec![1.5, 20.0]));
        assert!(matches!(extract(pattern(), "time: nan ms"), Err(ExtractError::NotANumber { .. })));
    }

    #[test]
    fn a_csv_column_is_found_by_its_header() {
        let column = || ExtractFrom::CsvColumn("GB/s".into());
        assert_eq!(extract(column(), "name, GB/s\ncopy, 10\n\"a,b\", 12\n"), Ok(vec![10.0, 12.0]));
        assert!(matches!(extract(column(), "name\nx\n"), Err(ExtractError::Unreadable { .. })));
    }

    #[test]
    fn output_that_was_not_kept_whole_is_not_read() {
        let mut capture = Capture::new(4);
        capture.push(b"123456");
        assert_eq!(all(&[], &capture, |_| false), Err(ExtractError::NotKept(6)));
    }
}
