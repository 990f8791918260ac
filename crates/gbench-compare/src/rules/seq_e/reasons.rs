//! Why a row has its decision and what to do about it, and the forecast that the advice rests on.

use gbench_stats::seq_e::{self, SequentialLimits, SequentialResult, Status};

use super::state::RowState;
use crate::evidence::quantized::{Steps, steps_of};
use crate::verdict::change::Change;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// More further rounds than this are not advised.
const MAX_FURTHER: f64 = 400.0;

/// `budget`: the seconds whose end has ended the row's rounds.
pub(super) fn why_open(
    state: &RowState,
    result: &SequentialResult,
    change: Option<&Change>,
    noise: f64,
    limits: &SequentialLimits,
    budget: Option<f64>,
) -> Reason {
    let rounds = result.rounds as u32;
    let ended_early = budget.is_none() && result.status == Status::Open;
    if result.rounds < limits.screen_rounds {
        return Reason::ScreenUnfinished { rounds, screen_rounds: limits.screen_rounds as u32, budget };
    }
    let Some(change) = change else {
        return if state.evidence.limits.absolute {
            Reason::MarginUndecided { rounds, budget, ended_early }
        } else {
            Reason::ZeroBaseInRounds { rounds, budget, ended_early }
        };
    };
    if let Some(steps) = steps_in_the_way(state, result) {
        return Reason::CoarseFigures {
            step: steps.step,
            unit: state.evidence.unit.to_owned(),
            share: steps.share(),
            unresolved: result.unresolved.exp_m1(),
            target: state.shown()[0],
        };
    }
    let [target, min_effect] = state.shown();
    let own_rounds = (result.from > 0).then(|| rounds - result.from as u32);
    if !change.is_known() {
        return Reason::ChangeUnknown { rounds, own_rounds, noise, budget, ended_early };
    }
    Reason::RangeUndecided {
        rounds,
        own_rounds,
        low: change.low,
        high: change.high,
        target,
        min_effect,
        noise,
        most_rounds: limits.most_rounds as u32,
        detectable: change.detectable,
        budget,
        ended_early,
    }
}

/// The steps of a row's figures, where they are why it was not certified: too coarse for the target by themselves.
pub(super) fn steps_in_the_way(state: &RowState, result: &SequentialResult) -> Option<Steps> {
    let coarse = result.rounds > 0 && result.unresolved > seq_e::MAX_UNRESOLVED * state.target;
    coarse.then(|| steps_of(state.evidence)).flatten()
}

/// `spent`: the end of a budget has ended the row's rounds.
pub(super) fn what_next(
    result: &SequentialResult,
    further: Option<u32>,
    limits: &SequentialLimits,
    spent: bool,
) -> Advice {
    let (rounds, most_rounds) = (result.rounds as u32, limits.most_rounds as u32);
    match further {
        Some(more_rounds) => Advice::Resume { more_rounds, rounds: (rounds + more_rounds).max(most_rounds) },
        None if spent => Advice::GiveMoreTime { rounds, most_rounds },
        None => Advice::ReduceNoise {},
    }
}

/// Rounds beyond those that are there after which the row is probably decided, if it is what it looks like now.
pub(super) fn further_rounds(
    state: &RowState,
    result: &SequentialResult,
    noise: f64,
    limits: &SequentialLimits,
) -> Option<u32> {
    let there = (result.rounds - result.from) as f64;
    if result.rounds < limits.screen_rounds {
        return Some((limits.screen_rounds - result.rounds) as u32);
    }
    // Certified unchanged: the interval must fit between the mean and the target.
    let room = state.target - result.unresolved - result.mean.abs();
    let deviation = noise.max(result.scale * 0.5);
    let certify = (room > 0.0).then(|| (3.0 * deviation / room).powi(2).ceil() - there);
    // Red or green: what the e-value still lacks, at the pace of an effect like the mean.
    let beyond = result.mean.abs() - state.min_effect - result.unresolved;
    let (ln, needed) = if result.mean > 0.0 {
        (result.ln_worse, result.ln_needed_worse)
    } else {
        (result.ln_better, result.ln_needed_better)
    };
    let pace = seq_e::pace(beyond, state.power(result.scale), limits.version);
    let prove = (pace > 0.0).then(|| ((needed - ln).max(1.0) / pace).ceil());
    let fewest = [certify, prove].into_iter().flatten().fold(f64::INFINITY, f64::min).max(1.0);
    (fewest <= MAX_FURTHER).then_some(fewest as u32)
}
