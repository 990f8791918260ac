//! Takes samples: a pair of events around calls, queued after a kernel that blocks the device until everything is queued, so
//! that the sample excludes launch time. It also reads the clock of the multiprocessors.

use std::time::Instant;

use super::buffers::{Buffer, SharedWords};
use super::device::{CudaDevice, StreamEvent};
use super::error::CudaError;
use super::modules::{Function, Parameters};
use super::support::Support;
use gbench_model::KernelLaunch;
use gbench_model::line::Request;

type Result<T> = std::result::Result<T, CudaError>;

/// Least seconds of a sample: a hundred steps of the events' resolution on most cards (0.5 µs by NVIDIA's documentation of
/// `cuEventElapsedTime`, a microsecond on some), so that the resolution adds at most a hundredth.
const MIN_SECONDS: f64 = 100e-6;
/// Seconds of single calls that determine the time of a call: a card at rest is slow at first.
const PILOT: f64 = 0.05;
/// The last of these single calls, the shortest of which is used.
const PILOT_CALLS: usize = 5;
/// Attempts to take a sample on a blocked device before it is taken without blocking.
const HOLDS: u32 = 3;
/// The most calls of one sample. The device queues about a thousand launches. With a full queue and a blocked device, the host
/// and the device would wait for each other.
const MAX_CALLS: u32 = 256;
/// Nanoseconds after which the device unblocks itself, whatever the host does.
const HOLD_LIMIT: u64 = 200_000_000;
/// Seconds of calls before each sample under a sustained load, in which the host queues the sample. The gap between two samples
/// is a small share of it.
const LEAD: f64 = 0.02;
/// Words of the shared memory: the device may continue, and it unblocked itself.
const GO: usize = 0;
const WENT_ON: usize = 1;
/// Words of a clock stamp: cycles, nanoseconds, and whether they were written.
const STAMP_WORDS: usize = 3;
/// Launch of the kernel that overwrites the cache.
const FLUSH: KernelLaunch = KernelLaunch::new([1024, 1, 1], [256, 1, 1], 0);
const ONE: KernelLaunch = KernelLaunch::new([1, 1, 1], [1, 1, 1], 0);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimedSample {
    /// Seconds of one call.
    pub seconds: f64,
    /// Hz of the multiprocessors during the calls; `None` if unknown.
    pub clock: Option<f64>,
    /// End by the device's clock, in nanoseconds; 0 if unknown.
    pub ended: u64,
}

pub(super) struct Sampler {
    gpu: CudaDevice,
    hold: Option<Function>,
    stamp: Option<Function>,
    stamp_launch: KernelLaunch,
    words: SharedWords,
    /// Before and after a sample, in device memory; the kernel decides which of its blocks writes.
    stamps: [Buffer; 2],
    begin: StreamEvent,
    end: StreamEvent,
    flush: Option<Flush>,
    /// The device is blocked during queueing; disabled once it unblocked itself.
    pub holds: bool,
    /// Seconds for which the card is loaded before samples; `None`: samples are bursts.
    pub sustained: Option<f64>,
    /// Calls before each sample, once the card is loaded.
    lead: u32,
}

/// Overwrites the cache, and then fills it with lines of another buffer, which are only read: lines that were written would
/// be written back while the calls are timed.
struct Flush {
    written: Buffer,
    /// None on AMD's cards, where a memset writes and nothing reads.
    kernels: Option<FlushKernels>,
}

struct FlushKernels {
    fill: Function,
    sweep: Function,
    read: Buffer,
}

impl Flush {
    fn new(gpu: &CudaDevice, support: Option<&Support>) -> Result<Self> {
        // Twice the cache, so that all previous contents are evicted.
        let buffer = || gpu.allocate(2 * gpu.facts().l2_bytes);
        let kernels = |support: &Support| {
            let (fill, sweep) = (support.function("gb_fill")?, support.function("gb_sweep")?);
            let kernels = FlushKernels { fill, sweep, read: buffer()? };
            gpu.set(&kernels.read, 0)?;
            Ok::<_, CudaError>(kernels)
        };
        Ok(Self { written: buffer()?, kernels: support.map(kernels).transpose()? })
    }

    fn queue(&self, gpu: &CudaDevice) -> Result<()> {
        gpu.reset_persisting_l2();
        let Some(FlushKernels { fill, sweep, read }) = &self.kernels else {
            return gpu.set(&self.written, 0);
        };
        let words = ((self.written.bytes() / size_of::<u32>()) as u64).to_le_bytes();
        let written =
            Parameters::default().buffer(&self.written).value(&words).value(&0x5eed_u32.to_le_bytes());
        gpu.launch(fill, &FLUSH, &written)?;
        gpu.launch(sweep, &FLUSH, &Parameters::default().buffer(read).value(&words))
    }
}

impl Sampler {
    /// `support`: `None` on AMD's cards, for which there are no such kernels. `cold`: overwrite the cache before each sample.
    pub(super) fn new(gpu: &CudaDevice, support: Option<&Support>, cold: bool) -> Result<Self> {
        let flush = cold.then(|| Flush::new(gpu, support)).transpose()?;
        // More blocks than multiprocessors, so that one of them runs on the first.
        let blocks = 2 * gpu.facts().multiprocessors.max(1);
        Ok(Self {
            gpu: gpu.clone(),
            hold: support.map(|support| support.function("gb_spin")).transpose()?,
            stamp: support.map(|support| support.function("gb_stamp")).transpose()?,
            stamp_launch: KernelLaunch { grid: [blocks, 1, 1], ..ONE },
            words: gpu.shared_words(2)?,
            stamps: [
                gpu.allocate(STAMP_WORDS * size_of::<u64>())?,
                gpu.allocate(STAMP_WORDS * size_of::<u64>())?,
            ],
            begin: gpu.event()?,
            end: gpu.event()?,
            flush,
            holds: support.is_some(),
            sustained: None,
            lead: 0,
        })
    }

    /// The time of `calls` calls, each queued by `call`.
    pub(super) fn sample(
        &mut self,
        calls: u32,
        mut call: impl FnMut(u32) -> Result<()>,
    ) -> Result<TimedSample> {
        for _ in 0..HOLDS {
            if let Some(sample) = self.try_sample(calls, &mut call)? {
                return Ok(sample);
            }
        }
        // Something in the calls waits for the device, so it cannot be blocked.
        self.holds = false;
        self.sample(calls, call)
    }

    /// `None` if the blocked device unblocked itself: the host was too late, or a first launch loaded code.
    fn try_sample(
        &mut self,
        calls: u32,
        call: &mut impl FnMut(u32) -> Result<()>,
    ) -> Result<Option<TimedSample>> {
        let calls = calls.clamp(1, MAX_CALLS);
        self.words.set(GO, 0);
        self.words.set(WENT_ON, 0);
        for stamp in &self.stamps {
            self.gpu.set(stamp, 0)?;
        }
        if let Some(flush) = &self.flush {
            flush.queue(&self.gpu)?;
        }
        if let Some(hold) = self.hold.as_ref().filter(|_| self.holds) {
            let parameters = Parameters::default()
                .shared(&self.words, GO)
                .value(&HOLD_LIMIT.to_le_bytes())
                .shared(&self.words, WENT_ON);
            self.gpu.launch(hold, &ONE, &parameters)?;
        }
        // The device is always unblocked, even after an error.
        let queued = self.queue_lead(call).and_then(|()| self.queue_stamped(calls, call));
        self.words.set(GO, 1);
        let waited = self.gpu.wait();
        queued?;
        waited?;
        if self.words.get(WENT_ON) != 0 {
            return Ok(None);
        }
        let seconds = self.gpu.seconds_between(&self.begin, &self.end)? / f64::from(calls);
        let [first, last] = [read_stamp(&self.stamps[0])?, read_stamp(&self.stamps[1])?];
        Ok(Some(TimedSample { seconds, clock: clock(first, last), ended: last[1] }))
    }

    /// Keeps the card at work while the sample is queued.
    fn queue_lead(&self, call: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
        (0..self.lead).try_for_each(call)
    }

    /// With the clock on either side: neither the flush nor the wait is in it.
    fn queue_stamped(&self, calls: u32, call: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
        self.queue_stamp(&self.stamps[0])?;
        self.queue(calls, call)?;
        self.queue_stamp(&self.stamps[1])
    }

    fn queue(&self, calls: u32, call: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
        self.gpu.record(&self.begin)?;
        for number in 0..calls {
            call(number)?;
        }
        self.gpu.record(&self.end)
    }

    fn queue_stamp(&self, stamp: &Buffer) -> Result<()> {
        let Some(kernel) = &self.stamp else { return Ok(()) };
        self.gpu.launch(kernel, &self.stamp_launch, &Parameters::default().buffer(stamp))
    }

    /// Loads the card for the seconds of a sustained case. From then on it also works before each sample, and is blocked only if
    /// its calls are short. Does nothing for other cases.
    pub(super) fn load(&mut self, calls: u32, mut call: impl FnMut(u32) -> Result<()>) -> Result<()> {
        let Some(seconds) = self.sustained else { return Ok(()) };
        self.holds = false;
        self.lead = calls;
        let begun = Instant::now();
        while begun.elapsed().as_secs_f64() < seconds {
            let done = self.back_to_back(self.lead, &mut call)?;
            let each = self.gpu.seconds_between(&self.begin, &self.end)? / f64::from(done);
            self.lead = calls_within(LEAD, each);
        }
        // The queue holds too few calls of a short kernel to give the host its time.
        self.holds = self.lead == MAX_CALLS;
        Ok(())
    }

    /// Brings back into a hot cache what another process has evicted, or loads the card again.
    pub(super) fn warm_again(&mut self, calls: u32, call: impl FnMut(u32) -> Result<()>) -> Result<()> {
        if self.sustained.is_some() {
            self.load(calls, call)?;
        } else if self.flush.is_none() {
            self.back_to_back(calls, call)?;
        }
        Ok(())
    }

    /// Makes calls back to back, with nothing between them, and waits for the last. Returns their number.
    pub(super) fn back_to_back(
        &mut self,
        calls: u32,
        mut call: impl FnMut(u32) -> Result<()>,
    ) -> Result<u32> {
        let calls = calls.clamp(1, MAX_CALLS);
        self.queue(calls, &mut call)?;
        self.gpu.wait()?;
        Ok(calls)
    }

    /// One call without any other kernel: the cache is overwritten by a memset, which profilers do not take for a kernel.
    pub(super) fn call_alone(&self, call: impl FnOnce() -> Result<()>) -> Result<()> {
        if let Some(flush) = &self.flush {
            self.gpu.reset_persisting_l2();
            self.gpu.set(&flush.written, 0)?;
        }
        call()?;
        self.gpu.wait()
    }

    /// Seconds of `calls` calls by the events, and by the host's clock from their release until the device is idle. The device
    /// is never blocked here, so both begin with the first call.
    pub(super) fn events_and_device(
        &mut self,
        calls: u32,
        mut call: impl FnMut(u32) -> Result<()>,
    ) -> Result<(f64, f64)> {
        let calls = calls.clamp(1, MAX_CALLS);
        self.gpu.wait_for_device()?;
        let begun = Instant::now();
        self.queue(calls, &mut call)?;
        self.gpu.wait_for_device()?;
        let device = begun.elapsed().as_secs_f64();
        Ok((self.gpu.seconds_between(&self.begin, &self.end)?, device))
    }

    /// The number of calls that a sample needs for the clock's resolution, from single calls; one if the request wants
    /// everything cold.
    pub(super) fn calls_per_sample(
        &mut self,
        request: &Request,
        mut call: impl FnMut(u32) -> Result<()>,
    ) -> Result<u32> {
        let mut taken = Vec::new();
        let begun = Instant::now();
        while !request.cold && (taken.len() <= PILOT_CALLS || begun.elapsed().as_secs_f64() < PILOT) {
            taken.push(self.sample(1, &mut call)?.seconds);
            // The first launch loads the code.
            if taken.len() > 1 && taken[taken.len() - 1] >= MIN_SECONDS {
                return Ok(1);
            }
        }
        let last = &taken[taken.len().saturating_sub(PILOT_CALLS)..];
        Ok(last.iter().copied().reduce(f64::min).map_or(1, calls_for))
    }
}

fn read_stamp(stamp: &Buffer) -> Result<[u64; STAMP_WORDS]> {
    let bytes = stamp.read()?;
    let mut words =
        bytes.chunks_exact(size_of::<u64>()).filter_map(|word| word.try_into().ok().map(u64::from_le_bytes));
    Ok(std::array::from_fn(|_| words.next().unwrap_or(0)))
}

fn calls_for(seconds: f64) -> u32 {
    calls_within(MIN_SECONDS, seconds)
}

/// The calls of so many seconds each that fill a span, as far as they fit into the queue.
fn calls_within(span: f64, seconds: f64) -> u32 {
    let calls = (span / seconds.max(span / f64::from(MAX_CALLS))).ceil();
    (calls as u32).clamp(1, MAX_CALLS)
}

/// Cycles per second between two stamps of cycles, nanoseconds and whether they were written; `None` if they are unusable.
fn clock(first: [u64; 3], last: [u64; 3]) -> Option<f64> {
    let written = first[2] != 0 && last[2] != 0;
    let cycles = last[0].checked_sub(first[0]).filter(|cycles| *cycles > 0)?;
    let nanoseconds = last[1].checked_sub(first[1]).filter(|nanoseconds| *nanoseconds > 0)?;
    written.then(|| cycles as f64 / nanoseconds as f64 * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_spans_a_hundred_microseconds_and_fits_the_queue() {
        assert_eq!([1e-3, 100e-6, 30e-6, 0.0].map(calls_for), [1, 1, 4, MAX_CALLS]);
    }

    #[test]
    fn the_clock_is_cycles_over_time_and_unknown_where_a_stamp_is_missing() {
        assert_eq!(clock([1000, 50, 1], [1000 + 198_000, 50 + 100_000, 1]), Some(1.98e9));
        for (from, to) in
            [([1000, 50, 0], [2000, 60, 1]), ([1000, 50, 1], [2000, 50, 1]), ([2000, 50, 1], [1000, 60, 1])]
        {
            assert_eq!(clock(from, to), None);
        }
    }
}
