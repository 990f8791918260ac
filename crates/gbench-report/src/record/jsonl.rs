//! One run's raw samples as JSON lines: one line per sample set, that is one process of one metric of one case, in the
//! record's order. Each line is self-contained, so that one file can contain lines of many runs.

use std::io;

use serde::Serialize;

use super::view::run::RunView;
use crate::layout::json::line;
use gbench_model::{Better, CaseId, RunId, Stated};

#[derive(Serialize)]
struct SampleSet<'a> {
    run_id: &'a RunId,
    /// The case, unambiguous within the run.
    name: &'a str,
    case: &'a CaseId,
    /// The outcome of the whole case: samples of one that failed are not results.
    outcome: &'a str,
    metric: &'a str,
    unit: &'a str,
    /// `null` if the direction is unknown.
    better: Option<Better>,
    process: u32,
    first_iteration: u64,
    /// In order of measuring, in the unit.
    values: &'a [f64],
    partial: bool,
    /// The program's statement instead of samples, else `null`.
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
