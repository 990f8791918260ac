//! Progress of a session, for progress bars and CI logs.

use gbench_model::{CalmWait, CaseId, Outcome, Profiler, Side, Unrest};

/// A progress event. Nothing is reported while a child measures, unless other processes run concurrently: what a shared process
/// reports comes between its cases.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// Before anything is started: the number of cases and processes. `shared`: cases share some of the processes, of which
    /// there may be more.
    Planned {
        cases: usize,
        processes: usize,
        shared: bool,
    },
    BuildStarted {
        benchmark: &'a str,
        side: Option<Side>,
    },
    /// About once a second during a build. `line`: its last printed line, initially empty.
    BuildGoesOn {
        benchmark: &'a str,
        side: Option<Side>,
        seconds: f64,
        line: &'a str,
    },
    BuildEnded {
        benchmark: &'a str,
        side: Option<Side>,
        seconds: f64,
        failed: bool,
    },
    /// In rounds: before anything is started. `comparable`: cases that both sides have.
    RoundsPlanned {
        cases: usize,
        comparable: usize,
    },
    /// In rounds, with `pass` counting from 0 since this call began: the number of processes of the round.
    RoundStarted {
        pass: u32,
        processes: usize,
    },
    /// In rounds: cases that got their processes, cases that may be measured further, seconds since the first round began.
    RoundEnded {
        pass: u32,
        measured: usize,
        open: usize,
        seconds: f64,
    },
    /// `done` and `total`: of the plan, or of the round.
    ProcessStarted {
        /// The first of the `cases` that share it.
        id: &'a CaseId,
        cases: usize,
        side: Option<Side>,
        process: u32,
        /// 0 in rounds, where the number is unknown.
        of: u32,
        done: usize,
        total: usize,
    },
    /// A process that `of` cases share has come to one of them, of the given index, after so many seconds.
    CaseStarted {
        id: &'a CaseId,
        index: usize,
        of: usize,
        seconds: f64,
    },
    /// Processes that are left out because the case failed are included in `done`.
    ProcessEnded {
        seconds: f64,
        done: usize,
        total: usize,
    },
    /// In rounds only for a case that cannot run or broke; `done` and `total` are then 0.
    CaseEnded {
        id: &'a CaseId,
        side: Option<Side>,
        outcome: &'a Outcome,
        done: usize,
        total: usize,
    },
    /// Before a process: the GPU is not idle, and the gate waits up to `limit` seconds.
    WaitsForCalm {
        causes: &'a [Unrest],
        limit: f64,
    },
    WaitedForCalm {
        wait: &'a CalmWait,
    },
    /// After all measurements: a process of the case starts under a profiler.
    ProfileStarted {
        id: &'a CaseId,
        side: Option<Side>,
        profiler: Profiler,
    },
    Note {
        text: &'a str,
    },
    Finished,
}

/// Receives progress, in the thread in which it happens.
pub trait Observer: Send {
    fn on(&mut self, progress: &Progress<'_>);
}

pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _progress: &Progress<'_>) {}
}
