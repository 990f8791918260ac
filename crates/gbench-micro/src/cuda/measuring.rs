//! Warms a card up until it settles, takes samples in groups, looks at the card between groups, and repeats the samples if the
//! card was throttled meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::energy;
use super::error::CudaError;
use super::floor::shown;
use super::hip;
use super::sampler::{Sampler, TimedSample};
use super::throttle::MeasuringAttempt;
use crate::channel::Channel;
use crate::pace::Limit;
use crate::spec::{MetricSpec, MicroError};
use crate::throttle_state::{ThrottleLook, ThrottleState};
use gbench_model::line::{Event, Request};
use gbench_model::{Better, ENERGY, SM_CLOCK, Stage};
use gbench_stats as stats;

/// The metrics of every kernel.
pub(super) static METRICS: [MetricSpec; 3] = [
    MetricSpec { name: "time", unit: "s", better: Better::Lower, threshold: 0.02, judged: true },
    MetricSpec { name: "cycles", unit: "cycles", better: Better::Lower, threshold: 0.02, judged: false },
    MetricSpec { name: SM_CLOCK, unit: "MHz", better: Better::Higher, threshold: 0.02, judged: false },
];
/// Times of abandoned attempts: recorded, never judged.
static THROTTLED_TIME: MetricSpec =
    MetricSpec { name: "throttled_time", unit: "s", better: Better::Lower, threshold: 0.02, judged: false };

/// Of calls back to back, and so with whatever the call before left in the cache.
static CALL_ENERGY: MetricSpec =
    MetricSpec { name: ENERGY, unit: "J", better: Better::Lower, threshold: 0.05, judged: false };

/// Samples between two looks at the card.
const GROUP: u32 = 10;
/// Total attempts, and seconds of rest before the second, which grow with each.
const MAX_ATTEMPTS: u32 = 3;
const REST: f64 = 0.5;
/// Least and most seconds of warm-up on the device, unless the request specifies it.
const WARM: f64 = 0.3;
const MAX_WARM: f64 = 3.0;
/// The last samples whose spread and clock show whether the card has settled, and the allowed spread.
const WINDOW: usize = 10;
const SETTLED: f64 = 0.01;
/// How far the time of the whole device may exceed that of the events, as a share and in seconds.
const MAX_UNSEEN: f64 = 0.5;
const UNSEEN_SECONDS: f64 = 2e-3;
/// Attempts in which it must exceed it: as many as fit into a time that is longer than a quota takes the processor away.
const MIN_CHECKS: u32 = 3;
const MAX_CHECKS: u32 = 100;
const CHECKS_TIME: Duration = Duration::from_secs(1);

/// Measures the work that `call` queues, several calls per sample: warm-up, measurement and check of the events, up to the
/// stage `verify`. Returns the median seconds of a call.
pub(super) fn measure(
    request: &Request,
    channel: &mut Channel,
    mut look: Option<ThrottleLook>,
    (sampler, calls): (&mut Sampler, u32),
    mut call: impl FnMut(u32) -> Result<(), CudaError>,
) -> Result<f64, MicroError> {
    sampler.load(calls, &mut call)?;
    let (settled, warm) = warm_up(request, sampler, calls, &mut call)?;
    channel.stage(Stage::Measure)?;
    let mut state = || look.as_mut().and_then(|look| look());
    let mut attempts = 1;
    let attempt = if request.turns {
        let mut attempt = MeasuringAttempt::after(&warm, 0.0);
        while let Some(iterations) = channel.turn()? {
            sampler.warm_again(calls, &mut call)?;
            group(&mut attempt, iterations, sampler, calls, &mut call, &mut state)?;
        }
        attempt
    } else {
        let mut attempt = MeasuringAttempt::after(&warm, 0.0);
        loop {
            samples(request, &mut attempt, sampler, calls, (&mut call, &mut state))?;
            if !attempt.is_spoilt() || attempts == MAX_ATTEMPTS {
                break attempt;
            }
            attempt.samples.iter().for_each(|sample| channel.record(&THROTTLED_TIME, sample.seconds));
            thread::sleep(Duration::from_secs_f64(REST * f64::from(attempts)));
            attempts += 1;
            attempt = attempt.again();
            sampler.load(calls, &mut call)?;
        }
    };
    for sample in &attempt.samples {
        channel.record(&METRICS[0], sample.seconds);
    }
    if let Some(clocks) = clocks(&attempt.samples) {
        for (sample, clock) in attempt.samples.iter().zip(clocks) {
            channel.record(&METRICS[1], sample.seconds * clock);
            channel.record(&METRICS[2], clock / 1e6);
        }
    }
    let throttled = attempt.throttled();
    channel.notes([
        ("calls_per_sample", json!(calls)),
        ("settled", json!(settled)),
        ("held_back", json!(sampler.holds)),
        ("attempts", json!(attempts)),
        ("throttled_samples", json!(throttled)),
        ("clock", json!(if hip::is_used() { "hip events" } else { "cuda events" })),
    ])?;
    if !throttled.is_empty() || !attempt.reasons.is_empty() {
        channel.send(&Event::Throttled {
            samples: throttled.len() as u32,
            of: attempt.samples.len() as u32,
            reasons: attempt.reasons.clone(),
            spoilt: attempt.is_spoilt(),
        })?;
    }
    channel.stage(Stage::Verify)?;
    check_events(sampler, calls, &mut call)?;
    let mut times: Vec<f64> = attempt.samples.iter().map(|sample| sample.seconds).collect();
    let seconds = stats::median(&mut times).unwrap_or(f64::NAN);
    // Once per case: it takes longer than many a measurement.
    if request.process == 0 && !request.turns && !request.cold {
        let mut joules = || state()?.joules;
        if let Some(joules) = energy::of_call(&mut joules, (sampler, seconds), &mut call)? {
            channel.record(&CALL_ENERGY, joules);
        }
    }
    Ok(seconds)
}

/// The clock of every sample, in order; `None` if one is missing: a missing number would make the case invalid, and a shorter
/// list would be ambiguous.
fn clocks(samples: &[TimedSample]) -> Option<Vec<f64>> {
    samples.iter().map(|sample| sample.clock).collect()
}

/// One attempt: as many samples as the request asks for, or as fit into its time.
fn samples(
    request: &Request,
    attempt: &mut MeasuringAttempt,
    sampler: &mut Sampler,
    calls: u32,
    (call, state): (
        &mut impl FnMut(u32) -> Result<(), CudaError>,
        &mut impl FnMut() -> Option<ThrottleState>,
    ),
) -> Result<(), MicroError> {
    match Limit::of_measuring(request) {
        Limit::Turns(iterations) => {
            let mut left = iterations;
            while left > 0 {
                let now = left.min(GROUP);
                group(attempt, now, sampler, calls, call, state)?;
                left -= now;
            }
        }
        limit => limit.repeat(|| group(attempt, GROUP, sampler, calls, call, state))?,
    }
    Ok(())
}

fn group(
    attempt: &mut MeasuringAttempt,
    samples: u32,
    sampler: &mut Sampler,
    calls: u32,
    call: &mut impl FnMut(u32) -> Result<(), CudaError>,
    state: &mut impl FnMut() -> Option<ThrottleState>,
) -> Result<(), MicroError> {
    if attempt.last_look.is_none() {
        attempt.last_look = state();
    }
    let taken =
        (0..samples).map(|_| sampler.sample(calls, &mut *call)).collect::<Result<Vec<TimedSample>, _>>()?;
    attempt.add(taken, state());
    Ok(())
}

/// Runs until the last samples agree and the clock is stable. Returns whether that was reached, and the last samples. If the
/// request specifies the warm-up, stability is not required.
fn warm_up(
    request: &Request,
    sampler: &mut Sampler,
    calls: u32,
    call: &mut impl FnMut(u32) -> Result<(), CudaError>,
) -> Result<(Option<bool>, Vec<TimedSample>), MicroError> {
    let asked = Limit::of_warmup(request);
    let says_how_long =
        request.burnin > 0.0 || request.cold || request.pinned.iter().any(|it| it == "warmup");
    let mut taken: Vec<TimedSample> = Vec::new();
    let last = |taken: &[TimedSample]| taken[taken.len().saturating_sub(WINDOW)..].to_vec();
    if says_how_long {
        asked.repeat(|| {
            taken.push(sampler.sample(calls, &mut *call)?);
            Ok(())
        })?;
        return Ok((None, last(&taken)));
    }
    let begun = Instant::now();
    // By the device's clock if there is one, because the host may have waited for others.
    let mut first: Option<u64> = None;
    loop {
        let sample = sampler.sample(calls, &mut *call)?;
        if sample.ended > 0 {
            first.get_or_insert(sample.ended);
        }
        let on_device = first.filter(|_| sample.ended > 0).map(|first| sample.ended.saturating_sub(first));
        taken.push(sample);
        let spent = on_device.map_or(begun.elapsed().as_secs_f64(), |nanoseconds| nanoseconds as f64 / 1e9);
        let enough = taken.len() >= WINDOW.max(request.warmup as usize) && spent >= WARM;
        if enough && is_settled(&last(&taken)) {
            return Ok((Some(true), last(&taken)));
        }
        if spent >= MAX_WARM || begun.elapsed().as_secs_f64() >= 2.0 * MAX_WARM {
            return Ok((Some(false), last(&taken)));
        }
    }
}

/// Times and clocks vary by at most a hundredth, as coefficients of variation.
fn is_settled(samples: &[TimedSample]) -> bool {
    let times: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let clocks: Vec<f64> = samples.iter().filter_map(|sample| sample.clock).collect();
    variation(&times) <= SETTLED && variation(&clocks) <= SETTLED
}

fn variation(values: &[f64]) -> f64 {
    stats::sample_stddev(values).zip(stats::mean(values)).map_or(0.0, |(deviation, mean)| deviation / mean)
}

/// Compares the events with the time until the whole device is idle: work outside of the stream is not in the events.
fn check_events(
    sampler: &mut Sampler,
    calls: u32,
    call: &mut impl FnMut(u32) -> Result<(), CudaError>,
) -> Result<(), MicroError> {
    let (events, device) = likeliest(|| sampler.events_and_device(calls, &mut *call))?;
    if !is_all_seen((events, device)) {
        return Err(MicroError::Impossible(format!(
            "the device was at work for {} and the events saw {}: part of the work is outside of what is timed",
            shown(device),
            shown(events),
        )));
    }
    Ok(())
}

fn is_all_seen((events, device): (f64, f64)) -> bool {
    device <= events * (1.0 + MAX_UNSEEN) + UNSEEN_SECONDS
}

/// The first attempt whose events saw all, or else the last. Work outside of the stream is in every attempt. Delays are not: of a
/// host that was busy with others, or of a system that passes launches on late.
fn likeliest(mut attempt: impl FnMut() -> Result<(f64, f64), CudaError>) -> Result<(f64, f64), CudaError> {
    let (begun, mut attempts) = (Instant::now(), 0);
    loop {
        let times = attempt()?;
        attempts += 1;
        let is_last = attempts >= MAX_CHECKS || (attempts >= MIN_CHECKS && begun.elapsed() >= CHECKS_TIME);
        if is_all_seen(times) || is_last {
            return Ok(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: TimedSample = TimedSample { seconds: 1.0, clock: None, ended: 0 };

    #[test]
    fn settled_are_times_and_clocks_that_stand_still() {
        let in_time = |times: [f64; 3]| times.map(|seconds| TimedSample { seconds, ..SAMPLE });
        assert!(is_settled(&in_time([1.0, 1.001, 0.999])) && !is_settled(&in_time([1.0, 1.1, 0.9])));
        assert!(!is_settled(&[1e9, 1.5e9].map(|clock| TimedSample { clock: Some(clock), ..SAMPLE })));
    }

    #[test]
    fn b35_a_host_that_is_late_now_and_then_invalidates_nothing() {
        let mut attempts = 0;
        let late = |first: u32, attempts: &mut u32| {
            *attempts += 1;
            Ok((1e-3, if *attempts < first { 0.1 } else { 1.2e-3 }))
        };
        assert!(is_all_seen(likeliest(|| late(8, &mut attempts)).unwrap()));
        assert_eq!(attempts, 8);
        // Work on another stream is there each time.
        attempts = 0;
        assert!(!is_all_seen(likeliest(|| late(u32::MAX, &mut attempts)).unwrap()));
        assert!((MIN_CHECKS..=MAX_CHECKS).contains(&attempts));
    }

    #[test]
    fn a_sample_without_a_clock_leaves_all_clocks_out() {
        let of = |two: [Option<f64>; 2]| clocks(&two.map(|clock| TimedSample { clock, ..SAMPLE }));
        assert_eq!(of([Some(1e9), Some(2e9)]), Some(vec![1e9, 2e9]));
        assert_eq!(of([Some(1e9), None]), None);
    }
}
