//! The processes of one round of a case, or of the cases that share their processes.

use crate::run::harness::shared_process::split_by_case;
use crate::run::process::executor::{Execution, StopReason};
use crate::run::record::arm::{ArmRecorder, slug};
use crate::run::record::case_record::ProcessContext;
use crate::run::session::counting;
use crate::run::session::launcher::Launcher;
use gbench_model::{CutShort, Params, Result};
use gbench_suite::plan::{PlannedCase, RoundsPlan};

pub(super) struct ProcessStart {
    pub arm: usize,
    /// The points that it measures; more than one if they share it. Never empty.
    pub points: Vec<Point>,
    /// Its cases share it by the suite's choice, even if only one case is left.
    pub shared: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Point {
    /// Index of the pair in the plan, and of the case in [`gbench_suite::plan::PlannedPair::cases`].
    pub pair: usize,
    pub case: usize,
    pub process: u32,
    /// Measured only because the other side's process measures it, too, and not recorded.
    pub discarded: bool,
}

/// The part of one case in a process that ended by itself, or was ended for its behaviour.
pub(super) struct CaseProcess {
    pub point: Point,
    pub execution: Execution,
    pub context: ProcessContext,
}

pub(super) struct RoundRun<'s, 'h> {
    pub plan: &'s RoundsPlan,
    pub launcher: &'s mut Launcher<'h>,
    pub arms: &'s [ArmRecorder],
    /// By pair: its executions are counted if its suite asks for it.
    pub counted: &'s [bool],
    pub round: u32,
    /// All processes that took part, or fewer after an early end.
    pub processes: Vec<CaseProcess>,
    /// The reason for an early end; the round is then discarded.
    pub cut_short: Option<CutShort>,
}

impl<'s> RoundRun<'s, '_> {
    /// Runs the processes of a round in order. All of them run, even after a failure: whether the other side works is the
    /// reader's next question.
    pub(super) fn one_after_the_other(&mut self, starts: &[ProcessStart]) -> Result<()> {
        for (slot, start) in starts.iter().enumerate() {
            self.alone(start, slot as u8)?;
            if self.cut_short.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Runs one process, without any other process of the gate at the same time.
    pub(super) fn alone(&mut self, start: &ProcessStart, slot: u8) -> Result<()> {
        self.tell_start(start);
        let first = &start.points[0];
        if self.planned(first).benchmark.harness.is_some() {
            return self.by_harness(start, slot);
        }
        let shared: Vec<Params> = match start.points.as_slice() {
            [_] => Vec::new(),
            points => points.iter().map(|point| self.planned(point).id.params.clone()).collect(),
        };
        let (execution, context) = self.launcher.process(self.planned(first), first.process, &shared);
        self.log(start, &execution, "")?;
        if !self.stops(&execution) {
            let place = Some((self.round, slot));
            self.take(start, execution, ProcessContext { place, ..context });
        }
        Ok(())
    }

    /// The processes of a harness: one, and more if cases are lost with it.
    fn by_harness(&mut self, start: &ProcessStart, slot: u8) -> Result<()> {
        let cases: Vec<&PlannedCase> = start.points.iter().map(|point| self.planned(point)).collect();
        let processes: Vec<u32> = start.points.iter().map(|point| point.process).collect();
        let (arm, name) = (&self.arms[start.arm], self.log_name(start));
        let mut log = |execution: &Execution, mark: &str| arm.log(&format!("{name}{mark}"), execution);
        // A control only serves the time: counts do not depend on order.
        let counted = |at: usize| {
            let point = &start.points[at];
            start.arm < 2 && !point.discarded && self.counted[point.pair]
        };
        let all = counting::measure(self.launcher, &cases, &processes, start.shared, counted, &mut log)?;
        self.cut_short = all.ended;
        let kept = start.points.iter().zip(all.parts).filter(|(point, _)| !point.discarded);
        self.processes.extend(kept.filter_map(|(&point, part)| {
            let (execution, context) = part?;
            let context = ProcessContext { place: Some((self.round, slot)), ..context };
            Some(CaseProcess { point, execution, context })
        }));
        Ok(())
    }

    pub(super) fn planned(&self, point: &Point) -> &'s PlannedCase {
        &self.plan.pairs[point.pair].cases[point.case]
    }

    /// True for an interrupt or a deadline: the round is discarded.
    pub(super) fn stops(&mut self, execution: &Execution) -> bool {
        let cut_short = execution.cut_short();
        self.cut_short = cut_short.or(self.cut_short);
        cut_short.is_some()
    }

    pub(super) fn take(&mut self, start: &ProcessStart, execution: Execution, context: ProcessContext) {
        let parts = match start.points.len() {
            1 => vec![execution],
            points => split_by_case(&execution, points),
        };
        for (&point, execution) in start.points.iter().zip(parts).filter(|(point, _)| !point.discarded) {
            // In a shared process, one case caused it.
            let timed_out = matches!(execution.stopped, Some(StopReason::Stage { .. }));
            let after_timeout = context.after_timeout.filter(|_| timed_out);
            let context = ProcessContext { process: point.process, after_timeout, ..context.clone() };
            self.processes.push(CaseProcess { point, execution, context });
        }
    }

    pub(super) fn tell_start(&mut self, start: &ProcessStart) {
        let point = &start.points[0];
        let case = (&self.planned(point).id, start.points.len());
        self.launcher.tell_start(case, self.arms[start.arm].side, point.process, 0);
    }

    pub(super) fn log(&self, start: &ProcessStart, execution: &Execution, mark: &str) -> Result<()> {
        self.arms[start.arm].log(&format!("{}{mark}", self.log_name(start)), execution)
    }

    fn log_name(&self, start: &ProcessStart) -> String {
        let point = &start.points[0];
        let id = &self.planned(point).id;
        let name = match start.points.len() {
            1 => slug(&id.to_string()),
            _ => slug(id.benchmark.as_str()),
        };
        format!("{:03}-{name}.{}", point.pair, point.process)
    }
}
