//! Progress of a session, for progress bars and CI logs.

use gbench_model::{CalmWait, CaseId, Outcome, Profiler, Side, Unrest};

/// One thing that happened. Nothing is told while a child measures, unless others run beside it.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// Before anything is started: how many cases and processes there will be. `shared`: cases share some of the processes, of which
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
    /// About once a second while it builds. `line`: the last one that it printed, empty before the first.
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
    /// In rounds, `pass` counting from 0 since this call began: how many processes the round has.
    RoundStarted {
        pass: u32,
        processes: usize,
    },
    /// In rounds: cases that got their processes, cases that may be measured further, seconds since the first round
    /// began.
    RoundEnded {
        pass: u32,
        measured: usize,
        open: usize,
        seconds: f64,
    },
    /// `done` and `total`: of the plan, or of the round.
    ProcessStarted {
        id: &'a CaseId,
        side: Option<Side>,
        process: u32,
        /// 0 in rounds, where the number is not known.
        of: u32,
        done: usize,
        total: usize,
    },
    /// The processes of the case that are left out because it failed count as done.
    ProcessEnded {
        seconds: f64,
        done: usize,
        total: usize,
    },
    /// In rounds only of a case that cannot run or broke, and `done` and `total` are 0.
    CaseEnded {
        id: &'a CaseId,
        side: Option<Side>,
        outcome: &'a Outcome,
        done: usize,
        total: usize,
    },
    /// Before a process: the GPU is not calm, and the gate waits, `limit` seconds at most.
    WaitsForCalm {
        causes: &'a [Unrest],
        limit: f64,
    },
    WaitedForCalm {
        wait: &'a CalmWait,
    },
    /// Behind all that is measured: a process of the case starts under a profiler.
    ProfileStarted {
        id: &'a CaseId,
        side: Option<Side>,
        profiler: Profiler,
    },
    /// A line of its own, such as an estimate.
    Note {
        text: &'a str,
    },
    /// No more is measured: what follows is the result.
    Finished,
}

/// Receives progress, in whatever thread something happens.
pub trait Observer: Send {
    fn on(&mut self, progress: &Progress<'_>);
}

/// Drops all progress.
pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _progress: &Progress<'_>) {}
}
