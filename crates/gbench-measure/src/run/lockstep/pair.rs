//! Two processes and the token between them: enforces the rules, and never leaves one waiting for the other if that is gone.

use std::time::{Duration, Instant};

use super::schedule::{NextTurn, TurnFault, TurnToken};
use crate::run::process::executor::StopReason;
use crate::run::process::running::{RunningProcess, Sign};
use gbench_host::supervise::Report;
use gbench_model::ProcessEnd;

/// Reads the messages of both, and grants the next turn. `processes`: two. `idle`: while a side has its turn, the other one
/// and the CPU time that it had used before.
///
/// If one fails, the other is not ended at once but when it next waits for a turn: it may be about to fail in its own way (a
/// module that neither side finds, a machine that neither can run on), which is then its outcome.
pub(crate) fn steer(
    processes: &mut [RunningProcess],
    token: &mut TurnToken,
    idle: &mut Option<(usize, Duration)>,
    now: Instant,
) -> std::io::Result<()> {
    for side in 0..processes.len() {
        for sign in processes[side].signs() {
            if let Some((other, before)) = idle.take_if(|(other, _)| sign == Sign::Yield && *other != side) {
                token.on_work_out_of_turn(other, processes[other].cpu().saturating_sub(before));
            }
            let process = &mut processes[side];
            let aborted = match sign {
                Sign::Yield => token.on_yield(side, now).err(),
                Sign::Measured => (!token.has_begun(side)).then_some(TurnFault::NeverWaited),
            };
            match aborted {
                Some(fault) => process.stop(StopReason::Turns(fault), false),
                None if sign == Sign::Yield => process.rest(now),
                None => {}
            }
        }
        // It may yield forever: nothing is read any more.
        let process = &mut processes[side];
        if process.is_garbled() && !token.is_finished() {
            process.stop(StopReason::BadLine, false);
        }
    }
    let [base, head] = processes else { return Ok(()) };
    if token.is_finished() {
        return Ok(());
    }
    let gone = [&*base, &*head].map(|process| process.is_over() || process.stopped().is_some());
    if gone.contains(&true) {
        let whys = [why(head), why(base)];
        for (side, process) in [&mut *base, head].into_iter().enumerate() {
            if gone[1 - side] && token.is_waiting(side) && !process.is_over() {
                process.stop(StopReason::Partner { why: whys[side] }, false);
            }
        }
        return Ok(());
    }
    match token.next(now) {
        NextTurn::Wait => Ok(()),
        NextTurn::Give { side, iterations } => {
            *idle = Some((1 - side, [&*base, &*head][1 - side].cpu()));
            [base, head][side].give(iterations, now)
        }
        NextTurn::Finish => {
            if let Some(side) = token.worked_out_of_turn() {
                [&mut *base, &mut *head][side].stop(StopReason::Turns(TurnFault::WorkedOutOfTurn), false);
            }
            base.end_turns(now);
            head.end_turns(now);
            Ok(())
        }
    }
}

/// Why an end that looks good is not: the turns were not completed.
pub(crate) fn blame(process: &RunningProcess, token: &TurnToken, side: usize) -> Option<StopReason> {
    let ended_well = matches!(process.end(), Some(Report::Ended { end: ProcessEnd::Exit(0), .. }));
    if token.is_finished() || !ended_well || process.said_why() {
        return None;
    }
    Some(StopReason::Turns(if token.has_begun(side) || token.is_waiting(side) {
        TurnFault::LeftEarly
    } else {
        TurnFault::NeverWaited
    }))
}

/// The end of the other side, as a phrase after "the other side".
fn why(other: &RunningProcess) -> &'static str {
    match (other.stopped(), other.end()) {
        (Some(StopReason::Stage { .. }), _) => "ran out of its time",
        (Some(StopReason::Turns(_) | StopReason::BadLine | StopReason::OutputLimit), _) => {
            "broke the protocol"
        }
        (Some(_), _) => "was stopped",
        (None, None) => "lost its supervisor",
        (None, Some(Report::NotStarted { .. })) => "could not be started",
        (None, Some(Report::Ended { end: ProcessEnd::Signal(_), .. })) => "was ended by a signal",
        (None, Some(Report::Ended { .. })) => "ended before its turns were over",
    }
}
