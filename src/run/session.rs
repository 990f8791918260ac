//! Plan in, records out: checks, builds, then process after process.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::arm::{ArmRecorder, Finished, not_reached, slug};
use super::case_record::ProcessContext;
use super::event::{Observer, Progress};
use super::executor::Executor;
use super::launcher::{Launcher, deadline};
use super::rounds::ConditionsProbe;
use crate::model::{CutShort, Result, RunRecord, Side};
use crate::store::note_start;
use crate::suite::plan::{Plan, PlanStep};

/// A plan, ready to run.
pub struct PlanSession<'a> {
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
struct PlanDriver<'a> {
    plan: &'a Plan,
    launcher: Launcher<'a>,
    probe: Option<&'a mut dyn ConditionsProbe>,
    arms: Vec<ArmRecorder>,
    /// The reason why it ended before the plan was through.
    ended: Option<CutShort>,
    /// Processes that were started or left out so far, and in all.
    done: usize,
    total: usize,
}

impl<'a> PlanSession<'a> {
    /// Carries the plan out. `headers`: one record for each arm, complete but for its cases.
    ///
    /// Never ends early without records: deadlines, interrupts and failures become outcomes. Errors: the artifacts
    /// folder cannot be written.
    pub fn run(self, headers: Vec<RunRecord>) -> Result<Vec<Finished>> {
        self.run_probed(headers, None)
    }

    /// [`PlanSession::run`] with a probe that reads the state of the machine before and after each process.
    pub fn run_probed(
        self,
        headers: Vec<RunRecord>,
        probe: Option<&'a mut dyn ConditionsProbe>,
    ) -> Result<Vec<Finished>> {
        let PlanSession { plan, executor, observer, binary, deadline: seconds, after_timeout, artifacts } =
            self;
        let launcher = Launcher { executor, observer, binary, after_timeout, until: deadline(seconds) };
        let mut arms = Vec::new();
        for (index, (header, arm)) in headers.into_iter().zip(&plan.arms).enumerate() {
            let cases = plan.steps.iter().flat_map(|step| &step.cases).filter(|case| case.arm == index);
            let folder = artifacts.join(header.run_id.as_str());
            let id = header.run_id.clone();
            arms.push(ArmRecorder::begin(arm, cases, header, &folder)?);
            note_start(artifacts, &id)?;
        }
        PlanDriver { plan, launcher, probe, arms, ended: None, done: 0, total: plan.processes() }.carry_out()
    }
}

impl PlanDriver<'_> {
    fn carry_out(mut self) -> Result<Vec<Finished>> {
        self.launcher.observer.on(&Progress::Planned { cases: self.plan.steps.len(), processes: self.total });
        for (arm, plan) in self.arms.iter_mut().zip(&self.plan.arms) {
            if self.ended.is_none() {
                self.ended = self.launcher.build_all(plan, arm)?;
            }
        }
        let mut next_index = vec![0; self.arms.len()];
        for (number, step) in self.plan.steps.iter().enumerate() {
            let indices: Vec<usize> = step.cases.iter().map(|case| next_index[case.arm]).collect();
            self.step(step, number, &indices)?;
            for (case, index) in step.cases.iter().zip(indices) {
                next_index[case.arm] += 1;
                let arm = &mut self.arms[case.arm];
                arm.end_case(index, self.ended.is_none());
                arm.keep_outcome(index)?;
                let (record, side) = (arm.case(index), arm.side);
                let (id, outcome, done, total) = (&record.id, &record.outcome, self.done, self.total);
                self.launcher.observer.on(&Progress::CaseEnded { id, side, outcome, done, total });
            }
        }
        self.arms.into_iter().map(|arm| arm.finish(self.ended)).collect()
    }

    /// All processes of one step. `indices`: of its cases in their records.
    fn step(&mut self, step: &PlanStep, number: usize, indices: &[usize]) -> Result<()> {
        for (case, index) in step.cases.iter().zip(indices) {
            self.arms[case.arm].decide_early(*index);
        }
        let total = self.total;
        for turn in &step.turns {
            let (case, index) = (&step.cases[turn.case], indices[turn.case]);
            let arm = &mut self.arms[case.arm];
            if let Some(ended) = self.ended {
                arm.abort(index, not_reached(ended));
            }
            if arm.is_aborted(index) {
                self.done += 1;
                continue;
            }
            let (side, process) = (arm.side, turn.process);
            let of = case.benchmark.settings.processes.value;
            let (id, done) = (&case.id, self.done);
            self.launcher.observer.on(&Progress::ProcessStarted { id, side, process, of, done, total });
            let started = SystemTime::now();
            if let Some(probe) = &mut self.probe {
                probe.begin();
            }
            let execution = self.launcher.process(case, process, &[]);
            let looked = self.probe.as_mut().map(|probe| probe.end(execution.cpu_seconds, execution.seconds));
            self.done += 1;
            self.ended = execution.cut_short().or(self.ended);
            let after_timeout = self.launcher.after_timeout(&execution, case);
            let (turn, interleaved, lockstep) = (*turn, false, false);
            let conditions = looked.flatten();
            let context = ProcessContext { started, turn, interleaved, lockstep, after_timeout, conditions };
            arm.add(index, &execution, context);
            let (seconds, done) = (execution.seconds, self.done);
            self.launcher.observer.on(&Progress::ProcessEnded { seconds, done, total });
            arm.log(&format!("{number:03}-{}.{process}", slug(&case.id.to_string())), &execution)?;
            arm.keep_process(index)?;
        }
        Ok(())
    }
}

/// The word of a side, or nothing in an ordinary run; for observers.
pub fn side_word(side: Option<Side>) -> &'static str {
    side.map_or("", |side| side.into_str())
}
