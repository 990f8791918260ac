//! Plan in, record out: checks, builds, then process after process.

use std::path::Path;

use super::arm::{ArmRecorder, Finished, slug};
use super::event::Progress;
use super::launcher::{Launcher, RunSession};
use super::outcome::cut_short;
use crate::model::{Result, RunRecord};
use crate::store::note_start;
use crate::suite::plan::Plan;

/// A plan, ready to run.
pub struct PlanSession<'a> {
    pub plan: &'a Plan,
    pub session: RunSession<'a>,
    /// Where records and logs go.
    pub artifacts: &'a Path,
}

impl PlanSession<'_> {
    /// Carries the plan out. `header`: the record, complete but for its cases.
    ///
    /// Never ends early without a record: deadlines, interrupts and failures become outcomes. Errors: the artifacts
    /// folder cannot be written.
    pub fn run(self, header: RunRecord) -> Result<Finished> {
        let PlanSession { plan, session, artifacts } = self;
        let mut launcher = Launcher::new(session);
        let id = header.run_id.clone();
        let mut arm = ArmRecorder::begin(&plan.arm, plan.cases.iter(), header, &artifacts.join(id.as_str()))?;
        note_start(artifacts, &id)?;
        launcher.total = plan.processes();
        let planned = Progress::Planned { cases: plan.cases.len(), processes: launcher.total };
        launcher.session.observer.on(&planned);
        let mut ended = launcher.build_all(&plan.arm, &mut arm)?;
        for (index, case) in plan.cases.iter().enumerate() {
            arm.decide_early(index);
            let processes = case.benchmark.settings.processes.value;
            for process in 0..processes {
                if let Some(ended) = ended {
                    arm.abort(index, cut_short(ended, "before its turn"));
                }
                if arm.is_aborted(index) {
                    launcher.done += 1;
                    continue;
                }
                launcher.tell_start(&case.id, None, process, processes);
                let (execution, context) = launcher.process(case, process, &[]);
                ended = execution.cut_short().or(ended);
                arm.add(index, &execution, context);
                let name = format!("{index:03}-{}.{process}", slug(&case.id.to_string()));
                arm.log(&name, &execution)?;
                arm.keep_process(index)?;
            }
            arm.end_case(index, ended.is_none());
            arm.keep_outcome(index)?;
            launcher.tell_case(&arm, index);
        }
        arm.finish(ended)
    }
}
