//! Watches the machine while a use case measures: before and after each process, at an interval where the run is monitored, and
//! for an idle GPU before it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::lock::GateGpus;
use crate::app::progress::Reporter;
use crate::machine::{self, HostConditions, MachineSampler, Timeline};
use crate::model::{
    CalmWait, Conditions, EndedProcess, Exit, Fault, GpuFacts, GpuPlace, MonitorRecord, Probe, Result, Unrest,
};
use crate::run::{ConditionsProbe, Executor, Observer, Progress, bound_list, usable_gpus, wait_for_calm};
use crate::suite::plan::PlannedCase;
use crate::suite::{BusyGpu, RunOptions, Suite};

pub(crate) struct Watch {
    conditions: Option<CaseConditions>,
    timeline: Option<TimelineFile>,
    /// The GPUs that the suite's processes can use; `None`: perhaps all.
    gpus: Option<Vec<GpuPlace>>,
    /// Looks before and after each process, where the suite has not switched that off.
    looks: bool,
    /// Degrees Celsius from which on a GPU is not idle.
    max_temperature: Option<f64>,
    reporter: Reporter,
}

impl Watch {
    /// Errors: the file of `--monitor-output` cannot be written.
    pub(crate) fn of(suite: &Suite, reporter: &Reporter) -> Result<Self> {
        let run = &suite.run;
        let bindings = Arc::new(Bindings::of(suite, machine::gpus));
        let gpus = bindings.of_suite(suite);
        let sampled: Vec<u32> = gpus.iter().flatten().map(|gpu| gpu.index).collect();
        let output = run.monitor_output.value.as_deref();
        let timeline = output.map(TimelineFile::create).transpose()?;
        let interval =
            run.monitor_interval.value.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let uses_gpu = gpus.as_ref().is_none_or(|gpus| !gpus.is_empty());
        let looks = suite.gate.watch.value;
        let sampler = match run.monitor.value {
            Some(false) => None,
            Some(true) => {
                let timeline = timeline.as_ref().map(TimelineFile::writer);
                Some(MachineSampler::start(interval, &sampled, timeline))
            }
            None if looks && uses_gpu => MachineSampler::of_library(interval, &sampled),
            None => None,
        };
        let max_temperature = run.max_gpu_temperature.value;
        let is_there = looks || sampler.is_some();
        let conditions = is_there.then(|| {
            let machine = host_conditions(looks, gpus.clone());
            CaseConditions { machine: machine.sampled(sampler.map(Arc::new), max_temperature), bindings }
        });
        Ok(Self { conditions, timeline, gpus, looks, max_temperature, reporter: reporter.clone() })
    }

    pub(crate) fn probe(&mut self) -> Option<&mut dyn ConditionsProbe> {
        self.conditions.as_mut().map(|conditions| conditions as &mut dyn ConditionsProbe)
    }

    /// Watches the cases of one queue while other queues run, and shares the sampler with them. From then on the suite's own
    /// watch knows that processes of the run were on the GPUs before its first one. `None`: nothing is watched.
    pub(crate) fn of_queue(&mut self) -> Option<CaseConditions> {
        let own = self.conditions.as_mut()?;
        own.machine.follows_others();
        let machine = host_conditions(self.looks, self.gpus.clone());
        let machine = machine.sampled(own.machine.sampler().cloned(), self.max_temperature);
        Some(CaseConditions { machine, bindings: Arc::clone(&own.bindings) })
    }

    /// Waits, before anything is measured, for GPUs that are idle, where the suite refuses others. Errors: they are not;
    /// exit code 5.
    pub(crate) fn require_calm(&mut self, run: &RunOptions, executor: &mut dyn Executor) -> Result<()> {
        if run.busy_gpu.value != BusyGpu::Refuse {
            return Ok(());
        }
        let mut own;
        let watched = self.conditions.as_mut().map(|conditions| &mut conditions.machine);
        let conditions = match watched.filter(|conditions| conditions.sampler().is_some()) {
            Some(conditions) => conditions,
            None => {
                // Nothing is sampled while processes run; before them the GPUs are asked all the same.
                let sampler = MachineSampler::of_library(None, &[]);
                if sampler.is_none() && self.gpus.as_ref().is_none_or(|gpus| !gpus.is_empty()) {
                    self.reporter.note(
                        "`busy_gpu = \"refuse\"`: NVIDIA's library knows no GPU here, so nothing is refused",
                    );
                }
                own = HostConditions::without_looks(self.gpus.clone());
                own = own.sampled(sampler.map(Arc::new), self.max_temperature);
                &mut own
            }
        };
        let limit = run.calm_wait.value;
        let mut observer = self.reporter.clone();
        let wait = wait_for_calm(
            Duration::try_from_secs_f64(limit).unwrap_or_default(),
            &mut |waited| conditions.unrest(waited),
            &mut || executor.is_interrupted(),
            &mut |causes| observer.on(&Progress::WaitsForCalm { causes, limit }),
        );
        match wait {
            Some(wait) if wait.in_vain => Err(refused(&wait)),
            _ => Ok(()),
        }
    }
}

impl Drop for Watch {
    /// The measurement is worth more than its timeline: an incomplete timeline is kept and is not an error.
    fn drop(&mut self) {
        // The thread that writes ends with it.
        self.conditions = None;
        if let Some(Err(fault)) = self.timeline.take().map(TimelineFile::end) {
            self.reporter.note(&format!("{}: {}", fault.place, fault.what));
        }
    }
}

fn refused(wait: &CalmWait) -> Fault {
    let causes: Vec<String> = wait.causes.iter().map(Unrest::to_string).collect();
    let next = "end what runs there, or let it be measured all the same by `busy_gpu = \"warn\"` under [run]";
    Fault::at("the GPU", causes.join("; "), next).exits(Exit::Machine)
}

fn host_conditions(looks: bool, gpus: Option<Vec<GpuPlace>>) -> HostConditions {
    if looks { HostConditions::here(gpus) } else { HostConditions::without_looks(gpus) }
}

/// The machine as each case meets it: of its GPUs, only those that the case may use.
pub(crate) struct CaseConditions {
    machine: HostConditions,
    bindings: Arc<Bindings>,
}

impl ConditionsProbe for CaseConditions {
    fn concern(&mut self, case: &PlannedCase) {
        self.machine.concern(self.bindings.of_case(case));
    }

    fn begin(&mut self) {
        self.machine.begin();
    }

    fn end(&mut self, ended: &EndedProcess) -> Option<Conditions> {
        self.machine.end(ended)
    }

    fn unrest(&mut self, waited: bool) -> Vec<Unrest> {
        self.machine.unrest(waited)
    }
}

/// The settings that bind processes to GPUs: those of the suite and of the gate's environment.
struct Bindings {
    gate: GateGpus,
    facts: Probe<GpuFacts>,
}

impl Bindings {
    /// `facts` is called only if a benchmark is bound.
    fn of(suite: &Suite, facts: impl FnOnce() -> Probe<GpuFacts>) -> Self {
        let gate = GateGpus::read();
        let binds = suite.benchmarks.iter().any(|it| bound_list(it, gate.inherited()).is_some())
            || gate.inherited().visible.is_some();
        let facts = if binds { facts() } else { Probe::Absent("no benchmark is bound to a GPU".into()) };
        Self { gate, facts }
    }

    fn of_case(&self, case: &PlannedCase) -> Option<Vec<GpuPlace>> {
        let device = case.benchmark.device_of(&case.id.params);
        usable_gpus(&case.benchmark, &device, self.gate.inherited(), &self.facts)
    }

    /// The GPUs that any process of the suite may use.
    fn of_suite(&self, suite: &Suite) -> Option<Vec<GpuPlace>> {
        let usable = |it| usable_gpus(it, &it.settings.device.value, self.gate.inherited(), &self.facts);
        let each: Vec<Vec<GpuPlace>> = suite.benchmarks.iter().map(usable).collect::<Option<_>>()?;
        let mut all = each.concat();
        all.sort();
        all.dedup();
        Some(all)
    }
}

/// The file of a timeline: a JSON array, whole after each record.
struct TimelineFile {
    path: PathBuf,
    state: Arc<Mutex<TimelineState>>,
}

struct TimelineState {
    file: File,
    records: u64,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
}

const END: &str = "\n]\n";

impl TimelineFile {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).and_then(|mut file| file.write_all(b"[\n]\n").map(|()| file));
        let file = file.map_err(|error| {
            let next = "give `--monitor-output` a file in a folder that is there and can be written";
            Fault::at_path(path, &error, next).caused_by(&error)
        })?;
        let state = TimelineState { file, records: 0, failed: None };
        Ok(Self { path: path.to_owned(), state: Arc::new(Mutex::new(state)) })
    }

    fn writer(&self) -> Timeline {
        let state = Arc::clone(&self.state);
        Box::new(move |record| {
            let state = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.failed.is_none() {
                state.failed = state.add(record).err();
            }
        })
    }

    fn end(self) -> Result<()> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.failed.take() {
            None => Ok(()),
            Some(error) => {
                let what = format!("the timeline ends after {} records: {error}", state.records);
                let next = "make room on its disk; what was measured is kept";
                Err(Fault::at_path(&self.path, what, next).caused_by(&error))
            }
        }
    }
}

impl TimelineState {
    fn add(&mut self, record: &MonitorRecord) -> io::Result<()> {
        let before = if self.records == 0 { "\n" } else { ",\n" };
        let text = format!("{before}{}{END}", serde_json::to_string(record)?);
        let end = self.file.seek(SeekFrom::End(-(END.len() as i64)))?;
        self.file.write_all(text.as_bytes()).inspect_err(|_| {
            // Whole again, as far as it came.
            let _ = self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::End(0)));
            let _ = self.file.write_all(END.as_bytes());
        })?;
        self.records += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Component;
    use crate::suite::{Action, Benchmark, Source};

    #[test]
    fn a_timeline_is_json_after_each_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timeline.json");
        let file = TimelineFile::create(&path).unwrap();
        let read = || serde_json::from_slice::<Vec<MonitorRecord>>(&std::fs::read(&path).unwrap()).unwrap();
        let record = MonitorRecord {
            timestamp: "2026-11-25T08:00:00.000Z".into(),
            cpu_percent: Some(12.5),
            total_memory: Some(1 << 34),
            memory_percent: Some(50.0),
            gpu_usage: Vec::new(),
        };
        let mut write = file.writer();
        for count in 0..3 {
            assert_eq!(read(), vec![record.clone(); count]);
            write(&record);
        }
        drop(write);
        file.end().unwrap();
        assert_eq!(read().len(), 3);
    }

    #[test]
    fn a_timeline_that_cannot_be_written_names_its_file() {
        let fault = TimelineFile::create(Path::new("/no/such/folder/timeline.json")).err().unwrap();
        assert_eq!(fault.exit, Exit::Usage);
        assert!(fault.place.to_string().contains("timeline.json"), "{}", fault.place);
    }

    #[test]
    fn only_gpus_that_a_suite_can_use_matter() {
        let suite = |device: &str, components: Vec<Component>| {
            let mut benchmark =
                Benchmark::new("s/x".parse().unwrap(), Action::Shell("true".into()), "/".into());
            benchmark.settings.device.value = device.into();
            benchmark.components = components;
            let unknown = || Probe::Absent(String::new());
            let suite = Suite::new("s", Source::Builtin, vec![benchmark]);
            Bindings::of(&suite, unknown).of_suite(&suite)
        };
        assert_eq!(suite("", Vec::new()), None);
        assert_eq!(suite("0", Vec::new()), None, "the driver tells nothing");
        assert_eq!(suite("0", vec![Component::Cpu]), Some(Vec::new()));
    }
}
