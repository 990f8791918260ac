//! Runs a comparison round by round until the stopping policy ends it.

use std::collections::HashSet;
use std::time::Instant;

use super::grouping::{GroupMember, group, starts};
use super::resume::state_of;
use super::round::{CaseProcess, ProcessStart, RoundRun};
use super::stopping_policy::{NextRound, PairState, RoundsState, StoppingPolicy};
use crate::run::lockstep::eligible::{wants_lockstep, why_alternating};
use crate::run::outcome::classify::{cut_short, not_run};
use crate::run::record::arm::{ArmRecorder, Finished};
use crate::run::session::event::Progress;
use crate::run::session::launcher::{Launcher, ProcessCount};
use gbench_model::{CutShort, FailureKind, Outcome, OutcomeCode, Result, Side, Stage};
use gbench_suite::plan::RoundsPlan;

pub(super) struct RoundDriver<'a> {
    plan: &'a RoundsPlan,
    launcher: Launcher<'a>,
    arms: Vec<ArmRecorder>,
    /// By pair.
    states: Vec<PairState>,
    passes: u32,
    /// By pair: in this round, a harness case has its own processes.
    alone: Vec<bool>,
    /// By pair: in this round, its executions are counted if its suite asks for it.
    counted: Vec<bool>,
    since: Instant,
    ended: Option<CutShort>,
}

impl<'a> RoundDriver<'a> {
    pub(super) fn new(plan: &'a RoundsPlan, launcher: Launcher<'a>, arms: Vec<ArmRecorder>) -> Self {
        let mut next = vec![0; arms.len()];
        let state = |pair| state_of(pair, &mut next, &arms);
        let states = plan.pairs.iter().map(state).collect();
        let (alone, counted) = (vec![false; plan.pairs.len()], vec![true; plan.pairs.len()]);
        Self { plan, launcher, arms, states, passes: 0, alone, counted, since: Instant::now(), ended: None }
    }

    pub(super) fn carry_out(mut self, policy: &mut dyn StoppingPolicy) -> Result<Vec<Finished>> {
        let (pairs, comparable) = (self.plan.pairs.len(), self.plan.comparable());
        self.launcher.session.observer.on(&Progress::RoundsPlanned { cases: pairs, comparable });
        self.build()?;
        self.decide_early()?;
        self.since = Instant::now();
        while self.ended.is_none() {
            let next = policy.next(&self.state());
            let pairs = match &next {
                NextRound::Measure(pairs) => pairs.clone(),
                // Without anything to compare, each side is still tried once.
                NextRound::Stop if self.passes == 0 => Vec::new(),
                NextRound::Stop => break,
            };
            let state = self.state();
            let alone = (0..self.states.len()).map(|pair| policy.is_candidate(pair, &state)).collect();
            let counted = (0..self.states.len()).map(|pair| policy.wants_counts(pair, &state)).collect();
            (self.alone, self.counted) = (alone, counted);
            if !self.pass(pairs, policy)? || next == NextRound::Stop {
                break;
            }
        }
        self.finish()
    }

    fn build(&mut self) -> Result<()> {
        for (arm, plan) in self.arms.iter_mut().zip(&self.plan.arms) {
            if self.ended.is_none() && arm.side != Some(Side::Control) {
                self.ended = self.launcher.build_all(plan, arm)?;
            }
        }
        let built = self.arms[0].decided_early.clone();
        for arm in self.arms.iter_mut().filter(|arm| arm.side == Some(Side::Control)) {
            arm.decided_early = built.clone();
        }
        Ok(())
    }

    fn decide_early(&mut self) -> Result<()> {
        for pair in 0..self.states.len() {
            for case in &self.plan.pairs[pair].cases {
                let (arm, index) = (&mut self.arms[case.arm], self.states[pair].cases[case.arm]);
                if let Some(index) = index
                    && arm.decide_early(index)
                {
                    arm.keep_outcome(index)?;
                    self.launcher.tell_case(arm, index);
                }
            }
            self.leave_base_unmeasured(pair)?;
            self.close_if_aborted(pair);
        }
        Ok(())
    }

    /// Without a program, head has failed whatever base measures. A base that was not built does not stop head: that it
    /// runs again is worth knowing.
    fn leave_base_unmeasured(&mut self, pair: usize) -> Result<()> {
        let &[Some(base), Some(head), ..] = self.states[pair].cases.as_slice() else { return Ok(()) };
        let is_unbuilt = match &self.arms[1].case(head).outcome {
            Outcome::Failed { kind, .. } => *kind == FailureKind::Build,
            Outcome::TimedOut { stage, .. } => *stage == Stage::Build,
            _ => false,
        };
        let arm = &mut self.arms[0];
        if is_unbuilt && !arm.is_aborted(base) && arm.case(base).processes.is_empty() {
            let cause = "head could not be built, so there is nothing to compare it with";
            arm.abort(base, not_run(OutcomeCode::PartnerEnded, cause.into(), "mend head's build step"));
            arm.keep_outcome(base)?;
        }
        Ok(())
    }

    /// Runs one round of the named pairs, and of those that are measured only once and have not been. True if anything was
    /// measured.
    fn pass(&mut self, pairs: Vec<usize>, policy: &mut dyn StoppingPolicy) -> Result<bool> {
        let mut measured = 0;
        let mut pairs: Vec<usize> = pairs.into_iter().filter(|pair| *pair < self.states.len()).collect();
        let named: HashSet<usize> = pairs.iter().copied().collect();
        let alone = |pair: &usize| !self.states[*pair].open && !named.contains(pair);
        pairs.extend((0..self.states.len()).filter(alone));
        pairs.extend(self.beside(&named));
        let members = pairs.into_iter().filter_map(|pair| self.member(pair)).collect();
        let groups = group(self.plan, members);
        let processes = groups.iter().map(|group| self.processes_of(group)).sum();
        self.launcher.count = ProcessCount::of(processes);
        self.launcher.session.observer.on(&Progress::RoundStarted { pass: self.passes, processes });
        for group in groups {
            // A pair that was named twice has had another round by now.
            let pairs: Vec<usize> = group.into_iter().map(|member| member.pair).collect();
            let group: Vec<GroupMember> = pairs.iter().filter_map(|pair| self.member(*pair)).collect();
            if group.is_empty() {
                continue;
            }
            if !pairs.iter().all(|pair| policy.may_start(*pair, &self.state())) {
                break;
            }
            let apart = self.why_apart(&group);
            let (starts, lockstep) = (starts(self.plan, &group), self.takes_turns(&group, apart.as_deref()));
            let began = Instant::now();
            let mut run = RoundRun {
                plan: self.plan,
                launcher: &mut self.launcher,
                arms: &self.arms,
                counted: &self.counted,
                round: group[0].round,
                processes: Vec::new(),
                cut_short: None,
            };
            if lockstep {
                run.in_turns(&starts)?
            } else {
                run.one_after_the_other(&starts)?
            }
            self.ended = run.cut_short;
            if self.ended.is_some() {
                break;
            }
            let processes = run.processes;
            self.say_why_apart(&group, apart);
            self.take(&group, processes, began.elapsed().as_secs_f64())?;
            measured += group.len();
        }
        let pass = self.passes;
        self.passes += 1;
        let open = self.states.iter().filter(|state| state.open).count();
        let seconds = self.since.elapsed().as_secs_f64();
        self.launcher.session.observer.on(&Progress::RoundEnded { pass, measured, open, seconds });
        Ok(measured > 0)
    }

    /// Pairs that are measured because they share their harness process with named pairs in every round, by the suite's
    /// choice. Decided pairs stay in the process, because the others would otherwise be measured differently.
    fn beside(&self, named: &HashSet<usize>) -> Vec<usize> {
        let always_shared = |pair: usize| self.plan.pairs[pair].shares(false);
        let of_harness = |pair: usize| self.plan.pairs[pair].cases[0].benchmark.harness.is_some();
        let key = |pair: usize| (&self.plan.pairs[pair].id().benchmark, self.states[pair].rounds);
        let led: HashSet<_> = named
            .iter()
            .filter(|pair| of_harness(**pair) && always_shared(**pair))
            .map(|pair| key(*pair))
            .collect();
        let joins = |pair: &usize| {
            let pair = *pair;
            let free = self.states[pair].open && !named.contains(&pair);
            free && of_harness(pair) && always_shared(pair) && led.contains(&key(pair))
        };
        (0..self.states.len()).filter(joins).collect()
    }

    /// A pair's processes in a round: one for each open case, or, without anything to compare, for the case that has not yet
    /// been shown to work. `None` if there is none.
    fn member(&self, pair: usize) -> Option<GroupMember> {
        let mut processes = [None; 3];
        for (case, planned) in self.plan.pairs[pair].cases.iter().enumerate() {
            processes[planned.arm] = self.next_process(pair, case);
        }
        let round = self.states[pair].rounds;
        let shared = self.plan.pairs[pair].shares(!self.alone[pair]);
        processes.iter().any(Option::is_some).then_some(GroupMember { pair, round, processes, shared })
    }

    fn processes_of(&self, group: &[GroupMember]) -> usize {
        let starts = starts(self.plan, group);
        let has = |arm: usize| starts.iter().any(|start| start.arm == arm);
        let turns = self.takes_turns(group, self.why_apart(group).as_deref());
        let processes = |start: &ProcessStart| {
            let id = self.plan.pairs[start.points[0].pair].id().benchmark.as_str();
            self.launcher.processes_of_turn(id, start.points.len())
        };
        starts.iter().map(processes).sum::<usize>() + usize::from(turns && has(2))
    }

    fn why_apart(&self, group: &[GroupMember]) -> Option<String> {
        let pair = group.first()?.pair;
        let asked = wants_lockstep(&self.arms) && self.states[pair].open;
        asked.then(|| why_alternating(&self.plan.pairs[pair], &self.arms, self.states[pair].cases)).flatten()
    }

    fn takes_turns(&self, group: &[GroupMember], apart: Option<&str>) -> bool {
        let open = group.iter().all(|member| self.states[member.pair].open);
        wants_lockstep(&self.arms) && open && group.len() == 1 && apart.is_none()
    }

    /// Warns once per case, with the figures of the first time.
    fn say_why_apart(&mut self, group: &[GroupMember], apart: Option<String>) {
        let Some(why) = apart else { return };
        for index in group.iter().filter_map(|member| self.states[member.pair].cases[1]) {
            // The first process outside of lockstep has the reason; those before it are in the record.
            if self.arms[1].case(index).processes.iter().all(|process| process.lockstep) {
                self.arms[1].warn(index, why.clone());
            }
        }
    }

    fn next_process(&self, pair: usize, case: usize) -> Option<u32> {
        let (side, state) = (self.plan.pairs[pair].cases[case].arm, &self.states[pair]);
        let (arm, index) = (&self.arms[side], state.cases[side]?);
        let had = arm.case(index).processes.len() as u32;
        // A control is useless without a verdict.
        let shows = state.open || (had == 0 && side < 2);
        (shows && !arm.is_aborted(index)).then_some(had)
    }

    /// Adds a whole round to the records and journals. `seconds`: its total, including the start and end of processes.
    fn take(&mut self, group: &[GroupMember], processes: Vec<CaseProcess>, seconds: f64) -> Result<()> {
        for member in group {
            self.states[member.pair].seconds += seconds / group.len() as f64;
        }
        let mut written = Vec::new();
        for CaseProcess { point, execution, context } in processes {
            let planned = &self.plan.pairs[point.pair].cases[point.case];
            let arm = &mut self.arms[planned.arm];
            let Some(index) = self.states[point.pair].cases[planned.arm] else { continue };
            arm.add(index, &execution, context);
            arm.count_as_measured(index);
            written.push((arm.is_aborted(index), planned.arm, index));
        }
        // Broken cases are written last. If the gate is killed in between, half a round is left, which is measured again, and
        // never a finished pair that lacks the last process of its other side.
        written.sort_unstable();
        for (broke, arm, index) in written {
            let arm = &mut self.arms[arm];
            arm.keep_process(index)?;
            if broke {
                self.launcher.tell_case(arm, index);
            }
        }
        for GroupMember { pair, .. } in group {
            self.close_if_aborted(*pair);
            self.states[*pair].rounds += u32::from(self.states[*pair].open);
        }
        Ok(())
    }

    fn close_if_aborted(&mut self, pair: usize) {
        let broke = |arm: usize| match (self.states[pair].cases[arm], self.arms.get(arm)) {
            (Some(index), Some(arm)) => arm.is_aborted(index),
            _ => true,
        };
        self.states[pair].open = !broke(0) && !broke(1);
    }

    fn state(&self) -> RoundsState<'_> {
        RoundsState {
            plan: self.plan,
            records: self.arms.iter().map(|arm| &arm.record).collect(),
            pairs: &self.states,
            passes: self.passes,
            seconds: self.since.elapsed().as_secs_f64(),
        }
    }

    fn finish(mut self) -> Result<Vec<Finished>> {
        for arm in &mut self.arms {
            for index in 0..arm.record.cases.len() {
                let has_run = !arm.case(index).processes.is_empty();
                if !has_run {
                    arm.abort(
                        index,
                        self.ended.map_or_else(out_of_time, |ended| cut_short(ended, "before its turn")),
                    );
                }
                arm.end_case(index, has_run);
            }
        }
        self.arms.into_iter().map(|arm| arm.finish(self.ended)).collect()
    }
}

fn out_of_time() -> Outcome {
    let cause = "the rounds were over before its first".into();
    not_run(OutcomeCode::RoundsOver, cause, "give more time, or resume the comparison")
}
