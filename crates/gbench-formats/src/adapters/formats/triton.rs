//! The CSV file that `triton.testing.perf_report` writes to `save_path`: the columns of the parameters, then one per
//! provider. <https://triton-lang.org/main/python-api/generated/triton.testing.Benchmark.html>.
//!
//! It is recognised by what pandas and Triton leave together: every number, sizes too, has six decimals, and a provider's
//! column has its unit in parentheses. A table without units is not recognised. Nothing marks the columns of parameters. The rule: if
//! columns end in a unit, as in `Triton (GB/s)`, the columns before the first of these are parameters. Otherwise the
//! first column is a parameter, with the adjacent columns that repeat it in each row, as when one value is given to
//! several parameters. `Torch (native)` is a name without a unit. A provider without a unit is shown and not judged. Columns of extremes and of differences, which
//! some versions add, are ignored.

use super::interface::prelude::*;
use gbench_model::is_counted;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "triton",
    title: "triton.testing",
    versions: "the CSV of `perf_report`",
    fields: "as parameters the first column and those that repeat it, or those before the first whose name ends in a unit; the others as providers. The plot is the name of the file",
    direction: "by the unit in the name of a column; without one it is shown and not judged",
    failures: "an empty cell, or a word such as `nan`; a value of 0; a row that is cut off (refused)",
    tried: &["3.6.0-add", "3.6.0-softmax"],
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

/// Without its units a table of six decimals may be anybody's.
fn recognises(file: &ResultFile) -> bool {
    let Ok(text) = std::str::from_utf8(file.bytes) else { return false };
    let mut lines = text.lines();
    let Some(header) = lines.next() else { return false };
    let has_unit = header.split(',').skip(1).any(|name| unit(name).is_some());
    let is_written_so = |cell: &str| {
        cell.split_once('.').is_some_and(|(whole, rest)| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits(whole.strip_prefix('-').unwrap_or(whole)) && digits(rest) && rest.len() == 6
        })
    };
    let mut rows = lines.peekable();
    let has_rows = rows.peek().is_some();
    has_unit
        && has_rows
        && rows.all(|row| {
            let mut cells = row.split(',');
            cells.next().is_some_and(is_written_so)
                && cells.all(|cell| cell.is_empty() || is_written_so(cell))
        })
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    if !text.ends_with('\n') {
        return Err(file.line(text.lines().count(), "the row is incomplete"));
    }
    let table = CsvTable::read(*file, text, 1, b',')?;
    let with_unit = table.header.iter().skip(1).position(|name| unit(name).is_some());
    let keys = with_unit.map_or_else(|| 1 + repeated(&table), |place| place + 1);
    if table.header.len() <= keys {
        return Err(file.line(1, "it has one column, and the first is the parameter"));
    }
    let mut readings: Vec<Reading> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    // Whole numbers may be those of another parameter. Other rows with the same parameters are repetitions: the caller joins
    // them, or says that they repeat.
    let is_certain = with_unit.is_some()
        || table.rows.iter().any(|row| row.cells.get(keys).is_some_and(|cell| !is_whole(cell)));
    for row in &table.rows {
        let (key, _) = row.cells.split_at(keys.min(row.cells.len()));
        if !seen.insert(key) && !is_certain {
            let what = format!("`{}` appears twice as `{}`", key.join(","), table.header[..keys].join(","));
            let next = &table.header[keys];
            let advice = format!(
                "rows repeat, or `{next}` is another parameter: a provider's column needs its unit in its name where several columns are parameters"
            );
            return Err(file.line(row.line, format!("{what}: {advice}")));
        }
        let first = readings.len();
        for column in (keys..table.header.len()).filter(|column| is_provider(&table, *column)) {
            provider(file, &table, row, (keys, column), (&mut readings, first))?;
        }
    }
    let run = RunReading::from(readings.into_iter().map(ended).collect::<Vec<_>>());
    Ok(vec![run.also("plot", plot(file.file_name()))])
}

/// The name of the plot: that of the file, as `perf_report` gives it, without what tells runs apart, such as `-3` or `before-`.
/// `None`: nothing is left.
fn plot(file: &str) -> Option<String> {
    const OF_RUNS: [&str; 9] = ["after", "base", "baseline", "before", "head", "main", "new", "old", "run"];
    let stem = file.strip_suffix(".csv").unwrap_or(file);
    let is_of_runs = |word: &str| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        name.is_empty() || word.len() == 1 || name == "r" || OF_RUNS.contains(&name)
    };
    let words: Vec<&str> =
        stem.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // At the ends alone: `head32` within a name is a number of heads.
    let first = words.iter().position(|word| !is_of_runs(word))?;
    let last = words.iter().rposition(|word| !is_of_runs(word))?;
    Some(words[first..=last].join("-"))
}

/// False for the columns after the providers: the difference that `diff_col` adds, and the extremes that some versions
/// write.
fn is_provider(table: &CsvTable, column: usize) -> bool {
    let name = |header: &'_ str| unit(header).map_or(header, |(name, _)| name).to_owned();
    let header = table.header.get(column).map(|header| name(header)).unwrap_or_default();
    let extreme = header.strip_suffix("-min").or_else(|| header.strip_suffix("-max"));
    let of_one = extreme.is_some_and(|base| table.header.iter().any(|other| name(other) == base));
    let difference = column + 1 == table.header.len() && header == "Diff";
    !of_one && !difference
}

/// Number of columns after the first with the same values in each row.
fn repeated(table: &CsvTable) -> usize {
    let repeats = |column: &usize| table.rows.iter().all(|row| row.cells.get(*column) == row.cells.first());
    (1..table.header.len()).take_while(repeats).count()
}

/// `4096` or `4096.0`, as a parameter that is a size.
fn is_whole(cell: &str) -> bool {
    number(cell).is_some_and(|value| value.fract() == 0.0)
}

fn unit(column: &str) -> Option<(&str, &str)> {
    let (name, unit) = column.strip_suffix(')')?.rsplit_once(" (")?;
    let (name, unit) = (name.trim(), unit.trim());
    let is_unit = direction_of_unit(unit).is_some() || is_counted(unit) || ["%", "x"].contains(&unit);
    (!name.is_empty() && is_unit).then_some((name, unit))
}

/// Reads a cell into the case of its provider and row; a provider with two units is one case. `readings`: those of the
/// row begin at that place.
fn provider(
    file: &ResultFile,
    table: &CsvTable,
    row: &CsvRow,
    (keys, column): (usize, usize),
    (readings, first): (&mut Vec<Reading>, usize),
) -> Result<(), ReadError> {
    let header = table.header.get(column).map(String::as_str).unwrap_or_default();
    let (name, unit) = unit(header).unwrap_or((header, ""));
    if name.is_empty() {
        return Err(file.line(1, format!("column {} has no name", column + 1)));
    }
    let same = readings.iter().skip(first).position(|reading| reading.case.case == name);
    let place = same.map_or(readings.len(), |place| first + place);
    if same.is_none() {
        let params = table.header.iter().zip(&row.cells).take(keys);
        let params = params_of(params.map(|(name, cell)| (name.as_str(), cell.as_str())));
        readings.push(named(name, params));
    }
    let Some(reading) = readings.get_mut(place) else { return Ok(()) };
    if let Some(word) = no_value(row.cell(column)) {
        fail(reading, format!("line {}: {word} under `{header}`", row.line));
        return Ok(());
    }
    let value = table.number(row, column)?;
    if value == 0.0 {
        fail(reading, format!("line {}: it is 0 under `{header}`", row.line));
    }
    let metric = if is_time(unit) { "time" } else { "value" };
    if reading.metrics.iter().any(|known| known.name == metric) {
        return Err(file.line(1, format!("`{name}` has two columns of the same kind, as `{header}`")));
    }
    summarised(reading, metric, unit, alone(value)).judged = direction_of_unit(unit).is_some();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::plot;

    #[test]
    fn a_plot_is_named_by_its_file_without_the_numbers_of_runs() {
        for (file, name) in [
            ("fused-softmax-performance.csv", Some("fused-softmax-performance")),
            ("before-softmax_3.csv", Some("softmax")),
            ("run-12.csv", None),
            ("matmul-performance-fp16.csv", Some("matmul-performance-fp16")),
            ("fused-attention-batch4-head32-d64.csv", Some("fused-attention-batch4-head32-d64")),
            ("0.csv", None),
        ] {
            assert_eq!(plot(file).as_deref(), name, "{file}");
        }
    }
}
