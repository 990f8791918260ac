//! Numbers from the stdout of programs that speak no protocol, as the suite file declares.

mod error;
mod json;

use std::collections::BTreeMap;

use gbench_suite::{Extract, ExtractFrom};

use super::io::capture::Capture;
use super::left_files::LeftFiles;
pub(super) use error::ExtractError;

/// The values that a rule found, in order: `None` where it found what is no finite number. Only optional metrics have such gaps.
type Found<'a> = (&'a Extract, Vec<Option<f64>>);

/// Each rule with the numbers it found, at least one each; none of an optional metric that is not there.
///
/// `files`: what the program left in the files that rules name, or why that cannot be used.
pub(super) fn all<'a>(
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
            None => Err(ExtractError::File { file: file.clone(), cause: "it was not looked for".into() }),
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

/// The cells of a column, of the rows whose other cells are as `rows` says. A table that names what its rows are about
/// holds several metrics unless they all have one name.
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
                what: format!("its rows are of different `{header}`: `{first}` and `{other}`"),
                next: format!("choose one of them: rows = {{ {header} = \"{first}\" }}"),
            });
        }
    }
    Ok(chosen.iter().map(|row| row.get(index).unwrap_or_default().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(from: ExtractFrom, text: &str) -> Result<Vec<f64>, ExtractError> {
        let mut capture = Capture::new(1 << 16);
        capture.push(text.as_bytes());
        let rule =
            Extract { metric: "m".into(), unit: "s".into(), better: None, from, rows: Default::default() };
        Ok(all(&[rule], &capture, &LeftFiles::default(), |_| false)?
            .remove(0)
            .1
            .into_iter()
            .flatten()
            .collect())
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
        let column = || ExtractFrom::CsvColumn { column: "GB/s".into(), rows: BTreeMap::new() };
        assert_eq!(extract(column(), "size, GB/s\nlarge, 10\n\"a,b\", 12\n"), Ok(vec![10.0, 12.0]));
        assert!(matches!(extract(column(), "name\nx\n"), Err(ExtractError::Unreadable { .. })));
    }

    #[test]
    fn output_that_was_not_kept_whole_is_not_read() {
        let mut capture = Capture::new(4);
        capture.push(b"123456");
        assert_eq!(all(&[], &capture, &LeftFiles::default(), |_| false), Err(ExtractError::NotKept(6)));
    }

    fn mixed(from: ExtractFrom, text: &str) -> (String, String) {
        match extract(from, text) {
            Err(error @ ExtractError::Mixed { .. }) => (error.to_string(), error.next().unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// As Google Benchmark writes repetitions and their aggregates.
    const REPEATED: &str = r#"{"context": {"date": "today"}, "benchmarks": [
        {"name": "BM_sort/8", "run_name": "BM_sort/8", "run_type": "iteration", "real_time": 10.0},
        {"name": "BM_sort/8", "run_name": "BM_sort/8", "run_type": "iteration", "real_time": 12.0},
        {"name": "BM_sort/8_mean", "run_name": "BM_sort/8", "aggregate_name": "mean", "real_time": 11.0},
        {"name": "BM_sort/8_cv", "run_name": "BM_sort/8", "aggregate_name": "cv", "real_time": 0.1},
        {"name": "BM_copy", "run_name": "BM_copy", "run_type": "iteration", "real_time": 900.0}]}"#;

    #[test]
    fn n28_a_path_over_a_list_of_benchmarks_and_their_aggregates_is_no_one_metric() {
        let path = |text: &str| ExtractFrom::JsonPath(text.into());
        let (what, next) = mixed(path("$.benchmarks[*].real_time"), REPEATED);
        assert!(what.contains("different `name`: `BM_sort/8` and `BM_sort/8_mean`"), "{what}");
        // The advice can be followed as it stands.
        let advised = next.split('"').nth(1).unwrap();
        assert_eq!(extract(path(advised), REPEATED), Ok(vec![10.0, 12.0]));
        assert!(mixed(path("$..[?@.run_name == 'BM_sort/8'].real_time"), REPEATED).0.contains("`name`"));
    }

    #[test]
    fn n28_values_of_different_keys_are_no_samples_of_one_metric() {
        let text = r#"{"results": [{"mean": 1.0, "stddev": 0.1, "times": [0.9, 1.1]}]}"#;
        let path = |text: &str| ExtractFrom::JsonPath(text.into());
        for wrong in ["$.results[*]['mean','stddev']", "$.results[0].*", "$..[?@ > 0]"] {
            let (what, _) = mixed(path(wrong), text);
            assert!(what.contains("different keys"), "{wrong}: {what}");
        }
        assert_eq!(extract(path("$.results[*].times[*]"), text), Ok(vec![0.9, 1.1]));
        assert_eq!(extract(path("$..mean"), text), Ok(vec![1.0]));
        // The elements of one list may be lists themselves.
        assert_eq!(extract(path("$[*][*]"), "[[1, 2], [3]]"), Ok(vec![1.0, 2.0, 3.0]));
        // Lines are the elements of a list.
        let lines = "{\"name\": \"a\", \"ms\": 1}\n{\"name\": \"b\", \"ms\": 2}\n";
        assert!(mixed(path("$.ms"), lines).0.contains("different `name`"));
        assert_eq!(
            extract(path("$[?@.name == 'a'].ms"), &format!("[{}]", lines.trim().replace('\n', ","))),
            Ok(vec![1.0])
        );
    }

    #[test]
    fn n28_an_entry_that_failed_is_no_measurement() {
        let path = |text: &str| ExtractFrom::JsonPath(text.into());
        let hyperfine =
            r#"{"results": [{"command": "false", "mean": 0.0, "times": [0.0, 0.0], "exit_codes": [1, 1]}]}"#;
        let failed = extract(path("$.results[0].times[*]"), hyperfine).unwrap_err();
        assert!(failed.to_string().contains("ended with exit code 1"), "{failed}");
        assert_eq!(
            extract(path("$.results[0].times[*]"), &hyperfine.replace("[1, 1]", "[0, 0]")),
            Ok(vec![0.0, 0.0])
        );
        let google = r#"{"benchmarks": [{"name": "a", "error_occurred": true, "error_message": "no GPU", "real_time": 0}]}"#;
        assert!(
            extract(path("$.benchmarks[*].real_time"), google).unwrap_err().to_string().contains("no GPU")
        );
    }

    #[test]
    fn n28_rows_of_several_benchmarks_are_chosen_by_name() {
        let text = "name,iterations,real_time\nsort,10,1.5\ncopy,10,9\nsort,10,2.5\n";
        let column = |rows: &[(&str, &str)]| ExtractFrom::CsvColumn {
            column: "real_time".into(),
            rows: rows.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        };
        let (what, next) = mixed(column(&[]), text);
        assert!(what.contains("different `name`: `sort` and `copy`"), "{what}");
        assert_eq!(next, "choose one of them: rows = { name = \"sort\" }");
        assert_eq!(extract(column(&[("name", "sort")]), text), Ok(vec![1.5, 2.5]));
        assert!(matches!(extract(column(&[("nom", "sort")]), text), Err(ExtractError::Unreadable { .. })));
        assert!(matches!(extract(column(&[("name", "none")]), text), Err(ExtractError::Nothing(_))));
    }
}
