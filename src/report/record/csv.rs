//! One run as a table for spreadsheets: one line a sample set, that is one process of one metric of one case;
//! a case without any has one line that says why. RFC 4180, the columns below in this order for as long as
//! the record's schema is v1. Numbers are exact and unscaled, in the metric's unit. `rank` and `vs_best` are those of
//! the metric as a whole, the same on each of its lines.

use std::io;

use super::metric::{MetricView, median};
use super::view::RunView;
use crate::model::ProcessSamples;
use crate::report::layout::csv::{case_cells, number, optional, writer};
use crate::report::layout::escape::csv as cell;

const COLUMNS: [&str; 28] = [
    "run_id",
    "suite",
    "benchmark",
    "variant",
    "params",
    "timing",
    "thermal",
    "device",
    "case",
    "outcome",
    "cause",
    "metric",
    "unit",
    "better",
    "process",
    "partial",
    "first_iteration",
    "samples",
    "median",
    "mean",
    "min",
    "max",
    "stated",
    "peak_rss_bytes",
    "device_peak_bytes",
    "group",
    "rank",
    "vs_best",
];

/// Writes the header and the lines, in the record's order.
pub(in crate::report) fn render(view: &RunView, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let mut writer = writer(out);
    writer.write_record(COLUMNS)?;
    // One a metric, in the order of the cases and their metrics.
    let mut metrics = view.lines.iter();
    for (case, name) in &view.cases {
        let mut start = vec![cell(view.record.run_id.as_str())];
        start.extend(case_cells(&case.id, name));
        start.extend([case.outcome.into_str().to_owned(), cell(&case.outcome.cause())]);
        let metrics = metrics.by_ref().take(case.metrics.len());
        let sets = metrics.flat_map(|line| line.metric.processes.iter().map(move |set| (line, set)));
        let mut lines: Vec<Vec<String>> = sets.map(|(line, set)| sample_set(line, set)).collect();
        if lines.is_empty() {
            lines.push(vec![String::new(); COLUMNS.len() - start.len()]);
        }
        for line in lines {
            writer.write_record(start.iter().chain(&line))?;
        }
    }
    writer.flush()
}

fn sample_set(line: &MetricView, set: &ProcessSamples) -> Vec<String> {
    let (case, metric, place) = (line.case, line.metric, line.place.as_ref());
    let values = &set.values;
    let process = case.processes.iter().find(|process| process.index == set.process);
    let bytes = |bytes: Option<u64>| bytes.map_or(String::new(), |bytes| bytes.to_string());
    let present = |value: f64| (!values.is_empty()).then_some(value);
    vec![
        cell(&metric.name),
        cell(&metric.unit),
        metric.better.map_or(String::new(), |better| better.into_str().to_owned()),
        set.process.to_string(),
        set.partial.to_string(),
        set.first_iteration.to_string(),
        values.len().to_string(),
        optional(median(&mut values.clone())),
        optional(present(values.iter().sum::<f64>() / values.len() as f64)),
        optional(values.iter().copied().min_by(f64::total_cmp)),
        optional(values.iter().copied().max_by(f64::total_cmp)),
        set.stated.as_ref().map_or(String::new(), |stated| number(stated.value)),
        bytes(process.and_then(|process| process.peak_rss_bytes)),
        bytes(process.and_then(|process| process.device_peak_bytes)),
        cell(case.group.as_deref().unwrap_or_default()),
        place.map_or(String::new(), |place| place.rank.to_string()),
        optional(place.and_then(|place| place.vs_best)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CaseRecord;
    use crate::report::record::test_support as records;

    fn text(record: &crate::model::RunRecord) -> String {
        let mut out = Vec::new();
        render(&RunView::new(record), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_sample_set_has_its_line_and_every_case_at_least_one() {
        for record in [records::record(), records::quiet(), records::hostile()] {
            let sets =
                |case: &CaseRecord| case.metrics.iter().map(|m| m.processes.len()).sum::<usize>().max(1);
            let text = text(&record);
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let records: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
            assert_eq!(records.len(), record.cases.iter().map(sets).sum::<usize>());
            for cell in records.iter().flatten() {
                assert!(cell.parse::<f64>().is_ok() || !cell.starts_with(['=', '+', '-', '@']), "{cell}");
            }
        }
    }

    #[test]
    fn the_columns_are_stable() {
        insta::assert_snapshot!("mixed", text(&records::record()));
        insta::assert_snapshot!("contested", text(&records::contested()));
    }
}
