//! Round after round, until it is enough.

use std::collections::HashSet;
use std::time::Instant;

use super::resume::state_of;
use super::sittings::{Member, group, starts};
use super::turn::{Counter, Round, Taken, carry_out};
use super::way::{APART, wants_turns, why_alternating};
use super::{Next, PairState, Referee, RoundsState, Watch};
use crate::model::{Outcome, Result, Side};
use crate::plan::RoundsPlan;
use crate::run::event::Progress;
use crate::run::executor::Stop;
use crate::run::hands::Hands;
use crate::run::lane::{Finished, LaneRun, not_reached};

/// A comparison under way.
pub struct Work<'a> {
    plan: &'a RoundsPlan,
    hands: Hands<'a>,
    watch: Option<&'a mut dyn Watch>,
    lanes: Vec<LaneRun>,
    /// By pair.
    states: Vec<PairState>,
    passes: u32,
    /// When the first round began.
    since: Instant,
    /// What cut the run short.
    ended: Option<Stop>,
}

impl<'a> Work<'a> {
    pub fn new(
        plan: &'a RoundsPlan,
        hands: Hands<'a>,
        watch: Option<&'a mut dyn Watch>,
        lanes: Vec<LaneRun>,
    ) -> Self {
        let mut next = vec![0; lanes.len()];
        let state = |pair| state_of(pair, &mut next, &lanes);
        let states = plan.pairs.iter().map(state).collect();
        Self { plan, hands, watch, lanes, states, passes: 0, since: Instant::now(), ended: None }
    }

    pub fn carry_out(mut self, referee: &mut dyn Referee) -> Result<Vec<Finished>> {
        let (pairs, comparable) = (self.plan.pairs.len(), self.plan.comparable());
        self.hands.observer.on(&Progress::RoundsPlanned { cases: pairs, comparable });
        self.build()?;
        self.settle()?;
        self.since = Instant::now();
        while self.ended.is_none() {
            let more = match referee.next(&self.state()) {
                Next::Measure(pairs) => self.pass(pairs, referee)?,
                // Where there is nothing to compare there is still something to try once.
                Next::Stop if self.passes == 0 => {
                    self.pass(Vec::new(), referee)?;
                    false
                }
                Next::Stop => false,
            };
            if !more {
                break;
            }
        }
        self.finish()
    }

    /// Builds base and head. The control is the base's tree, already built.
    fn build(&mut self) -> Result<()> {
        for (lane, plan) in self.lanes.iter_mut().zip(&self.plan.lanes) {
            if self.ended.is_none() && lane.side != Some(Side::Control) {
                self.ended = self.hands.build_all(plan, lane)?;
            }
        }
        let built = self.lanes[0].settled.clone();
        for lane in self.lanes.iter_mut().filter(|lane| lane.side == Some(Side::Control)) {
            lane.settled = built.clone();
        }
        Ok(())
    }

    /// Writes down what cannot run, before anything is measured.
    fn settle(&mut self) -> Result<()> {
        for pair in 0..self.states.len() {
            for case in &self.plan.pairs[pair].cases {
                let (lane, index) = (&mut self.lanes[case.lane], self.states[pair].cases[case.lane]);
                if let Some(index) = index
                    && lane.settle(index)
                {
                    lane.keep_outcome(index)?;
                    tell_end(&mut self.hands, lane, index);
                }
            }
            self.close_if_broken(pair);
        }
        Ok(())
    }

    /// One round of the pairs named, and of those that are measured once only and have not been. Says whether anything
    /// was measured.
    fn pass(&mut self, pairs: Vec<usize>, referee: &mut dyn Referee) -> Result<bool> {
        let mut measured = 0;
        let mut pairs: Vec<usize> = pairs.into_iter().filter(|pair| *pair < self.states.len()).collect();
        let named: HashSet<usize> = pairs.iter().copied().collect();
        let alone = |pair: &usize| !self.states[*pair].open && !named.contains(pair);
        let alone: Vec<usize> =
            (0..self.states.len()).filter(alone).filter(|pair| self.goes_on(*pair)).collect();
        pairs.extend(alone);
        let members = pairs.into_iter().filter_map(|pair| self.member(pair)).collect();
        let groups = group(self.plan, members);
        let total = groups.iter().map(|group| self.processes_of(group)).sum();
        let mut counter = Counter { done: 0, total };
        self.hands.observer.on(&Progress::RoundStarted { pass: self.passes, processes: total });
        for group in groups {
            // A pair that was named twice has a round more by now.
            let pairs: Vec<usize> = group.into_iter().map(|member| member.pair).collect();
            let group: Vec<Member> = pairs.iter().filter_map(|pair| self.member(*pair)).collect();
            if group.is_empty() {
                continue;
            }
            if !pairs.iter().all(|pair| referee.may_start(*pair, &self.state())) {
                break;
            }
            let apart = self.why_apart(&group);
            let round = Round {
                plan: self.plan,
                round: group[0].round,
                starts: starts(self.plan, &group),
                lockstep: self.takes_turns(&group, apart.as_deref()),
            };
            let watch = self.watch.as_deref_mut().map(|watch| watch as &mut dyn Watch);
            let taken = carry_out(&mut self.hands, watch, &self.lanes, &round, &mut counter)?;
            if taken.stop.is_some() {
                self.ended = taken.stop;
                break;
            }
            self.say_why_apart(&group, apart);
            self.take(&group, taken)?;
            measured += group.len();
        }
        let pass = self.passes;
        self.passes += 1;
        let open = self.states.iter().filter(|state| state.open).count();
        let seconds = self.since.elapsed().as_secs_f64();
        self.hands.observer.on(&Progress::RoundEnded { pass, measured, open, seconds });
        Ok(measured > 0)
    }

    /// What a round gives a pair: a process for each case that goes on, or, where there is nothing to compare, for the one
    /// that has not shown yet that it works. Absent where that is none.
    fn member(&self, pair: usize) -> Option<Member> {
        let mut processes = [None; 3];
        for (case, planned) in self.plan.pairs[pair].cases.iter().enumerate() {
            processes[planned.lane] = self.next_process(pair, case);
        }
        let round = self.states[pair].rounds;
        processes.iter().any(Option::is_some).then_some(Member { pair, round, processes })
    }

    /// How many processes a group will start.
    fn processes_of(&self, group: &[Member]) -> usize {
        let starts = starts(self.plan, group);
        let has = |lane: usize| starts.iter().any(|start| start.lane == lane);
        let turns = self.takes_turns(group, self.why_apart(group).as_deref());
        starts.len() + usize::from(turns && has(2))
    }

    /// Why a pair that would take turns by the wish of the comparison does not.
    fn why_apart(&self, group: &[Member]) -> Option<String> {
        let pair = group.first()?.pair;
        let asked = wants_turns(&self.lanes) && self.states[pair].open;
        asked.then(|| why_alternating(&self.plan.pairs[pair], &self.lanes, self.states[pair].cases)).flatten()
    }

    fn takes_turns(&self, group: &[Member], apart: Option<&str>) -> bool {
        let open = group.iter().all(|member| self.states[member.pair].open);
        wants_turns(&self.lanes) && open && group.len() == 1 && apart.is_none()
    }

    /// Once a case: with the numbers of the first time.
    fn say_why_apart(&mut self, group: &[Member], apart: Option<String>) {
        let Some(why) = apart else { return };
        for index in group.iter().filter_map(|member| self.states[member.pair].cases[1]) {
            let warnings = &self.lanes[1].case(index).warnings;
            if !warnings.iter().any(|warning| warning.starts_with(APART)) {
                self.lanes[1].warn(index, why.clone());
            }
        }
    }

    fn goes_on(&self, pair: usize) -> bool {
        (0..self.plan.pairs[pair].cases.len()).any(|case| self.next_process(pair, case).is_some())
    }

    /// The index of the process that a case of a pair gets next, if it gets one.
    fn next_process(&self, pair: usize, case: usize) -> Option<u32> {
        let (side, state) = (self.plan.pairs[pair].cases[case].lane, &self.states[pair]);
        let (lane, index) = (&self.lanes[side], state.cases[side]?);
        let had = lane.case(index).processes.len() as u32;
        // A control shows nothing where there is no verdict.
        let shows = state.open || (had == 0 && side < 2);
        (shows && !lane.is_broken(index)).then_some(had)
    }

    /// Takes a whole round into the records and journals.
    fn take(&mut self, group: &[Member], taken: Taken) -> Result<()> {
        for member in group {
            self.states[member.pair].seconds += taken.seconds / group.len() as f64;
        }
        let mut written = Vec::new();
        for process in taken.processes {
            let planned = &self.plan.pairs[process.pair].cases[process.case];
            let lane = &mut self.lanes[planned.lane];
            let Some(index) = self.states[process.pair].cases[planned.lane] else { continue };
            lane.add(index, &process.execution, process.around);
            lane.count_as_measured(index);
            written.push((lane.is_broken(index), planned.lane, index));
        }
        // Those that broke last: a kill in between leaves half a round, which is measured again, and never a pair that
        // ended without the last process of its other side.
        written.sort_unstable();
        for (broke, lane, index) in written {
            let lane = &mut self.lanes[lane];
            lane.keep_process(index)?;
            if broke {
                tell_end(&mut self.hands, lane, index);
            }
        }
        for Member { pair, .. } in group {
            self.close_if_broken(*pair);
            self.states[*pair].rounds += u32::from(self.states[*pair].open);
        }
        Ok(())
    }

    fn close_if_broken(&mut self, pair: usize) {
        let broke = |lane: usize| match (self.states[pair].cases[lane], self.lanes.get(lane)) {
            (Some(index), Some(lane)) => lane.is_broken(index),
            _ => true,
        };
        self.states[pair].open = !broke(0) && !broke(1);
    }

    fn state(&self) -> RoundsState<'_> {
        RoundsState {
            plan: self.plan,
            records: self.lanes.iter().map(|lane| &lane.record).collect(),
            pairs: &self.states,
            passes: self.passes,
            seconds: self.since.elapsed().as_secs_f64(),
        }
    }

    fn finish(mut self) -> Result<Vec<Finished>> {
        for lane in &mut self.lanes {
            for index in 0..lane.record.cases.len() {
                let has_run = !lane.case(index).processes.is_empty();
                if !has_run {
                    lane.break_off(index, self.ended.map_or_else(out_of_time, not_reached));
                }
                lane.end_case(index, has_run);
            }
        }
        self.lanes.into_iter().map(|lane| lane.finish(self.ended)).collect()
    }
}

fn tell_end(hands: &mut Hands<'_>, lane: &LaneRun, index: usize) {
    let (case, side) = (lane.case(index), lane.side);
    hands.observer.on(&Progress::CaseEnded { id: &case.id, side, outcome: &case.outcome, done: 0, total: 0 });
}

/// The referee stopped before the case had a round.
fn out_of_time() -> Outcome {
    Outcome::NotRun {
        cause: "the rounds were over before its first".into(),
        advice: "give more time, or resume the comparison".into(),
    }
}
