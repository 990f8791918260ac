//! One run's raw samples as JSON lines: one line a sample set, that is one process of one metric of one case, in the
//! record's order. A line stands by itself, so that lines of many runs can be put into one file.

use std::io;

use serde::Serialize;

use super::view::RunView;
use crate::layout::json::line;
use gbench_model::{Better, CaseId, RunId, Stated};

#[derive(Serialize)]
struct SampleSet<'a> {
    run_id: &'a RunId,
    /// The case, unambiguous within the run.
    name: &'a str,
    case: &'a CaseId,
    /// Of the case as a whole: samples of one that failed are no results.
    outcome: &'a str,
    metric: &'a str,
    unit: &'a str,
    /// `null` where nothing says which way is better.
    better: Option<Better>,
    process: u32,
    first_iteration: u64,
    /// In order of measuring, in the unit.
    values: &'a [f64],
    partial: bool,
    /// What the program stated in place of samples, else `null`.
    stated: Option<&'a Stated>,
}

/// Writes the lines; a case without any sample set has none.
pub(super) fn render(view: &RunView, out: &mut dyn io::Write) -> io::Result<()> {
    for metric in &view.lines {
        for set in &metric.metric.processes {
            let sample_set = SampleSet {
                run_id: &view.record.run_id,
                name: &metric.name,
                case: &metric.case.id,
                outcome: metric.case.outcome.into_str(),
                metric: &metric.metric.name,
                unit: &metric.metric.unit,
                better: metric.metric.better,
                process: set.process,
                first_iteration: set.first_iteration,
                values: &set.values,
                partial: set.partial,
                stated: set.stated.as_ref(),
            };
            line(&sample_set, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::test_support as records;

    fn text(record: &gbench_model::RunRecord) -> String {
        let mut out = Vec::new();
        render(&RunView::new(record), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_sample_set_is_one_line() {
        let mut quiet = records::quiet();
        quiet.cases[0].metrics[0].processes[1].values.clear();
        quiet.cases[0].metrics[0].processes[1].stated =
            Some(Stated { value: 0.012, stddev: None, count: Some(30) });
        quiet.cases[1].metrics[0].processes[4].partial = true;
        insta::assert_snapshot!("quiet", text(&quiet));
    }

    #[test]
    fn no_text_breaks_a_line_and_every_value_reads_back_exactly() {
        for record in [records::record(), records::hostile(), records::contested()] {
            let metrics = record.cases.iter().flat_map(|case| &case.metrics);
            let sets: Vec<_> = metrics.flat_map(|metric| &metric.processes).collect();
            let text = text(&record);
            assert_eq!(text.lines().count(), sets.len());
            for (line, set) in text.lines().zip(sets) {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(line["values"], serde_json::to_value(&set.values).unwrap());
                assert_eq!(line["partial"], set.partial);
            }
        }
    }
}
