//! What a session tells while it works, for progress bars and CI logs.

use crate::model::{CaseId, Outcome, Side};

/// One thing that happened. Nothing is told while a child measures.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// Before anything is started: how many cases and processes there will be.
    Planned {
        cases: usize,
        processes: usize,
    },
    BuildStarted {
        benchmark: &'a str,
        side: Option<Side>,
    },
    ProcessStarted {
        id: &'a CaseId,
        side: Option<Side>,
        process: u32,
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
    CaseEnded {
        id: &'a CaseId,
        side: Option<Side>,
        outcome: &'a Outcome,
        done: usize,
        total: usize,
    },
}

/// Somebody who listens.
pub trait Observer {
    fn on(&mut self, progress: &Progress<'_>);
}

/// Nobody.
pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _progress: &Progress<'_>) {}
}
