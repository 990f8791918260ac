//! Plan in, records out: checks, builds, then process after process.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::draft::Around;
use super::event::{Observer, Progress};
use super::executor::{Executor, Stop};
use super::hands::{Hands, deadline};
use super::lane::{Finished, LaneRun, not_reached, slug};
use super::rounds::Watch;
use crate::model::{Result, RunRecord, Side};
use crate::plan::{Plan, Step};
use crate::store::note_start;

/// What a session needs beside its plan.
pub struct Session<'a> {
    pub plan: &'a Plan,
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    /// The gbench-ci binary, which is what built-in workloads run in.
    pub binary: PathBuf,
    /// Seconds for everything; 0: no limit.
    pub deadline: f64,
    /// Program and arguments to call after a process was stopped for its time, with its folder; empty: none.
    pub after_timeout: (Vec<String>, PathBuf),
    /// Where records and logs go.
    pub artifacts: &'a Path,
}

/// A session under way.
struct Work<'a> {
    plan: &'a Plan,
    hands: Hands<'a>,
    watch: Option<&'a mut dyn Watch>,
    lanes: Vec<LaneRun>,
    /// What came before the plan was through.
    ended: Option<Stop>,
    /// Processes that were started or left out so far, and in all.
    done: usize,
    total: usize,
}

impl<'a> Session<'a> {
    /// Carries the plan out. `headers`: one record for each lane, complete but for its cases.
    ///
    /// Never ends early without records: deadlines, interrupts and failures become outcomes. Errors: the artifacts
    /// folder cannot be written.
    pub fn run(self, headers: Vec<RunRecord>) -> Result<Vec<Finished>> {
        self.run_watched(headers, None)
    }

    /// [`Session::run`] with somebody who looks at the machine around each process.
    pub fn run_watched(
        self,
        headers: Vec<RunRecord>,
        watch: Option<&'a mut dyn Watch>,
    ) -> Result<Vec<Finished>> {
        let Session { plan, executor, observer, binary, deadline: seconds, after_timeout, artifacts } = self;
        let hands = Hands { executor, observer, binary, after_timeout, until: deadline(seconds) };
        let mut lanes = Vec::new();
        for (index, (header, lane)) in headers.into_iter().zip(&plan.lanes).enumerate() {
            let cases = plan.steps.iter().flat_map(|step| &step.cases).filter(|case| case.lane == index);
            let folder = artifacts.join(header.run_id.as_str());
            let id = header.run_id.clone();
            lanes.push(LaneRun::begin(lane, cases, header, &folder)?);
            note_start(artifacts, &id)?;
        }
        Work { plan, hands, watch, lanes, ended: None, done: 0, total: plan.processes() }.carry_out()
    }
}

impl Work<'_> {
    fn carry_out(mut self) -> Result<Vec<Finished>> {
        self.hands.observer.on(&Progress::Planned { cases: self.plan.steps.len(), processes: self.total });
        for (lane, plan) in self.lanes.iter_mut().zip(&self.plan.lanes) {
            if self.ended.is_none() {
                self.ended = self.hands.build_all(plan, lane)?;
            }
        }
        let mut next_index = vec![0; self.lanes.len()];
        for (number, step) in self.plan.steps.iter().enumerate() {
            let indices: Vec<usize> = step.cases.iter().map(|case| next_index[case.lane]).collect();
            self.step(step, number, &indices)?;
            for (case, index) in step.cases.iter().zip(indices) {
                next_index[case.lane] += 1;
                let lane = &mut self.lanes[case.lane];
                lane.end_case(index, self.ended.is_none());
                lane.keep_outcome(index)?;
                let (record, side) = (lane.case(index), lane.side);
                let (id, outcome, done, total) = (&record.id, &record.outcome, self.done, self.total);
                self.hands.observer.on(&Progress::CaseEnded { id, side, outcome, done, total });
            }
        }
        self.lanes.into_iter().map(|lane| lane.finish(self.ended)).collect()
    }

    /// All processes of one step. `indices`: of its cases in their records.
    fn step(&mut self, step: &Step, number: usize, indices: &[usize]) -> Result<()> {
        for (case, index) in step.cases.iter().zip(indices) {
            self.lanes[case.lane].settle(*index);
        }
        let total = self.total;
        for turn in &step.turns {
            let (case, index) = (&step.cases[turn.case], indices[turn.case]);
            let lane = &mut self.lanes[case.lane];
            if let Some(stop) = self.ended {
                lane.break_off(index, not_reached(stop));
            }
            if lane.is_broken(index) {
                self.done += 1;
                continue;
            }
            let (side, process) = (lane.side, turn.process);
            let of = case.benchmark.settings.processes.value;
            let (id, done) = (&case.id, self.done);
            self.hands.observer.on(&Progress::ProcessStarted { id, side, process, of, done, total });
            let started = SystemTime::now();
            if let Some(watch) = &mut self.watch {
                watch.begin();
            }
            let execution = self.hands.process(case, process, &[]);
            let looked = self.watch.as_mut().map(|watch| watch.end(execution.cpu_seconds, execution.seconds));
            self.done += 1;
            if let Some(stop @ (Stop::Interrupt(_) | Stop::RunDeadline)) = execution.stopped {
                self.ended = Some(stop);
            }
            let after_timeout = self.hands.after_timeout(&execution, case);
            let (turn, interleaved, lockstep) = (*turn, false, false);
            let conditions = looked.flatten();
            let around = Around { started, turn, interleaved, lockstep, after_timeout, conditions };
            lane.add(index, &execution, around);
            let (seconds, done) = (execution.seconds, self.done);
            self.hands.observer.on(&Progress::ProcessEnded { seconds, done, total });
            lane.log(&format!("{number:03}-{}.{process}", slug(&case.id.to_string())), &execution)?;
            lane.keep_process(index)?;
        }
        Ok(())
    }
}

/// `Side::word`, or nothing in an ordinary run; for observers.
pub fn side_word(side: Option<Side>) -> &'static str {
    side.map_or("", Side::word)
}
