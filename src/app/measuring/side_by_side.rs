//! Measuring on several GPUs at once: what each queue of cases needs for itself.

use std::path::Path;

use super::executor::SessionMeans;
use super::lock::GateGpus;
use super::watch::{CaseConditions, Watch};
use crate::app::progress::Reporter;
use crate::model::text::count;
use crate::model::{Fault, Result, RunRecord};
use crate::run::{ConditionsProbe, GpuQueue, QueueSession, gpu_queues};
use crate::suite::plan::Plan;
use crate::suite::{RunOptions, Suite};

const FLAG: &str = "--jobs";

/// The queues of a run with `--jobs`, each with its means. None where cases run one by one.
pub(crate) struct SideBySide {
    at_once: usize,
    queues: Vec<QueueMeans>,
}

struct QueueMeans {
    queue: GpuQueue,
    means: SessionMeans,
    conditions: Option<CaseConditions>,
}

impl SideBySide {
    /// Says what is measured at once, to the user and in the record. Errors: signals cannot be taken, or no temporary
    /// folder can be made.
    pub(crate) fn of(
        suite: &Suite,
        plan: &Plan,
        record: &mut RunRecord,
        (watch, reporter): (&mut Watch, &Reporter),
    ) -> Result<Self> {
        let jobs = suite.run.jobs.value as usize;
        let nothing = Self { at_once: 1, queues: Vec::new() };
        if jobs < 2 {
            return Ok(nothing);
        }
        let queues = gpu_queues(plan, &record.manifest.gpu, GateGpus::read().inherited());
        if queues.len() < 2 {
            reporter.note(NOTHING_AT_ONCE);
            record.warnings.push(NOTHING_AT_ONCE.into());
            return Ok(nothing);
        }
        let at_once = jobs.min(queues.len());
        reporter.note(&planned(&queues, at_once, plan.cases.len()));
        record.warnings.push(format!(
            "up to {} ran at once, each on separate GPUs (`{FLAG}`): they shared processors, memory and the bus",
            count(at_once, "process")
        ));
        let mut means = |queue: GpuQueue| {
            Ok(QueueMeans { queue, means: SessionMeans::beside(reporter)?, conditions: watch.of_queue() })
        };
        Ok(Self { at_once, queues: queues.into_iter().map(&mut means).collect::<Result<_>>()? })
    }

    pub(crate) fn at_once(&self) -> usize {
        self.at_once
    }

    pub(crate) fn sessions<'a>(&'a mut self, run: &RunOptions, tree: &Path) -> Vec<QueueSession<'a>> {
        let session = |QueueMeans { queue, means, conditions }: &'a mut QueueMeans| {
            let probe = conditions.as_mut().map(|it| it as &mut dyn ConditionsProbe);
            QueueSession { queue: queue.clone(), session: means.session(run, tree, probe) }
        };
        self.queues.iter_mut().map(session).collect()
    }
}

/// Errors: what is asked for cannot be done at once; exit code 2.
pub(crate) fn check_jobs(run: &RunOptions) -> Result<()> {
    if run.jobs.value > 1 && !run.after_timeout.value.is_empty() {
        let what = "the suite's `after_timeout` would run while other cases are measured";
        let next = format!("leave `{FLAG}` out, or take `after_timeout` out of [run]");
        return Err(Fault::at_flag(FLAG, what, next));
    }
    Ok(())
}

const NOTHING_AT_ONCE: &str = "`--jobs`: nothing is measured at once, since no two cases can run at the same time; `device` in the suite \
     file binds a benchmark to a GPU, and \"each\" measures it on all of them";

/// `up to 2 processes at once: 3 cases on GPU 0; 3 cases on GPU 1; then 1 case alone`.
fn planned(queues: &[GpuQueue], at_once: usize, cases: usize) -> String {
    let of = |queue: &GpuQueue| {
        let numbers: Vec<String> = queue.gpus.iter().map(u32::to_string).collect();
        let gpus = if numbers.len() == 1 { "GPU" } else { "GPUs" };
        format!("{} on {gpus} {}", count(queue.cases.len(), "case"), numbers.join(", "))
    };
    let queued: usize = queues.iter().map(|queue| queue.cases.len()).sum();
    let alone = match cases - queued {
        0 => String::new(),
        left => format!("; then {} alone", count(left, "case")),
    };
    let each: Vec<String> = queues.iter().map(of).collect();
    format!("up to {} at once: {}{alone}", count(at_once, "process"), each.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_at_once_is_said_by_gpu() {
        let queue = |gpus: &[u32], cases: &[usize]| GpuQueue {
            gpus: gpus.iter().copied().collect(),
            cases: cases.to_vec(),
        };
        let queues = [queue(&[0], &[0, 1]), queue(&[1, 2], &[2])];
        assert_eq!(
            planned(&queues, 2, 4),
            "up to 2 processes at once: 2 cases on GPU 0; 1 case on GPUs 1, 2; then 1 case alone"
        );
        assert!(planned(&queues, 2, 3).ends_with("1, 2"));
    }
}
