//! Whether a row is ready, why not, and what would help: from its figures to words.

use crate::model::convert;

use super::super::Evidence;
use super::figures::sides;
use super::{Noise, Prospect, Readiness};
use crate::model::text::percent;

/// So many times the usual rounds are slow, and more are hopeless.
const SLOW: u32 = 4;
/// From this share on a part of the scatter is what keeps the row from being ready.
const DOMINATES: f64 = 0.5;
/// Neighbouring iterations that resemble each other so much are hardly worth more than one.
const ALIKE: f64 = 0.5;
/// A process of so many samples with at most so many different values shows its timer.
const COARSE: (usize, usize) = (8, 4);
/// A target beyond this would let everything pass.
const WIDEST: f64 = 0.2;
/// Seconds below which a call costs as much as what it times.
const SHORT: f64 = 10e-6;

/// Readiness by the rounds that certifying takes, of `usual` in a comparison.
pub fn readiness(prospect: &Prospect, usual: u32) -> Readiness {
    match prospect.rounds_to_certify {
        Some(rounds) if rounds <= usual => Readiness::Ready,
        Some(rounds) if rounds <= SLOW * usual => Readiness::Slow,
        _ => Readiness::Hopeless,
    }
}

/// Why a row is not ready, and what would help; the weightiest first, neither empty.
pub fn words(
    evidence: &Evidence,
    noise: &Noise,
    prospect: &Prospect,
    usual: u32,
) -> (Vec<String>, Vec<String>) {
    let (mut why, mut help) = (Vec::new(), Vec::new());
    why.push(match prospect.rounds_to_certify {
        Some(rounds) => format!(
            "rounds differ by {}, so that {rounds} of them show it to be unchanged, and {usual} are usual",
            percent(noise.floor)
        ),
        None => format!(
            "rounds differ by {}, so that no number of them shows it to be unchanged",
            percent(noise.floor)
        ),
    });
    let mut add = |reason: String, advice: &str| {
        why.push(reason);
        help.push(advice.to_owned());
    };
    if let Some(values) = coarse(evidence) {
        add(
            format!("its processes give {values} different values: the timer's steps show"),
            "time more work at once, so that an iteration spans a thousand steps of the timer",
        );
    }
    if let Some(seconds) = usual_seconds(evidence).filter(|seconds| *seconds < SHORT) {
        add(
            format!(
                "an iteration takes {:.1} µs, in which timing it weighs as much as its work",
                seconds * 1e6
            ),
            "let one iteration do the work many times",
        );
    }
    if let Some(parts) = &noise.parts {
        if parts.order > DOMINATES {
            let second = percent(noise.second_place.unwrap_or(0.0));
            add(
                format!("drift within a round: the second process lies {second} above the first"),
                "warm up longer, lock the clocks, or let the machine rest before each process",
            );
        } else if parts.between > DOMINATES {
            add(
                format!(
                    "{} of the variance lies between processes, where no number of iterations reaches it",
                    percent(parts.between)
                ),
                "lock the clocks, pin it to cores of its own, and keep other work off the machine",
            );
        } else if parts.autocorrelation > ALIKE {
            add(
                format!(
                    "iterations resemble their neighbours (correlation {:.2}), so that many say little more than few",
                    parts.autocorrelation
                ),
                "warm up longer, and measure for longer instead of more often",
            );
        } else if parts.within > DOMINATES {
            let more = parts.best_iterations.filter(|best| f64::from(*best) > 1.2 * parts.iterations);
            let reason = format!("{} of the variance lies within its processes", percent(parts.within));
            match more {
                Some(best) => add(reason, &format!("measure about {best} iterations in each process")),
                None => add(reason, "measure more work in each iteration, or quieten the machine"),
            }
        }
    }
    if help.is_empty() {
        help.push("lock the clocks, pin it to cores of its own, and keep other work off the machine".into());
    }
    help.push(match prospect.least_target.filter(|target| *target <= WIDEST) {
        // Rounded up, or the advice would fall short of itself.
        Some(target) => format!("raise its `target` to {}", percent((target * 1000.0).ceil() / 1000.0)),
        None => "or keep it out of the gate (`gate = false` for the metric) until it is quieter".into(),
    });
    (why, help)
}

/// Different values that a process has, in the middle, where they are few for its samples.
fn coarse(evidence: &Evidence) -> Option<usize> {
    let (samples, most) = COARSE;
    let long = sides(evidence).filter(|process| process.samples.len() >= samples);
    let mut counts: Vec<usize> = long
        .map(|process| {
            let mut bits: Vec<u64> = process.samples.iter().map(|value| value.to_bits()).collect();
            bits.sort_unstable();
            bits.dedup();
            bits.len()
        })
        .collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().filter(|count| *count <= most)
}

fn usual_seconds(evidence: &Evidence) -> Option<f64> {
    let centre = crate::stats::median(&mut evidence.base.centres.clone())?;
    convert(centre, evidence.unit, "s")
}
