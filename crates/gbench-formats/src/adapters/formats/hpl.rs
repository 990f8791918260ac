//! HPL, the High-Performance Linpack benchmark: the output of `xhpl`, and the HPL section of `hpccoutf.txt`. A row is a
//! case. <https://www.netlib.org/benchmark/hpl/>.
//!
//! The residual below a row shows whether the system was solved. The times have two decimals, and the rates four digits.
//! NVIDIA's build adds the rate per GPU in parentheses. A row that was measured several times is one case with several
//! values.

use super::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

const COLUMNS: [&str; 7] = ["T/V", "N", "NB", "P", "Q", "Time", "Gflops"];
/// HPCC's summary.
const SUMMARY: [&str; 2] = ["Begin of Summary section.", "End of Summary section."];
/// Fields of the summary that repeat the rows, or describe the machine and the program.
const OTHERS: [&str; 5] = ["HPL_", "Version", "sizeof_", "CPS_", "Success"];
/// The leading columns: the problem and the method.
const KEYS: usize = 5;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "hpl",
    title: "HPL",
    versions: "1.0 to 2.3, HPCC's section, and builds for GPUs that add a rate per GPU",
    fields: "`T/V`, `N`, `NB`, `P`, `Q`, `Time`, `Gflops`, the rate per GPU; the residual's `PASSED` or `FAILED`; `End of Tests`",
    direction: "rates higher; the time follows from them and is shown",
    failures: "`FAILED` at the end of a residual's line; a rate of 0; a row without a residual, or no `End of Tests.` (refused)",
    tried: &["2.0-hpcc-1.5.0", "2.0-hpcc-1.5.0-failed", "2.0-hpcc-1.5.0-unchecked-refused"],
    recognises: |file| file.any_line(COLUMNS[0], is_header),
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let (mut solved, mut is_row_next): (Vec<Solved>, bool) = (Vec::new(), false);
    let mut unread = Unread::default();
    // The other tests of HPCC have their figures there.
    let summary = text
        .lines()
        .skip_while(|line| line.trim() != SUMMARY[0])
        .take_while(|line| line.trim() != SUMMARY[1]);
    let summary = summary.filter_map(|line| line.trim().split_once('='));
    let others = summary.filter(|(name, value)| {
        number(value).is_some() && !OTHERS.iter().any(|start| name.starts_with(start))
    });
    unread.fields(others.map(|(name, _)| name.to_owned()));
    for (at, line, is_whole) in lines(text) {
        let trimmed = line.trim();
        if is_header(line) {
            is_row_next = true;
        } else if is_row_next && !trimmed.is_empty() && !trimmed.starts_with("----") {
            is_row_next = false;
            solved.push(row(file, at, line)?);
        } else if is_whole && trimmed.starts_with("||Ax-b||_oo") {
            let Some(passed) = verdict(trimmed) else { continue };
            let last = solved.last_mut().ok_or_else(|| file.line(at, "a residual before all rows"))?;
            last.passed = Some(last.passed.unwrap_or(true) && passed);
        } else if !solved.is_empty() && trimmed.starts_with('W') && row(file, at, line).is_ok() {
            // The header that precedes each row is missing.
            unread.line(UnreadKind::Row, at, line);
        }
    }
    if let Some(row) = solved.iter().find(|row| row.passed.is_none()) {
        return Err(file.line(row.line, "no residual follows this row: nothing says that it was solved"));
    }
    if !lines(text).any(|(_, line, is_whole)| is_whole && line.trim() == "End of Tests.") {
        return Err(file.wrong("`End of Tests.` is missing: the program did not end"));
    }
    let version = text.lines().find_map(|line| line.trim().strip_prefix("HPLinpack "));
    let version = version.and_then(|rest| rest.split_whitespace().next());
    let run = RunReading { unread, ..readings(solved).into() };
    Ok(vec![run.fact("version", version)])
}

struct Solved {
    line: usize,
    params: Params,
    time: f64,
    gflops: f64,
    per_gpu: Option<f64>,
    passed: Option<bool>,
}

fn is_header(line: &str) -> bool {
    if !line.trim_start().starts_with(COLUMNS[0]) {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&COLUMNS) && (words.len() == COLUMNS.len() || words.contains(&"GPU)"))
}

/// `PASSED` or `FAILED` at the end of a residual's line: older versions have three such lines per row.
fn verdict(line: &str) -> Option<bool> {
    match line.split_whitespace().last()? {
        "PASSED" => Some(true),
        "FAILED" => Some(false),
        _ => None,
    }
}

fn row(file: &ResultFile, at: usize, line: &str) -> Result<Solved, ReadError> {
    let bare = line.replace(['(', ')'], " ");
    let words: Vec<&str> = bare.split_whitespace().collect();
    let wrong = || file.line(at, format!("no row of `{}`", COLUMNS.join(" ")));
    let (keys, figures) = words.split_at_checked(KEYS).ok_or_else(wrong)?;
    let figures: Vec<f64> =
        figures.iter().map(|word| number(word)).collect::<Option<_>>().ok_or_else(wrong)?;
    let (time, gflops, per_gpu) = match figures.as_slice() {
        [time, gflops] => (*time, *gflops, None),
        [time, gflops, per_gpu] => (*time, *gflops, Some(*per_gpu)),
        _ => return Err(wrong()),
    };
    let names = COLUMNS.iter().map(|name| name.replace('/', "").to_ascii_lowercase());
    let params = names.zip(keys.iter().map(|word| param(word))).collect();
    Ok(Solved { line: at, params, time, gflops, per_gpu, passed: None })
}

fn readings(solved: Vec<Solved>) -> Vec<Reading> {
    let mut cases = CaseReadings::default();
    for row in solved {
        let reading = cases.of(named("hpl", row.params));
        if row.passed != Some(true) {
            reading.end = failed("the residual check FAILED: the system was not solved");
        } else if row.gflops <= 0.0 {
            reading.end = failed("its rate is not above zero");
        }
        measured(reading, "gflops", "GFLOP/s", row.gflops);
        shown(reading, "time", "s", row.time);
        shown(reading, "gflops_per_gpu", "GFLOP/s", row.per_gpu);
    }
    cases.into()
}
