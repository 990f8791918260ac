//! The evidence of a rule: the complete samples of one metric on both sides, by process, not copied.

use std::collections::BTreeMap;

use gbench_model::{
    Better, CaseId, CaseRecord, Conditions, Counting, INSTRUCTIONS, Isolation, Metric, PcieLink,
    ReportedError, SM_CLOCK, Stated, Timing, is_time,
};
use gbench_stats as stats;

use crate::verdict::document::RowSide;

/// One row's question to the rule: is head worse than base by more than the threshold?
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    pub case: &'a CaseId,
    /// Name of the metric: rows of one metric lend each other what they know of noise.
    pub metric: &'a str,
    pub unit: &'a str,
    /// A size or a count: where its processes agree, its value is known and not merely rounded.
    pub exact: bool,
    /// It is exact because its figures are whole numbers that never vary.
    pub is_count: bool,
    /// A figure of the device code that both sides ran: read from it, and no matter of processes.
    pub of_code: bool,
    /// Executions were counted by the harness of the case or by the gate: no noise of the machine reaches such a figure,
    /// which from process to process is nearly the same.
    pub counted: bool,
    pub of_pair: bool,
    /// The summary of each side, base first, that is one process which stated no samples.
    pub stated: [Option<&'a Stated>; 2],
    pub better: Better,
    /// Least relative change that matters: 0.05 is 5 %. Finite, 0 or more.
    pub threshold: f64,
    /// Used by rules over rounds; the margin by all.
    pub limits: RowLimits,
    pub base: MeasuredSide<'a>,
    pub head: MeasuredSide<'a>,
}

/// The limits of a row for a rule over rounds, and its absolute margin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowLimits {
    /// Certified unchanged within this: 0.02 is 2 %.
    pub target: f64,
    /// A red must lie beyond this.
    pub min_effect: f64,
    /// Smaller absolute changes, in the metric's unit, never matter.
    pub margin: Option<f64>,
    /// Judged by the difference itself, of which `margin` is the least that matters; shares say nothing of it.
    pub absolute: bool,
    /// Clocks held down by the hardware are the card's usual state and no reason to doubt.
    pub usual_slowdown: bool,
}

/// One side: never without a process, and every number finite.
#[derive(Clone, Debug)]
pub struct MeasuredSide<'a> {
    pub processes: Vec<ProcessValues<'a>>,
    /// The median of each process, in the same order: the statistical unit.
    pub centres: Vec<f64>,
}

/// The samples of one process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessValues<'a> {
    /// Index within the case, from 0.
    pub process: u32,
    /// Round and slot of an interleaved run.
    pub round: Option<u32>,
    pub slot: Option<u8>,
    /// The process was shared with other cases, in a comparison whose evidence comes from processes of a case's own.
    pub screens: bool,
    /// When it was started, where it was shared with other cases: the time identifies it.
    pub shared_since: Option<&'a str>,
    /// In order of measuring; one number where the process stated a summary only. Never empty.
    pub samples: &'a [f64],
    pub stated: bool,
    /// Others left it less than a core meanwhile.
    pub busy: bool,
    pub throttled: bool,
    pub reasons: &'a [String],
    /// With the signs that the drivers of its GPUs gave meanwhile.
    pub conditions: Option<&'a Conditions>,
    /// The PCIe link of its GPU under load.
    pub link: Option<PcieLink>,
    /// For a time on a GPU: the median clock of its multiprocessors meanwhile, in the unit of its metric.
    pub clock: Option<f64>,
    /// The mean of what was sampled of the GPU's clock meanwhile, in MHz: for pictures, never for a decision.
    pub sampled_clock: Option<f64>,
}

fn clock_of(clocks: &Metric, process: u32, scratch: &mut Vec<f64>) -> Option<f64> {
    let of_process = clocks.processes.iter().find(|entry| entry.process == process)?;
    scratch.clear();
    scratch.extend(of_process.values.iter().filter(|clock| clock.is_finite()));
    stats::median(scratch)
}

/// Why a metric of a measured case offers no evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    NoCompleteSamples,
    NotFinite,
}

impl<'a> Evidence<'a> {
    /// The processes of base and head in each round that both finished, in order.
    pub(super) fn turns<'e>(&'e self) -> Vec<[&'e ProcessValues<'a>; 2]> {
        let mut heads = self.head.processes.iter().peekable();
        let turn = |base: &'e ProcessValues<'a>| {
            while heads.next_if(|head| head.round < base.round).is_some() {}
            Some([base, heads.next_if(|head| head.round == base.round)?])
        };
        self.base.processes.iter().filter_map(turn).collect()
    }

    /// The part of it that comes from processes which screen, or which do not. A side may have none of them.
    pub(crate) fn of_processes(&self, screens: bool) -> Self {
        Self { base: self.base.of_processes(screens), head: self.head.of_processes(screens), ..self.clone() }
    }
}

impl<'a> MeasuredSide<'a> {
    /// The complete processes of a metric; those that did not end well are left out.
    /// `scratch` is overwritten: 10,000 cases need one buffer, not 100,000.
    pub fn of(case: &'a CaseRecord, metric: &'a Metric, scratch: &mut Vec<f64>) -> Result<Self, Unusable> {
        let mut processes = Vec::with_capacity(metric.processes.len());
        let mut centres = Vec::with_capacity(metric.processes.len());
        let isolation = case.config.get("isolation").and_then(|shown| shown.value.as_str());
        let shared_screen =
            isolation == Some(Isolation::SharedScreen.into_str()) && !is_counted_alone(case, metric);
        let clocks = case.metrics.iter().find(|it| it.name == SM_CLOCK && is_time(&metric.unit));
        for entry in metric.processes.iter().filter(|entry| !entry.partial) {
            let stated = entry.stated.as_ref().filter(|_| entry.values.is_empty());
            let samples =
                stated.map_or(entry.values.as_slice(), |stated| std::slice::from_ref(&stated.value));
            if !samples.iter().all(|value| value.is_finite()) {
                return Err(Unusable::NotFinite);
            }
            scratch.clear();
            scratch.extend_from_slice(samples);
            let Some(centre) = stats::median(scratch) else { continue };
            let run = case.processes.get(entry.process as usize).filter(|run| run.index == entry.process);
            let conditions = run.and_then(|run| run.conditions.as_ref());
            processes.push(ProcessValues {
                process: entry.process,
                round: run.and_then(|run| run.round),
                slot: run.and_then(|run| run.slot),
                screens: shared_screen && run.is_some_and(|run| run.shared.is_some()),
                shared_since: run
                    .filter(|run| run.shared.is_some_and(|cases| cases > 1))
                    .map(|run| run.started.as_str()),
                samples,
                stated: stated.is_some(),
                busy: conditions.is_some_and(|conditions| conditions.busy),
                throttled: conditions.is_some_and(|conditions| !conditions.throttled.is_empty()),
                reasons: conditions.map_or(&[], |conditions| &conditions.throttled),
                conditions,
                link: conditions.and_then(Conditions::link_of_used),
                clock: clocks.and_then(|clocks| clock_of(clocks, entry.process, scratch)),
                sampled_clock: conditions
                    .and_then(|conditions| Some(conditions.telemetry.as_deref()?.gpu()?.sm_clock?.mean)),
            });
            centres.push(centre);
        }
        if centres.is_empty() { Err(Unusable::NoCompleteSamples) } else { Ok(Self { processes, centres }) }
    }

    fn of_processes(&self, screens: bool) -> MeasuredSide<'a> {
        let of_kind = |(process, _): &(&ProcessValues<'a>, &f64)| process.screens == screens;
        let (processes, centres) = self.processes.iter().zip(&self.centres).filter(of_kind).unzip();
        MeasuredSide { processes, centres }
    }

    /// This side in the document. As for the change, shared processes are left out as soon as the case has its own.
    pub fn row_side(&self, case: &CaseRecord) -> RowSide {
        let own = self.of_processes(false);
        let shown = if own.centres.is_empty() { self } else { &own };
        let samples = self.processes.iter().filter(|process| !process.stated);
        let mut throttled = BTreeMap::new();
        for reason in self.processes.iter().flat_map(|process| process.reasons) {
            *throttled.entry(reason.clone()).or_default() += 1;
        }
        RowSide {
            outcome: case.outcome.clone(),
            processes: self.centres.len() as u32,
            samples: samples.map(|process| process.samples.len() as u64).sum(),
            centre: shown.row_centre(),
            spread: spread(&shown.centres),
            throttled,
            ..RowSide::default()
        }
    }

    /// The centre of this side: the geometric mean, or the plain median where a value has no logarithm.
    pub fn row_centre(&self) -> Option<f64> {
        let logarithms: Vec<f64> = self.centres.iter().map(|centre| centre.ln()).collect();
        let mean = stats::mean(&logarithms).filter(|mean| mean.is_finite());
        match (mean, self.one_value(1)) {
            // Exactly what was measured, where all agree: no rounding by logarithm and back.
            (_, Some(value)) => Some(value),
            (Some(mean), None) => Some(mean.exp()),
            (None, None) => stats::median(&mut self.centres.clone()),
        }
    }

    /// The one value of all processes, of which there are at least `least`.
    pub fn one_value(&self, least: usize) -> Option<f64> {
        let first = *self.centres.first()?;
        (self.centres.len() >= least && self.centres.iter().all(|centre| *centre == first)).then_some(first)
    }

    /// True if both sides have the very same numbers, process by process.
    pub fn same_samples(&self, other: &Self) -> bool {
        self.processes.len() == other.processes.len()
            && self.processes.iter().zip(&other.processes).all(|(a, b)| a.samples == b.samples)
    }
}

fn is_counted_alone(case: &CaseRecord, metric: &Metric) -> bool {
    let asked =
        case.config.get("count").and_then(|shown| shown.value.as_str()).is_some_and(Counting::is_asked);
    asked && metric.name == INSTRUCTIONS && metric.unit == INSTRUCTIONS
}

/// True if a metric of that unit is a count of executed instructions, see [`Evidence::counted`].
pub(crate) fn is_instructions(case: &CaseId, unit: &str) -> bool {
    case.timing == Timing::Harness && unit.trim_end_matches('s') == INSTRUCTIONS.trim_end_matches('s')
}

/// The summary of a side that is one complete process without samples.
pub(crate) fn only_stated(metric: &Metric) -> Option<&Stated> {
    let mut complete = metric.processes.iter().filter(|entry| !entry.partial);
    match (complete.next(), complete.next()) {
        (Some(only), None) if only.values.is_empty() => only.stated.as_ref(),
        _ => None,
    }
}

/// Sample standard deviation of the logarithms; `None` of fewer than two values or where one has no logarithm.
pub(crate) fn spread(centres: &[f64]) -> Option<f64> {
    let all_positive = centres.iter().all(|centre| *centre > 0.0);
    let logarithms: Vec<f64> = centres.iter().filter(|_| all_positive).map(|centre| centre.ln()).collect();
    stats::sample_stddev(&logarithms)
}

pub(crate) fn case_side(case: &CaseRecord) -> RowSide {
    let complete = case.metrics.iter().flat_map(|metric| &metric.processes).filter(|entry| !entry.partial);
    RowSide {
        outcome: case.outcome.clone(),
        processes: case.processes.iter().filter(|process| process.outcome.is_measured()).count() as u32,
        samples: complete.map(|entry| entry.values.len() as u64).sum(),
        trace: case.reported_error().and_then(ReportedError::short_trace),
        ..RowSide::default()
    }
}
