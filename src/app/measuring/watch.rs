//! Watches the machine while a use case measures: before and after each process, at an interval where the run is monitored, and
//! for an idle GPU before it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::lock::GateGpus;
use crate::app::progress::Reporter;
use crate::machine::{self, HostConditions, MachineSampler, Timeline};
use crate::model::{CalmWait, Component, Exit, Fault, GpuFacts, MonitorRecord, Probe, Result, Unrest};
use crate::run::{
    ConditionsProbe, Executor, GpuQueue, Observer, Progress, bound_list, gpus_of_list, wait_for_calm,
};
use crate::suite::{BusyGpu, RunOptions, Suite};

pub(crate) struct Watch {
    conditions: Option<HostConditions>,
    timeline: Option<TimelineFile>,
    /// Numbers of the GPUs that the suite's processes can use; `None`: perhaps all.
    gpus: Option<BTreeSet<u32>>,
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
        let gpus = gpus_of(suite, machine::gpus);
        let output = run.monitor_output.value.as_deref();
        let timeline = output.map(TimelineFile::create).transpose()?;
        let interval =
            run.monitor_interval.value.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let uses_gpu = gpus.as_ref().is_none_or(|gpus| !gpus.is_empty());
        let looks = suite.gate.watch.value;
        let sampler = match run.monitor.value {
            Some(false) => None,
            Some(true) => Some(MachineSampler::start(interval, timeline.as_ref().map(TimelineFile::writer))),
            None if looks && uses_gpu => MachineSampler::of_library(interval),
            None => None,
        };
        let max_temperature = run.max_gpu_temperature.value;
        let is_there = looks || sampler.is_some();
        let conditions = is_there.then(|| {
            let here = HostConditions::here();
            let here = if looks { here } else { here.without_looks() };
            here.sampled(sampler.map(Arc::new), max_temperature, gpus.clone())
        });
        Ok(Self { conditions, timeline, gpus, looks, max_temperature, reporter: reporter.clone() })
    }

    pub(crate) fn probe(&mut self) -> Option<&mut dyn ConditionsProbe> {
        self.conditions.as_mut().map(|conditions| conditions as &mut dyn ConditionsProbe)
    }

    /// Watches the GPUs of one queue while other queues run, and shares the sampler with them. `uuids`: of its GPUs. From
    /// then on the suite's own watch knows that processes of the run were on the GPUs before its first one. `None`: nothing
    /// is watched.
    pub(crate) fn of_queue(&mut self, queue: &GpuQueue, uuids: Vec<String>) -> Option<HostConditions> {
        let own = self.conditions.as_mut()?;
        own.follows_others();
        let here = HostConditions::beside_others(uuids);
        let here = if self.looks { here } else { here.without_looks() };
        Some(here.sampled(own.sampler().cloned(), self.max_temperature, Some(queue.gpus.clone())))
    }

    /// Waits, before anything is measured, for GPUs that are idle, where the suite refuses others. Errors: they are not;
    /// exit code 5.
    pub(crate) fn require_calm(&mut self, run: &RunOptions, executor: &mut dyn Executor) -> Result<()> {
        if run.busy_gpu.value != BusyGpu::Refuse {
            return Ok(());
        }
        let mut own;
        let conditions = match self.conditions.as_mut().filter(|conditions| conditions.sampler().is_some()) {
            Some(conditions) => conditions,
            None => {
                // Nothing is sampled while processes run; before them the GPUs are asked all the same.
                let sampler = MachineSampler::of_library(None);
                if sampler.is_none() && self.gpus.as_ref().is_none_or(|gpus| !gpus.is_empty()) {
                    self.reporter.note(
                        "`busy_gpu = \"refuse\"`: NVIDIA's library knows no GPU here, so nothing is refused",
                    );
                }
                let (limit, gpus) = (self.max_temperature, self.gpus.clone());
                own = HostConditions::here().without_looks().sampled(sampler.map(Arc::new), limit, gpus);
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

/// Numbers of the GPUs that a suite's processes can use, as far as its words and the environment tell; `None`: perhaps all.
fn gpus_of(suite: &Suite, facts: impl FnOnce() -> Probe<GpuFacts>) -> Option<BTreeSet<u32>> {
    let gate = GateGpus::read();
    let mut lists = BTreeSet::new();
    for benchmark in &suite.benchmarks {
        let declared = &benchmark.components;
        if declared.is_empty() || declared.contains(&Component::Gpu) {
            lists.insert(bound_list(benchmark, gate.inherited())?);
        }
    }
    if lists.is_empty() {
        return Some(BTreeSet::new());
    }
    let facts = facts();
    let found: Option<Vec<_>> = lists.iter().map(|list| gpus_of_list(list, &facts)).collect();
    Some(found?.into_iter().flatten().map(|(index, _)| index).collect())
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
            gpus_of(&Suite::new("s", Source::Builtin, vec![benchmark]), unknown)
        };
        assert_eq!(suite("", Vec::new()), None);
        assert_eq!(suite("0", Vec::new()), None, "the driver tells nothing");
        assert_eq!(suite("0", vec![Component::Cpu]), Some(BTreeSet::new()));
    }
}
