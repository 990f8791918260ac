//! One metric of one case as text, and the statistics over its processes: centres, their median and their spread.

use crate::layout::grouped::joined;
use crate::layout::number;
use gbench_model::{
    Better, CaseRecord, Metric, MetricDeclaration, Outcome, OwnFigure, ProcessSamples, direction_of_unit,
    is_time,
};

pub(crate) struct MetricView<'a> {
    pub case: &'a CaseRecord,
    pub metric: &'a Metric,
    pub name: String,
    /// Median over the processes' medians, in the metric's unit; absent without complete samples.
    pub center: Option<f64>,
    /// The center with its unit, or empty.
    pub median: String,
    /// Relative standard deviation between processes; absent below two processes.
    pub spread: Option<f64>,
    /// `5 x 30`: processes and samples of each, or the total if processes differ; `, partial` if the run ended too early.
    pub effort: String,
    /// Present if other cases solve the same problem.
    pub place: Option<Rank>,
    /// The gate computed it from the case's time, and the time's findings apply to it.
    pub is_derived: bool,
}

/// The importance of a line for its case, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    Time,
    Judged,
    Rate,
    /// As the suite file or a program declares.
    Unjudged,
    Circumstance,
}

/// The rank of one metric of one case among the answers to its problem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rank {
    /// From 1; equal values share it.
    pub rank: usize,
    /// The factor to the best: value / best if lower is better, else best / value. Absent if one of them is not positive.
    pub vs_best: Option<f64>,
    /// The factor as the rule of comparisons estimates it, from the means over processes, with its interval at 95 %,
    /// shared among the answers to the problem; absent with a single process.
    pub estimate: Option<FactorInterval>,
    /// Worse than the best by more than chance explains.
    pub apart: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FactorInterval {
    pub factor: f64,
    pub low: f64,
    pub high: f64,
}

impl Rank {
    /// `BEST`, `1.25x`, `1.01x (noise)`.
    pub(crate) fn text(&self) -> String {
        if self.rank == 1 {
            return "BEST".into();
        }
        let factor = self.vs_best.map_or(String::new(), number::times);
        joined([&factor, if self.apart { "" } else { "(noise)" }], " ")
    }
}

impl<'a> MetricView<'a> {
    pub(crate) fn new(case: &'a CaseRecord, metric: &'a Metric, name: &str) -> Self {
        let centers = centers(metric);
        let center = median(&mut centers.clone());
        let median = center.map_or(String::new(), |center| number::value(center, &metric.unit));
        let counts: Vec<usize> =
            metric.processes.iter().filter(|p| !p.partial).map(|p| p.values.len()).collect();
        let effort = match counts.as_slice() {
            [] => "partial".to_owned(),
            [first, ..] if counts.iter().all(|count| count == first) => format!("{} x {first}", counts.len()),
            _ => format!("{}, {} in all", counts.len(), counts.iter().sum::<usize>()),
        };
        let effort = if is_in_part(case) { format!("{effort}, partial") } else { effort };
        let spread = spread(&centers);
        let is_derived = is_derived(case, metric);
        Self { case, metric, name: name.to_owned(), center, median, spread, effort, place: None, is_derived }
    }

    pub(crate) fn spread_text(&self) -> String {
        match self.spread {
            Some(spread) => number::spread(spread),
            None if self.median.is_empty() => String::new(),
            None => self.spread_of_known().unwrap_or_else(|| "unknown".into()),
        }
    }

    /// The spread of values without a logarithm, or of one process: zeros of several processes are equal, and a constant
    /// figure, such as the size of a kernel, needs only one process.
    fn spread_of_known(&self) -> Option<String> {
        let declared = self.declared(|it| it.exact);
        let centers = centers(self.metric);
        match centers.as_slice() {
            [] => None,
            [_] => (declared == Some(true)).then(String::new),
            [first, rest @ ..] => rest.iter().all(|center| center == first).then(|| number::spread(0.0)),
        }
    }

    /// Judged by its absolute difference: its spread and its ratios are meaningless.
    pub(crate) fn is_absolute(&self) -> bool {
        self.declared(|it| it.absolute) == Some(true)
    }

    /// True if a comparison judges it; else it is only shown.
    pub(crate) fn is_judged(&self) -> bool {
        self.declared(|it| it.gate) != Some(false)
    }

    /// The importance of the line in its case: the time, other judged or requested metrics, rates, and metrics that only
    /// explain a time.
    pub(crate) fn standing(&self) -> Standing {
        match OwnFigure::of(self.case, self.metric) {
            Some(OwnFigure::Circumstance) => Standing::Circumstance,
            Some(OwnFigure::Rate) => Standing::Rate,
            None if !self.is_judged() => Standing::Unjudged,
            None if is_time(&self.metric.unit) => Standing::Time,
            None => Standing::Judged,
        }
    }

    /// The least change that matters for this metric.
    pub(crate) fn threshold(&self) -> f64 {
        let of_case = || self.case.config.get("threshold").and_then(|shown| shown.value.as_f64());
        self.declared(|it| it.threshold).or_else(of_case).unwrap_or(0.05)
    }

    /// The better direction; `None` if unknown.
    pub(crate) fn better(&self) -> Option<Better> {
        let of_unit = || direction_of_unit(&self.metric.unit);
        self.declared(|it| it.better).or(self.metric.better).or_else(of_unit)
    }

    fn declared<T>(&self, part: fn(&MetricDeclaration) -> Option<T>) -> Option<T> {
        self.case.declared.get(&self.metric.name).and_then(part)
    }

    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.metric.name)
    }
}

/// True if the run ended before the case had all of its processes: it has figures, and they are not judged.
pub(crate) fn is_in_part(case: &CaseRecord) -> bool {
    let has_some = case.processes.iter().any(|process| process.outcome.is_measured());
    has_some && matches!(case.outcome, Outcome::NotRun { .. })
}

/// True if a metric is an amount of work divided by the case's time, as the gate computes it if a program reports the
/// amount.
fn is_derived(case: &CaseRecord, metric: &Metric) -> bool {
    let amount =
        metric.name.strip_suffix("_rate").filter(|of| ["items", "bytes", "flops", "tokens"].contains(of));
    let has_time = case.metrics.iter().any(|other| other.name == "time");
    has_time && amount.is_some_and(|amount| case.metadata.contains_key(amount))
}

/// The centre of each complete process, in the metric's unit: its median, or its stated value.
pub(crate) fn centers(metric: &Metric) -> Vec<f64> {
    metric.processes.iter().filter(|process| !process.partial).filter_map(process_center).collect()
}

pub(crate) fn process_center(process: &ProcessSamples) -> Option<f64> {
    match &process.stated {
        Some(stated) if process.values.is_empty() => Some(stated.value),
        _ => median(&mut process.values.clone()),
    }
}

/// The median over the processes; `None` without complete samples.
pub(crate) fn center(metric: &Metric) -> Option<f64> {
    median(&mut centers(metric))
}

pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}

/// Sample standard deviation of the logarithms, as in a comparison; `None` for fewer than two centres, or a centre
/// without a logarithm.
fn spread(centers: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = centers.iter().filter(|c| **c > 0.0 && c.is_finite()).map(|c| c.ln()).collect();
    if logs.len() < 2 || logs.len() < centers.len() {
        return None;
    }
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    #[test]
    fn logarithms_give_the_relative_spread() {
        // exp(mean of logs) is 1; the deviations are ln 1.1 to either side: sd = ln 1.1 * sqrt 2.
        let spread = super::spread(&[1.1, 1.0 / 1.1]).unwrap();
        assert!((spread - 1.1f64.ln() * 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(super::spread(&[1.0]), None);
        assert_eq!(super::spread(&[1.0, -1.0]), None);
    }
}
