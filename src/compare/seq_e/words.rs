//! Why a row has its decision and what to do about it, in words, and the forecast that the advice rests on.

use crate::model::format_duration;
use crate::stats::seq_e::{self, Limits, Ruling, Status};

use super::Line;
use crate::compare::Change;
use crate::compare::quantized::{Resolution, resolution};
use crate::compare::words::{count, percent, signed_percent};

/// Advising more further rounds than this would be no advice.
const MOST_FURTHER: f64 = 400.0;

pub(super) fn why_red(ruling: &Ruling, at_least: Option<f64>, limits: &Limits) -> String {
    let sure = percent(1.0 - limits.alpha);
    let rounds = count(ruling.rounds, "round");
    match at_least {
        Some(at_least) => {
            format!("at least {} worse over {rounds}, {sure} sure for the whole suite", percent(at_least))
        }
        None => format!("worse over {rounds}, {sure} sure for the whole suite"),
    }
}

pub(super) fn why_better(ruling: &Ruling, limits: &Limits) -> String {
    let sure = percent(1.0 - limits.alpha_improved);
    format!("better over {}, {sure} sure for the whole suite", count(ruling.rounds, "round"))
}

pub(super) fn why_open(
    line: &Line,
    ruling: &Ruling,
    change: Option<&Change>,
    noise: f64,
    limits: &Limits,
    spent: Option<f64>,
) -> String {
    let rounds = count(ruling.rounds, "round");
    let cut = match (spent, ruling.status) {
        (Some(budget), _) => format!("the budget of {} was spent: ", format_duration(budget)),
        (None, Status::Open) => "the rounds ended early: ".to_owned(),
        _ => String::new(),
    };
    if ruling.rounds < limits.screen_rounds {
        let cut = if spent.is_some() { cut.as_str() } else { "" };
        return format!("{cut}{rounds} of the {} that the screen takes", limits.screen_rounds);
    }
    let Some(change) = change else {
        return match line.evidence.limits.absolute {
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
    if let Some(steps) = steps_in_the_way(line, ruling) {
        return format!(
            "the figures come in steps of {} {}, {} of the smaller side, so that {} either way stays unknown whatever \
             the rounds: more than a target of {} allows",
            steps.step_in_words(),
            line.evidence.unit,
            percent(steps.share),
            percent(ruling.unresolved.exp_m1()),
            percent(line.target),
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
        percent(line.target),
        percent(line.min_effect),
        percent(noise),
    )
}

/// The steps of a row's figures, where they are why it was not certified: too coarse for the target by themselves.
pub(super) fn steps_in_the_way(line: &Line, ruling: &Ruling) -> Option<Resolution> {
    let coarse = ruling.rounds > 0 && ruling.unresolved > seq_e::MOST_UNRESOLVED * line.target;
    coarse.then(|| resolution(line.evidence)).flatten()
}

pub(super) fn finer_figures(steps: Resolution, line: &Line) -> String {
    format!(
        "let the program print more digits, or let each sample span about {} launches where its clock is that coarse: a step \
         is then a tenth of the target",
        steps.batch(line.target)
    )
}

/// Whether an interval says anything: one that reaches from a hundredth to a hundred times does not.
pub fn is_known(change: &Change) -> bool {
    const HUNDREDTH: f64 = -0.99;
    const HUNDRED_TIMES: f64 = 99.0;
    change.low > HUNDREDTH || change.high < HUNDRED_TIMES
}

/// How the advice begins that only somebody beside the records can follow. Posts say it otherwise.
pub const RESUME: &str = "resume the comparison: ";

pub(super) fn what_next(
    ruling: &Ruling,
    further: Option<u32>,
    limits: &Limits,
    spent: Option<f64>,
) -> String {
    match further {
        None if spent.is_some() => format!(
            "give it more time with `--budget`: there was some for {} of {}; if they go on to differ as much, quieten the \
             machine, measure longer in each process, or raise the `target`",
            ruling.rounds,
            count(limits.most_rounds, "round"),
        ),
        Some(further) => {
            let total = (ruling.rounds as u32 + further).max(limits.most_rounds as u32);
            let rounds = count(further as usize, "more round");
            format!("{RESUME}about {rounds} would probably decide it (`--rounds {total}`)")
        }
        None => "more rounds alone would hardly decide it: quieten the machine (lock the clocks, stop other work), \
                 measure longer in each process, or raise the `target`"
            .into(),
    }
}

/// Rounds beyond those that are there after which the row is probably decided, if it is what it looks like now.
pub(super) fn further_rounds(
    line: &Line,
    ruling: &Ruling,
    noise: f64,
    limits: &Limits,
    suspects: usize,
) -> Option<u32> {
    let there = ruling.rounds as f64;
    if ruling.rounds < limits.screen_rounds {
        return Some((limits.screen_rounds - ruling.rounds) as u32);
    }
    // Certified unchanged: the interval must fit between the mean and the target.
    let room = line.target - ruling.unresolved - ruling.mean.abs();
    let deviation = noise.max(ruling.scale * 0.5);
    let certify = (room > 0.0).then(|| (3.0 * deviation / room).powi(2).ceil() - there);
    // Red or green: what the e-value still lacks, at the pace of an effect like the mean.
    let beyond = ruling.mean.abs() - line.min_effect - ruling.unresolved;
    let (ln, needed) = match ruling.mean > 0.0 {
        true => (ruling.ln_worse, limits.ln_red(suspects)),
        false => (ruling.ln_better, limits.ln_improved(suspects)),
    };
    let pace = seq_e::pace(beyond / ruling.scale, limits.version);
    let prove = (pace > 0.0).then(|| ((needed - ln).max(1.0) / pace).ceil());
    let fewest = [certify, prove].into_iter().flatten().fold(f64::INFINITY, f64::min).max(1.0);
    (fewest <= MOST_FURTHER).then_some(fewest as u32)
}
