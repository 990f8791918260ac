//! The energy of a call, from a separate stretch: calls back to back, with no flush and no blocked device in between. The mean
//! power of the measured window would include its gaps and flushes.

use std::time::{Duration, Instant};

use super::error::CudaError;
use super::sampler::Sampler;

/// The least stretch. The counter of a card moves every 10 to 100 ms, and the stretch begins and ends right after it moved.
const STRETCH: Duration = Duration::from_secs(1);
/// A counter that moves more rarely tells nothing in time.
const MOST: Duration = Duration::from_secs(3);
/// Calls between two readings of the counter, while which the card has nothing to do.
const BATCH: Duration = Duration::from_millis(50);

/// Joules of a call; `None` if the card has no counter, or one that hardly moves, and for calls as long as the stretch, which
/// would have to be repeated. `seconds`: of a call.
pub(super) fn of_call(
    joules: &mut impl FnMut() -> Option<f64>,
    (sampler, seconds): (&mut Sampler, f64),
    call: &mut impl FnMut(u32) -> Result<(), CudaError>,
) -> Result<Option<f64>, CudaError> {
    let is_short = seconds < STRETCH.as_secs_f64();
    let Some(mut last) = joules().filter(|_| is_short) else { return Ok(None) };
    let calls = (BATCH.as_secs_f64() / seconds).clamp(1.0, f64::from(u16::MAX)) as u32;
    let (begun, mut done) = (Instant::now(), 0_u64);
    let mut first: Option<(Instant, f64, u64)> = None;
    while begun.elapsed() < MOST {
        let batch = Instant::now();
        while batch.elapsed() < BATCH {
            done += u64::from(sampler.back_to_back(calls, &mut *call)?);
        }
        let Some(now) = joules() else { return Ok(None) };
        if now == last {
            continue;
        }
        last = now;
        match first {
            None => first = Some((Instant::now(), now, done)),
            Some((at, joules, before)) if at.elapsed() >= STRETCH => {
                return Ok(Some((now - joules) / (done - before) as f64).filter(|joules| *joules > 0.0));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}
