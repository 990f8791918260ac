//! The figures that one run adds to the series of its cases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::samples::MeasuredSide;
use crate::evidence::stored_runs::speedups_of;
use crate::identity::machines::machine_facts;
use crate::identity::measurement::asked_settings;
use gbench_model::{Better, CaseId, RunId, RunRecord};
use gbench_stats::TQuantiles;

/// A run, as far as it is a place in a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrendRun {
    pub run_id: RunId,
    /// UTC, RFC 3339.
    pub started: String,
    /// Full id; empty where the record has none.
    pub commit: String,
    /// The branch that was measured, or the name under which a folder keeps the record.
    pub branch: String,
    /// Which machine of a matrix; empty for the only one.
    pub label: String,
    /// The event that started the run: `schedule`, `push`, `none`.
    pub event: String,
    /// The gate's word for it; absent where it was only measured.
    pub conclusion: Option<String>,
}

/// The figures of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPoints {
    pub run: TrendRun,
    /// Every fact of the machine that is known, by name.
    pub facts: BTreeMap<String, String>,
    pub points: Vec<MetricPoint>,
    /// Cases without a figure, each with the word of its outcome.
    pub unmeasured: Vec<(CaseId, String)>,
}

/// The figure of one metric of one case in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricPoint {
    pub case: CaseId,
    pub metric: String,
    pub unit: String,
    pub better: Option<Better>,
    /// The gate judges by it.
    pub judged: bool,
    /// The suite's settings: figures of other settings are of another piece of the series.
    pub settings: String,
    /// In the metric's unit: the geometric mean of its processes' medians.
    pub value: f64,
    /// Half the width of the 95 % interval of the value, as a logarithm, by Student's t over the processes of this run
    /// alone. Runs differ by more. NaN of one process, or where a value has no logarithm.
    pub half_width: f32,
}

impl RunPoints {
    /// The figures of a record; `run` has its place in the series. `quantiles` is shared by all runs.
    pub fn of(run: TrendRun, record: &RunRecord, quantiles: &mut TQuantiles) -> Self {
        let facts = machine_facts(record).into_iter().filter(|(_, fact)| fact.is_known);
        let mut it = Self {
            run,
            facts: facts.map(|(name, fact)| (name, fact.text)).collect(),
            points: Vec::new(),
            unmeasured: Vec::new(),
        };
        let mut scratch = Vec::new();
        let speedups = speedups_of(&record.cases);
        for case in &record.cases {
            if !case.outcome.is_measured() {
                it.unmeasured.push((case.id.clone(), case.outcome.into_str().to_owned()));
            }
        }
        for case in record.cases.iter().chain(&speedups).filter(|case| case.outcome.is_measured()) {
            let settings = asked_settings(case).join(" ");
            for metric in &case.metrics {
                let Ok(measured) = MeasuredSide::of(case, metric, &mut scratch) else { continue };
                let side = measured.row_side(case);
                let Some(value) = side.centre.filter(|value| value.is_finite()) else { continue };
                let half_width = side.spread.filter(|_| side.processes > 1).map_or(f64::NAN, |spread| {
                    let processes = f64::from(side.processes);
                    quantiles.upper(0.025, processes - 1.0) * spread / processes.sqrt()
                });
                let declared = case.declared.get(&metric.name);
                it.points.push(MetricPoint {
                    case: case.id.clone(),
                    metric: metric.name.clone(),
                    unit: metric.unit.clone(),
                    better: case.direction(metric),
                    judged: declared.and_then(|declared| declared.gate) != Some(false),
                    settings: settings.clone(),
                    value,
                    half_width: half_width as f32,
                });
            }
        }
        it
    }
}
