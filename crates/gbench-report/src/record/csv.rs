//! One run as a table for spreadsheets: one line per sample set, that is one process of one metric of one case; a case
//! without any has one line with the reason. The columns keep their order for as long as the record's schema is v1.
//! Figures are in the metric's unit. `rank` and `vs_best` belong to the metric as a whole, and are equal on each of its
//! lines; the speedup is that of an optimized case over its baseline, on the lines of its metric.

use std::io;

use super::view::metric::{MetricView, median};
use super::view::run::RunView;
use crate::layout::csv::{Column, Line, optional, text, write};
use crate::layout::escape::csv as cell;
use gbench_compare::PairSpeedup;
use gbench_model::{CaseRecord, ProcessRecord, ProcessSamples};

struct SampleSet<'a> {
    case: &'a CaseRecord,
    /// `None` if the case has none.
    set: Option<(&'a MetricView<'a>, &'a ProcessSamples)>,
    /// For the optimized case of a pair, and the metric by which the pair is compared.
    speedup: Option<&'a PairSpeedup>,
}

impl SampleSet<'_> {
    fn of_metric(&self, part: fn(&MetricView) -> String) -> String {
        self.set.map_or(String::new(), |(metric, _)| part(metric))
    }

    fn of_set(&self, part: fn(&ProcessSamples) -> String) -> String {
        self.set.map_or(String::new(), |(_, set)| part(set))
    }

    fn bytes(&self, part: fn(&ProcessRecord) -> Option<u64>) -> String {
        let process = |index| self.case.processes.iter().find(|process| process.index == index);
        text(self.set.and_then(|(_, set)| process(set.process)).and_then(part))
    }
}

fn columns<'a>() -> [Column<'a, SampleSet<'a>>; 22] {
    [
        ("outcome", |line| line.of.case.outcome.into_str().to_owned()),
        ("cause", |line| cell(&line.of.case.outcome.cause())),
        ("metric", |line| line.of.of_metric(|metric| cell(&metric.metric.name))),
        ("unit", |line| line.of.of_metric(|metric| cell(&metric.metric.unit))),
        ("better", |line| {
            line.of.of_metric(|metric| text(metric.metric.better.map(|better| better.into_str())))
        }),
        ("process", |line| line.of.of_set(|set| set.process.to_string())),
        ("partial", |line| line.of.of_set(|set| set.partial.to_string())),
        ("first_iteration", |line| line.of.of_set(|set| set.first_iteration.to_string())),
        ("samples", |line| line.of.of_set(|set| set.values.len().to_string())),
        ("median", |line| line.of.of_set(|set| optional(median(&mut set.values.clone())))),
        ("mean", |line| line.of.of_set(|set| optional(mean(&set.values)))),
        ("min", |line| line.of.of_set(|set| optional(set.values.iter().copied().min_by(f64::total_cmp)))),
        ("max", |line| line.of.of_set(|set| optional(set.values.iter().copied().max_by(f64::total_cmp)))),
        ("stated", |line| line.of.of_set(|set| optional(set.stated.as_ref().map(|stated| stated.value)))),
        ("peak_rss_bytes", |line| line.of.bytes(|process| process.peak_rss_bytes)),
        ("device_peak_bytes", |line| line.of.bytes(|process| process.device_peak_bytes)),
        ("group", |line| line.of.of_metric(|metric| cell(metric.case.group.as_deref().unwrap_or_default()))),
        ("rank", |line| line.of.of_metric(|metric| text(metric.place.as_ref().map(|place| place.rank)))),
        ("vs_best", |line| {
            line.of.of_metric(|metric| optional(metric.place.as_ref().and_then(|place| place.vs_best)))
        }),
        ("speedup", |line| optional(line.of.speedup.map(|speedup| speedup.factor))),
        ("speedup_low", |line| optional(line.of.speedup.and_then(|speedup| speedup.interval).map(|it| it.0))),
        ("speedup_high", |line| {
            optional(line.of.speedup.and_then(|speedup| speedup.interval).map(|it| it.1))
        }),
    ]
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Writes the header and the lines, in the record's order.
pub(super) fn render(view: &RunView, out: &mut dyn io::Write) -> io::Result<()> {
    // One per metric, in the order of the cases and their metrics.
    let mut metrics = view.lines.iter();
    let lines = view.cases.iter().enumerate().flat_map(|(at, (case, name))| {
        let metrics = metrics.by_ref().take(case.metrics.len());
        let sets = metrics.flat_map(|line| line.metric.processes.iter().map(move |set| Some((line, set))));
        let mut sets: Vec<_> = sets.collect();
        if sets.is_empty() {
            sets.push(None);
        }
        let source = view.record.run_id.as_str();
        let speedup = view.pairs.speedup(at);
        sets.into_iter().map(move |set| {
            let of_set =
                |(line, _): (&MetricView, _)| speedup.filter(|(metric, _)| *metric == line.metric.name);
            let speedup = set.and_then(of_set).map(|(_, speedup)| speedup);
            Line { source, case: &case.id, name, of: SampleSet { case, set, speedup } }
        })
    });
    write(Some("run_id"), &columns(), lines, out)
}
