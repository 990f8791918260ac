//! Plan in, record out: checks, builds, then process after process.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::counting;
use super::event::Progress;
use super::launcher::{Launcher, ProcessCount, RunSession};
use crate::run::gpus::queues::GpuQueue;
use crate::run::outcome::classify::{cut_short, not_run};
use crate::run::process::executor::{Execution, ExecutionEnd};
use crate::run::profiling::profile_run;
use crate::run::record::arm::{ArmRecorder, Finished, slug};
use crate::store::held::hold;
use crate::store::started::note_start;
use gbench_host::Beside;
use gbench_model::text::count;
use gbench_model::{CutShort, Outcome, OutcomeCode, Result, RunRecord};
use gbench_suite::ProfileOptions;
use gbench_suite::plan::{Plan, PlannedCase};

pub struct PlanSession<'a> {
    pub plan: &'a Plan,
    pub session: RunSession<'a>,
    pub artifacts: &'a Path,
    /// Cases that run first, in concurrent queues; the other cases run alone. Empty: every case runs alone.
    pub queues: Vec<QueueSession<'a>>,
    /// The most processes at once, no more than there are queues; 1 without any.
    pub at_once: usize,
}

/// A queue with its own means.
pub struct QueueSession<'a> {
    pub queue: GpuQueue,
    pub session: RunSession<'a>,
}

impl<'a> PlanSession<'a> {
    /// A plan whose cases run alone.
    pub fn one_by_one(plan: &'a Plan, session: RunSession<'a>, artifacts: &'a Path) -> Self {
        Self { plan, session, artifacts, queues: Vec::new(), at_once: 1 }
    }

    /// Carries out the plan. `header`: the record, complete except for its cases.
    ///
    /// Never ends early without a record: deadlines, interrupts and failures become outcomes. Errors: the artifacts folder
    /// cannot be written.
    pub fn run(self, header: RunRecord) -> Result<Finished> {
        self.run_and_profile(header, &ProfileOptions::default())
    }

    /// [`PlanSession::run`], then profiles each measured case with the requested profilers, which never changes the
    /// measurements.
    pub fn run_and_profile(self, header: RunRecord, profile: &ProfileOptions) -> Result<Finished> {
        let PlanSession { plan, session, artifacts, queues, at_once } = self;
        let mut launcher = Launcher::new(session);
        let id = header.run_id.clone();
        let mut arm = ArmRecorder::begin(&plan.arm, plan.cases.iter(), header, &artifacts.join(id.as_str()))?;
        hold(&artifacts.join(id.as_str()));
        note_start(artifacts, &id)?;
        let PlannedProcesses { least, shared } = PlannedProcesses::of(plan);
        launcher.count = ProcessCount::of(least);
        let planned = Progress::Planned { cases: plan.cases.len(), processes: least, shared };
        launcher.session.observer.on(&planned);
        let mut ended = launcher.build_all(&plan.arm, &mut arm)?;
        let arm = Mutex::new(arm);
        if ended.is_none() && !queues.is_empty() {
            ended = in_queues(&mut launcher, &arm, plan, queues, at_once)?;
        }
        let mut index = 0;
        while let Some(case) = plan.cases.get(index) {
            let together = shared_with(&plan.cases, index);
            if together > 1 || case.benchmark.harness.is_some() {
                let cases = index..index + together;
                ended = by_harness(&mut launcher, &mut locked(&arm), (plan, cases), ended)?;
            } else if !locked(&arm).is_over(index) {
                ended = one_by_one(&mut launcher, &arm, (plan, index), ended, None)?;
            }
            index += together;
        }
        let arm = arm.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut finished = arm.finish(ended)?;
        if ended.is_none() && !profile.profilers.value.is_empty() {
            let measured: Vec<bool> =
                finished.record.cases.iter().map(|case| case.outcome.is_measured()).collect();
            profile_all(&mut launcher, profile, plan, &measured, &mut finished)?;
        }
        Ok(finished)
    }

    /// Builds, and runs every case only under profilers. No case of the record has run; its folder is not a run's, so that it
    /// cannot be taken for the latest run. Errors: as for [`PlanSession::run`].
    pub fn profile_only(self, header: RunRecord, profile: &ProfileOptions) -> Result<Finished> {
        let PlanSession { plan, session, artifacts, .. } = self;
        let mut launcher = Launcher::new(session);
        let root = artifacts.join(format!("profile-{}", header.run_id));
        let mut arm = ArmRecorder::begin(&plan.arm, plan.cases.iter(), header, &root)?;
        hold(&root);
        let ended = launcher.build_all(&plan.arm, &mut arm)?;
        let mut open = Vec::new();
        for index in 0..plan.cases.len() {
            arm.decide_early(index);
            open.push(!arm.is_aborted(index));
            arm.abort(index, profiled_only());
            arm.end_case(index, ended.is_none());
        }
        let mut finished = arm.finish(ended)?;
        if ended.is_none() {
            profile_all(&mut launcher, profile, plan, &open, &mut finished)?;
        }
        Ok(finished)
    }
}

/// The reason why a thread's queues ended early, or `None`. Errors: the record or a log cannot be written.
type QueueEnd = Result<Option<CutShort>>;

/// Measures the queues, several at once. If an error ends one queue, or if its processes can no longer be distinguished from
/// those that a killed supervisor left, the other queues end with their current processes. In the latter case the remaining
/// cases are left to be measured one by one. Errors: those of [`PlanSession::run`].
fn in_queues(
    launcher: &mut Launcher<'_>,
    arm: &Mutex<ArmRecorder>,
    plan: &Plan,
    queues: Vec<QueueSession<'_>>,
    at_once: usize,
) -> QueueEnd {
    for index in queues.iter().flat_map(|it| &it.queue.cases) {
        locked(arm).set_jobs(*index, at_once);
    }
    let beside = |QueueSession { queue, session }| (queue, launcher.beside(session));
    let waiting: Vec<_> = queues.into_iter().map(beside).collect();
    let waiting = Mutex::new(waiting.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let stop = AtomicBool::new(false);
    let work = || -> QueueEnd {
        let mut ended = None;
        while let Some((queue, mut launcher)) = next() {
            for index in queue.cases {
                ended = one_by_one(&mut launcher, arm, (plan, index), ended, Some(&stop))
                    .inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
        }
        Ok(ended)
    };
    let ends: Vec<QueueEnd> = thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| Beside::start(scope, work)).collect();
        let join = |thread: Beside<'_, QueueEnd>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let ended = ends.into_iter().try_fold(None, |ended, end| QueueEnd::Ok(end?.or(ended)))?;
    if stop.into_inner() {
        launcher.session.executor.end_strays();
    }
    Ok(ended)
}

fn locked(arm: &Mutex<ArmRecorder>) -> MutexGuard<'_, ArmRecorder> {
    // A thread that panicked ends the run when the other threads have ended.
    arm.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Measures a case that shares no process, starting with the first process that it lacks. The record is locked only between
/// processes. `stop`: with concurrent cases, whether the rest is left to be measured alone.
fn one_by_one(
    launcher: &mut Launcher<'_>,
    arm: &Mutex<ArmRecorder>,
    (plan, index): (&Plan, usize),
    mut ended: Option<CutShort>,
    stop: Option<&AtomicBool>,
) -> Result<Option<CutShort>> {
    let case = &plan.cases[index];
    locked(arm).decide_early(index);
    let processes = case.benchmark.settings.processes.value;
    let measured = locked(arm).case(index).processes.len() as u32;
    for process in measured..processes {
        if let Some(ended) = ended {
            cut_off(&mut locked(arm), index, ended, processes);
        }
        if locked(arm).is_aborted(index) {
            launcher.count.add(1);
            continue;
        }
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Ok(ended);
        }
        launcher.tell_start((&case.id, 1), None, process, processes);
        let (execution, context) = launcher.process(case, process, &[]);
        ended = execution.cut_short().or(ended);
        if let Some(stop) = stop
            && execution.end == ExecutionEnd::SupervisorDied
        {
            stop.store(true, Ordering::Relaxed);
        }
        let arm = &mut *locked(arm);
        arm.add(index, &execution, context);
        let name = format!("{index:03}-{}.{process}", slug(&case.id.to_string()));
        arm.log(&name, &execution)?;
        arm.keep_process(index)?;
    }
    let arm = &mut *locked(arm);
    arm.end_case(index, ended.is_none());
    arm.keep_outcome(index)?;
    launcher.tell_case(arm, index);
    Ok(ended)
}

/// Profiles the `wanted` cases. An interrupt ends that, and keeps the measurements.
fn profile_all(
    launcher: &mut Launcher<'_>,
    profile: &ProfileOptions,
    plan: &Plan,
    wanted: &[bool],
    finished: &mut Finished,
) -> Result<()> {
    if let Some(CutShort::Interrupt { signal }) =
        profile_run(launcher, profile, plan.cases.iter(), wanted, finished)?
    {
        finished.interrupted = Some(signal);
    }
    launcher.session.observer.on(&Progress::Finished);
    Ok(())
}

fn profiled_only() -> Outcome {
    let cause = "it was profiled, and not measured".into();
    not_run(OutcomeCode::ProfiledOnly, cause, "measure it with `gbench-ci run`")
}

/// Settles a case that did not have all of its processes at the end of the run; one that is settled stays as it is.
fn cut_off(arm: &mut ArmRecorder, index: usize, ended: CutShort, processes: u32) {
    let when = match arm.case(index).processes.len() {
        0 => "before its turn".to_owned(),
        measured => format!("after {measured} of {}", count(processes as usize, "process")),
    };
    arm.abort(index, cut_short(ended, &when));
}

/// The number of processes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedProcesses {
    /// The number if no case breaks a shared process.
    pub least: usize,
    /// Some are shared, so that there may be more of them.
    pub shared: bool,
}

impl PlannedProcesses {
    pub fn of(plan: &Plan) -> Self {
        let (mut least, mut shared, mut index) = (0, false, 0);
        while let Some(case) = plan.cases.get(index) {
            let together = shared_with(&plan.cases, index);
            least += case.benchmark.settings.processes.value as usize;
            shared |= together > 1;
            index += together;
        }
        Self { least, shared }
    }
}

/// The number of cases from `first` on that share their processes: those of one harness, unless the suite configures otherwise.
fn shared_with(cases: &[PlannedCase], first: usize) -> usize {
    let case = &cases[first];
    let shares = case.benchmark.harness.is_some() && case.benchmark.shares(true);
    let same = |other: &&PlannedCase| other.benchmark.id == case.benchmark.id;
    if shares { cases[first..].iter().take_while(same).count() } else { 1 }
}

fn by_harness(
    launcher: &mut Launcher<'_>,
    arm: &mut ArmRecorder,
    (plan, cases): (&Plan, Range<usize>),
    mut ended: Option<CutShort>,
) -> Result<Option<CutShort>> {
    let first = &plan.cases[cases.start];
    let (processes, shared) = (first.benchmark.settings.processes.value, cases.len() > 1);
    cases.clone().for_each(|index| _ = arm.decide_early(index));
    let id = first.benchmark.id.as_str();
    for process in 0..processes {
        if let Some(ended) = ended {
            cases.clone().for_each(|index| cut_off(arm, index, ended, processes));
        }
        let open: Vec<usize> = cases.clone().filter(|index| !arm.is_aborted(*index)).collect();
        let before = launcher.processes_of_turn(id, cases.len());
        let Some(lead) = open.first() else {
            launcher.count.add(before);
            continue;
        };
        launcher.tell_start((&plan.cases[*lead].id, open.len()), None, process, processes);
        let members: Vec<&PlannedCase> = open.iter().map(|index| &plan.cases[*index]).collect();
        let indices = vec![process; open.len()];
        let name = match open.as_slice() {
            [only] => format!("{only:03}-{}.{process}", slug(&plan.cases[*only].id.to_string())),
            _ => format!("{lead:03}-{}.{process}", slug(first.benchmark.id.as_str())),
        };
        let mut log = |execution: &Execution, mark: &str| arm.log(&format!("{name}{mark}"), execution);
        let all = counting::measure(launcher, &members, &indices, shared, |_| true, &mut log)?;
        ended = all.ended;
        let left = (processes - process - 1) as usize;
        let now = launcher.processes_of_turn(id, cases.len());
        launcher.count.total = (launcher.count.total + left * now).saturating_sub(left * before);
        for (index, part) in open.into_iter().zip(all.parts) {
            let Some((execution, context)) = part else { continue };
            arm.add(index, &execution, context);
            arm.keep_process(index)?;
        }
    }
    for index in cases {
        // It may have come while the last process ran.
        let has_all = arm.case(index).processes.len() == processes as usize;
        if let Some(ended) = ended.filter(|_| !has_all) {
            cut_off(arm, index, ended, processes);
        }
        arm.end_case(index, ended.is_none() || has_all);
        arm.keep_outcome(index)?;
        launcher.tell_case(arm, index);
    }
    Ok(ended)
}
