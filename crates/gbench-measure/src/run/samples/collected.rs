//! Converts events and output to samples, by metric and process.

use std::collections::BTreeMap;

use gbench_formats::adapters::{End, LoadFields};
use gbench_model::line::{Event, Lack};
use gbench_model::{
    AnswerValues, Better, CODE_FIGURES, CaseId, DeviceCode, Metric, NEAREST_PEAK, PEAK_NOTES, ParamValue,
    ProcessSamples, ReportedError, Stated, Timing, convert,
};
use gbench_suite::Benchmark;

use super::extract;

use crate::run::gpus::peaks;
use crate::run::outcome::reported;
use crate::run::process::executor::Execution;
use crate::run::requests::answered;
use crate::run::samples::extract::error::ExtractError;

#[derive(Debug, Default)]
pub(crate) struct CollectedSamples {
    /// By name. `values` contains finite numbers only.
    pub metrics: BTreeMap<String, MetricSamples>,
    /// Metrics that sent NaN, an infinity or nothing instead of a number, unless they are optional.
    pub not_finite: Vec<String>,
    /// Optional metrics that were left out, or sent no number at least once.
    pub absent: Vec<String>,
    /// `sent as ms and as s`: a metric whose unit changed on the way.
    pub unit_conflict: Option<String>,
    pub extract_error: Option<ExtractError>,
    pub metadata: BTreeMap<String, serde_json::Value>,
    pub device: Option<String>,
    pub device_peak_bytes: Option<u64>,
    pub invalid: Option<String>,
    pub skip: Option<Skip>,
    pub throttled: Option<Throttled>,
    pub error: Option<ReportedError>,
    /// The next step that the program gives with its error.
    pub next: Option<String>,
    pub answer: BTreeMap<String, AnswerValues>,
    pub device_code: Option<DeviceCode>,
    pub above_peak: Option<String>,
    pub(crate) per_iteration: BTreeMap<&'static str, f64>,
    /// Errors that it found in its answer, and its peaks of memory.
    errors: BTreeMap<String, Vec<f64>>,
    peaks: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Skip {
    pub reason: String,
    pub lacks: Option<Lack>,
    pub next: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Throttled {
    pub samples: u32,
    pub of: u32,
    pub reasons: Vec<String>,
    pub spoilt: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MetricSamples {
    pub unit: Option<String>,
    pub better: Option<Better>,
    pub values: Vec<f64>,
    pub first_iteration: u64,
    pub stated: Option<Stated>,
    pub role: Option<Role>,
}

/// The kind of a figure that is not a measured sample, and is judged differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Computed from another metric, or of unknown direction: shown, and judged only if the suite file requests it.
    Derived,
    Accuracy,
    Memory,
    /// Resource usage of the device code, which is read, not measured.
    Code,
}

pub(crate) const RATES: [(&str, &str); 4] =
    [("items", "items/s"), ("bytes", "B/s"), ("flops", "FLOP/s"), ("tokens", "tokens/s")];

impl MetricSamples {
    pub(crate) fn figures(unit: &str, better: Better, values: Vec<f64>, role: Role) -> Self {
        let (unit, better, role) = (Some(unit.into()), Some(better), Some(role));
        Self { unit, better, values, role, ..Self::default() }
    }

    /// `gate: false` of an event: shown, not judged.
    fn show_only(&mut self, gate: Option<bool>) {
        if gate == Some(false) {
            self.role.get_or_insert(Role::Derived);
        }
    }

    fn is_there(&self) -> bool {
        !self.values.is_empty() || self.stated.is_some()
    }
}

impl CollectedSamples {
    pub(crate) fn of(execution: &Execution, benchmark: &Benchmark, id: &CaseId) -> Self {
        let case = &id.to_string();
        let mut collected = Self::default();
        let mut codes = Vec::new();
        for event in &execution.events {
            match event {
                Event::DeviceCode { arch, compiler, kernels } => codes.push(DeviceCode {
                    arch: arch.clone(),
                    compiler: compiler.clone(),
                    kernels: kernels.clone(),
                }),
                event => collected.take(event),
            }
        }
        collected.device_code = DeviceCode::union(codes);
        match benchmark.timing {
            Timing::Protocol => {
                collected.take_figures();
            }
            Timing::Process => {
                // Samples from a program that is timed from outside are not those that the suite file asks to judge.
                collected.forget_samples();
                let ended = matches!(execution.end, crate::run::process::executor::ExecutionEnd::Process(_));
                if ended && execution.stopped.is_none() {
                    collected.add("wall_time", Some("s"), Some(Better::Lower), [Some(execution.seconds)]);
                }
            }
            Timing::Harness => {
                collected.forget_samples();
                collected.take_reading(execution, benchmark.load_fields());
            }
            Timing::Stdout => {
                collected.forget_samples();
                let optional = |metric: &str| benchmark.is_optional(metric, case);
                match extract::all(&benchmark.extract, &execution.stdout, &execution.left_files, optional) {
                    Ok(found) => {
                        for (rule, values) in found {
                            collected.add(&rule.metric, Some(&rule.unit), rule.better, values);
                        }
                    }
                    Err(error) => collected.extract_error = Some(error),
                }
            }
        }
        match benchmark.work_of(&id.params) {
            // The program's own report about its work takes precedence.
            Ok(work) => work.into_iter().for_each(|(unit, amount)| {
                collected.per_iteration.entry(unit).or_insert(amount);
            }),
            Err(why) => _ = collected.invalid.get_or_insert(why),
        }
        let timed = benchmark.timed_metric();
        collected.derive_rates(timed, benchmark.declaration(timed, "").0.as_deref());
        collected.compare_with_peaks(id);
        collected.excuse(benchmark, case);
        collected
    }

    /// Records optional metrics that are missing, or sometimes missing; that is not a failure.
    fn excuse(&mut self, benchmark: &Benchmark, case: &str) {
        let (absent, not_finite) = std::mem::take(&mut self.not_finite)
            .into_iter()
            .partition(|metric| benchmark.is_optional(metric, case));
        (self.absent, self.not_finite) = (absent, not_finite);
        self.metrics.retain(|name, gathered| gathered.is_there() || !benchmark.is_optional(name, case));
        let missing = benchmark.named_optional(case).filter(|name| !self.metrics.contains_key(*name));
        self.absent.extend(missing.map(str::to_owned));
        self.absent.sort();
        self.absent.dedup();
    }

    fn take_reading(&mut self, execution: &Execution, load: LoadFields) {
        let Some(Ok(readings)) = &execution.readings else { return };
        let Some(reading) = readings.first().filter(|reading| reading.end == End::Measured) else { return };
        for metric in &reading.metrics {
            let gathered = MetricSamples {
                unit: Some(metric.unit.clone()),
                better: metric.better,
                values: metric.values.clone(),
                stated: metric.summary.map(|it| Stated {
                    value: it.value,
                    stddev: it.stddev,
                    count: it.count,
                }),
                role: (!metric.judged).then_some(Role::Derived),
                ..MetricSamples::default()
            };
            self.metrics.insert(metric.name.clone(), gathered);
        }
        self.answer.extend(answered(load, &reading.metadata));
        self.metadata.extend(reading.metadata.clone());
    }

    fn forget_samples(&mut self) {
        self.metrics.clear();
        self.not_finite.clear();
        self.unit_conflict = None;
    }

    fn take(&mut self, event: &Event) {
        match event.clone() {
            Event::Stage { .. }
            | Event::DeviceCode { .. }
            | Event::Case { .. }
            | Event::Config { .. }
            | Event::Yield {}
            | Event::End {} => {}
            Event::Sample { metric, value, unit, iteration, better, gate } => {
                let gathered = self.add(&metric, unit.as_deref(), better, [value]);
                gathered.show_only(gate);
                if let (Some(iteration), 1) = (iteration, gathered.values.len()) {
                    gathered.first_iteration = iteration;
                }
            }
            Event::Samples { metric, values, unit, better, gate } => {
                self.add(&metric, unit.as_deref(), better, values).show_only(gate);
            }
            Event::Summary { metric, value, stddev, count, unit, better, gate } => {
                let finite = value.filter(|value| value.is_finite());
                let gathered = self.add(&metric, unit.as_deref(), better, []);
                gathered.stated = finite.map(|value| Stated { value, stddev, count });
                gathered.show_only(gate);
                if finite.is_none() {
                    self.not_finite.push(metric);
                }
            }
            Event::Metadata { items, bytes, flops, tokens, device, notes } => {
                let units = [("items", items), ("bytes", bytes), ("flops", flops), ("tokens", tokens)];
                for (name, amount) in units {
                    if let Some(amount) = amount {
                        self.per_iteration.insert(name, amount);
                        self.metadata.insert(name.into(), amount.into());
                    }
                }
                self.device = device.or(self.device.take());
                self.metadata.extend(notes);
            }
            Event::Memory { host_peak_bytes, device_peak_bytes } => {
                self.device_peak_bytes = self.device_peak_bytes.max(device_peak_bytes);
                let peaks = [("device_peak_bytes", device_peak_bytes), ("host_peak_bytes", host_peak_bytes)];
                for (name, bytes) in peaks.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))) {
                    let peak = self.peaks.entry(name).or_default();
                    *peak = (*peak).max(bytes);
                }
                if let Some(bytes) = host_peak_bytes {
                    self.metadata.insert("host_peak_bytes".into(), bytes.into());
                }
            }
            Event::Validation { passed, message, errors } => {
                for (name, error) in errors {
                    self.metadata.insert(format!("error.{name}"), error.into());
                    if let Some(error) = error.filter(|error| error.is_finite()) {
                        self.errors.entry(name.clone()).or_default().push(error.abs());
                    }
                    if error.is_none() && passed {
                        let message = format!("the accuracy figure `{name}` is not a number");
                        self.invalid.get_or_insert(message);
                    }
                }
                if !passed {
                    self.invalid
                        .get_or_insert(message.unwrap_or("the benchmark says its answer is wrong".into()));
                }
            }
            Event::Answer { output, values, tolerance } => {
                let values = values.into_iter().map(|value| value.filter(|it| it.is_finite())).collect();
                let values = AnswerValues { values, tolerance: tolerance.unwrap_or(0.0), varies: false };
                self.answer.insert(output, values);
            }
            Event::Skip { reason, lacks, next } => {
                self.skip.get_or_insert(Skip { reason, lacks, next });
            }
            Event::Throttled { samples, of, reasons, spoilt } => {
                self.throttled = Some(Throttled { samples, of, reasons, spoilt });
            }
            Event::Error { message, kind, trace, next } => {
                let error = reported::bounded(&message, kind.as_deref(), trace.as_deref());
                if let Some(trace) = &error.trace {
                    self.metadata.insert("error_trace".into(), trace.clone().into());
                }
                if self.error.is_none() {
                    (self.error, self.next) = (Some(error), next);
                }
            }
        }
    }

    fn add(
        &mut self,
        metric: &str,
        unit: Option<&str>,
        better: Option<Better>,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> &mut MetricSamples {
        let gathered = self.metrics.entry(metric.to_owned()).or_default();
        match (&gathered.unit, unit) {
            (Some(before), Some(now)) if before != now => {
                self.unit_conflict
                    .get_or_insert(format!("metric `{metric}` was sent in `{before}` and in `{now}`"));
            }
            (None, Some(now)) => gathered.unit = Some(now.to_owned()),
            _ => {}
        }
        gathered.better = gathered.better.or(better);
        for value in values {
            match value.filter(|value| value.is_finite()) {
                Some(value) => gathered.values.push(value),
                None if self.not_finite.iter().any(|name| name == metric) => {}
                None => self.not_finite.push(metric.to_owned()),
            }
        }
        gathered
    }

    /// The time of an iteration, with the seconds of its unit; `None`: there is none, or its unit is not a time.
    pub(crate) fn timed(&self, timed: &str, declared: Option<&str>) -> Option<(&MetricSamples, f64)> {
        let time = self.metrics.get(timed)?;
        let seconds = match time.unit.as_deref().or(declared).unwrap_or("s") {
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        Some((time, seconds))
    }

    /// Units per iteration over the time of each iteration: `items` and `time` give `items_rate` in items/s.
    ///
    /// `timed`: the metric with the time of an iteration. `declared`: its unit in the suite file, for children that send none.
    fn derive_rates(&mut self, timed: &str, declared: Option<&str>) {
        let Some((time, scale)) = self.timed(timed, declared) else { return };
        let times = time.values.clone();
        let stated = time.stated.clone().filter(|_| times.is_empty());
        if times.is_empty() && stated.is_none() {
            return;
        }
        for (name, unit) in RATES {
            let metric = format!("{name}_rate");
            let Some(amount) = self.per_iteration.get(name) else { continue };
            let values: Vec<f64> = times.iter().map(|time| amount / (time * scale)).collect();
            // Zero time or work has no rate, and a record contains finite numbers only.
            let summary = stated.as_ref().map(|stated| amount / (stated.value * scale));
            let sensible = values.iter().copied().chain(summary).all(|rate| rate.is_finite() && rate > 0.0);
            if self.metrics.contains_key(&metric) || !sensible {
                continue;
            }
            let mut figures = MetricSamples::figures(unit, Better::Higher, values, Role::Derived);
            let count = stated.as_ref().and_then(|stated| stated.count);
            figures.stated = summary.map(|value| Stated { value, stddev: None, count });
            self.metrics.insert(metric, figures);
        }
    }

    fn compare_with_peaks(&mut self, id: &CaseId) {
        let Some(device) = self.device.as_deref() else { return };
        let rates =
            |name: &str| self.metrics.get(name).map(|metric| metric.values.clone()).unwrap_or_default();
        let precision = ["precision", "dtype"].iter().find_map(|name| match id.params.get(*name) {
            Some(ParamValue::Text(text)) => Some(text.as_str()),
            _ => None,
        });
        let moved = self.per_iteration.get("bytes").copied();
        let told = PEAK_NOTES.map(|note| self.metadata.get(note).and_then(serde_json::Value::as_f64));
        let mut found: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for (bytes, flops) in rates("bytes_rate")
            .into_iter()
            .map(|rate| (Some(rate), None))
            .chain(rates("flops_rate").into_iter().map(|rate| (None, Some(rate))))
        {
            for share in peaks::shares(device, bytes, flops, precision, moved, told) {
                let values = found.entry(share.metric).or_default();
                values.push(share.share * 100.0);
                if share.is_impossible {
                    // Without the figure, which differs by process, so that the case has one warning.
                    let what = format!(
                        "it is faster than {}: it did not do the work that it declares, or declares too much",
                        share.peak
                    );
                    self.above_peak.get_or_insert(what);
                }
            }
        }
        // Both follow from the same times, so that one is the nearest in all samples.
        let first = |values: &[f64]| values.first().copied().unwrap_or_default();
        let nearest = found.iter().max_by(|(_, one), (_, other)| first(one).total_cmp(&first(other)));
        if let Some((metric, _)) = nearest {
            self.metadata.insert(NEAREST_PEAK.into(), (*metric).into());
        }
        for (metric, values) in found {
            self.metrics
                .insert(metric.into(), MetricSamples::figures("%", Better::Higher, values, Role::Derived));
        }
    }

    fn take_figures(&mut self) {
        let word = |c: char| if c.is_ascii_alphanumeric() || "_-./".contains(c) { c } else { '_' };
        let errors = std::mem::take(&mut self.errors).into_iter().map(|(name, values)| {
            let name = format!("error.{}", name.chars().map(word).collect::<String>());
            (name, "", values, Role::Accuracy)
        });
        let peaks = std::mem::take(&mut self.peaks).into_iter();
        let peaks = peaks.map(|(name, bytes)| (name.to_owned(), "B", vec![bytes as f64], Role::Memory));
        for (name, unit, values, role) in errors.chain(peaks) {
            let figures = || MetricSamples::figures(unit, Better::Lower, values, role);
            self.metrics.entry(name).or_insert_with(figures);
        }
    }

    pub(crate) fn take_code(&mut self, code: &DeviceCode) {
        for (name, unit, figure) in CODE_FIGURES {
            let Some(value) = code.largest(figure) else { continue };
            let figures = || MetricSamples::figures(unit, Better::Lower, vec![value as f64], Role::Code);
            self.metrics.entry(name.to_owned()).or_insert_with(figures);
        }
    }

    /// A negative time, or only zeros: the timed work did not run. A single zero comes from a coarse clock.
    pub(crate) fn impossible_time(&self, benchmark: &Benchmark) -> Option<(&str, String)> {
        self.metrics.iter().find_map(|(name, metric)| {
            let declared = benchmark.declaration(name, "");
            let unit = metric.unit.clone().or(declared.0);
            let unit = unit.unwrap_or_else(|| if name == "time" { "s".into() } else { String::new() });
            let is_time = !unit.is_empty() && convert(1.0, &unit, "s").is_some();
            if !is_time || declared.1.gate == Some(false) {
                return None;
            }
            let stated =
                metric.stated.as_ref().map(|stated| stated.value).filter(|_| metric.values.is_empty());
            let values = || metric.values.iter().copied().chain(stated);
            let least = values().reduce(f64::min)?;
            let impossible = least < 0.0 || values().all(|value| value == 0.0);
            impossible.then(|| (name.as_str(), format!("{least} {unit}")))
        })
    }

    pub(crate) fn has_samples(&self) -> bool {
        let mut measured = self.metrics.values().filter(|metric| metric.role.is_none());
        measured.any(MetricSamples::is_there)
    }
}

/// Adds a process's results to the case's metrics, which are sorted by name. Errors: the metric whose unit differs from the
/// suite file's or an earlier process's.
pub(crate) fn merge(
    metrics: &mut Vec<Metric>,
    collected: &CollectedSamples,
    benchmark: &Benchmark,
    process: u32,
    partial: bool,
) -> Result<(), String> {
    for (name, gathered) in &collected.metrics {
        let (said, _) = benchmark.declaration(name, "");
        let unit = match (&gathered.unit, said) {
            (Some(sent), Some(said)) if *sent != said => {
                return Err(format!(
                    "metric `{name}` came in `{sent}`, and the suite file declares `{said}`"
                ));
            }
            (Some(sent), _) => sent.clone(),
            (None, Some(said)) => said,
            (None, None) if name == "time" => "s".into(),
            (None, None) => String::new(),
        };
        let place = metrics.binary_search_by(|metric| metric.name.cmp(name)).unwrap_or_else(|place| {
            let (name, unit, better) = (name.clone(), unit.clone(), gathered.better);
            metrics.insert(place, Metric { name, unit, better, processes: Vec::new(), summary: None });
            place
        });
        let metric = &mut metrics[place];
        if metric.unit != unit {
            return Err(format!(
                "metric `{name}` came in `{unit}`, and from an earlier process in `{}`",
                metric.unit
            ));
        }
        metric.better = metric.better.or(gathered.better);
        metric.processes.push(ProcessSamples {
            process,
            values: gathered.values.clone(),
            first_iteration: gathered.first_iteration,
            partial,
            stated: gathered.stated.clone().filter(|_| gathered.values.is_empty()),
        });
    }
    Ok(())
}
