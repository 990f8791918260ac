//! One row's figures from its rounds: pure numbers.

use std::collections::HashSet;

use gbench_model::{CaseRecord, Stage, Timing, convert};
use gbench_stats::prospect::{certified_within, rounds_to_certify, rounds_to_prove};
use gbench_stats::seq_e::{self, SequentialLimits};
use gbench_stats::{Components, TQuantiles, Within, best_iterations, lag_1};

use super::document::{Noise, Parts, Prospect, Readiness};
use crate::evidence::rounds::measured_rounds;
use crate::evidence::rounds::{MeasuredRound, RoundScale};
use crate::evidence::samples::{Evidence, ProcessValues};
use crate::rules::seq_e::state::RowState;

/// The slowdown that the prospects speak of.
pub const PLANTED: f64 = 0.03;
/// Rounds below this show nothing of how one goes with the next.
const MIN_CORRELATED: usize = 6;
/// More iterations than so many times the present ones are not advised.
const MAX_FOLD: f64 = 20.0;
const MIN_ITERATIONS: f64 = 4.0;

/// So many times the usual rounds are slow, and more are hopeless.
const SLOW: u32 = 4;
/// A process of so many samples with at most so many different values shows its timer.
const COARSE: (usize, usize) = (8, 4);

pub(super) struct CalibrationContext {
    pub limits: SequentialLimits,
    /// Rounds that were asked for.
    pub measured: usize,
    pub candidates: usize,
}

/// An effect in the scale of a row's differences.
pub(super) fn in_scale(scale: RoundScale, slowdown: f64) -> f64 {
    match scale {
        RoundScale::Log { .. } => slowdown.ln_1p(),
        RoundScale::Linear { .. } | RoundScale::Absolute { .. } => slowdown,
    }
}

/// `floor`: the moderated deviation of one round's difference.
pub(super) fn noise(state: &RowState, floor: f64, cases: [&CaseRecord; 2]) -> Noise {
    let differences = &state.rounds.differences;
    let positive = matches!(state.rounds.scale, RoundScale::Log { .. });
    let lates = lates(state.evidence, positive);
    let second = gbench_stats::mean(&lates);
    let in_log = |process: &ProcessValues| -> Vec<f64> {
        process.samples.iter().map(|value| if positive { value.ln() } else { *value }).collect()
    };
    let processes: Vec<Vec<f64>> = sides(state.evidence).filter(|it| !it.stated).map(in_log).collect();
    let within = Within::of(processes.iter().map(Vec::as_slice)).filter(|_| positive);
    let parts = within.and_then(|within| {
        let parts = Components::of(differences, &lates, within.variance)?;
        Some(Parts {
            within: parts.share(parts.within),
            between: parts.share(parts.between),
            order: parts.share(parts.order),
            autocorrelation: within.correlation,
            iterations: within.iterations,
            best_iterations: advised(&within, &parts, costs(state.evidence, cases)),
        })
    });
    Noise {
        floor,
        from_round_to_round: (differences.len() >= MIN_CORRELATED)
            .then(|| lag_1([differences.as_slice()]))
            .flatten(),
        second_place: second.filter(|_| positive).map(f64::exp_m1),
        parts,
    }
}

/// `borrowed`: degrees of freedom that the other rows lend; `tried`: how often 3 % were planted, and found.
pub(super) fn prospect(
    state: &RowState,
    floor: f64,
    borrowed: f64,
    shared: &CalibrationContext,
    seconds: f64,
    tried: (u32, u32),
) -> Prospect {
    let CalibrationContext { limits, measured, candidates } = shared;
    let scale = state.rounds.scale;
    let slowdown = |effect: f64| scale.slowdown(effect).filter(|it| it.is_finite());
    let found = |rounds: usize| {
        slowdown(seq_e::detectable(limits.bets_in(rounds, 0), state.power(floor), limits, *candidates))
    };
    let certify = rounds_to_certify(floor, state.target, borrowed, limits);
    let planted = in_scale(scale, PLANTED);
    let prove = rounds_to_prove(planted, state.power(floor), limits, *candidates);
    let least = certified_within(floor, limits.most_rounds, borrowed, limits, &mut TQuantiles::default());
    let cost = |rounds: Option<usize>| rounds.map(|rounds| rounds as f64 * seconds);
    Prospect {
        detectable: found(limits.most_rounds),
        detectable_in_measured: found(*measured),
        rounds_to_certify: certify.map(|rounds| rounds as u32),
        seconds_to_certify: cost(certify),
        rounds_to_prove: prove.map(|rounds| rounds as u32),
        seconds_to_prove: cost(prove),
        least_target: slowdown(least),
        planted: tried.0,
        found: tried.1,
    }
}

fn sides<'e, 'a>(evidence: &'e Evidence<'a>) -> impl Iterator<Item = &'e ProcessValues<'a>> {
    evidence.base.processes.iter().chain(&evidence.head.processes)
}

fn lates(evidence: &Evidence, positive: bool) -> Vec<f64> {
    let late = |turn: MeasuredRound| {
        let [base, head] = [turn.base, turn.head].map(|place| if positive { place.ln() } else { place });
        Some(if turn.base_first? { head - base } else { base - head })
    };
    measured_rounds(evidence).into_iter().filter_map(late).collect()
}

/// Seconds to start and end a process, and of one of its iterations; `None` where the two cannot be separated.
fn costs(evidence: &Evidence, cases: [&CaseRecord; 2]) -> Option<(f64, f64)> {
    let (mut whole, mut measuring, mut iterations, mut processes) = (0.0, 0.0, 0.0, 0.0);
    for (case, side) in cases.into_iter().zip([&evidence.base, &evidence.head]) {
        for process in &side.processes {
            let run = case.processes.get(process.process as usize)?;
            let stage = run.stages.iter().find(|stage| stage.stage == Stage::Measure);
            measuring += match case.id.timing {
                Timing::Protocol => stage?.seconds,
                Timing::Process | Timing::Harness => return None,
                Timing::Stdout => {
                    process.samples.iter().map(|it| convert(*it, evidence.unit, "s")).sum::<Option<f64>>()?
                }
            };
            whole += run.seconds;
            iterations += process.samples.len() as f64;
            processes += 1.0;
        }
    }
    let (launch, iteration) = ((whole - measuring) / processes, measuring / iterations);
    (launch > 0.0 && iteration > 0.0).then_some((launch, iteration))
}

fn advised(within: &Within, parts: &Components, costs: Option<(f64, f64)>) -> Option<u32> {
    let (launch, iteration) = costs?;
    let of_one = parts.within * within.iterations;
    let best = best_iterations(launch, iteration, of_one, parts.between + parts.order);
    if best.is_nan() {
        return None;
    }
    let most = (within.iterations * MAX_FOLD).max(MIN_ITERATIONS);
    Some(best.clamp(MIN_ITERATIONS, most).round() as u32)
}

/// Readiness by the rounds that certifying takes, of `usual` in a comparison.
pub(super) fn readiness(prospect: &Prospect, usual: u32) -> Readiness {
    match prospect.rounds_to_certify {
        Some(rounds) if rounds <= usual => Readiness::Ready,
        Some(rounds) if rounds <= SLOW * usual => Readiness::Slow,
        _ => Readiness::Hopeless,
    }
}

/// Different values that a process has, in the middle, where they are few for its samples.
pub(super) fn ticks(evidence: &Evidence) -> Option<usize> {
    let (samples, most) = COARSE;
    let long = sides(evidence).filter(|process| process.samples.len() >= samples);
    let different = |process: &ProcessValues| {
        process.samples.iter().map(|value| value.to_bits()).collect::<HashSet<_>>().len()
    };
    let mut counts: Vec<usize> = long.map(different).collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().filter(|count| *count <= most)
}

/// Seconds of an iteration, where the unit is one of time. A sample of a harness, and what a process states of itself, is
/// a mean of many executions, so that its value says nothing of how long is timed at once.
pub(super) fn usual_seconds(evidence: &Evidence) -> Option<f64> {
    let means = evidence.case.timing == Timing::Harness || evidence.base.processes.iter().any(|it| it.stated);
    if means {
        return None;
    }
    let centre = gbench_stats::median(&mut evidence.base.centres.clone())?;
    convert(centre, evidence.unit, "s")
}
