//! A comparison of precisions: cases that differ in `precision` or `backend` alone, with their speed and the errors of
//! their results.

use super::metric::center;
use super::pairs::speedup_cells;
use crate::layout::grouped::together;
use crate::layout::number;
use crate::layout::table::ReportTable;
use gbench_compare::{PairMetric, PairSpeedup};
use gbench_model::{CaseId, CaseRecord, Metric, error_of_result};

/// Parameters that describe how something is computed, not what.
const WAYS: [&str; 2] = ["precision", "backend"];

/// The reference, if present; else the first.
const REFERENCES: [&str; 2] = ["fp32", "float32"];

/// Errors with a separate column; the others share the last one.
const MAX_ERRORS: usize = 3;

/// One table for each problem that was computed in several ways, in the record's order.
pub(crate) fn tables(cases: &[(&CaseRecord, String)]) -> Vec<ReportTable> {
    let ways = cases.iter().map(|(case, _)| *case).filter(|case| case.id.params.contains_key(WAYS[0]));
    let problems = together(ways.map(|case| (problem(&case.id), case)));
    let several = problems.into_iter().filter(|(_, cases)| cases.len() > 1);
    several.filter_map(|(problem, cases)| table(&problem, &cases)).collect()
}

/// The identity without these parameters and the device, which a case that failed early lacks.
fn problem(id: &CaseId) -> CaseId {
    let mut params = id.params.clone();
    params.retain(|name, _| !WAYS.contains(&name.as_str()));
    CaseId { params, device: "host".into(), ..id.clone() }
}

fn error(case: &CaseRecord, name: &str) -> Option<f64> {
    let of_name = |metric: &&Metric| error_of_result(&metric.name) == Some(name);
    case.metrics.iter().find(of_name).filter(|_| case.outcome.is_measured()).and_then(center)
}

fn way(case: &CaseRecord) -> String {
    let words = WAYS.iter().filter_map(|name| case.id.params.get(*name)).map(|value| value.to_string());
    words.collect::<Vec<_>>().join(", ")
}

/// `None` if nothing was measured.
fn table(problem: &CaseId, cases: &[&CaseRecord]) -> Option<ReportTable> {
    let measured = || cases.iter().copied().filter(|case| case.outcome.is_measured());
    let is_usual = |case: &&CaseRecord| {
        case.id.params.get(WAYS[0]).is_some_and(|value| REFERENCES.contains(&value.to_string().as_str()))
    };
    let reference = measured().find(is_usual).or_else(|| measured().next())?;
    let mut names: Vec<&str> = Vec::new();
    for name in measured().flat_map(|case| &case.metrics).filter_map(|metric| error_of_result(&metric.name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(MAX_ERRORS);
    let devices = together(measured().map(|case| (&case.id.device, ()))).len();
    let row = |case: &&CaseRecord| {
        let metric = PairMetric::of(reference, case).filter(|_| case.outcome.is_measured());
        let figure =
            metric.and_then(|metric| Some(number::value(center(metric.optimized)?, &metric.optimized.unit)));
        let on_device = if devices > 1 { format!(", {}", case.id.device) } else { String::new() };
        let is_reference = std::ptr::eq(*case, reference);
        let speed = match metric.as_ref().and_then(|metric| PairSpeedup::of(reference, case, metric)) {
            _ if is_reference => "reference".to_owned(),
            Some(speedup) => speedup_cells(&speedup).join("\n"),
            None => String::new(),
        };
        let mut cells = vec![
            format!("{}{on_device}", way(case)),
            figure.unwrap_or_else(|| case.outcome.into_str().to_owned()),
            speed,
        ];
        cells.extend(names.iter().map(|name| match error(case, name) {
            None => String::new(),
            Some(value) => {
                let usual = error(reference, name).filter(|usual| *usual > 0.0 && !is_reference);
                let times =
                    usual.map_or(String::new(), |usual| format!("\n{}", number::times(value / usual)));
                format!("{}{times}", number::figure(value))
            }
        }));
        cells
    };
    let against = way(reference);
    let against_column = format!("against {against}");
    let columns = ["precision", "median", &against_column].into_iter().chain(names.iter().copied());
    let mut notes = vec![format!(
        "Speed is the median of {against} over each one's: below 1 it is slower; with its interval at 95 %, over processes"
    )];
    if names.is_empty() {
        notes.push("The errors of the results were not measured".into());
    } else {
        notes.push("Errors are those of the results, as the benchmark checked them; below each, how many times the reference's".into());
    }
    Some(ReportTable::new(format!("Precisions of {problem}"), columns, cases.iter().map(row), notes))
}
