//! Why a row has its decision and what to do about it, in words, and the forecast that the advice rests on.

use crate::model::format_duration;
use crate::stats::seq_e::{self, SequentialLimits, SequentialResult, Status};

use super::RowState;
use crate::compare::quantized::{Resolution, resolution};
use crate::compare::{Advice, Change};
use crate::model::text::{count, percent, signed_percent};

/// Advising more further rounds than this would be no advice.
const MOST_FURTHER: f64 = 400.0;

pub(super) fn why_red(result: &SequentialResult, at_least: Option<f64>, limits: &SequentialLimits) -> String {
    let sure = percent(1.0 - limits.alpha);
    let rounds = count(result.rounds, "round");
    match at_least {
        Some(at_least) => {
            format!("at least {} worse over {rounds}, {sure} sure for the whole suite", percent(at_least))
        }
        None => format!("worse over {rounds}, {sure} sure for the whole suite"),
    }
}

pub(super) fn why_better(result: &SequentialResult, limits: &SequentialLimits) -> String {
    let sure = percent(1.0 - limits.alpha_improved);
    format!("better over {}, {sure} sure for the whole suite", count(result.rounds, "round"))
}

pub(super) fn why_open(
    state: &RowState,
    result: &SequentialResult,
    change: Option<&Change>,
    noise: f64,
    limits: &SequentialLimits,
    spent: Option<f64>,
) -> String {
    let rounds = count(result.rounds, "round");
    let cut = match (spent, result.status) {
        (Some(budget), _) => format!("the budget of {} was spent: ", format_duration(budget)),
        (None, Status::Open) => "the rounds ended early: ".to_owned(),
        _ => String::new(),
    };
    if result.rounds < limits.screen_rounds {
        let cut = if spent.is_some() { cut.as_str() } else { "" };
        return format!("{cut}{rounds} of the {} that the screen takes", limits.screen_rounds);
    }
    let Some(change) = change else {
        return match state.evidence.limits.absolute {
            true => format!("{cut}{rounds} do not tell whether the difference exceeds its margin"),
            false => format!("{cut}the base is zero, and {rounds} do not tell the difference from chance"),
        };
    };
    let found = match change.detectable {
        Some(detectable) => {
            format!("; with this noise {} rounds find {} or more", limits.most_rounds, percent(detectable))
        }
        None => String::new(),
    };
    if let Some(steps) = steps_in_the_way(state, result) {
        return format!(
            "the figures come in steps of {} {}, {} of the smaller side, so that {} either way stays unknown whatever \
             the rounds: more than a target of {} allows",
            steps.step_in_words(),
            state.evidence.unit,
            percent(steps.share),
            percent(result.unresolved.exp_m1()),
            percent(state.target),
        );
    }
    if !is_known(change) {
        return format!(
            "{cut}after {rounds} nothing is known of the change: one round's differs from the next by {}",
            percent(noise)
        );
    }
    format!(
        "{cut}after {rounds} the change lies somewhere from {} to {}: not \"unchanged\", since not all of that lies \
         within {}; not red or improved, since more than {} is not proven; one round's change differs from the next by \
         {}{found}",
        signed_percent(change.low),
        signed_percent(change.high),
        percent(state.target),
        percent(state.min_effect),
        percent(noise),
    )
}

/// The steps of a row's figures, where they are why it was not certified: too coarse for the target by themselves.
pub(super) fn steps_in_the_way(state: &RowState, result: &SequentialResult) -> Option<Resolution> {
    let coarse = result.rounds > 0 && result.unresolved > seq_e::MOST_UNRESOLVED * state.target;
    coarse.then(|| resolution(state.evidence)).flatten()
}

pub(super) fn finer_figures(steps: Resolution, state: &RowState) -> String {
    format!(
        "let the program print more digits, or let each sample span about {} launches where its clock is that coarse: a step \
         is then a tenth of the target",
        steps.batch(state.target)
    )
}

/// Whether an interval says anything: one that reaches from a hundredth to a hundred times does not.
pub fn is_known(change: &Change) -> bool {
    const HUNDREDTH: f64 = -0.99;
    const HUNDRED_TIMES: f64 = 99.0;
    change.low > HUNDREDTH || change.high < HUNDRED_TIMES
}

pub(super) fn what_next(
    result: &SequentialResult,
    further: Option<u32>,
    limits: &SequentialLimits,
    spent: Option<f64>,
) -> (String, Option<Advice>) {
    let text = match further {
        None if spent.is_some() => format!(
            "give it more time with `--budget`: there was some for {} of {}; if they go on to differ as much, quieten the \
             machine, measure longer in each process, or raise the `target`",
            result.rounds,
            count(limits.most_rounds, "round"),
        ),
        Some(further) => {
            let total = (result.rounds as u32 + further).max(limits.most_rounds as u32);
            let rounds = count(further as usize, "more round");
            let text =
                format!("resume the comparison: about {rounds} would probably decide it (`--rounds {total}`)");
            return (text, Some(Advice::Resume { more_rounds: further, rounds: total }));
        }
        None => "more rounds alone would hardly decide it: quieten the machine (lock the clocks, stop other work), \
                 measure longer in each process, or raise the `target`"
            .into(),
    };
    (text, None)
}

/// Rounds beyond those that are there after which the row is probably decided, if it is what it looks like now.
pub(super) fn further_rounds(
    state: &RowState,
    result: &SequentialResult,
    noise: f64,
    limits: &SequentialLimits,
    candidates: usize,
) -> Option<u32> {
    let there = result.rounds as f64;
    if result.rounds < limits.screen_rounds {
        return Some((limits.screen_rounds - result.rounds) as u32);
    }
    // Certified unchanged: the interval must fit between the mean and the target.
    let room = state.target - result.unresolved - result.mean.abs();
    let deviation = noise.max(result.scale * 0.5);
    let certify = (room > 0.0).then(|| (3.0 * deviation / room).powi(2).ceil() - there);
    // Red or green: what the e-value still lacks, at the pace of an effect like the mean.
    let beyond = result.mean.abs() - state.min_effect - result.unresolved;
    let (ln, needed) = match result.mean > 0.0 {
        true => (result.ln_worse, limits.ln_red(candidates)),
        false => (result.ln_better, limits.ln_improved(candidates)),
    };
    let pace = seq_e::pace(beyond / result.scale, limits.version);
    let prove = (pace > 0.0).then(|| ((needed - ln).max(1.0) / pace).ceil());
    let fewest = [certify, prove].into_iter().flatten().fold(f64::INFINITY, f64::min).max(1.0);
    (fewest <= MOST_FURTHER).then_some(fewest as u32)
}
