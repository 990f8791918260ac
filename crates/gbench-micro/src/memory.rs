//! `mem_bandwidth` and `mem_latency`: bandwidth and latency of memory for one core.

use std::hint::black_box;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::json;

use super::channel::Channel;
use super::host;
use super::pace::{Stopwatch, measure};
use super::spec::{Defaults, MetricSpec, MicroError, allocate};
use super::workload::{Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{Better, Component};

pub(super) const BANDWIDTH: Workload = Workload {
    name: "mem_bandwidth",
    description: "STREAM copy, scale, add and triad on one core, over arrays of four times the last-level cache",
    components: &[Component::Ram],
    metrics: &STREAM,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 5, warmup: 1 },
    run: WorkloadRun::Host(bandwidth),
};

pub(super) const LATENCY: Workload = Workload {
    name: "mem_latency",
    description: "Chase of pointers in random order through four times the last-level cache, a line a load",
    components: &[Component::Ram],
    metrics: &CHASE,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 20, warmup: 2 },
    run: WorkloadRun::Host(latency),
};

const fn rate(name: &'static str) -> MetricSpec {
    MetricSpec { name, unit: "GB/s", better: Better::Higher, threshold: 0.15, judged: true }
}

static STREAM: [MetricSpec; 4] = [rate("copy"), rate("scale"), rate("add"), rate("triad")];

static CHASE: [MetricSpec; 1] =
    [MetricSpec { name: "latency", unit: "ns", better: Better::Lower, threshold: 0.2, judged: true }];

/// The divisor of the available memory that a workload may take.
const SHARE: usize = 2;

/// The size of a buffer, and its basis.
#[derive(Debug, PartialEq)]
struct Size {
    bytes: usize,
    /// Multiple of the last-level cache: 4, or 2 if memory is short.
    multiple: usize,
}

/// The size of each of `count` buffers. Skips if even twice the cache does not fit, because that would measure the cache.
fn size(count: usize, cache: usize, available: usize) -> Result<Size, MicroError> {
    let fits = |multiple: &usize| count * multiple * cache <= available / SHARE;
    match [4, 2].into_iter().find(fits) {
        Some(multiple) => Ok(Size { bytes: multiple * cache, multiple }),
        None => Err(MicroError::Skip(format!(
            "{} MiB are needed to get past the last-level cache of {} MiB, and {} MiB are available",
            (SHARE * count * 2 * cache) >> 20,
            cache >> 20,
            available >> 20,
        ))),
    }
}

/// Chooses a size for this machine and sends its basis as metadata.
fn choose(channel: &mut Channel, count: usize) -> Result<usize, MicroError> {
    let cache = host::cache();
    let size = size(count, cache.bytes, host::available_memory().unwrap_or(usize::MAX))?;
    channel.notes([
        ("buffer_bytes", json!(size.bytes)),
        ("cache_bytes", json!(cache.bytes)),
        ("cache_size_is_assumed", json!(cache.assumed)),
        ("cache_multiple", json!(size.multiple)),
        ("capped_by_memory", json!(size.multiple < 4)),
        ("huge_pages", json!(host::huge_pages())),
        ("threads", json!(1)),
    ])?;
    Ok(size.bytes)
}

/// sqrt(2) - 1: a turn multiplies all arrays by 2 s + s^2, which is then 1, so that values neither overflow nor become slow
/// denormals, however many turns there are.
const SCALAR: f64 = std::f64::consts::SQRT_2 - 1.0;

fn bandwidth(request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
    let length = choose(channel, 3)? / size_of::<f64>();
    let mut a = allocate("an array", length, 1.0)?;
    let mut b = allocate("an array", length, 2.0)?;
    let mut c = allocate("an array", length, 0.0)?;
    let watch = Stopwatch::new();
    // STREAM's convention: each array that is read or written, once; no write-allocate traffic.
    let array = (length * size_of::<f64>()) as f64;
    channel.metadata(Some(10.0 * array), None, [("arrays", json!(3)), ("scalar", json!(SCALAR))])?;

    // The expected value of every element, by the same operations in the same order.
    let (mut one_a, mut one_b, mut one_c) = (1.0, 2.0, 0.0);
    measure(request, channel, &STREAM, || {
        let copy = watch.seconds_per_call(|| {
            c.copy_from_slice(&a);
            black_box(&mut c);
        });
        let scale = watch.seconds_per_call(|| {
            for (b, c) in b.iter_mut().zip(&c) {
                *b = SCALAR * c;
            }
            black_box(&mut b);
        });
        let add = watch.seconds_per_call(|| {
            for ((c, a), b) in c.iter_mut().zip(&a).zip(&b) {
                *c = a + b;
            }
            black_box(&mut c);
        });
        let triad = watch.seconds_per_call(|| {
            for ((a, b), c) in a.iter_mut().zip(&b).zip(&c) {
                *a = b + SCALAR * c;
            }
            black_box(&mut a);
        });
        one_c = one_a;
        one_b = SCALAR * one_c;
        one_c = one_a + one_b;
        one_a = one_b + SCALAR * one_c;
        Ok([2.0 * array / copy, 2.0 * array / scale, 3.0 * array / add, 3.0 * array / triad]
            .map(|rate| rate * 1e-9))
    })?;

    let expected = [(&a, one_a), (&b, one_b), (&c, one_c)];
    let error =
        expected.into_iter().fold(0.0, |worst, (values, one)| f64_max(worst, mean_error(values, one)));
    channel.validation("every array contains the result of the operations", error, 1e-13)
}

/// Mean relative error of `values`, which must all equal one number: STREAM's own check.
fn mean_error(values: &[f64], expected: f64) -> f64 {
    let sum: f64 = values.iter().map(|value| (value - expected).abs()).sum();
    sum / values.len() as f64 / expected.abs()
}

/// The larger of two; NaN if either is.
fn f64_max(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

/// Words between two pointers: one cache line of 64 bytes.
const LINE: usize = 8;

/// Loads of one sample: some 10 ms, ten thousand times the clock's resolution.
const LOADS: usize = 100_000;

fn latency(request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
    let lines = choose(channel, 1)? / (LINE * size_of::<u64>());
    let next = cycle(lines, request.seed)?;
    let mut buffer = allocate("a buffer of pointers", lines * LINE, 0_u64)?;
    for (line, target) in next.iter().enumerate() {
        buffer[line * LINE] = u64::from(*target) * LINE as u64;
    }
    let watch = Stopwatch::new();
    channel.notes([("loads_per_sample", json!(LOADS))])?;

    let (mut place, mut loads) = (0, 0);
    measure(request, channel, &CHASE, || {
        let seconds = watch.seconds_per_call(|| {
            // Each load needs the one before it: no two can overlap.
            for _ in 0..LOADS {
                place = buffer[place] as usize;
            }
            place = black_box(place);
            loads += LOADS;
        });
        Ok([seconds / LOADS as f64 * 1e9])
    })?;

    let passed = whole_cycle_to(&next, loads % lines) == Some(place / LINE);
    let error = if passed { 0.0 } else { 1.0 };
    channel.validation("the chase goes through every line and ended at the right one", error, 0.0)
}

/// A random permutation with a single cycle: `next[i]` follows `i` (Sattolo 1986).
fn cycle(length: usize, seed: u64) -> Result<Vec<u32>, MicroError> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut next = allocate("an order of lines", length, 0_u32)?;
    for (index, place) in next.iter_mut().enumerate() {
        // 4 times the largest cache has far fewer than 2^32 lines.
        *place = index as u32;
    }
    for last in (1..length).rev() {
        next.swap(last, random.random_range(0..last));
    }
    Ok(next)
}

/// The place `steps` steps from 0, if all steps form one cycle through every place.
fn whole_cycle_to(next: &[u32], steps: usize) -> Option<usize> {
    let (mut place, mut found) = (0, 0);
    for step in 0..next.len() {
        if step == steps {
            found = place;
        }
        place = next[place] as usize;
        if place == 0 {
            return (step + 1 == next.len()).then_some(found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_four_times_the_cache_and_shrink_once_before_they_skip() {
        let mib = 1 << 20;
        assert_eq!(size(3, 32 * mib, 2048 * mib).unwrap(), Size { bytes: 128 * mib, multiple: 4 });
        assert_eq!(size(3, 32 * mib, 500 * mib).unwrap(), Size { bytes: 64 * mib, multiple: 2 });
        let skip = size(3, 32 * mib, 100 * mib).unwrap_err().to_string();
        assert!(skip.starts_with("384 MiB are needed"), "{skip}");
    }

    #[test]
    fn a_wrong_or_missing_number_fails_stream_s_check() {
        assert!(mean_error(&[2.0, 2.0], 2.0) <= 1e-13);
        assert!(mean_error(&[2.0, 2.1], 2.0) > 1e-13);
        assert!(f64_max(0.0, mean_error(&[2.0, f64::NAN], 2.0)).is_nan());
    }

    #[test]
    fn the_scalar_keeps_the_arrays_where_they_are() {
        let mut a: f64 = 1.0;
        for _ in 0..100_000 {
            let c = a;
            let b = SCALAR * c;
            a = b + SCALAR * (a + b);
        }
        assert!((a - 1.0).abs() < 1e-9, "{a}");
    }

    #[test]
    fn the_order_of_the_chase_is_one_cycle_through_all() {
        for length in [1, 2, 3, 1000] {
            let next = cycle(length, 7).unwrap();
            assert_eq!(whole_cycle_to(&next, 0), Some(0), "{length}");
        }
        assert_eq!(whole_cycle_to(&[1, 2, 0], 2), Some(2));
        assert_eq!(whole_cycle_to(&[1, 0, 2], 0), None);
        assert_eq!(whole_cycle_to(&[1, 1, 2], 0), None);
        assert_ne!(cycle(1000, 7).unwrap(), cycle(1000, 8).unwrap());
    }
}
