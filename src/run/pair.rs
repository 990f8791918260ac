//! Two processes and the token between them: what each says is held against the rules, and neither is left waiting
//! for one that is gone.

use std::time::Instant;

use super::executor::Stop;
use super::turns::{Baton, Next, TurnFault};
use super::watch::{Sign, Watch};
use crate::model::ProcessEnd;
use crate::supervise::Report;

/// Looks at what both have said, and gives the next turn. `watches`: two.
///
/// One that fails does not end the other at once but when it next waits for a turn: it may be about to fail in its own
/// way (a module that neither side finds, a machine that neither can run on), and that is its outcome then.
pub fn steer(watches: &mut [Watch], baton: &mut Baton, now: Instant) -> std::io::Result<()> {
    for (side, watch) in watches.iter_mut().enumerate() {
        for sign in watch.signs() {
            let broken = match sign {
                Sign::Yield => baton.on_yield(side, now).err(),
                Sign::Measured => (!baton.has_begun(side)).then_some(TurnFault::NeverWaited),
            };
            match broken {
                Some(fault) => watch.stop(Stop::Turns(fault), false),
                None if sign == Sign::Yield => watch.rest(now),
                None => {}
            }
        }
        // It may yield for ever: nothing is heard any more.
        if watch.is_garbled() && !baton.is_finished() {
            watch.stop(Stop::BadLine, false);
        }
    }
    let [base, head] = watches else { return Ok(()) };
    if baton.is_finished() {
        return Ok(());
    }
    let gone = [&*base, &*head].map(|watch| watch.is_over() || watch.stopped().is_some());
    if gone.contains(&true) {
        let whys = [why(head), why(base)];
        for (side, watch) in [&mut *base, head].into_iter().enumerate() {
            if gone[1 - side] && baton.is_waiting(side) && !watch.is_over() {
                watch.stop(Stop::Partner { why: whys[side] }, false);
            }
        }
        return Ok(());
    }
    match baton.next(now) {
        Next::Wait => Ok(()),
        Next::Give { side, iterations } => [base, head][side].give(iterations, now),
        Next::Finish => {
            base.end_turns(now);
            head.end_turns(now);
            Ok(())
        }
    }
}

/// Why an end that looks good is none: the turns were not had to their end.
pub fn blame(watch: &Watch, baton: &Baton, side: usize) -> Option<Stop> {
    let ended_well = matches!(watch.end(), Some(Report::Ended { end: ProcessEnd::Exit(0), .. }));
    if baton.is_finished() || !ended_well || watch.said_why() {
        return None;
    }
    Some(Stop::Turns(match baton.has_begun(side) || baton.is_waiting(side) {
        true => TurnFault::LeftEarly,
        false => TurnFault::NeverWaited,
    }))
}

/// What became of the other side, to stand behind "the other side".
fn why(other: &Watch) -> &'static str {
    match (other.stopped(), other.end()) {
        (Some(Stop::Stage { .. }), _) => "ran out of its time",
        (Some(Stop::Turns(_) | Stop::BadLine | Stop::Flood), _) => "broke the protocol",
        (Some(_), _) => "was stopped",
        (None, None) => "lost its supervisor",
        (None, Some(Report::NotStarted { .. })) => "could not be started",
        (None, Some(Report::Ended { end: ProcessEnd::Signal(_), .. })) => "was ended by a signal",
        (None, Some(Report::Ended { .. })) => "ended before its turns were over",
    }
}
