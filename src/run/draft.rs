//! A case's record in the making: process by process, readable at every moment.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::model::{
    CaseRecord, FailureKind, Metric, MetricDeclaration, Origin, Outcome, ProcessEnd, ProcessRecord, Settings,
    Summary, looks_secret, without_secrets,
};
use crate::plan::{PlannedCase, Turn};
use crate::stats;

use super::collect::{self, Harvest};
use super::executor::{End, Execution};
use super::judge::{failed, judge};

/// Grows by one process at a time.
pub struct Draft {
    planned: PlannedCase,
    settings: Settings,
    metrics: BTreeMap<String, Metric>,
    processes: Vec<ProcessRecord>,
    metadata: BTreeMap<String, serde_json::Value>,
    device: Option<String>,
    derived: Vec<String>,
    warnings: Vec<String>,
    /// The first outcome that is not `Measured`; ends the case.
    broken: Option<Outcome>,
}

impl Draft {
    pub fn new(planned: &PlannedCase) -> Self {
        Self {
            planned: planned.clone(),
            settings: planned.benchmark.settings.clone(),
            metrics: BTreeMap::new(),
            processes: Vec::new(),
            metadata: BTreeMap::new(),
            device: None,
            derived: Vec::new(),
            warnings: Vec::new(),
            broken: None,
        }
    }

    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Settles the case without running it, or any further.
    pub fn break_off(&mut self, outcome: Outcome) {
        self.broken.get_or_insert(outcome);
    }

    /// Takes what one process gave.
    ///
    /// `after_timeout`: how the suite's command for that case ended, if it was called.
    pub fn add(
        &mut self,
        execution: &Execution,
        turn: Turn,
        interleaved: bool,
        started: SystemTime,
        after_timeout: Option<ProcessEnd>,
    ) {
        let benchmark = &self.planned.benchmark;
        let harvest = Harvest::of(execution, benchmark);
        let mut outcome = judge(execution, &harvest, benchmark);
        if outcome.is_measured()
            && let (Some(before), now) = (&self.device, harvest.device.as_deref().unwrap_or("host"))
            && before != now
        {
            outcome = failed(
                FailureKind::Protocol,
                format!("it ran on `{now}`, and an earlier process of the case on `{before}`"),
                "pin the device, so that every process measures the same one",
            );
        }
        let partial = !outcome.is_measured();
        if let Err(conflict) = collect::merge(&mut self.metrics, &harvest, benchmark, turn.process, partial) {
            outcome = failed(FailureKind::Protocol, conflict, "use one unit for a metric everywhere");
            for metric in self.metrics.values_mut() {
                let of_this_process = metric.processes.iter_mut().filter(|p| p.process == turn.process);
                of_this_process.for_each(|samples| samples.partial = true);
            }
        }
        if outcome.is_measured() {
            self.device = Some(harvest.device.clone().unwrap_or("host".into()));
        }
        self.warn(execution, &harvest, turn);
        self.learn(&harvest);
        self.processes.push(ProcessRecord {
            index: turn.process,
            started: humantime::format_rfc3339_millis(started).to_string(),
            seconds: execution.seconds,
            outcome: outcome.clone(),
            end: match execution.end {
                End::Process(end) => Some(end),
                End::NotStarted { .. } | End::Lost => None,
            },
            stages: execution.stages.clone(),
            peak_rss_bytes: execution.peak_rss_bytes,
            device_peak_bytes: harvest.device_peak_bytes,
            cpu_seconds: execution.cpu_seconds,
            leftovers: execution.leftovers,
            output_bytes: execution.stdout.total() + execution.stderr.total(),
            after_timeout,
            round: interleaved.then_some(turn.round),
            slot: interleaved.then_some(turn.slot),
            conditions: None,
        });
        if !outcome.is_measured() {
            self.broken = Some(outcome);
        }
    }

    fn warn(&mut self, execution: &Execution, harvest: &Harvest, turn: Turn) {
        let process = turn.process;
        let mut warn = |text: String| {
            if !self.warnings.contains(&text) {
                self.warnings.push(text);
            }
        };
        if execution.leftovers > 0 && execution.stopped.is_none() {
            warn(format!("process {process} left {} running, which were ended", execution.leftovers));
        }
        if execution.survivors > 0 {
            warn(format!(
                "{} of process {process}'s descendants could not be ended: they hang in the kernel",
                execution.survivors
            ));
        }
        let benchmark = &self.planned.benchmark;
        if benchmark.timing != crate::model::Timing::Protocol && !execution.events.is_empty() {
            warn("it speaks the protocol; set timing = \"protocol\" to use its own samples".into());
        }
        for said in &harvest.config {
            let pinned = [
                ("iterations", &self.settings.iterations.origin, said.iterations.is_some()),
                ("warmup", &self.settings.warmup.origin, said.warmup.is_some()),
                ("threshold", &self.settings.threshold.origin, said.threshold.is_some()),
            ];
            for (name, origin, speaks) in pinned {
                if let (Origin::Cli(flag), true) = (origin, speaks) {
                    warn(format!("the benchmark sets its own `{name}`; {flag} stays in force"));
                }
            }
        }
    }

    fn learn(&mut self, harvest: &Harvest) {
        for said in &harvest.config {
            let settings = &mut self.settings;
            if let Some(iterations) = said.iterations {
                settings.iterations.set(iterations, Origin::Benchmark);
            }
            if let Some(warmup) = said.warmup {
                settings.warmup.set(warmup, Origin::Benchmark);
            }
            if let Some(threshold) = said.threshold.filter(|value| value.is_finite() && *value > 0.0) {
                settings.threshold.set(threshold, Origin::Benchmark);
            }
            for (stage, seconds) in &said.deadlines {
                if let Some(setting) = settings.deadlines.get_mut(stage) {
                    setting.set(*seconds, Origin::Benchmark);
                }
            }
        }
        self.metadata.extend(harvest.metadata.clone());
        let derived = harvest.metrics.iter().filter(|(_, gathered)| gathered.derived);
        for (name, _) in derived {
            if !self.derived.contains(name) {
                self.derived.push(name.clone());
            }
        }
    }

    /// The case as it stands. `complete`: every process that was planned has had its turn.
    pub fn record(&self, complete: bool) -> CaseRecord {
        let benchmark = &self.planned.benchmark;
        let outcome = match (&self.broken, complete) {
            (Some(outcome), _) => outcome.clone(),
            (None, true) => Outcome::Measured,
            (None, false) => not_finished(),
        };
        let mut id = self.planned.id.clone();
        if let Some(device) = &self.device {
            id.device = device.clone();
        }
        let mut metrics: Vec<Metric> = self.metrics.values().cloned().collect();
        for metric in &mut metrics {
            // Of a case that did not end well nothing is a result, also what its good processes gave.
            metric.summary = summary(metric, &self.settings.percentiles.value);
        }
        let declared = metrics.iter().map(|metric| (metric.name.clone(), self.declaration(&metric.name)));
        CaseRecord {
            id,
            description: benchmark.description.clone(),
            components: benchmark.components.clone(),
            kind: benchmark.kind,
            tags: benchmark.tags.clone(),
            group: benchmark.group.clone(),
            command: without_secrets(benchmark.action.argv(&self.planned.id.params, &["builtin"])),
            env: benchmark.env.iter().map(shown_variable).collect(),
            config: self.settings.shown(),
            outcome,
            processes: self.processes.clone(),
            declared: declared.filter(|(_, said)| *said != MetricDeclaration::default()).collect(),
            metrics,
            metadata: self.metadata.clone(),
            warnings: self.warnings.clone(),
        }
    }

    fn declaration(&self, metric: &str) -> MetricDeclaration {
        let (_, mut said) = self.planned.benchmark.declaration(metric, &self.planned.id.to_string());
        // A threshold for one metric stands below what the benchmark itself or the command line says for all.
        if matches!(self.settings.threshold.origin, Origin::Benchmark | Origin::Cli(_)) {
            said.threshold = None;
        }
        if self.derived.iter().any(|name| name == metric) {
            said.gate = said.gate.or(Some(false));
        }
        said
    }
}

fn shown_variable((name, value): (&String, &String)) -> (String, String) {
    let value = if looks_secret(name) { "***".into() } else { value.clone() };
    (name.clone(), value)
}

/// A case that is planned and has not ended.
pub fn not_finished() -> Outcome {
    Outcome::NotRun {
        cause: "the run ended before this case did".into(),
        advice: "run again, or raise `deadline` in [run]".into(),
    }
}

fn summary(metric: &Metric, percentiles: &[f64]) -> Option<Summary> {
    let whole = || metric.processes.iter().filter(|samples| !samples.partial && !samples.values.is_empty());
    let description = stats::summarize(whole().map(|samples| samples.values.as_slice()), percentiles)?;
    Some(Summary {
        samples: description.samples,
        processes: whole().count() as u32,
        mean: description.mean,
        median: description.median,
        stddev: description.stddev,
        min: description.min,
        max: description.max,
        percentiles: description.percentiles,
    })
}
