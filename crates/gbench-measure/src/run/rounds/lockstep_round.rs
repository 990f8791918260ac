//! A round in lockstep: base and head are alive together and alternate blocks.
//!
//! The control takes turns with a second process of the head, whose results are discarded. Base and control are thus measured
//! in the same circumstances, and only chance can make them differ. A control that ran alone would differ from the base by the
//! cost of taking turns, and would cast doubt on every verdict.
//!
//! If a process was ended because the other side's failed, that is not its own failure: it runs again, alone, so that the
//! round ends like one without turns.

use std::time::SystemTime;

use super::round::{ProcessStart, RoundRun};
use crate::run::lockstep::schedule::Turns;
use crate::run::process::executor::{Execution, StopReason};
use crate::run::record::case_record::ProcessContext;
use crate::run::session::launcher::with_wait;
use gbench_model::{EndedProcess, Result};

struct Partner<'a> {
    start: &'a ProcessStart,
    /// Its place in the round; `None` if its results are discarded.
    slot: Option<u8>,
}

impl RoundRun<'_, '_> {
    /// Base against head, and, if there is a control, control against head, before or after it according to the random order.
    /// If the order puts the control in between, it comes before in every other round.
    pub(super) fn in_turns(&mut self, starts: &[ProcessStart]) -> Result<()> {
        let place = |arm: usize| starts.iter().position(|start| start.arm == arm);
        let (Some(base), Some(head)) = (place(0), place(1)) else { return Ok(()) };
        let head_first = head < base;
        let partners = |slots: [Option<u8>; 2], arm: usize| {
            let partner = |at: usize, slot| Partner { start: &starts[at], slot };
            [partner(arm, slots[0]), partner(head, slots[1])]
        };
        let control = place(2);
        let control_first = control == Some(0) || (control == Some(1) && self.round.is_multiple_of(2));
        let shift = u8::from(control_first);
        let slots = [u8::from(head_first) + shift, u8::from(!head_first) + shift].map(Some);
        let mut pairs = vec![partners(slots, base)];
        if let Some(control) = control {
            let slot = if control_first { 0 } else { 2 };
            pairs.insert(usize::from(!control_first), partners([Some(slot), None], control));
        }
        for pair in pairs {
            self.pair(pair, head_first)?;
            if self.cut_short.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn pair(&mut self, pair: [Partner<'_>; 2], head_first: bool) -> Result<()> {
        for partner in &pair {
            self.tell_start(partner.start);
        }
        let cases = [&pair[0], &pair[1]].map(|partner| self.planned(&partner.start.points[0]));
        let waited = self.launcher.wait_for_calm(cases[0]);
        let started = SystemTime::now();
        let turns = Turns::of(&cases[0].benchmark, head_first);
        let launches = [0, 1].map(|side| {
            let process = pair[side].start.points[0].process;
            self.launcher.launch(cases[side], process, None, &[], true)
        });
        if let Some(probe) = &mut self.launcher.session.probe {
            probe.begin();
        }
        let executions = self.launcher.session.executor.execute_pair([&launches[0], &launches[1]], &turns);
        let [one, other] = &executions;
        let cpu = one.cpu_seconds.zip(other.cpu_seconds).map(|(one, other)| one + other);
        let wall = one.seconds.max(other.seconds);
        // Their stages do not show when they measured, because waiting for a turn is not a stage.
        let ended = EndedProcess { cpu_seconds: cpu, seconds: wall, measured: None };
        let conditions = self.launcher.session.probe.as_mut().and_then(|probe| probe.end(&ended));
        let conditions = with_wait(conditions, waited);
        let mut after_timeout = [None, None];
        for side in [0, 1] {
            let execution = &executions[side];
            after_timeout[side] = self.launcher.after_timeout(execution, cases[side]);
            self.launcher.tell_end(execution);
            self.log(pair[side].start, execution, mark(&pair[side], execution))?;
        }
        // Either may report it first: the other may have ended just before.
        let stops: Vec<bool> = executions.iter().map(|execution| self.stops(execution)).collect();
        if stops.contains(&true) {
            return Ok(());
        }
        for ((partner, execution), after_timeout) in pair.into_iter().zip(executions).zip(after_timeout) {
            let Some(slot) = partner.slot else { continue };
            if matches!(execution.stopped, Some(StopReason::Partner { .. })) {
                self.launcher.count.total += 1;
                self.alone(partner.start, slot)?;
                if self.cut_short.is_some() {
                    break;
                }
                continue;
            }
            let (process, place) = (partner.start.points[0].process, Some((self.round, slot)));
            let conditions = conditions.clone();
            let context = ProcessContext {
                started,
                process,
                place,
                shared: None,
                lockstep: true,
                after_timeout,
                conditions,
            };
            self.take(partner.start, execution, context);
        }
        Ok(())
    }
}

fn mark(partner: &Partner<'_>, execution: &Execution) -> &'static str {
    match (partner.slot, execution.stopped) {
        (None, _) => ".beside-control",
        (_, Some(StopReason::Partner { .. })) => ".given-up",
        _ => "",
    }
}
