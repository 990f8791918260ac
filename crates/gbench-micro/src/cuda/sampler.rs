//! Takes samples: a pair of events around calls, behind a kernel that holds the device back until all of it is queued, so that the
//! time of launching is no part of it; and the clock that the multiprocessors ran at meanwhile.

use std::time::Instant;

use super::device::{Buffer, CudaDevice, Function, Parameters, SharedWords, StreamEvent};
use super::error::CudaError;
use super::support::Support;
use gbench_model::KernelLaunch;
use gbench_model::line::Request;

type Result<T> = std::result::Result<T, CudaError>;

/// Seconds that a sample spans at least: a hundred of the steps that events tell apart on most cards (0.5 µs by NVIDIA's documentation of
/// `cuEventElapsedTime`, a whole microsecond on some), so that they add a hundredth at most.
const MIN_SECONDS: f64 = 100e-6;
/// Seconds for which single calls are made to find out how long one takes: a card at rest runs its first ones slowly.
const PILOT: f64 = 0.05;
/// The last of these single calls, of which the shortest counts.
const PILOT_CALLS: usize = 5;
/// Times that a sample is tried behind a held device before it is taken without.
const HOLDS: u32 = 3;
/// Calls of one sample. The device takes about a thousand launches into its queue; with the queue full and the device held back,
/// the host would wait for a launch and the device for the host.
const MAX_CALLS: u32 = 256;
/// Nanoseconds after which the device goes on by itself, whatever the host does.
const HOLD_LIMIT: u64 = 200_000_000;
/// Words of the shared memory: whether the device may go on, and whether it went on by itself.
const GO: usize = 0;
const WENT_ON: usize = 1;
/// Words of a clock stamp: cycles, nanoseconds, whether they were written.
const STAMP_WORDS: usize = 3;
/// Threads of a block and blocks of the kernel that overwrites the cache.
const FLUSH: KernelLaunch = KernelLaunch { grid: [1024, 1, 1], block: [256, 1, 1], shared_bytes: 0 };
const ONE: KernelLaunch = KernelLaunch { grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0 };

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimedSample {
    /// Of one call.
    pub seconds: f64,
    /// Of the multiprocessors in Hz, over the sample and what was queued before it; `None` where the device did not say.
    pub clock: Option<f64>,
    /// By the device's own clock, in nanoseconds, at its end; 0 where it did not say.
    pub ended: u64,
}

/// Takes samples of one device.
pub(super) struct Sampler {
    gpu: CudaDevice,
    hold: Function,
    stamp: Function,
    stamp_launch: KernelLaunch,
    words: SharedWords,
    /// Before and after a sample, in device memory: the kernel settles there which of its blocks writes.
    stamps: [Buffer; 2],
    begin: StreamEvent,
    end: StreamEvent,
    flush: Option<(Function, Buffer)>,
    /// The device is held back; given up once it went on by itself.
    pub holds: bool,
}

impl Sampler {
    /// `cold`: overwrite the cache before each sample.
    pub(super) fn new(gpu: &CudaDevice, support: &Support, cold: bool) -> Result<Self> {
        // Twice the cache: what lay there is then elsewhere for certain.
        let flush = || Ok((support.function("gb_fill")?, gpu.allocate(2 * gpu.facts().l2_bytes)?));
        let flush = cold.then(flush).transpose()?;
        // A block for each multiprocessor and some to spare, so that one of them is on the first.
        let blocks = 2 * gpu.facts().multiprocessors.max(1);
        Ok(Self {
            gpu: gpu.clone(),
            hold: support.function("gb_spin")?,
            stamp: support.function("gb_stamp")?,
            stamp_launch: KernelLaunch { grid: [blocks, 1, 1], ..ONE },
            words: gpu.shared_words(2)?,
            stamps: [
                gpu.allocate(STAMP_WORDS * size_of::<u64>())?,
                gpu.allocate(STAMP_WORDS * size_of::<u64>())?,
            ],
            begin: gpu.event()?,
            end: gpu.event()?,
            flush,
            holds: true,
        })
    }

    /// The time of `calls` calls, of which `call` queues each.
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
        // Something in the calls waits for the device: it cannot be held back.
        self.holds = false;
        self.sample(calls, call)
    }

    /// `None` where the device was held back and went on by itself: the host came too late, or a first launch loaded code.
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
        self.queue_stamp(&self.stamps[0])?;
        if let Some((fill, buffer)) = &self.flush {
            self.gpu.reset_persisting_l2();
            let words = (buffer.bytes() / size_of::<u32>()) as u64;
            let parameters = Parameters::default()
                .buffer(buffer)
                .scalar(&words.to_le_bytes())
                .scalar(&0x5eed_u32.to_le_bytes());
            self.gpu.launch(fill, &FLUSH, &parameters)?;
        }
        if self.holds {
            let parameters = Parameters::default()
                .shared(&self.words, GO)
                .scalar(&HOLD_LIMIT.to_le_bytes())
                .shared(&self.words, WENT_ON);
            self.gpu.launch(&self.hold, &ONE, &parameters)?;
        }
        // Whatever fails while the device is held back, it is let go.
        let queued = self.queue(calls, call);
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

    fn queue(&self, calls: u32, call: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
        self.gpu.record(&self.begin)?;
        for number in 0..calls {
            call(number)?;
        }
        self.gpu.record(&self.end)?;
        self.queue_stamp(&self.stamps[1])
    }

    fn queue_stamp(&self, stamp: &Buffer) -> Result<()> {
        self.gpu.launch(&self.stamp, &self.stamp_launch, &Parameters::default().buffer(stamp))
    }

    /// Seconds of `calls` calls by the events, and by the host's clock from their release until the whole device is at rest. The
    /// device is never held back here, so that both begin with the first call.
    pub(super) fn events_and_device(
        &mut self,
        calls: u32,
        mut call: impl FnMut(u32) -> Result<()>,
    ) -> Result<(f64, f64)> {
        let calls = calls.clamp(1, MAX_CALLS);
        let mut nearest: Option<(f64, f64)> = None;
        // The host may be busy with others; the device is not.
        for _ in 0..3 {
            self.gpu.wait_for_device()?;
            let begun = Instant::now();
            self.gpu.record(&self.begin)?;
            for number in 0..calls {
                call(number)?;
            }
            self.gpu.record(&self.end)?;
            self.gpu.wait_for_device()?;
            let device = begun.elapsed().as_secs_f64();
            let events = self.gpu.seconds_between(&self.begin, &self.end)?;
            if nearest.is_none_or(|(before_events, before)| device - events < before - before_events) {
                nearest = Some((events, device));
            }
        }
        Ok(nearest.unwrap_or_default())
    }

    /// How many calls a sample needs for the clock to tell, by single calls; one where the request wants everything cold.
    pub(super) fn calls_per_sample(
        &mut self,
        request: &Request,
        mut call: impl FnMut(u32) -> Result<()>,
    ) -> Result<u32> {
        let mut taken = Vec::new();
        let begun = Instant::now();
        while !request.cold && (taken.len() <= PILOT_CALLS || begun.elapsed().as_secs_f64() < PILOT) {
            taken.push(self.sample(1, &mut call)?.seconds);
            // Its first launch loads the code.
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
    let calls = (MIN_SECONDS / seconds.max(MIN_SECONDS / f64::from(MAX_CALLS))).ceil();
    (calls as u32).clamp(1, MAX_CALLS)
}

/// Cycles a second between two stamps of cycles, nanoseconds and whether they were written; `None` where they tell nothing.
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
