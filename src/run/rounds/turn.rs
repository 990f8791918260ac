//! The processes of one case in one round.

use std::time::{Instant, SystemTime};

use super::Watch;
use crate::model::Result;
use crate::plan::{Pair, Turn};
use crate::run::draft::Around;
use crate::run::event::Progress;
use crate::run::executor::{Execution, Stop};
use crate::run::hands::Hands;
use crate::run::lane::{LaneRun, slug};

/// What one round of a pair is to be.
pub struct Round<'a> {
    pub pair: &'a Pair,
    /// Index of the pair in the plan.
    pub number: usize,
    pub round: u32,
    /// The pair's cases that take part, as indices into its list, who goes first first; with the index that the process
    /// has within its case.
    pub order: Vec<(usize, u32)>,
}

/// What came of a round.
pub struct Taken {
    /// In the order of the round: all that took part, or fewer where it was cut short.
    pub processes: Vec<Process>,
    /// Wall seconds, with whatever was needed to start and end the processes.
    pub seconds: f64,
    /// What cut it short: then nothing of it counts.
    pub stop: Option<Stop>,
}

/// One process that ended by itself, or was ended for what it did.
pub struct Process {
    /// Index into [`Pair::cases`].
    pub case: usize,
    pub execution: Execution,
    pub around: Around,
}

/// Where the progress of a round stands: processes done, and in all.
pub struct Counter {
    pub done: usize,
    pub total: usize,
}

/// Gives each case of a round its process, alternating: one after the other. All of them run, also after one that
/// failed: whether the other side works is what the reader asks next.
pub fn round_of_pair(
    hands: &mut Hands<'_>,
    mut watch: Option<&mut (dyn Watch + '_)>,
    lanes: &[LaneRun],
    round: &Round<'_>,
    counter: &mut Counter,
) -> Result<Taken> {
    let began = Instant::now();
    let mut taken = Taken { processes: Vec::new(), seconds: 0.0, stop: None };
    for (slot, (case, process)) in round.order.iter().copied().enumerate() {
        let planned = &round.pair.cases[case];
        let lane = &lanes[planned.lane];
        let (id, side, done, total) = (&planned.id, lane.side, counter.done, counter.total);
        hands.observer.on(&Progress::ProcessStarted { id, side, process, of: 0, done, total });
        let started = SystemTime::now();
        if let Some(watch) = &mut watch {
            watch.begin();
        }
        let execution = hands.process(planned, process);
        let looked = watch.as_mut().map(|watch| watch.end(execution.cpu_seconds, execution.seconds));
        counter.done += 1;
        let after_timeout = hands.after_timeout(&execution, planned);
        let (seconds, done) = (execution.seconds, counter.done);
        hands.observer.on(&Progress::ProcessEnded { seconds, done, total });
        lane.log(&format!("{:03}-{}.{process}", round.number, slug(&id.to_string())), &execution)?;
        if let Some(stop @ (Stop::Interrupt(_) | Stop::RunDeadline)) = execution.stopped {
            taken.stop = Some(stop);
            break;
        }
        let turn = Turn { case, process, round: round.round, slot: slot as u8 };
        let conditions = looked.flatten();
        let around = Around { started, turn, interleaved: true, after_timeout, conditions };
        taken.processes.push(Process { case, execution, around });
    }
    taken.seconds = began.elapsed().as_secs_f64();
    Ok(taken)
}
