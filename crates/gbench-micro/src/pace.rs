//! When to stop, and how long a sample must be.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::channel::Channel;
use super::host;
use super::spec::{MetricSpec, MicroError, allocate};
use gbench_model::Stage;
use gbench_model::line::Request;

/// Clock ticks that a sample spans at least: the clock then adds no more than 0.1 %.
const MIN_TICKS: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    Turns(u32),
    Seconds(f64),
}

impl Limit {
    /// No warm-up if the request wants the machine cold.
    pub(super) fn of_warmup(request: &Request) -> Self {
        match request {
            _ if request.cold => Limit::Turns(0),
            _ if request.burnin > 0.0 => Limit::Seconds(request.burnin),
            _ => Limit::Turns(request.warmup),
        }
    }

    /// Always at least one turn.
    pub(super) fn of_measuring(request: &Request) -> Self {
        if request.duration > 0.0 {
            Limit::Seconds(request.duration)
        } else {
            Limit::Turns(request.iterations.max(1))
        }
    }

    /// True if another turn follows after `turns` turns that took `spent`.
    fn allows_another(self, turns: u32, spent: Duration) -> bool {
        match self {
            Limit::Turns(limit) => turns < limit,
            Limit::Seconds(_) if turns == 0 => true,
            // Ends at the turn that is nearest to the limit, which may be before it.
            Limit::Seconds(limit) => {
                let spent = spent.as_secs_f64();
                spent + 0.5 * spent / f64::from(turns) <= limit
            }
        }
    }

    pub(super) fn repeat(self, mut turn: impl FnMut() -> Result<(), MicroError>) -> Result<(), MicroError> {
        let begun = Instant::now();
        let mut turns = 0;
        while self.allows_another(turns, begun.elapsed()) {
            turn()?;
            turns += 1;
        }
        Ok(())
    }
}

/// Warms up, then measures, in turns if the request asks for them, and begins to verify: `turn` does one iteration and returns
/// a value for each metric, in their order.
pub(super) fn measure<const N: usize>(
    request: &Request,
    channel: &mut Channel,
    metrics: &'static [MetricSpec; N],
    mut turn: impl FnMut() -> Result<[f64; N], MicroError>,
) -> Result<(), MicroError> {
    channel.stage(Stage::Warmup)?;
    Limit::of_warmup(request).repeat(|| turn().map(drop))?;
    channel.stage(Stage::Measure)?;
    let mut iteration = |channel: &mut Channel| -> Result<(), MicroError> {
        for (metric, value) in metrics.iter().zip(turn()?) {
            channel.record(metric, value);
        }
        channel.send_if_due()
    };
    if request.turns {
        while let Some(iterations) = channel.turn()? {
            for _ in 0..iterations {
                iteration(channel)?;
            }
        }
    } else {
        Limit::of_measuring(request).repeat(|| iteration(channel))?;
    }
    channel.stage(Stage::Verify)
}

/// Times work that may be too short for the clock.
pub(super) struct Stopwatch {
    least: Duration,
}

impl Stopwatch {
    pub(super) fn new() -> Self {
        Self { least: tick() * MIN_TICKS }
    }

    /// Seconds of one call of `work`, which is called until 1,000 clock ticks have passed.
    pub(super) fn seconds_per_call(&self, mut work: impl FnMut()) -> f64 {
        let begun = Instant::now();
        let mut calls = 0.0;
        loop {
            work();
            calls += 1.0;
            let spent = begun.elapsed();
            if spent >= self.least {
                return spent.as_secs_f64() / calls;
            }
        }
    }
}

/// The smallest observed step of the clock, which includes the cost of reading it.
fn tick() -> Duration {
    let mut last = Instant::now();
    let mut smallest = Duration::MAX;
    for _ in 0..1000 {
        let now = Instant::now();
        if now > last {
            smallest = smallest.min(now - last);
            last = now;
        }
    }
    // A clock that never moved in a thousand readings has steps of about a jiffy.
    smallest.min(Duration::from_millis(1))
}

/// Empties the processor's caches between samples if the request wants the machine cold.
pub(super) struct Evictor {
    /// Twice the last-level cache; empty: nothing to do.
    buffer: Vec<u64>,
}

impl Evictor {
    pub(super) fn new(request: &Request) -> Result<Self, MicroError> {
        let length = if request.cold { 2 * host::cache().bytes / size_of::<u64>() } else { 0 };
        Ok(Self { buffer: allocate("a buffer that empties the caches", length, 0)? })
    }

    pub(super) fn evict(&mut self) {
        const LINE: usize = 8;
        for word in self.buffer.iter_mut().step_by(LINE) {
            *word = word.wrapping_add(1);
        }
        black_box(&mut self.buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalog, workload};

    /// Turns that a limit allows if each takes `seconds`, by a scripted clock.
    fn turns(limit: Limit, seconds: f64) -> u32 {
        let ends =
            |turns: &u32| !limit.allows_another(*turns, Duration::from_secs_f64(seconds * f64::from(*turns)));
        (0..).find(ends).unwrap()
    }

    fn count(limit: Limit) -> u32 {
        let mut count = 0;
        let turn = || {
            count += 1;
            Ok(())
        };
        limit.repeat(turn).unwrap();
        count
    }

    #[test]
    fn a_time_bound_run_ends_at_the_turn_nearest_to_its_limit() {
        let in_a_second = [0.011, 0.3, 0.28, 7.0].map(|seconds| turns(Limit::Seconds(1.0), seconds));
        assert_eq!(in_a_second, [91, 3, 4, 1]);
        assert_eq!(turns(Limit::Turns(5), 7.0), 5);
    }

    #[test]
    fn cold_means_no_warm_up_no_iterations_still_mean_one_and_burn_in_counts_seconds() {
        let mut request = workload::request(&catalog()[0], |_| None).unwrap();
        request.burnin = 2.0;
        assert_eq!(Limit::of_warmup(&request), Limit::Seconds(2.0));
        request.burnin = 0.0;
        request.warmup = 4;
        assert_eq!(count(Limit::of_warmup(&request)), 4);
        request.cold = true;
        assert_eq!(count(Limit::of_warmup(&request)), 0);
        request.iterations = 0;
        assert_eq!(count(Limit::of_measuring(&request)), 1);
    }

    #[test]
    fn short_work_is_repeated_until_the_clock_can_see_it() {
        let watch = Stopwatch { least: Duration::from_millis(2) };
        let calls_of_nothing = || {
            let mut calls = 0;
            let seconds = watch.seconds_per_call(|| calls += 1);
            assert!(seconds * f64::from(calls) >= 0.002);
            calls
        };
        // An interrupted attempt makes fewer calls: the interruption is time, too.
        assert!((0..10_000).any(|_| calls_of_nothing() > 100), "a few calls of nothing took 2 ms");
    }
}
