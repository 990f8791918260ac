//! Builds the record of a case process by process, in its place in the run's record, which is valid at every moment.

use std::collections::BTreeMap;
use std::time::SystemTime;

use gbench_device_code::display_name;
use gbench_model::line::Event;
use gbench_model::text::list;
use gbench_model::{
    CLOCK_DROP, CODE_FIGURES, CaseRecord, Conditions, CutShort, DeviceCode, ENERGY, FailureKind, JOBS,
    Manifest, Margin, Metric, MetricDeclaration, Origin, Outcome, OutcomeCode, ProcessEnd, ProcessRecord,
    SPEEDUP, Settings, Shown, Summary, Timing, Variant, looks_secret, without_secrets,
};
use gbench_stats as stats;
use gbench_suite::plan::PlannedCase;

use super::code_files::FilesCode;
use crate::run::gpus::devices::{Claim, Devices};
use crate::run::gpus::energy::shares_its_gpu;
use crate::run::outcome::classify::{classify, failed, invalid, not_run};
use crate::run::process::executor::{Execution, ExecutionEnd};
use crate::run::python::driver_advice;
use crate::run::requests::lost_requests;
use crate::run::samples::collected::{self, CollectedSamples, Role, Throttled};

/// Adds processes to the record of a case, and keeps the state that the record does not contain. The record itself is passed
/// to each call, so that there is only one copy of it, however many processes it has.
pub(super) struct CaseRecorder {
    planned: PlannedCase,
    settings: Settings,
    device: Option<String>,
    of_files: Option<DeviceCode>,
    code_was_said: bool,
    roles: BTreeMap<String, Role>,
    /// The outcome is known before the end: the case is not run, or not any further.
    aborted: bool,
    /// Others kept a GPU busy before a process. Before later ones their work looks like the run's own.
    restless: bool,
    jobs: Option<Shown>,
}

/// The results of the processes that cases share.
pub(crate) struct CaseParts {
    /// By case; `None`: the run ended before it was measured.
    pub parts: Vec<Option<(Execution, ProcessContext)>>,
    pub ended: Option<CutShort>,
}

/// The state of the machine, with the throttling that the process itself observed.
fn with_throttled(mut conditions: Conditions, throttled: &Throttled) -> Conditions {
    let own = throttled.spoilt.then(|| CLOCK_DROP.to_owned());
    for reason in throttled.reasons.iter().cloned().chain(own) {
        if !conditions.throttled.contains(&reason) {
            conditions.throttled.push(reason);
        }
    }
    conditions
}

#[derive(Clone, Debug)]
pub(crate) struct ProcessContext {
    pub started: SystemTime,
    pub process: u32,
    /// In rounds: the round, and its place in it, 0 if it goes first.
    pub place: Option<(u32, u8)>,
    /// The number of its cases, if it is a process that several may share.
    pub shared: Option<u32>,
    /// It was alive together with the other side's process, in turns.
    pub lockstep: bool,
    pub after_timeout: Option<ProcessEnd>,
    pub conditions: Option<Conditions>,
}

impl CaseRecorder {
    pub(crate) fn new(planned: &PlannedCase) -> (Self, CaseRecord) {
        let recorder = Self {
            planned: planned.clone(),
            settings: planned.benchmark.settings.clone(),
            device: None,
            of_files: None,
            code_was_said: false,
            roles: BTreeMap::new(),
            aborted: false,
            restless: false,
            jobs: None,
        };
        let record = recorder.blank();
        (recorder, record)
    }

    /// Continues a case that already has a record, which later processes must agree with. A case that ran and did not end well
    /// stays as it is; one that never ran may run.
    pub(crate) fn resumed(planned: &PlannedCase, record: &mut CaseRecord) -> Self {
        let (mut recorder, blank) = Self::new(planned);
        if record.processes.is_empty() {
            *record = blank;
            return recorder;
        }
        let mut ends = record.processes.iter().map(|process| process.outcome.is_measured());
        recorder.aborted = ends.any(|measured| !measured);
        recorder.device = Some(record.id.device.clone());
        recorder.code_was_said = record.device_code.is_some();
        let is_of_code = |name: &str| CODE_FIGURES.iter().any(|(figure, ..)| *figure == name);
        let is_derived = |metric: &&Metric| {
            let gate = record.declared.get(&metric.name).and_then(|said| said.gate);
            gate == Some(false)
                && planned.benchmark.declaration(&metric.name, &planned.id.to_string()).1.gate.is_none()
        };
        let derived = record.metrics.iter().filter(is_derived);
        recorder.roles = derived
            .map(|metric| {
                let role = if is_of_code(&metric.name) { Role::Code } else { Role::Derived };
                (metric.name.clone(), role)
            })
            .collect();
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
            command: without_secrets(command(&self.planned)),
            env: benchmark.env.iter().map(shown_variable).collect(),
            config: self.settings.shown(),
            outcome: not_finished(),
            processes: Vec::new(),
            declared: BTreeMap::new(),
            metrics: Vec::new(),
            metadata: BTreeMap::new(),
            warnings: Vec::new(),
            nothing_measured: Vec::new(),
            answer: BTreeMap::new(),
            device_code: None,
            device_code_varies: false,
            part_of_whole: benchmark.is_part(&self.planned.id.params),
            load: benchmark.load_parameters(),
            profiles: Vec::new(),
        }
    }

    pub(crate) fn set_jobs(&mut self, record: &mut CaseRecord, jobs: usize) {
        self.jobs = Some(Shown { value: jobs.into(), origin: Origin::Cli("--jobs".into()) });
        record.config = self.config();
    }

    fn config(&self) -> BTreeMap<String, Shown> {
        let jobs = self.jobs.clone().map(|jobs| (JOBS.to_owned(), jobs));
        self.settings.shown().into_iter().chain(jobs).collect()
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted
    }

    pub(crate) fn planned(&self) -> &PlannedCase {
        &self.planned
    }

    pub(crate) fn abort(&mut self, record: &mut CaseRecord, outcome: Outcome) {
        if !self.aborted {
            self.aborted = true;
            record.outcome = outcome;
        }
    }

    pub(crate) fn add(
        &mut self,
        record: &mut CaseRecord,
        manifest: &Manifest,
        execution: &Execution,
        context: ProcessContext,
    ) {
        let ProcessContext { started, process, place, shared, lockstep, after_timeout, conditions } = context;
        let benchmark = self.planned.benchmark.clone();
        let mut collected = CollectedSamples::of(execution, &benchmark, &self.planned.id);
        // The program's own report about its code is more accurate than files.
        if let Some(code) = collected.device_code.clone().or_else(|| self.of_files.clone()) {
            collected.take_code(&code);
        }
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
        if let Some(lost) = lost_requests(&record.answer, &collected.answer).filter(|_| outcome.is_measured())
        {
            outcome = lost;
        }
        let claim = collected.device.clone().filter(|_| outcome.is_measured());
        let claim = claim.as_deref();
        let visible = benchmark.env.get("CUDA_VISIBLE_DEVICES").map(String::as_str);
        let (devices, device) = (Devices::of(manifest), benchmark.device_of(&self.planned.id.params));
        let gpus = devices.used(claim, &device, visible);
        let mut conditions = conditions;
        let waited = conditions.as_ref().and_then(|it| it.waited.as_ref());
        self.restless |= waited.is_some_and(|wait| wait.in_vain);
        let shares = conditions.as_mut().is_some_and(|it| shares_its_gpu(it, &gpus));
        // The gate's own programs read the counter of the whole card.
        if benchmark.compiles_kernels() && (shares || self.restless) {
            collected.metrics.remove(ENERGY);
        }
        collected.take_work_per_joule();
        let objection = |claim| devices.objection(claim, &device, visible);
        match claim.and_then(objection) {
            Some(Claim::Refuted(cause)) => {
                let advice =
                    "let the program name the device that it really used, and fail where it finds none";
                outcome = invalid(OutcomeCode::RefutedDevice, cause, advice);
            }
            Some(Claim::Doubtful(what)) => warn_once(record, what),
            None => {}
        }
        let partial = !outcome.is_measured();
        if let Err(conflict) = collected::merge(&mut record.metrics, &collected, &benchmark, process, partial)
        {
            outcome = failed(FailureKind::Protocol, conflict, "use one unit for a metric everywhere");
            for metric in &mut record.metrics {
                let newest = metric.processes.last_mut().filter(|samples| samples.process == process);
                newest.into_iter().for_each(|samples| samples.partial = true);
            }
        }
        if outcome.is_measured() {
            let device = collected.device.clone().unwrap_or("host".into());
            record.id.device = device.clone();
            self.device = Some(device);
        }
        if let Some(code) = collected.device_code.as_ref().filter(|_| outcome.is_measured()) {
            self.take_code(record, code);
        }
        for (output, values) in collected.answer.iter().filter(|_| outcome.is_measured()) {
            match record.answer.get_mut(output) {
                Some(before) => before.varies |= before.difference(values).is_some(),
                None => drop(record.answer.insert(output.clone(), values.clone())),
            }
        }
        if self.planned.benchmark.python().is_some() {
            driver_advice::to_know(&collected.metadata).into_iter().for_each(|what| warn_once(record, what));
        }
        if let Some(what) = &collected.above_peak {
            warn_once(record, what.clone());
        }
        let conditions = match &collected.throttled {
            Some(throttled) => Some(with_throttled(conditions.unwrap_or_default(), throttled)),
            None => conditions,
        };
        self.warn(record, execution, process, shared);
        self.learn(record, execution, &collected);
        record.processes.push(ProcessRecord {
            index: process,
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
            round: place.map(|(round, _)| round),
            slot: place.map(|(_, slot)| slot),
            shared,
            lockstep,
            gpus,
            conditions,
            error: collected.error.clone(),
        });
        if !outcome.is_measured() {
            self.abort(record, outcome);
        }
    }

    /// Uses the contents of the files named in the suite file, until processes report their code.
    pub(super) fn take_files(&mut self, record: &mut CaseRecord, files: &FilesCode) {
        files.warnings.iter().for_each(|warning| warn_once(record, warning.clone()));
        self.of_files.clone_from(&files.code);
        if record.device_code.is_none() || record.device_code == files.code {
            // A resumed record may have its code from the files, too.
            self.code_was_said = false;
            record.device_code.clone_from(&files.code);
        }
    }

    /// Adds the code that a process reported. A process with different code leads to a warning: the case no longer has one
    /// code.
    fn take_code(&mut self, record: &mut CaseRecord, code: &DeviceCode) {
        const MAX_NAMED: usize = 5;
        match &record.device_code {
            Some(before) if self.code_was_said => {
                if !before.is_same(code) && !record.device_code_varies {
                    let differing = before.differing(code);
                    let names: Vec<String> =
                        differing.into_iter().map(|name| format!("`{}`", display_name(name))).collect();
                    let which = if names.is_empty() {
                        format!("for {} and for {}", before.arch, code.arch)
                    } else {
                        list(&names, MAX_NAMED)
                    };
                    warn_once(record, format!("its processes ran different device code: {which}"));
                    record.device_code_varies = true;
                }
            }
            _ => {
                record.device_code = Some(code.clone());
                self.code_was_said = true;
            }
        }
    }

    fn warn(&self, record: &mut CaseRecord, execution: &Execution, process: u32, shared: Option<u32>) {
        let Execution { leftovers, survivors, .. } = execution;
        if *leftovers > 0 && execution.stopped.is_none() {
            let left = format!("left {leftovers} running, which were ended");
            let text = match shared.filter(|cases| *cases > 1) {
                Some(cases) => format!(
                    "process {process} {left}; {cases} cases share it, and one of them or more did that"
                ),
                None => format!("process {process} {left}"),
            };
            warn_once(record, text);
        }
        if *survivors > 0 {
            let hang = "could not be ended: they hang in the kernel";
            warn_once(record, format!("{survivors} of process {process}'s descendants {hang}"));
        }
        if let Some(warning) = &execution.warning {
            warn_once(record, warning.clone());
        }
        if self.planned.benchmark.timing != Timing::Protocol && !execution.events.is_empty() {
            let text = "it speaks the protocol; set timing = \"protocol\" to use its own samples";
            warn_once(record, text.into());
        }
    }

    /// Takes what the program reports about itself: settings that no user has pinned, and facts for later processes.
    fn learn(&mut self, record: &mut CaseRecord, execution: &Execution, collected: &CollectedSamples) {
        for event in &execution.events {
            let Event::Config { iterations, warmup, deadlines, threshold } = event else { continue };
            let settings = &mut self.settings;
            let given = [
                ("iterations", &settings.iterations.origin, iterations.is_some()),
                ("warmup", &settings.warmup.origin, warmup.is_some()),
                ("threshold", &settings.threshold.origin, threshold.is_some()),
            ];
            for (name, origin, _) in
                given.into_iter().filter(|(_, origin, given)| *given && origin.is_pinned())
            {
                warn_once(record, format!("the benchmark sets its own `{name}`; {origin} stays in force"));
            }
            if let Some(iterations) = iterations {
                settings.iterations.set(*iterations, Origin::Benchmark);
            }
            if let Some(warmup) = warmup {
                settings.warmup.set(*warmup, Origin::Benchmark);
            }
            if let Some(threshold) = threshold.filter(|value| value.is_finite() && *value > 0.0) {
                settings.threshold.set(threshold, Origin::Benchmark);
            }
            for (stage, seconds) in deadlines {
                if let Some(setting) = settings.deadlines.get_mut(stage) {
                    setting.set(*seconds, Origin::Benchmark);
                }
            }
        }
        record.metadata.extend(collected.metadata.clone());
        let roles =
            collected.metrics.iter().filter_map(|(name, samples)| Some((name.clone(), samples.role?)));
        self.roles.extend(roles);
        record.config = self.config();
        let declared =
            record.metrics.iter().map(|metric| (metric.name.clone(), self.declaration(&metric.name)));
        // A comparison adds it to the optimized case of a pair, and judges it as the suite specifies.
        let of_pair = (self.planned.id.member_of_pair() == Some(Variant::Optimized)).then_some(SPEEDUP);
        let declared = declared.chain(of_pair.map(|name| (name.to_owned(), self.declaration(name))));
        record.declared = declared.filter(|(_, said)| *said != MetricDeclaration::default()).collect();
    }

    /// Ends the case: summaries, and the outcome if it is still unknown. `complete`: every wanted process had its turn.
    pub(crate) fn finish(&self, record: &mut CaseRecord, complete: bool) {
        if !self.aborted {
            record.outcome = if complete { Outcome::Measured } else { not_finished() };
        }
        for metric in &mut record.metrics {
            // A case that did not end well has no results, not even from its good processes.
            metric.summary = summary_of(metric, &self.settings.percentiles.value);
        }
    }

    fn declaration(&self, metric: &str) -> MetricDeclaration {
        let (_, mut said) = self.planned.benchmark.declaration(metric, &self.planned.id.to_string());
        // A metric's threshold ranks below one that the benchmark or the command line sets for all metrics.
        let of_threshold = &self.settings.threshold.origin;
        if *of_threshold == Origin::Benchmark || of_threshold.is_pinned() {
            said.threshold = None;
        }
        match self.roles.get(metric) {
            Some(Role::Derived) => _ = said.gate.get_or_insert(false),
            Some(Role::Accuracy) => of_errors(&mut said),
            Some(Role::Memory) => of_memory(&mut said),
            Some(Role::Code) => {
                said.gate.get_or_insert(false);
                said.exact.get_or_insert(true);
            }
            None => {}
        }
        said
    }
}

/// The default for errors: judged by their absolute difference.
fn of_errors(said: &mut MetricDeclaration) {
    /// A drift beyond this is a different answer.
    const DRIFT: f64 = 1e-3;
    let by_share = said.margin.is_none() && (said.threshold.is_some() || said.target.is_some());
    if !by_share {
        said.absolute.get_or_insert(true);
        said.margin.get_or_insert(Margin { value: DRIFT, unit: String::new() });
    }
    // An answer that does not vary is exact, not merely rounded.
    said.exact.get_or_insert(true);
}

/// The default for peak memory, which allocators take in steps.
fn of_memory(said: &mut MetricDeclaration) {
    const SHARE: f64 = 0.05;
    let own = said.threshold.is_some() || said.target.is_some() || said.margin.is_some();
    if !own {
        (said.threshold, said.target) = (Some(SHARE), Some(SHARE));
        said.min_effect.get_or_insert(SHARE);
    }
}

pub(super) fn warn_once(record: &mut CaseRecord, text: String) {
    if !record.warnings.contains(&text) {
        record.warnings.push(text);
    }
}

/// The words that start it; for a Python module the module, which the driver imports; for a kernel its file, name and options.
fn command(planned: &PlannedCase) -> Vec<String> {
    let (benchmark, params) = (&planned.benchmark, &planned.id.params);
    if let Some(Ok(call)) = benchmark.kernel_call(params) {
        let file = benchmark.cuda().map(|entry| entry.file.clone());
        return ["cuda".to_owned()].into_iter().chain(file).chain([call.entry]).chain(call.options).collect();
    }
    match benchmark.python_file(params) {
        Some(file) => vec!["python".into(), file.to_owned()],
        None => benchmark.argv(params, &["builtin"]),
    }
}

fn shown_variable((name, value): (&String, &String)) -> (String, String) {
    let value = if looks_secret(name) { "***".into() } else { value.clone() };
    (name.clone(), value)
}

fn not_finished() -> Outcome {
    let cause = "the run ended before this case did".into();
    not_run(OutcomeCode::Unfinished, cause, "run again, or raise `deadline` in [run]")
}

/// Descriptive statistics over the complete samples of a metric; `None` without any.
pub(crate) fn summary_of(metric: &Metric, percentiles: &[f64]) -> Option<Summary> {
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
