//! The result of one process of a case: the metric that is bisected, and the place of its samples.

use crate::compare::spoilt_by_card;
use crate::model::text::list;
use crate::model::{Better, CaseRecord, Fault, ProcessSamples, Result, RunRecord};
use crate::stats;

/// The metric that is bisected.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BisectedMetric {
    pub name: String,
    pub unit: String,
    pub better: Option<Better>,
}

/// One process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProcessFigure {
    /// In the metric's unit.
    pub value: f64,
    /// Wall seconds.
    pub seconds: f64,
    /// Why it counts for nothing.
    pub left_out: Option<String>,
}

impl BisectedMetric {
    /// The metric of this name; without one that by which the case is judged. Errors: there is none, or more than one.
    pub(super) fn of(record: &RunRecord, named: Option<&str>) -> Result<Self> {
        let Some(case) = record.cases.first() else {
            return Err(Fault::defect("the bisection", "measured no case"));
        };
        let is_judged = |name: &str| case.declared.get(name).and_then(|said| said.gate) != Some(false);
        let judged: Vec<_> =
            case.metrics.iter().filter(|it| case.direction(it).is_some() && is_judged(&it.name)).collect();
        let found = match (named, judged.as_slice()) {
            (Some(named), _) => case.metrics.iter().find(|metric| metric.name == named),
            (None, [only]) => Some(*only),
            (None, several) => several.iter().find(|metric| metric.name == "time").copied(),
        };
        let Some(metric) = found else {
            let names: Vec<String> = case.metrics.iter().map(|metric| metric.name.clone()).collect();
            let what = match (named, judged.is_empty()) {
                (Some(named), _) => format!("the case has no metric `{named}`"),
                (None, true) => "the case has no metric by which it is judged".to_owned(),
                (None, false) => "the case is judged by several metrics".to_owned(),
            };
            let next = format!("name one with `--metric`: {}", list(&names, 8));
            return Err(Fault::at(case.id.to_string(), what, next));
        };
        Ok(Self { name: metric.name.clone(), unit: metric.unit.clone(), better: case.direction(metric) })
    }

    /// The figures of a record, one for each process that has one. Errors: one is not above zero, so that a change of it
    /// has no share.
    pub(super) fn figures(&self, record: &RunRecord) -> Result<Vec<ProcessFigure>> {
        let Some(case) = record.cases.first() else { return Ok(Vec::new()) };
        let Some(metric) = case.metrics.iter().find(|metric| metric.name == self.name) else {
            return Ok(Vec::new());
        };
        let complete = metric.processes.iter().filter(|samples| !samples.partial);
        complete.map(|samples| self.figure(case, samples)).collect()
    }

    fn figure(&self, case: &CaseRecord, samples: &ProcessSamples) -> Result<ProcessFigure> {
        let stated = samples.stated.as_ref().map(|stated| stated.value.ln());
        let place = stats::ln_midmean(&mut samples.values.clone()).or(stated);
        let Some(place) = place.filter(|place| place.is_finite()) else {
            let what =
                format!("`{}` is not above zero in every sample, so that a change has no share", self.name);
            return Err(Fault::at(case.id.to_string(), what, "bisect another metric: `--metric NAME`"));
        };
        let process = case.processes.iter().find(|process| process.index == samples.process);
        Ok(ProcessFigure {
            value: place.exp(),
            seconds: process.map_or(0.0, |process| process.seconds),
            left_out: process.and_then(|process| spoilt_by_card(case, process)),
        })
    }

    /// A figure as the bisection takes it: its logarithm, turned so that up is worse.
    pub(super) fn turned(&self, value: f64) -> f64 {
        match self.better {
            Some(Better::Higher) => -value.ln(),
            Some(Better::Lower) | None => value.ln(),
        }
    }

    /// A change of turned logarithms as a share of the good end's figure.
    pub(super) fn share(&self, change: f64) -> f64 {
        match self.better {
            Some(Better::Higher) => (-change).exp_m1(),
            Some(Better::Lower) | None => change.exp_m1(),
        }
    }
}
