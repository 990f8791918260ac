//! A thread that reads the machine at an interval, and keeps the readings until they are requested.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use super::host::HostReader;
use super::probe::PatientProbe;
use super::reading::MachineReading;
use super::source::{ReadingSource, own_cpu};
use super::window::window;
use crate::machine::gpu_reading::GpuReading;
use crate::machine::host::Root;
use gbench_model::{MonitorRecord, Telemetry, TelemetryGap};

/// A driver without persistence mode first wakes every GPU.
const OPENING: Duration = Duration::from_secs(20);

/// The longest wait for one answer of a GPU's driver.
const MAX_PATIENCE: Duration = Duration::from_secs(1);
const MIN_PATIENCE: Duration = Duration::from_millis(90);

/// The default interval with NVIDIA's library, and with other sources.
const LIBRARY_INTERVAL: Duration = Duration::from_millis(100);
const USUAL_INTERVAL: Duration = Duration::from_secs(1);

/// Receives each reading as a line of a timeline, in the reading thread.
pub type Timeline = Box<dyn FnMut(&MonitorRecord) + Send>;

/// Reads processors, memory and GPUs at an interval, from creation until it is dropped.
pub struct MachineSampler {
    interval: Duration,
    source: Option<ReadingSource>,
    kept: Arc<Mutex<Kept>>,
    /// Requests an extra reading of the GPUs. Dropped to end the thread.
    ask: Option<Sender<Sender<Vec<GpuReading>>>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Kept {
    readings: Vec<MachineReading>,
    /// Start times of the processes that have not ended. Several may run, each on its own GPU.
    started: Vec<Instant>,
}

impl MachineSampler {
    /// Starts at once, and returns after the first reading. If no GPU can be asked, only processors and memory are
    /// read. `interval`: `None` for the default. `gpus`: indices of those to read, if the source can leave others out; empty:
    /// all.
    pub fn start(interval: Option<Duration>, gpus: &[u32], timeline: Option<Timeline>) -> Self {
        let open = |source| OpenSource::new(source, gpus);
        Self::of(interval, ReadingSource::ALL.into_iter().find_map(open), timeline)
    }

    /// The same, but only if NVIDIA's library knows a GPU, because programs would have to be started for each reading.
    /// Otherwise `None`.
    pub fn of_library(interval: Option<Duration>, gpus: &[u32]) -> Option<Self> {
        Some(Self::of(interval, Some(OpenSource::new(ReadingSource::Nvml, gpus)?), None))
    }

    fn of(interval: Option<Duration>, gpu: Option<OpenSource>, timeline: Option<Timeline>) -> Self {
        let source = gpu.as_ref().map(|gpu| gpu.source);
        let usual = if source == Some(ReadingSource::Nvml) { LIBRARY_INTERVAL } else { USUAL_INTERVAL };
        let interval = interval.unwrap_or(usual);
        let interval = source.map_or(interval, |source| interval.max(source.least_interval()));
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (ask, asked) = mpsc::channel();
        let began = Instant::now();
        let mut worker = Worker {
            interval,
            // The sampler keeps its pace while a driver hangs, and a short interval does not make a slow driver look hung.
            patience: interval.mul_f64(0.9).clamp(MIN_PATIENCE, MAX_PATIENCE),
            host: HostReader::new(&Root::new("/")),
            gpu,
            kept: Arc::clone(&kept),
            timeline,
        };
        let (tell, first) = mpsc::channel();
        let thread = thread::Builder::new().spawn(move || {
            worker.read(began);
            // The receiver is gone only when the process is ending.
            let _ = tell.send(());
            worker.work(began, &asked);
        });
        let _ = first.recv();
        Self { interval, source, kept, ask: Some(ask), thread: thread.ok() }
    }

    /// A process starts. Drops older readings, except the newest and those that another process still needs.
    pub fn begin(&self, started: Instant) {
        let kept = &mut *self.lock();
        kept.started.push(started);
        let oldest = kept.started.iter().min().copied().unwrap_or(started);
        let before = kept.readings.partition_point(|reading| reading.at <= oldest);
        kept.readings.drain(..before.saturating_sub(1));
    }

    /// The process that started at `started` has ended, and no longer needs its readings.
    pub fn end(&self, started: Instant) {
        let open = &mut self.lock().started;
        if let Some(at) = open.iter().position(|it| *it == started) {
            open.swap_remove(at);
        }
    }

    /// The readings of the window `within`, summarised. `started`: when the process started.
    pub fn window(&self, started: Instant, within: (Instant, Instant)) -> Telemetry {
        let source = self.source.map(|source| source.into_str().to_owned());
        Telemetry { source, ..window(&self.lock().readings, started, within, self.interval) }
    }

    /// The GPUs now; empty if the driver does not answer in time. Sources that are programs give their newest reading.
    pub fn gpus_now(&self) -> Vec<GpuReading> {
        if self.source == Some(ReadingSource::Nvml) {
            let (tell, told) = mpsc::channel();
            let asked = self.ask.as_ref().is_some_and(|ask| ask.send(tell).is_ok());
            return told.recv_timeout(MAX_PATIENCE).ok().filter(|_| asked).unwrap_or_default();
        }
        self.lock().readings.last().map(|newest| newest.gpus.clone()).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A reading is pushed completely or not at all, so a poisoned list is still valid.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MachineSampler {
    fn drop(&mut self) {
        self.ask = None;
        // The thread ends after its current reading at the latest, which has a short timeout.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct OpenSource {
    source: ReadingSource,
    probe: PatientProbe<(Vec<GpuReading>, f64)>,
    /// The answer from opening, until it is used.
    first: Option<Vec<GpuReading>>,
    /// The GPUs of the last answer, which gaps refer to.
    known: Vec<GpuReading>,
    /// CPU seconds of the asking thread at its last answer.
    cost: f64,
}

impl OpenSource {
    /// `None`: no GPU answers.
    fn new(source: ReadingSource, gpus: &[u32]) -> Option<Self> {
        let gpus = gpus.to_vec();
        let make = move || {
            let mut ask = source.open(gpus);
            move || (ask(), own_cpu())
        };
        let (probe, (first, cost)) = PatientProbe::start(make, OPENING)?;
        let answered = first.iter().any(|gpu| gpu.state.is_ok());
        answered.then(|| Self { source, probe, known: first.clone(), first: Some(first), cost })
    }

    fn ask(&mut self) {
        if self.first.is_none() {
            self.probe.ask();
        }
    }

    fn read(&mut self, patience: Duration) -> Vec<GpuReading> {
        if let Some(first) = self.first.take() {
            return first;
        }
        let gap = |gpu: &GpuReading, gap: TelemetryGap| GpuReading { state: Err(gap), ..gpu.clone() };
        match self.probe.answer(patience) {
            None => self.known.iter().map(|gpu| gap(gpu, TelemetryGap::NoAnswer)).collect(),
            // A failed program names no GPU.
            Some((gpus, _)) if gpus.is_empty() => {
                self.known.iter().map(|gpu| gap(gpu, TelemetryGap::Refused)).collect()
            }
            Some((gpus, cost)) => {
                self.cost = cost;
                self.known.clone_from(&gpus);
                gpus
            }
        }
    }
}

struct Worker {
    interval: Duration,
    patience: Duration,
    host: HostReader,
    gpu: Option<OpenSource>,
    kept: Arc<Mutex<Kept>>,
    timeline: Option<Timeline>,
}

impl Worker {
    fn work(&mut self, began: Instant, asked: &Receiver<Sender<Vec<GpuReading>>>) {
        let mut next = began + self.interval;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match asked.recv_timeout(left) {
                Ok(tell) => {
                    let _ = tell.send(self.gpus());
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.read(Instant::now());
            next += self.interval;
            // Samples missed while the machine slept or was busy are not made up for.
            let now = Instant::now();
            while next <= now {
                next += self.interval;
            }
        }
    }

    fn gpus(&mut self) -> Vec<GpuReading> {
        self.gpu.as_mut().map(|gpu| gpu.read(self.patience)).unwrap_or_default()
    }

    fn read(&mut self, at: Instant) {
        let when = SystemTime::now();
        // The GPUs answer while processors and memory are read: waiting for them would cost another wake-up.
        self.gpu.iter_mut().for_each(OpenSource::ask);
        let (cpu, memory) = (self.host.cpu(), self.host.memory());
        let gpus = self.gpus();
        let cost = own_cpu() + self.gpu.as_ref().map_or(0.0, |gpu| gpu.cost);
        let reading = MachineReading { at, when, cpu, memory, gpus, cost };
        if let Some(timeline) = &mut self.timeline {
            timeline(&reading.record());
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.readings.push(reading);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reading_is_there_at_once_and_each_is_told_once() {
        let told = Arc::new(Mutex::new(0));
        let count = Arc::clone(&told);
        let timeline: Timeline = Box::new(move |_| *count.lock().unwrap() += 1);
        let began = Instant::now();
        let sampler = MachineSampler::of(Some(Duration::from_secs(3600)), None, Some(timeline));
        assert_eq!(*told.lock().unwrap(), 1);
        let now = Instant::now();
        sampler.begin(now);
        let window = sampler.window(now, (began, now));
        assert_eq!((window.samples, window.missed, window.interval), (1, 0, 3600.0));
        assert_eq!(sampler.gpus_now(), []);
    }

    #[test]
    fn readings_stay_while_a_process_needs_them() {
        let sampler = MachineSampler::of(Some(Duration::from_secs(3600)), None, None);
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let first = sampler.lock().readings[0].clone();
        sampler
            .lock()
            .readings
            .extend((1..6).map(|seconds| MachineReading { at: at(seconds), ..first.clone() }));
        let left = || sampler.lock().readings.len();
        sampler.begin(at(2));
        assert_eq!(left(), 4, "the one of its start, and those behind it");
        sampler.begin(at(4));
        assert_eq!(left(), 4, "the first process needs them");
        sampler.end(at(2));
        sampler.begin(at(5));
        assert_eq!(left(), 2);
    }
}
