//! The CSV that NVIDIA's profilers print, as records with their lines: `adapters` reads it as a file of results, `profile` as
//! a profiler's findings about a case.
//!
//! Lines of the profiler and of the program before, between and after those of a table are skipped. A truncated record is
//! never read; its line is reported.

/// One record of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilerRecord {
    /// The line in the text where it begins, from 1.
    pub line: usize,
    /// Trimmed.
    pub cells: Vec<String>,
}

impl ProfilerRecord {
    /// Empty if the column does not exist.
    pub fn cell(&self, column: Option<usize>) -> &str {
        column.and_then(|column| self.cells.get(column)).map_or("", String::as_str)
    }
}

/// A text that is not a table, or a truncated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct DamagedCsv {
    /// From 1.
    pub line: usize,
    pub what: &'static str,
}

/// The numbered lines of a text, from 1, each with whether it has a line end. A line without one may be truncated.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    text.split_inclusive('\n').enumerate().map(|(at, line)| {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        (at + 1, bare.strip_suffix('\r').unwrap_or(bare), line.ends_with('\n'))
    })
}

/// The cells of one record. `None`: it is not CSV.
pub fn cells(record: &str) -> Option<Vec<String>> {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).buffer_capacity(record.len().max(1));
    let mut reader = builder.from_reader(record.as_bytes());
    let parsed = reader.records().next().and_then(Result::ok)?;
    Some(parsed.iter().map(|cell| cell.trim().to_owned()).collect())
}

/// The first columns of `ncu --csv`.
pub const NCU_HEADER: &str = "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",";

pub fn is_ncu_header(line: &str) -> bool {
    line.starts_with(NCU_HEADER) && line.contains("\"Kernel Name\"")
}

/// A row begins with its launch's number; the row of units has an empty first cell. A quoted line of the program has neither.
fn is_ncu_row(line: &str) -> bool {
    let number = line.strip_prefix('"').and_then(|rest| rest.split_once("\","));
    number.is_some_and(|(id, _)| id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The records of `ncu --csv` from the first header on. Quoted text may span several lines. Errors: a truncated record, or not
/// CSV.
pub fn ncu_records(text: &str) -> Result<Vec<ProfilerRecord>, DamagedCsv> {
    let mut records = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line, is_whole) in lines(text) {
        let may_be_cut = !is_whole && line.starts_with('"');
        // The program's last line may lack a line end.
        let glued = if open.is_none() { line.find(NCU_HEADER).and_then(|at| line.get(at..)) } else { None };
        let line = glued.filter(|header| is_ncu_header(header)).unwrap_or(line);
        let is_row = is_ncu_header(line) || !records.is_empty() && (is_ncu_row(line) || may_be_cut);
        let (first, record) = match open.take() {
            Some((first, before)) => (first, format!("{before}\n{line}")),
            None if is_row => (at, line.to_owned()),
            None => continue,
        };
        if !is_whole {
            return Err(DamagedCsv { line: at, what: "the row is incomplete" });
        }
        if record.matches('"').count() % 2 == 1 {
            open = Some((first, record));
            continue;
        }
        let what = "it cannot be read as comma-separated values";
        records.push(ProfilerRecord {
            line: first,
            cells: cells(&record).ok_or(DamagedCsv { line: first, what })?,
        });
    }
    match open {
        Some((line, _)) => Err(DamagedCsv { line, what: "a text in quotes begins here and does not end" }),
        None => Ok(records),
    }
}

/// The column names of `nsys stats`, newer ones first.
pub mod nsys {
    pub const TOTAL: &str = "Total Time (ns)";
    pub const SHARE: [&str; 2] = ["Time (%)", "Time(%)"];
    /// How often each ran, by report.
    pub const COUNTS: [&str; 4] = ["Instances", "Num Calls", "Count", "Operations"];
    pub const NAMES: [&str; 3] = ["Name", "Operation", "Range"];
    pub const MEAN: [&str; 3] = ["Avg (ns)", "Average (ns)", "Average"];
    pub const MEDIAN: [&str; 2] = ["Med (ns)", "Median (ns)"];
    pub const MIN: [&str; 3] = ["Min (ns)", "Minimum (ns)", "Minimum"];
    pub const MAX: [&str; 3] = ["Max (ns)", "Maximum (ns)", "Maximum"];
    pub const STDDEV: [&str; 2] = ["StdDev (ns)", "StdDev"];
}

pub fn is_nsys_header(line: &str) -> bool {
    if !line.contains(nsys::TOTAL) {
        return false;
    }
    let cells: Vec<&str> = line.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
    let any = |names: &[&str]| names.iter().any(|name| cells.contains(name));
    cells.first().is_some_and(|first| nsys::SHARE.contains(first))
        && cells.contains(&nsys::TOTAL)
        && any(&nsys::COUNTS)
        && any(&nsys::NAMES)
        && any(&nsys::MEAN)
}

/// The tables of `nsys stats --format csv`: the line at which each begins, from 1, and its text with its header. An empty line
/// or another header ends a table. Errors: the last line of a table is truncated.
pub fn nsys_tables(text: &str) -> Result<Vec<(usize, String)>, DamagedCsv> {
    let mut tables: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if is_nsys_header(line) {
            tables.push((at + 1, String::new()));
            is_open = true;
        }
        is_open &= !line.trim().is_empty();
        let Some((_, table)) = tables.last_mut().filter(|_| is_open) else { continue };
        if !line.ends_with('\n') {
            return Err(DamagedCsv { line: at + 1, what: "the row is incomplete" });
        }
        table.push_str(line);
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_program_are_no_records() {
        let header = format!("{NCU_HEADER}\"Kernel Name\",\"a__b\"\n");
        let text = format!(
            "\"0\",before\nloss 0.1{header}\"\",\"\"\n\"said\n\"x\", 1\n==PROF== \"k\"\n\"0\",\"1\"\n\n\"1\",\"two\nlines\"\n42\n"
        );
        let records = ncu_records(&text).unwrap();
        assert_eq!(records.iter().map(|record| record.line).collect::<Vec<_>>(), [2, 3, 7, 9]);
        assert_eq!(records[3].cells, ["1", "two\nlines"]);
    }

    #[test]
    fn a_record_that_is_cut_off_is_told_with_its_line() {
        let header = format!("{NCU_HEADER}\"Kernel Name\",\"a__b\"\n");
        for (rest, line) in
            [("\"0\",\"1\",\"x", 2), ("\"", 2), ("\"0\",\"a\n\"0\",\"1\"\n", 2), ("\"0\"\n\"1", 3)]
        {
            assert_eq!(ncu_records(&format!("{header}{rest}")).unwrap_err().line, line, "{rest}");
        }
        let table = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n100.0,5,1,5.0,k";
        assert_eq!(nsys_tables(table).unwrap_err().line, 2);
        assert_eq!(nsys_tables(&format!("said\n{table}\n\nmore")).unwrap(), [(2, format!("{table}\n"))]);
    }
}
