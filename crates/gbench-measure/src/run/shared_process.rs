//! One process that measured several points of a benchmark: what it said is taken apart again, case by case, as if each
//! had had a process of its own.

use super::executor::{Execution, ExecutionEnd, ShareFault, StopReason};
use gbench_model::ProcessEnd;
use gbench_model::line::Event;

/// Takes one process apart: an execution for each of the `cases` that it was asked for, in the order of the request.
///
/// What came before the first `case` (settings, facts, a skip of the whole) holds for every case. A case that was followed
/// by another one is complete, whatever became of the process later; how the process ended is the word on the last. Time
/// is divided evenly, as only the whole is known; peak memory and processor time are those of the whole process and
/// are left out where there are several cases.
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
            // Before any case was begun the process has failed, or said why there will be none, for all of them.
            None if parts.last.is_none() && (!ended_well || parts.says_why()) => None,
            None if ended_well => Some(ShareFault::NeverAnnounced),
            // The end of the run is no fault of the case.
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

/// The events of each case.
struct Parts<'a> {
    /// Those before the first case.
    common: Vec<&'a Event>,
    own: Vec<Option<Vec<&'a Event>>>,
    /// The case that was announced last.
    last: Option<usize>,
    twice: Vec<usize>,
    /// The fault that makes all of it worthless.
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
                | (Event::Validation { .. }, None) => {
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

    /// It skipped or failed before any case, in its own words.
    fn says_why(&self) -> bool {
        self.common.iter().any(|event| matches!(event, Event::Skip { .. } | Event::Error { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::Stage;
    use gbench_model::line;

    fn execution(lines: &str) -> Execution {
        let mut execution = Execution::not_started(String::new());
        execution.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
        execution.seconds = 3.0;
        execution.peak_rss_bytes = Some(1);
        execution.events = lines.lines().map(|text| line::parse(text.trim().as_bytes()).unwrap()).collect();
        execution
    }

    /// The samples of each case.
    fn samples(parts: &[Execution]) -> Vec<Vec<f64>> {
        let of = |event: &Event| match event {
            Event::Sample { value, .. } => *value,
            _ => None,
        };
        parts.iter().map(|part| part.events.iter().filter_map(of).collect()).collect()
    }

    fn faults(parts: &[Execution]) -> Vec<Option<ShareFault>> {
        let of = |part: &Execution| match part.stopped {
            Some(StopReason::Share(fault)) => Some(fault),
            _ => None,
        };
        parts.iter().map(of).collect()
    }

    const THREE: &str = r#"{"event":"metadata","device":"cuda:0"}
        {"event":"case","index":1}
        {"event":"sample","value":1}
        {"event":"case","index":0}
        {"event":"sample","value":2}
        {"event":"sample","value":3}
        {"event":"case","index":2}
        {"event":"sample","value":4}"#;

    #[test]
    fn each_case_has_its_own_samples_in_any_order_and_what_came_before_them_holds_for_all() {
        let parts = split_by_case(&execution(THREE), 3);
        assert_eq!(samples(&parts), [vec![2.0, 3.0], vec![1.0], vec![4.0]]);
        assert_eq!(faults(&parts), [None; 3]);
        for part in &parts {
            assert!(matches!(part.events[0], Event::Metadata { .. }));
            assert_eq!((part.seconds, part.peak_rss_bytes, part.stopped), (1.0, None, None));
        }
    }

    #[test]
    fn how_the_process_ends_is_the_word_on_its_last_case() {
        let mut whole = execution(THREE);
        whole.end = ExecutionEnd::Process(ProcessEnd::Signal(11));
        whole.stopped = Some(StopReason::Stage { stage: Stage::Measure, limit: 1.0, spent: 1.0 });
        let parts = split_by_case(&whole, 4);
        for complete in [0, 1] {
            assert_eq!(parts[complete].end, ExecutionEnd::Process(ProcessEnd::Exit(0)));
            assert_eq!(parts[complete].stopped, None);
        }
        assert_eq!((&parts[2].end, parts[2].stopped), (&whole.end, whole.stopped));
        assert_eq!(faults(&parts)[3], Some(ShareFault::NotReached));
    }

    #[test]
    fn who_ends_the_run_ends_it_for_the_cases_to_come() {
        let mut whole = execution(THREE);
        whole.stopped = Some(StopReason::Interrupt(2));
        let parts = split_by_case(&whole, 4);
        let stopped: Vec<_> = parts.iter().map(|part| part.stopped).collect();
        assert_eq!(stopped, [None, None, whole.stopped, whole.stopped]);
    }

    #[test]
    fn a_case_that_never_came_is_no_silent_gap() {
        let parts = split_by_case(&execution(THREE), 4);
        assert_eq!(faults(&parts), [None, None, None, Some(ShareFault::NeverAnnounced)]);
        let parts = split_by_case(&execution(""), 2);
        assert_eq!(faults(&parts), [Some(ShareFault::NeverAnnounced); 2]);
    }

    #[test]
    fn a_skip_before_any_case_is_every_case_s() {
        let parts = split_by_case(&execution(r#"{"event":"skip","reason":"no GPU"}"#), 2);
        assert_eq!(faults(&parts), [None; 2]);
        assert!(parts.iter().all(|part| matches!(part.events[..], [Event::Skip { .. }])));
        let mut crashed = execution("");
        crashed.end = ExecutionEnd::Process(ProcessEnd::Signal(11));
        assert!(
            split_by_case(&crashed, 2).iter().all(|part| part.end == crashed.end && part.stopped.is_none())
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_trusted_in_no_case() {
        let parts = split_by_case(&execution(THREE), 2);
        assert_eq!(faults(&parts), [Some(ShareFault::Unknown { index: 2, asked: 2 }); 2]);
        let early = format!("{}\n{THREE}", r#"{"event":"sample","value":1}"#);
        assert_eq!(faults(&split_by_case(&execution(&early), 3)), [Some(ShareFault::BeforeAny); 3]);
        let again = format!("{THREE}\n{}", r#"{"event":"case","index":0}"#);
        assert_eq!(faults(&split_by_case(&execution(&again), 3)), [Some(ShareFault::Twice), None, None]);
    }
}
