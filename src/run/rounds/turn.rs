//! The processes of one round of a case, or of the cases that share their processes.

use std::time::{Instant, SystemTime};

use super::Watch;
use crate::model::{Conditions, Params, ProcessEnd, Result};
use crate::plan::{PlannedCase, RoundsPlan, Turn};
use crate::run::draft::Around;
use crate::run::event::Progress;
use crate::run::executor::{Execution, Stop};
use crate::run::hands::Hands;
use crate::run::lane::{LaneRun, slug};
use crate::run::share::split_by_case;

/// What one round is to be.
pub struct Round<'a> {
    pub plan: &'a RoundsPlan,
    pub round: u32,
    /// The processes, who goes first first.
    pub starts: Vec<Start>,
    /// Base and head take turns.
    pub lockstep: bool,
}

/// One process of a round.
pub struct Start {
    pub lane: usize,
    /// What it measures; more than one point where they share it. Never empty.
    pub points: Vec<Point>,
}

/// One case that a process measures.
#[derive(Clone, Copy)]
pub struct Point {
    /// Index of the pair in the plan, and of the case in the pair.
    pub pair: usize,
    pub case: usize,
    /// The index that the process has within its case.
    pub process: u32,
    /// Measured because the other side's process measures it too, and in no record.
    pub unkept: bool,
}

/// What came of a round.
pub struct Taken {
    /// All that took part, or fewer where it was cut short.
    pub processes: Vec<Process>,
    /// Wall seconds, with whatever was needed to start and end the processes.
    pub seconds: f64,
    /// What cut it short: then nothing of it counts.
    pub stop: Option<Stop>,
}

/// What one case has of a process that ended by itself, or was ended for what it did.
pub struct Process {
    pub pair: usize,
    /// Index into [`crate::plan::Pair::cases`].
    pub case: usize,
    pub execution: Execution,
    pub around: Around,
}

/// Where the progress of a round stands: processes done, and in all.
pub struct Counter {
    pub done: usize,
    pub total: usize,
}

/// A round under way.
pub struct Sitting<'s, 'h> {
    pub hands: &'s mut Hands<'h>,
    pub watch: Option<&'s mut (dyn Watch + 's)>,
    pub lanes: &'s [LaneRun],
    pub round: &'s Round<'s>,
    pub counter: &'s mut Counter,
    pub taken: Taken,
}

/// How a process was run, for all the cases that it measured.
pub struct Ran {
    pub started: SystemTime,
    pub slot: u8,
    pub lockstep: bool,
    pub conditions: Option<Conditions>,
    pub after_timeout: Option<ProcessEnd>,
}

/// Gives each case of a round its process. All of them run, also after one that failed: whether the other side works is
/// what the reader asks next.
pub fn carry_out<'s>(
    hands: &'s mut Hands<'_>,
    watch: Option<&'s mut (dyn Watch + 's)>,
    lanes: &'s [LaneRun],
    round: &'s Round<'s>,
    counter: &'s mut Counter,
) -> Result<Taken> {
    let began = Instant::now();
    let taken = Taken { processes: Vec::new(), seconds: 0.0, stop: None };
    let mut sitting = Sitting { hands, watch, lanes, round, counter, taken };
    match round.lockstep {
        true => sitting.in_turns()?,
        false => sitting.one_after_the_other()?,
    }
    let mut taken = sitting.taken;
    taken.seconds = began.elapsed().as_secs_f64();
    Ok(taken)
}

impl<'s> Sitting<'s, '_> {
    fn one_after_the_other(&mut self) -> Result<()> {
        for (slot, start) in self.round.starts.iter().enumerate() {
            self.alone(start, slot as u8)?;
            if self.taken.stop.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// One process, with nothing of ours beside it.
    pub fn alone(&mut self, start: &Start, slot: u8) -> Result<()> {
        self.tell_start(start);
        let started = SystemTime::now();
        if let Some(watch) = &mut self.watch {
            watch.begin();
        }
        let case = self.planned(&start.points[0]);
        let execution = self.hands.process(case, start.points[0].process, &self.shared(start));
        let looked = self.watch.as_mut().map(|watch| watch.end(execution.cpu_seconds, execution.seconds));
        let conditions = looked.flatten();
        let after_timeout = self.hands.after_timeout(&execution, case);
        self.tell_end(&execution);
        self.log(start, &execution, "")?;
        if !self.stops(&execution) {
            self.keep(start, execution, Ran { started, slot, lockstep: false, conditions, after_timeout });
        }
        Ok(())
    }

    pub fn planned(&self, point: &Point) -> &'s PlannedCase {
        let round: &'s Round<'s> = self.round;
        &round.plan.pairs[point.pair].cases[point.case]
    }

    /// The points of a shared process; none for one that has a case to itself.
    fn shared(&self, start: &Start) -> Vec<Params> {
        match start.points.as_slice() {
            [_] => Vec::new(),
            points => points.iter().map(|point| self.planned(point).id.params.clone()).collect(),
        }
    }

    /// An interrupt or a deadline: nothing of the round counts.
    pub fn stops(&mut self, execution: &Execution) -> bool {
        let Some(stop @ (Stop::Interrupt(_) | Stop::RunDeadline)) = execution.stopped else { return false };
        self.taken.stop = Some(stop);
        true
    }

    /// Gives each case of a process what is its own.
    pub fn keep(&mut self, start: &Start, execution: Execution, ran: Ran) {
        let parts = match start.points.len() {
            1 => vec![execution],
            points => split_by_case(&execution, points),
        };
        for (point, execution) in start.points.iter().zip(parts).filter(|(point, _)| !point.unkept) {
            let Point { pair, case, process, .. } = *point;
            let turn = Turn { case, process, round: self.round.round, slot: ran.slot };
            // Of those that share a process it was the doing of one.
            let timed_out = matches!(execution.stopped, Some(Stop::Stage { .. }));
            let after_timeout = ran.after_timeout.filter(|_| timed_out);
            let Ran { started, lockstep, .. } = ran;
            let conditions = ran.conditions.clone();
            let around = Around { started, turn, interleaved: true, lockstep, after_timeout, conditions };
            self.taken.processes.push(Process { pair, case, execution, around });
        }
    }

    pub fn tell_start(&mut self, start: &Start) {
        let (plan, point) = (self.round.plan, &start.points[0]);
        let (id, side) = (&plan.pairs[point.pair].cases[point.case].id, self.lanes[start.lane].side);
        let (process, done, total) = (point.process, self.counter.done, self.counter.total);
        self.hands.observer.on(&Progress::ProcessStarted { id, side, process, of: 0, done, total });
    }

    pub fn tell_end(&mut self, execution: &Execution) {
        self.counter.done += 1;
        let (seconds, done, total) = (execution.seconds, self.counter.done, self.counter.total);
        self.hands.observer.on(&Progress::ProcessEnded { seconds, done, total });
    }

    /// Writes down what a process printed; a shared one bears the name of its benchmark.
    pub fn log(&self, start: &Start, execution: &Execution, mark: &str) -> Result<()> {
        let point = &start.points[0];
        let id = &self.planned(point).id;
        let name = match start.points.len() {
            1 => slug(&id.to_string()),
            _ => slug(id.benchmark.as_str()),
        };
        let name = format!("{:03}-{name}.{}{mark}", point.pair, point.process);
        self.lanes[start.lane].log(&name, execution)
    }
}
