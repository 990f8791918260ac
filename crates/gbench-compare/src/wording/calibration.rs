//! Why a calibrated row is not ready, and what would help.

use crate::calibration::document::{Noise, Parts, Prospect};
use gbench_model::text::{count, percent};

/// From this share on a part of the scatter is what keeps the row from being ready.
const DOMINATES: f64 = 0.5;
/// Neighbouring iterations that resemble each other so much are hardly worth more than one.
const ALIKE: f64 = 0.5;
/// A target beyond this would let everything pass.
const WIDEST: f64 = 0.2;
/// Seconds below which a call costs as much as what it times.
const SHORT: f64 = 10e-6;

const QUIETEN: &str = "lock the clocks, pin it to its own cores, and keep other work off the machine";

/// The weightiest first, neither empty. `usual`: rounds of a comparison; `ticks`: different values that a process has,
/// where they are few; `seconds`: of an iteration.
pub(crate) fn why_and_help(
    noise: &Noise,
    prospect: &Prospect,
    usual: u32,
    ticks: Option<usize>,
    seconds: Option<f64>,
) -> (Vec<String>, Vec<String>) {
    let floor = percent(noise.floor);
    let mut why = vec![match prospect.rounds_to_certify {
        Some(rounds) => format!(
            "rounds differ by {floor}, so that {rounds} of them show it to be unchanged, and {usual} are usual"
        ),
        None => format!("rounds differ by {floor}, so that no number of them shows it to be unchanged"),
    }];
    let mut help = Vec::new();
    let coarse = ticks.map(|values| {
        (
            format!("its processes give {values} different values: the timer's steps show"),
            "time more work at once, so that an iteration spans a thousand steps of the timer".to_owned(),
        )
    });
    let short = seconds.filter(|seconds| *seconds < SHORT).map(|seconds| {
        let microseconds = seconds * 1e6;
        (
            format!("an iteration takes {microseconds:.1} µs, in which timing it weighs as much as its work"),
            "let one iteration do the work many times".to_owned(),
        )
    });
    let scatter = noise.parts.as_ref().and_then(|parts| of_parts(parts, noise.second_place));
    for (reason, advice) in [coarse, short, scatter].into_iter().flatten() {
        why.push(reason);
        help.push(advice);
    }
    if help.is_empty() {
        help.push(QUIETEN.into());
    }
    help.push(match prospect.least_target.filter(|target| *target <= WIDEST) {
        // Rounded up, or the advice would fall short of itself.
        Some(target) => format!("raise its `target` to {}", percent((target * 1000.0).ceil() / 1000.0)),
        None => "or keep it out of the gate (`gate = false` for the metric) until it is quieter".into(),
    });
    (why, help)
}

/// For a case whose harness can be counted; `counting` is the value of `count`.
pub fn count_it(benchmark: &str, counting: &str) -> String {
    format!(
        "count its instructions, which the noise does not reach: `count = \"{counting}\"` below `id = \"{benchmark}\"`"
    )
}

pub(crate) fn too_few_rounds(rounds: usize, needed: usize) -> (Vec<String>, Vec<String>) {
    let why = format!("{} of the {needed} that noise shows in", count(rounds, "round"));
    (vec![why], vec!["give more rounds, or a larger budget".into()])
}

pub(crate) fn too_few_for_a_red(needed: usize) -> String {
    format!("no row has enough rounds for a red to be possible as measured: {needed} or more are needed")
}

fn of_parts(parts: &Parts, second_place: Option<f64>) -> Option<(String, String)> {
    let (reason, advice) = if parts.order > DOMINATES {
        let second = percent(second_place.unwrap_or(0.0));
        (
            format!("drift within a round: the second process lies {second} above the first"),
            "warm up longer, lock the clocks, or let the machine rest before each process",
        )
    } else if parts.between > DOMINATES {
        let between = percent(parts.between);
        (
            format!(
                "{between} of the variance lies between processes, where no number of iterations reaches it"
            ),
            QUIETEN,
        )
    } else if parts.autocorrelation > ALIKE {
        let alike = parts.autocorrelation;
        (
            format!(
                "iterations resemble their neighbours (correlation {alike:.2}), so that many say little more than few"
            ),
            "warm up longer, and measure for longer instead of more often",
        )
    } else if parts.within > DOMINATES {
        let reason = format!("{} of the variance lies within its processes", percent(parts.within));
        if let Some(best) = parts.best_iterations.filter(|best| f64::from(*best) > 1.2 * parts.iterations) {
            return Some((reason, format!("measure about {best} iterations in each process")));
        }
        (reason, "measure more work in each iteration, or quieten the machine")
    } else {
        return None;
    };
    Some((reason, advice.to_owned()))
}
