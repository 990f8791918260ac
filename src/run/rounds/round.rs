//! The processes of one round of a case, or of the cases that share their processes.

use std::time::{Instant, SystemTime};

use super::ConditionsProbe;
use crate::model::{Conditions, CutShort, Params, ProcessEnd, Result};
use crate::run::arm::{ArmRecorder, slug};
use crate::run::case_record::ProcessContext;
use crate::run::event::Progress;
use crate::run::executor::{Execution, StopReason};
use crate::run::launcher::Launcher;
use crate::run::shared_process::split_by_case;
use crate::suite::plan::{PlannedCase, PlannedProcess, RoundsPlan};

/// The plan of one round.
pub(super) struct Round<'a> {
    pub plan: &'a RoundsPlan,
    pub round: u32,
    /// The processes, who goes first first.
    pub starts: Vec<ProcessStart>,
    /// Base and head take turns.
    pub lockstep: bool,
}

/// One process of a round.
pub(super) struct ProcessStart {
    pub arm: usize,
    /// The points that it measures; more than one where they share it. Never empty.
    pub points: Vec<Point>,
}

/// One case that a process measures.
#[derive(Clone, Copy)]
pub(super) struct Point {
    /// Index of the pair in the plan, and of the case in the pair.
    pub pair: usize,
    pub case: usize,
    /// The index that the process has within its case.
    pub process: u32,
    /// Measured because the other side's process measures it too, and in no record.
    pub discarded: bool,
}

/// The processes of a round that has run.
pub(super) struct RoundResult {
    /// All that took part, or fewer where it was cut short.
    pub processes: Vec<CaseProcess>,
    /// Wall seconds, with whatever was needed to start and end the processes.
    pub seconds: f64,
    /// The reason why it was cut short: then nothing of it counts.
    pub cut_short: Option<CutShort>,
}

/// The part of one case in a process that ended by itself, or was ended for what it did.
pub(super) struct CaseProcess {
    pub pair: usize,
    /// Index into [`crate::suite::plan::PlannedPair::cases`].
    pub case: usize,
    pub execution: Execution,
    pub context: ProcessContext,
}

/// Where the progress of a round stands: processes done, and in all.
pub(super) struct Counter {
    pub done: usize,
    pub total: usize,
}

/// A round under way.
pub(super) struct RoundRun<'s, 'h> {
    pub launcher: &'s mut Launcher<'h>,
    pub probe: Option<&'s mut (dyn ConditionsProbe + 's)>,
    pub arms: &'s [ArmRecorder],
    pub round: &'s Round<'s>,
    pub counter: &'s mut Counter,
    pub taken: RoundResult,
}

/// How a process was run, for all the cases that it measured.
pub(super) struct ProcessRun {
    pub started: SystemTime,
    pub slot: u8,
    pub lockstep: bool,
    pub conditions: Option<Conditions>,
    pub after_timeout: Option<ProcessEnd>,
}

/// Gives each case of a round its process. All of them run, also after one that failed: whether the other side works is
/// what the reader asks next.
pub(super) fn carry_out<'s>(
    launcher: &'s mut Launcher<'_>,
    probe: Option<&'s mut (dyn ConditionsProbe + 's)>,
    arms: &'s [ArmRecorder],
    round: &'s Round<'s>,
    counter: &'s mut Counter,
) -> Result<RoundResult> {
    let began = Instant::now();
    let taken = RoundResult { processes: Vec::new(), seconds: 0.0, cut_short: None };
    let mut run = RoundRun { launcher, probe, arms, round, counter, taken };
    if round.lockstep {
        run.in_turns()?
    } else {
        run.one_after_the_other()?
    }
    let mut taken = run.taken;
    taken.seconds = began.elapsed().as_secs_f64();
    Ok(taken)
}

impl<'s> RoundRun<'s, '_> {
    fn one_after_the_other(&mut self) -> Result<()> {
        for (slot, start) in self.round.starts.iter().enumerate() {
            self.alone(start, slot as u8)?;
            if self.taken.cut_short.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// One process, with nothing of ours beside it.
    pub(super) fn alone(&mut self, start: &ProcessStart, slot: u8) -> Result<()> {
        self.tell_start(start);
        let started = SystemTime::now();
        if let Some(probe) = &mut self.probe {
            probe.begin();
        }
        let case = self.planned(&start.points[0]);
        let execution = self.launcher.process(case, start.points[0].process, &self.shared(start));
        let looked = self.probe.as_mut().map(|probe| probe.end(execution.cpu_seconds, execution.seconds));
        let conditions = looked.flatten();
        let after_timeout = self.launcher.after_timeout(&execution, case);
        self.tell_end(&execution);
        self.log(start, &execution, "")?;
        if !self.stops(&execution) {
            self.keep(
                start,
                execution,
                ProcessRun { started, slot, lockstep: false, conditions, after_timeout },
            );
        }
        Ok(())
    }

    pub(super) fn planned(&self, point: &Point) -> &'s PlannedCase {
        let round: &'s Round<'s> = self.round;
        &round.plan.pairs[point.pair].cases[point.case]
    }

    /// The points of a shared process; none for one that has a case to itself.
    fn shared(&self, start: &ProcessStart) -> Vec<Params> {
        match start.points.as_slice() {
            [_] => Vec::new(),
            points => points.iter().map(|point| self.planned(point).id.params.clone()).collect(),
        }
    }

    /// An interrupt or a deadline: nothing of the round counts.
    pub(super) fn stops(&mut self, execution: &Execution) -> bool {
        let cut_short = execution.cut_short();
        self.taken.cut_short = cut_short.or(self.taken.cut_short);
        cut_short.is_some()
    }

    /// Gives each case of a process what is its own.
    pub(super) fn keep(&mut self, start: &ProcessStart, execution: Execution, ran: ProcessRun) {
        let parts = match start.points.len() {
            1 => vec![execution],
            points => split_by_case(&execution, points),
        };
        for (point, execution) in start.points.iter().zip(parts).filter(|(point, _)| !point.discarded) {
            let Point { pair, case, process, .. } = *point;
            let turn = PlannedProcess { case, process, round: self.round.round, slot: ran.slot };
            // Of those that share a process it was the doing of one.
            let timed_out = matches!(execution.stopped, Some(StopReason::Stage { .. }));
            let after_timeout = ran.after_timeout.filter(|_| timed_out);
            let ProcessRun { started, lockstep, .. } = ran;
            let conditions = ran.conditions.clone();
            let context =
                ProcessContext { started, turn, interleaved: true, lockstep, after_timeout, conditions };
            self.taken.processes.push(CaseProcess { pair, case, execution, context });
        }
    }

    pub(super) fn tell_start(&mut self, start: &ProcessStart) {
        let (plan, point) = (self.round.plan, &start.points[0]);
        let (id, side) = (&plan.pairs[point.pair].cases[point.case].id, self.arms[start.arm].side);
        let (process, done, total) = (point.process, self.counter.done, self.counter.total);
        self.launcher.observer.on(&Progress::ProcessStarted { id, side, process, of: 0, done, total });
    }

    pub(super) fn tell_end(&mut self, execution: &Execution) {
        self.counter.done += 1;
        let (seconds, done, total) = (execution.seconds, self.counter.done, self.counter.total);
        self.launcher.observer.on(&Progress::ProcessEnded { seconds, done, total });
    }

    /// Writes down what a process printed; a shared one bears the name of its benchmark.
    pub(super) fn log(&self, start: &ProcessStart, execution: &Execution, mark: &str) -> Result<()> {
        let point = &start.points[0];
        let id = &self.planned(point).id;
        let name = match start.points.len() {
            1 => slug(&id.to_string()),
            _ => slug(id.benchmark.as_str()),
        };
        let name = format!("{:03}-{name}.{}{mark}", point.pair, point.process);
        self.arms[start.arm].log(&name, execution)
    }
}
