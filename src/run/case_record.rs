//! Builds the record of a case process by process, in its place in the run's record, readable at every moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use crate::model::{
    CaseRecord, Conditions, FailureKind, Margin, Metric, MetricDeclaration, Origin, Outcome, OutcomeCode,
    ProcessEnd, ProcessRecord, Settings, Summary, looks_secret, without_secrets,
};
use crate::stats;
use crate::suite::plan::{PlannedCase, PlannedProcess};

use super::devices::{Claim, Devices};
use super::executor::{Execution, ExecutionEnd};
use super::outcome::{classify, failed};
use super::samples::{self, Beside, CollectedSamples};

/// Adds processes to the record of a case, and holds what the record does not. The record itself is handed in
/// with each call: only one of it is held, however many processes it has.
pub(super) struct CaseRecorder {
    planned: PlannedCase,
    settings: Settings,
    device: Option<String>,
    /// The devices that it can have run on.
    devices: Arc<Devices>,
    /// Metrics that the gate computed from others.
    derived: Vec<String>,
    /// Metrics that are no samples, and have limits of their own.
    beside: BTreeMap<String, Beside>,
    /// The outcome is known before the end: the case is not run, or not any further.
    aborted: bool,
}

/// The circumstances of a process: its place in the plan and the state of the machine.
#[derive(Clone, Debug)]
pub(super) struct ProcessContext {
    pub started: SystemTime,
    pub turn: PlannedProcess,
    /// One of two or more sides that take turns.
    pub interleaved: bool,
    /// Alive together with the other side's process, in turns.
    pub lockstep: bool,
    /// How the suite's command for timeouts ended, if it was called.
    pub after_timeout: Option<ProcessEnd>,
    pub conditions: Option<Conditions>,
}

impl CaseRecorder {
    /// A case that has not run, with its record.
    pub(super) fn new(planned: &PlannedCase) -> (Self, CaseRecord) {
        let recorder = Self {
            planned: planned.clone(),
            settings: planned.benchmark.settings.clone(),
            device: None,
            devices: Arc::default(),
            derived: Vec::new(),
            beside: BTreeMap::new(),
            aborted: false,
        };
        let record = recorder.blank();
        (recorder, record)
    }

    /// A case that has a record already: what later processes must agree with is taken from there. One that ran and did
    /// not end well stays as it is; one that never ran is free to.
    pub(super) fn resumed(planned: &PlannedCase, record: &mut CaseRecord) -> Self {
        let (mut recorder, blank) = Self::new(planned);
        if record.processes.is_empty() {
            *record = blank;
            return recorder;
        }
        let mut ends = record.processes.iter().map(|process| process.outcome.is_measured());
        recorder.aborted = ends.any(|measured| !measured);
        recorder.device = Some(record.id.device.clone());
        let is_derived = |metric: &&Metric| {
            let gate = record.declared.get(&metric.name).and_then(|said| said.gate);
            gate == Some(false)
                && planned.benchmark.declaration(&metric.name, &planned.id.to_string()).1.gate.is_none()
        };
        recorder.derived =
            record.metrics.iter().filter(is_derived).map(|metric| metric.name.clone()).collect();
        recorder
    }

    fn blank(&self) -> CaseRecord {
        let benchmark = &self.planned.benchmark;
        CaseRecord {
            id: self.planned.id.clone(),
            description: benchmark.description.clone(),
            components: benchmark.components.clone(),
            kind: benchmark.kind,
            tags: benchmark.tags.clone(),
            group: benchmark.group.clone(),
            command: without_secrets(benchmark.action.argv(&self.planned.id.params, &["builtin"])),
            env: benchmark.env.iter().map(shown_variable).collect(),
            config: self.settings.shown(),
            outcome: not_finished(),
            processes: Vec::new(),
            declared: BTreeMap::new(),
            metrics: Vec::new(),
            metadata: BTreeMap::new(),
            warnings: Vec::new(),
            nothing_measured: Vec::new(),
        }
    }

    /// Tells which devices the machine has.
    pub(super) fn knows(&mut self, devices: Arc<Devices>) {
        self.devices = devices;
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.aborted
    }

    pub(super) fn planned(&self) -> &PlannedCase {
        &self.planned
    }

    /// Settles the case without running it, or any further.
    pub(super) fn abort(&mut self, record: &mut CaseRecord, outcome: Outcome) {
        if !self.aborted {
            self.aborted = true;
            record.outcome = outcome;
        }
    }

    /// Takes what one process gave.
    pub(super) fn add(&mut self, record: &mut CaseRecord, execution: &Execution, context: ProcessContext) {
        let ProcessContext { started, turn, interleaved, lockstep, after_timeout, conditions } = context;
        let benchmark = self.planned.benchmark.clone();
        let collected = CollectedSamples::of(execution, &benchmark, &self.planned.id.to_string());
        let mut outcome = classify(execution, &collected, &benchmark);
        if outcome.is_measured()
            && let (Some(before), now) = (&self.device, collected.device.as_deref().unwrap_or("host"))
            && before != now
        {
            outcome = failed(
                FailureKind::Protocol,
                format!("it ran on `{now}`, and an earlier process of the case on `{before}`"),
                "pin the device, so that every process measures the same one",
            );
        }
        let claim = collected.device.as_deref().filter(|_| outcome.is_measured());
        match claim.and_then(|claim| self.held(claim)) {
            Some(Claim::Refuted(cause)) => {
                let advice =
                    "let the program name the device that it really used, and fail where it finds none";
                let code = Some(OutcomeCode::RefutedDevice);
                outcome = Outcome::Invalid { code, cause, advice: advice.into() };
            }
            Some(Claim::Doubtful(what)) if !record.warnings.contains(&what) => record.warnings.push(what),
            Some(Claim::Doubtful(_)) | None => {}
        }
        let partial = !outcome.is_measured();
        if let Err(conflict) =
            samples::merge(&mut record.metrics, &collected, &benchmark, turn.process, partial)
        {
            outcome = failed(FailureKind::Protocol, conflict, "use one unit for a metric everywhere");
            for metric in &mut record.metrics {
                let newest = metric.processes.last_mut().filter(|samples| samples.process == turn.process);
                newest.into_iter().for_each(|samples| samples.partial = true);
            }
        }
        if outcome.is_measured() {
            let device = collected.device.clone().unwrap_or("host".into());
            record.id.device = device.clone();
            self.device = Some(device);
        }
        self.warn(record, execution, &collected, turn);
        self.learn(record, &collected);
        record.processes.push(ProcessRecord {
            index: turn.process,
            started: humantime::format_rfc3339_millis(started).to_string(),
            seconds: execution.seconds,
            outcome: outcome.clone(),
            end: match execution.end {
                ExecutionEnd::Process(end) => Some(end),
                ExecutionEnd::NotStarted { .. } | ExecutionEnd::SupervisorDied => None,
            },
            stages: execution.stages.clone(),
            peak_rss_bytes: execution.peak_rss_bytes,
            device_peak_bytes: collected.device_peak_bytes,
            cpu_seconds: execution.cpu_seconds,
            leftovers: execution.leftovers,
            output_bytes: execution.stdout.total() + execution.stderr.total(),
            absent: collected.absent.clone(),
            after_timeout,
            round: interleaved.then_some(turn.round),
            slot: interleaved.then_some(turn.slot),
            lockstep,
            conditions,
            error: collected.error.clone(),
        });
        if !outcome.is_measured() {
            self.abort(record, outcome);
        }
    }

    fn held(&self, claim: &str) -> Option<Claim> {
        let env = self.planned.benchmark.env.get("CUDA_VISIBLE_DEVICES");
        self.devices.held(claim, &self.settings.device.value, env.map(String::as_str))
    }

    fn warn(
        &self,
        record: &mut CaseRecord,
        execution: &Execution,
        collected: &CollectedSamples,
        turn: PlannedProcess,
    ) {
        let process = turn.process;
        let mut warn = |text: String| {
            if !record.warnings.contains(&text) {
                record.warnings.push(text);
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
        for said in &collected.config {
            let pinned = [
                ("iterations", &self.settings.iterations.origin, said.iterations.is_some()),
                ("warmup", &self.settings.warmup.origin, said.warmup.is_some()),
                ("threshold", &self.settings.threshold.origin, said.threshold.is_some()),
            ];
            for (name, origin, speaks) in pinned {
                if origin.is_pinned() && speaks {
                    warn(format!("the benchmark sets its own `{name}`; {origin} stays in force"));
                }
            }
        }
    }

    fn learn(&mut self, record: &mut CaseRecord, collected: &CollectedSamples) {
        for said in &collected.config {
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
        record.metadata.extend(collected.metadata.clone());
        let derived = collected.metrics.iter().filter(|(_, gathered)| gathered.derived);
        for (name, _) in derived {
            if !self.derived.contains(name) {
                self.derived.push(name.clone());
            }
        }
        let beside =
            collected.metrics.iter().filter_map(|(name, gathered)| Some((name.clone(), gathered.beside?)));
        self.beside.extend(beside);
        record.config = self.settings.shown();
        let declared =
            record.metrics.iter().map(|metric| (metric.name.clone(), self.declaration(&metric.name)));
        record.declared = declared.filter(|(_, said)| *said != MetricDeclaration::default()).collect();
    }

    /// Ends the case: summaries, and the outcome where none is known yet. `complete`: every process that was wanted
    /// has had its turn.
    pub(super) fn finish(&self, record: &mut CaseRecord, complete: bool) {
        if !self.aborted {
            record.outcome = if complete { Outcome::Measured } else { not_finished() };
        }
        for metric in &mut record.metrics {
            // Of a case that did not end well nothing is a result, also what its good processes gave.
            metric.summary = summary(metric, &self.settings.percentiles.value);
        }
    }

    fn declaration(&self, metric: &str) -> MetricDeclaration {
        let (_, mut said) = self.planned.benchmark.declaration(metric, &self.planned.id.to_string());
        // A threshold for one metric stands below what the benchmark itself or the command line says for all.
        let of_threshold = &self.settings.threshold.origin;
        if *of_threshold == Origin::Benchmark || of_threshold.is_pinned() {
            said.threshold = None;
        }
        if self.derived.iter().any(|name| name == metric) {
            said.gate = said.gate.or(Some(false));
        }
        match self.beside.get(metric) {
            Some(Beside::Accuracy) => of_errors(&mut said),
            Some(Beside::Memory) => of_memory(&mut said),
            None => {}
        }
        said
    }
}

/// How an error is judged unless the suite file says otherwise: by its absolute difference.
fn of_errors(said: &mut MetricDeclaration) {
    /// A drift beyond this is another answer.
    const DRIFT: f64 = 1e-3;
    let by_share = said.margin.is_none() && (said.threshold.is_some() || said.target.is_some());
    if !by_share {
        said.absolute.get_or_insert(true);
        said.margin.get_or_insert(Margin { value: DRIFT, unit: String::new() });
    }
    // An answer that does not vary is known, and not merely rounded.
    said.exact.get_or_insert(true);
}

/// How a peak of memory is judged unless the suite file says otherwise: allocators take it in steps.
fn of_memory(said: &mut MetricDeclaration) {
    const SHARE: f64 = 0.05;
    let own = said.threshold.is_some() || said.target.is_some() || said.margin.is_some();
    if !own {
        (said.threshold, said.target) = (Some(SHARE), Some(SHARE));
        said.min_effect.get_or_insert(SHARE);
    }
}

fn shown_variable((name, value): (&String, &String)) -> (String, String) {
    let value = if looks_secret(name) { "***".into() } else { value.clone() };
    (name.clone(), value)
}

/// A case that is planned and has not ended.
pub(super) fn not_finished() -> Outcome {
    Outcome::NotRun {
        code: Some(OutcomeCode::Unfinished),
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
