//! HPCG, the High Performance Conjugate Gradients benchmark: its file `HPCG-Benchmark_3.1_DATE.txt`, one case per run.
//! <https://www.hpcg-benchmark.org/>.
//!
//! Each line is a path of keys and a value, `Final Summary::NAME=VALUE`. The rating is used only if the file calls the
//! result VALID. A run below half an hour is VALID but not official; the metadata records that.

use std::collections::BTreeMap;

use super::interface::prelude::*;
use gbench_model::Unread;

const TITLE: &str = "HPCG-Benchmark";
const RATING: &str = "Final Summary::HPCG result is VALID with a GFLOP/s rating of";
const TOTAL: &str = "Benchmark Time Summary::Total";
/// The least seconds of an official run.
const OFFICIAL: f64 = 1800.0;
const INVALID: &str = "Final Summary::HPCG result is";

const PARAMS: [(&str, &str); 5] = [
    ("nx", "Global Problem Dimensions::Global nx"),
    ("ny", "Global Problem Dimensions::Global ny"),
    ("nz", "Global Problem Dimensions::Global nz"),
    ("processes", "Machine Summary::Distributed Processes"),
    ("threads", "Machine Summary::Threads per processes"),
];

const FIGURES: [(&str, &str, &str); 8] = [
    ("ddot", "GFLOP/s", "GFLOP/s Summary::Raw DDOT"),
    ("waxpby", "GFLOP/s", "GFLOP/s Summary::Raw WAXPBY"),
    ("spmv", "GFLOP/s", "GFLOP/s Summary::Raw SpMV"),
    ("mg", "GFLOP/s", "GFLOP/s Summary::Raw MG"),
    ("raw", "GFLOP/s", "GFLOP/s Summary::Raw Total"),
    ("bandwidth", "GB/s", "GB/s Summary::Raw Total B/W"),
    ("total_time", "s", TOTAL),
    ("setup_time", "s", "Setup Information::Setup Time"),
];

/// Sections that describe the machine and the problem, or have the residuals and counts of its checks.
const DESCRIBED: [&str; 9] = [
    "Machine Summary",
    "Global Problem Dimensions",
    "Processor Dimensions",
    "Local Domain Dimensions",
    "Linear System Information",
    "Multigrid Information",
    "Spectral Convergence Tests",
    "Reproducibility Information",
    "Iteration Count Information",
];
/// Likewise; its name ends in a formula.
const SYMMETRY: &str = "Departure from Symmetry";

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "hpcg",
    title: "HPCG",
    versions: "3.1",
    fields: "`Final Summary`, `Global Problem Dimensions`, `Machine Summary`, `GFLOP/s Summary`, `GB/s Summary`, times, each `Result`",
    direction: "the rating higher; its parts are shown",
    failures: "`HPCG result is INVALID`, with the names of the checks that are `FAILED`; a rating of 0; no `Final Summary` \
             (refused)",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    file.any_line(TITLE, |line| line.trim() == TITLE)
        && file.any_line("Machine Summary=", |line| line.trim().starts_with("Machine Summary="))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    if !recognises(file) {
        return Err(file.wrong(format!("not a file of `{TITLE}` with lines `Machine Summary::NAME=VALUE`")));
    }
    let text = file.text()?;
    let entries: BTreeMap<&str, (usize, &str)> = lines(text)
        .filter(|(.., is_whole)| *is_whole)
        .filter_map(|(at, line, _)| {
            let (path, value) = line.trim().split_once('=')?;
            Some((path, (at, value.trim())))
        })
        .collect();
    let version = entries.get("version").map(|(_, version)| *version);
    let others = entries.iter().filter(|(path, (_, value))| {
        let section = path.split_once("::").map(|(section, _)| section);
        let is_measured = section.is_some_and(|it| !DESCRIBED.contains(&it) && !it.starts_with(SYMMETRY));
        let is_read = **path == RATING || FIGURES.iter().any(|(.., read)| read == *path);
        is_measured && !is_read && number(value).is_some()
    });
    let mut unread = Unread::default();
    unread.fields(others.map(|(path, _)| (*path).to_owned()));
    let run = RunReading { unread, ..vec![reading(file, &entries)?].into() };
    Ok(vec![run.fact("version", version)])
}

fn reading(file: &ResultFile, entries: &BTreeMap<&str, (usize, &str)>) -> Result<Reading, ReadError> {
    let mut params = Params::new();
    for (name, path) in PARAMS {
        let (_, value) = entries
            .get(path)
            .ok_or_else(|| file.wrong(format!("`{path}` is missing: the file is incomplete")))?;
        params.insert(name.to_owned(), param(value));
    }
    let mut reading = named("hpcg", params);
    let Some(rating) = figure(file, entries, RATING)? else {
        let is_invalid = entries.range(INVALID..).next().is_some_and(|(path, _)| path.starts_with(INVALID));
        if !is_invalid {
            return Err(file.wrong("`Final Summary` is missing: the program did not end"));
        }
        return Ok(reading.with_end(failed(format!("the result is INVALID: {}", unpassed(entries)))));
    };
    measured(&mut reading, "gflops", "GFLOP/s", rating);
    if rating <= 0.0 {
        reading.end = failed("its rating is not above zero");
    }
    let seconds = figure(file, entries, TOTAL)?;
    let official = seconds.is_some_and(|seconds| seconds >= OFFICIAL);
    reading.metadata.insert("official".into(), official.into());
    for (name, unit, path) in FIGURES {
        shown(&mut reading, name, unit, figure(file, entries, path)?);
    }
    Ok(reading)
}

fn figure(
    file: &ResultFile,
    entries: &BTreeMap<&str, (usize, &str)>,
    path: &str,
) -> Result<Option<f64>, ReadError> {
    let Some((line, value)) = entries.get(path) else { return Ok(None) };
    let number = number(value).ok_or_else(|| file.line(*line, format!("`{value}` is not a number")))?;
    Ok(Some(number))
}

fn unpassed(entries: &BTreeMap<&str, (usize, &str)>) -> String {
    let failed = entries.iter().filter(|(_, (_, value))| *value == "FAILED");
    let names: Vec<&str> = failed.map(|(path, _)| path.strip_suffix("::Result").unwrap_or(path)).collect();
    if names.is_empty() { "for an unknown reason".into() } else { format!("{} failed", names.join(", ")) }
}
