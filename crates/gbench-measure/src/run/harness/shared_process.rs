//! Splits one process that measured several points of a benchmark, case by case, as if each had had its own process.

use crate::run::process::executor::{Execution, ExecutionEnd, ShareFault, StopReason};
use gbench_model::ProcessEnd;
use gbench_model::line::Event;

/// Splits one process: an execution for each of the `cases` of its request, in that order.
///
/// Anything before the first `case` (settings, facts, a skip of the whole) applies to every case. A case that was followed by
/// another one is complete, whatever became of the process later; the end of the process decides about the last case. Time is
/// divided evenly, as only the total is known. Peak memory and processor time belong to the whole process, and are left out if
/// there are several cases.
pub fn split_by_case(execution: &Execution, cases: usize) -> Vec<Execution> {
    let parts = Parts::of(&execution.events, cases);
    let ended_well = execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0))
        && execution.stopped.is_none()
        && execution.bad_line.is_none();
    let one = |index: usize| {
        let own = &parts.own[index];
        let mut it = execution.clone();
        it.seconds /= cases.max(1) as f64;
        if cases > 1 {
            (it.peak_rss_bytes, it.cpu_seconds) = (None, None);
        }
        it.events = parts.common.iter().chain(own.iter().flatten()).copied().cloned().collect();
        let is_last = parts.last == Some(index);
        let fault = match own {
            _ if parts.fault.is_some() => parts.fault,
            _ if parts.twice.contains(&index) => Some(ShareFault::Twice),
            // Before any case began, the process failed, or reported why no case will run.
            None if parts.last.is_none() && (!ended_well || parts.says_why()) => None,
            None if ended_well => Some(ShareFault::NeverAnnounced),
            // The case is not to blame for the end of the run.
            None if matches!(execution.stopped, Some(StopReason::Interrupt(_) | StopReason::RunDeadline)) => {
                None
            }
            None => Some(ShareFault::NotReached),
            Some(_) => None,
        };
        if own.is_some() && !is_last && fault.is_none() {
            it.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
            (it.stopped, it.bad_line) = (None, None);
        }
        if let Some(fault) = fault {
            it.stopped = Some(StopReason::Share(fault));
        }
        it
    };
    (0..cases).map(one).collect()
}

struct Parts<'a> {
    common: Vec<&'a Event>,
    own: Vec<Option<Vec<&'a Event>>>,
    last: Option<usize>,
    twice: Vec<usize>,
    fault: Option<ShareFault>,
}

impl<'a> Parts<'a> {
    fn of(events: &'a [Event], cases: usize) -> Self {
        let own = vec![None; cases];
        let mut parts = Self { common: Vec::new(), own, last: None, twice: Vec::new(), fault: None };
        for event in events {
            match (event, parts.last) {
                (Event::Case { index }, _) => parts.begin(*index),
                (_, Some(at)) => {
                    if let Some(own) = &mut parts.own[at] {
                        own.push(event);
                    }
                }
                (Event::Sample { .. } | Event::Samples { .. } | Event::Summary { .. }, None)
                | (Event::Validation { .. } | Event::Answer { .. }, None) => {
                    parts.fault.get_or_insert(ShareFault::BeforeAny);
                }
                (_, None) => parts.common.push(event),
            }
        }
        parts
    }

    fn begin(&mut self, index: u32) {
        let asked = self.own.len() as u32;
        match self.own.get_mut(index as usize) {
            None => {
                self.fault.get_or_insert(ShareFault::Unknown { index, asked });
            }
            Some(own) => {
                if own.is_some() {
                    self.twice.push(index as usize);
                }
                own.get_or_insert_default();
                self.last = Some(index as usize);
            }
        }
    }

    fn says_why(&self) -> bool {
        self.common.iter().any(|event| matches!(event, Event::Skip { .. } | Event::Error { .. }))
    }
}
