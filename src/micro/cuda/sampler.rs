//! Takes samples: a pair of events around calls, behind a kernel that holds the device back until all of it is queued, so that the
//! time of launching is no part of it; and the clock that the multiprocessors ran at meanwhile.

use std::time::Instant;

use super::device::{Buffer, CudaDevice, Function, Module, Parameters, SharedWords, StreamEvent};
use super::error::CudaError;
use crate::model::KernelLaunch;

type Result<T> = std::result::Result<T, CudaError>;

/// Seconds that a pair of events tells apart, by NVIDIA's documentation of `cuEventElapsedTime`.
const EVENT_TICK: f64 = 0.5e-6;
/// Ticks that a sample spans at least, so that the clock adds a twentieth at most.
const MIN_TICKS: f64 = 20.0;
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
    /// `support`: the kernels of `kernels/support.cu`. `cold`: overwrite the cache before each sample.
    pub(super) fn new(gpu: &CudaDevice, support: &Module, cold: bool) -> Result<Self> {
        let l2_bytes = gpu.facts().l2_bytes;
        let flush = if cold && l2_bytes > 0 {
            // Twice the cache: what lay there is then elsewhere for certain.
            let function = support.function("gb_fill", vec![8, 8, 4], 0)?;
            Some((function, gpu.allocate(2 * l2_bytes)?))
        } else {
            None
        };
        // A block for each multiprocessor and some to spare, so that one of them is on the first.
        let blocks = 2 * gpu.facts().multiprocessors.max(1);
        Ok(Self {
            gpu: gpu.clone(),
            hold: support.function("gb_spin", vec![8, 8, 8], 0)?,
            stamp: support.function("gb_stamp", vec![8], 0)?,
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

    /// Whether the cache is overwritten before each sample.
    pub(super) fn is_cold(&self) -> bool {
        self.flush.is_some()
    }

    /// The time of `calls` calls, of which `call` queues each.
    pub(super) fn sample(
        &mut self,
        calls: u32,
        mut call: impl FnMut(u32) -> Result<()>,
    ) -> Result<TimedSample> {
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
        let queued = self.queue(calls, &mut call);
        self.words.set(GO, 1);
        let waited = self.gpu.wait();
        queued?;
        waited?;
        if self.words.get(WENT_ON) != 0 {
            // Something in the calls waits for the device, as a first launch does that loads code. Once more as it is.
            self.holds = false;
            return self.sample(calls, call);
        }
        let seconds = self.gpu.seconds_between(&self.begin, &self.end)? / f64::from(calls);
        let [first, last] = [read_stamp(&self.stamps[0])?, read_stamp(&self.stamps[1])?];
        Ok(TimedSample { seconds, clock: clock(first, last), ended: last[1] })
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

    /// How many calls a sample needs for the clock to tell: by the shortest of some single calls.
    pub(super) fn calls_per_sample(&mut self, mut call: impl FnMut(u32) -> Result<()>) -> Result<u32> {
        // The first launch of a kernel loads its code.
        self.sample(1, &mut call)?;
        // That may have taken longer than the device waits.
        self.holds = true;
        let mut shortest = f64::INFINITY;
        for _ in 0..5 {
            shortest = shortest.min(self.sample(1, &mut call)?.seconds);
        }
        Ok(calls_for(shortest))
    }
}

fn read_stamp(stamp: &Buffer) -> Result<[u64; STAMP_WORDS]> {
    let bytes = stamp.read()?;
    let mut words =
        bytes.chunks_exact(size_of::<u64>()).filter_map(|word| word.try_into().ok().map(u64::from_le_bytes));
    Ok(std::array::from_fn(|_| words.next().unwrap_or(0)))
}

fn calls_for(seconds: f64) -> u32 {
    let calls = (MIN_TICKS * EVENT_TICK / seconds.max(EVENT_TICK / 100.0)).ceil();
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
    fn a_sample_spans_twenty_ticks_and_fits_the_queue() {
        assert_eq!(calls_for(1e-3), 1);
        assert_eq!(calls_for(10e-6), 1);
        assert_eq!(calls_for(3e-6), 4);
        assert_eq!(calls_for(0.0), MAX_CALLS);
    }

    #[test]
    fn the_clock_is_cycles_over_time_and_unknown_where_a_stamp_is_missing() {
        assert_eq!(clock([1000, 50, 1], [1000 + 198_000, 50 + 100_000, 1]), Some(1.98e9));
        assert_eq!(clock([1000, 50, 0], [2000, 60, 1]), None);
        assert_eq!(clock([1000, 50, 1], [2000, 50, 1]), None);
        assert_eq!(clock([2000, 50, 1], [1000, 60, 1]), None);
    }
}
