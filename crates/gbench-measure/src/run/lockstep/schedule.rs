//! The order in which two concurrent processes measure; pure, so that it can be tested.
//!
//! ```text
//! pair      0     1     2     3
//! base    ##--  --##  ##--  --##      # a block of iterations
//! head    --##  ##--  --##  ##--      - waiting for its turn
//! ```
//!
//! Why it is fair: the whole order is a function of the round's random order, and the size of a block depends on both sides
//! alike. Exchanging two equal sides therefore only changes the sign of their difference, which is all that the rule needs.
//! The order is reversed after every pair (A B, B A, A B, ...), and not random for each, so that any steady drift over an
//! even number of pairs cancels exactly, not on average.
//!
//! Why blocks of this size: at most [`MAX_BLOCKS`] per side, because more would only cost more switches, and if possible none
//! shorter than [`MIN_SECONDS`]: the first iteration after a switch has cold caches and a sleeping core, and must stay a
//! small share of its block. Before the first pair the time of an iteration is unknown, so the first block is a sixth of the
//! whole; the later ones follow the slower side.

use std::time::{Duration, Instant};

use gbench_suite::Benchmark;

/// The most blocks of a side's iterations. Even, because of drift.
pub(crate) const MAX_BLOCKS: u32 = 6;
/// The least seconds of a block, unless a side has no more to do.
pub(crate) const MIN_SECONDS: f64 = 0.010;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turns {
    /// From the random order of the round: which of the two launches has the first block, 0 or 1.
    pub first: usize,
    pub iterations: u32,
    /// Total seconds of each side, instead; 0: by iterations.
    pub duration: f64,
}

impl Turns {
    /// From the benchmark's settings. `head_first`: the random order of the round, where head is the second launch.
    pub fn of(benchmark: &Benchmark, head_first: bool) -> Self {
        let settings = &benchmark.settings;
        Self {
            first: usize::from(head_first),
            iterations: settings.iterations.value,
            duration: settings.duration.value,
        }
    }
}

/// One turn of one process, as observed by the gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    pub iterations: u32,
    /// From granting the turn to its return, including both switches.
    pub seconds: f64,
}

/// How a child broke the rules of taking turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnFault {
    NeverWaited,
    NotItsTurn,
    LeftEarly,
    WorkedOutOfTurn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextTurn {
    Wait,
    Give { side: usize, iterations: u32 },
    Finish,
}

pub(crate) struct TurnToken {
    turns: Turns,
    pairs: u32,
    left: u32,
    sides: [Half; 2],
    holder: Option<(usize, u32, Instant)>,
    second: Option<(usize, u32)>,
    finished: bool,
}

#[derive(Default)]
struct Half {
    waiting: bool,
    blocks: Vec<Block>,
    has_begun: bool,
    out_of_turn: Duration,
}

/// A side that keeps at least this part of a core busy during the other's turns...
const BUSY_CORE: f64 = 0.25;
/// ... and at least this many times as much as the other, disturbs it. Threads that spin while idle do so on both sides.
const MORE_THAN_OTHER: f64 = 2.0;
/// Less CPU time than this is a process coming to rest.
const LEAST_CPU: Duration = Duration::from_millis(20);

impl TurnToken {
    pub(crate) fn new(turns: Turns) -> Self {
        let left = turns.iterations.max(1);
        let turns = Turns { first: turns.first.min(1), ..turns };
        Self { turns, pairs: 0, left, sides: Default::default(), holder: None, second: None, finished: false }
    }

    pub(crate) fn on_yield(&mut self, side: usize, now: Instant) -> Result<(), TurnFault> {
        let half = &mut self.sides[side];
        if self.finished || half.waiting {
            return Err(TurnFault::NotItsTurn);
        }
        half.waiting = true;
        if let Some((holder, iterations, since)) = self.holder
            && holder == side
        {
            let seconds = now.saturating_duration_since(since).as_secs_f64();
            half.blocks.push(Block { iterations, seconds });
            self.holder = None;
        }
        Ok(())
    }

    pub(crate) fn next(&mut self, now: Instant) -> NextTurn {
        if self.finished || self.holder.is_some() || self.sides.iter().any(|half| !half.waiting) {
            return NextTurn::Wait;
        }
        let (side, iterations) = match self.second.take() {
            Some(block) => block,
            None if self.is_enough() => {
                self.finished = true;
                return NextTurn::Finish;
            }
            None => {
                let iterations = self.size();
                let first = self.turns.first ^ (self.pairs % 2) as usize;
                self.pairs += 1;
                self.left = self.left.saturating_sub(iterations);
                self.second = Some((1 - first, iterations));
                (first, iterations)
            }
        };
        let half = &mut self.sides[side];
        (half.waiting, half.has_begun) = (false, true);
        self.holder = Some((side, iterations, now));
        NextTurn::Give { side, iterations }
    }

    pub(crate) fn on_work_out_of_turn(&mut self, side: usize, cpu: Duration) {
        self.sides[side].out_of_turn += cpu;
    }

    pub(crate) fn worked_out_of_turn(&self) -> Option<usize> {
        let share = |side: usize| {
            let of_other = seconds(&self.sides[1 - side]).max(1e-9);
            self.sides[side].out_of_turn.as_secs_f64() / of_other
        };
        (0..2).find(|side| {
            self.sides[*side].out_of_turn >= LEAST_CPU
                && share(*side) >= BUSY_CORE
                && share(*side) >= MORE_THAN_OTHER * share(1 - side)
        })
    }

    pub(crate) fn is_waiting(&self, side: usize) -> bool {
        self.sides[side].waiting
    }

    pub(crate) fn has_begun(&self, side: usize) -> bool {
        self.sides[side].has_begun
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    pub(crate) fn into_blocks(self) -> [Vec<Block>; 2] {
        self.sides.map(|half| half.blocks)
    }

    fn is_enough(&self) -> bool {
        if self.turns.duration > 0.0 {
            // The faster side decides; the slower one has then measured for longer.
            self.sides.iter().all(|half| seconds(half) >= self.turns.duration)
        } else {
            self.left == 0
        }
    }

    fn size(&self) -> u32 {
        let pace = self.sides.iter().map(seconds_per_iteration).fold(0.0, f64::max);
        if self.pairs == 0 {
            return if self.turns.duration > 0.0 { 1 } else { self.left.div_ceil(MAX_BLOCKS) };
        }
        if self.turns.duration > 0.0 {
            let block = (self.turns.duration / f64::from(MAX_BLOCKS)).max(MIN_SECONDS);
            let done = self.sides.iter().map(seconds).fold(f64::MAX, f64::min);
            // A clock that saw no time pass must not cause a division by zero, nor one that saw little an endless block.
            let wanted = block.min(self.turns.duration - done) / pace.max(1e-9);
            let most = f64::from(self.sides[0].blocks.last().map_or(1, |block| block.iterations)) * 1000.0;
            return wanted.min(most).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
        }
        let least = |blocks: u32| f64::from(self.left) * pace / f64::from(blocks);
        let most = MAX_BLOCKS.saturating_sub(self.pairs).clamp(1, self.left);
        let mut blocks = (least(1) / MIN_SECONDS).clamp(1.0, f64::from(most)) as u32;
        // The total number of pairs is made even, if that costs little of the least block length.
        if (self.pairs + blocks) % 2 == 1 {
            if blocks < most && least(blocks + 1) >= 0.75 * MIN_SECONDS {
                blocks += 1
            } else {
                blocks = (blocks - 1).max(1)
            }
        }
        self.left.div_ceil(blocks)
    }
}

fn seconds(half: &Half) -> f64 {
    half.blocks.iter().map(|block| block.seconds).sum()
}

/// By the latest block, because the first one may have been slower.
fn seconds_per_iteration(half: &Half) -> f64 {
    half.blocks.last().map_or(0.0, |block| block.seconds / f64::from(block.iterations.max(1)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The blocks in order: side and iterations. `seconds`: of an iteration of each side.
    fn play(turns: Turns, seconds: [f64; 2]) -> Vec<(usize, u32)> {
        let mut now = Instant::now();
        let mut token = TurnToken::new(turns);
        let mut order = Vec::new();
        token.on_yield(1, now).unwrap();
        assert_eq!(token.next(now), NextTurn::Wait, "one side alone does not begin");
        token.on_yield(0, now).unwrap();
        loop {
            match token.next(now) {
                NextTurn::Give { side, iterations } => {
                    order.push((side, iterations));
                    assert_eq!(token.next(now), NextTurn::Wait, "one turn at a time");
                    now += Duration::from_secs_f64(seconds[side] * f64::from(iterations));
                    token.on_yield(side, now).unwrap();
                }
                NextTurn::Finish => return order,
                NextTurn::Wait => panic!("nobody moves"),
            }
            assert!(order.len() < 1000, "it does not end");
        }
    }

    fn sizes(iterations: u32, seconds: f64) -> Vec<u32> {
        let order = play(Turns { first: 0, iterations, duration: 0.0 }, [seconds; 2]);
        order.chunks(2).map(|pair| pair[0].1).collect()
    }

    #[test]
    fn pairs_are_turned_round_one_after_the_other_from_where_the_coin_fell() {
        for first in [0, 1] {
            let order = play(Turns { first, iterations: 30, duration: 0.0 }, [0.02, 0.03]);
            let sides: Vec<_> = order.iter().map(|(side, _)| side ^ first).collect();
            assert_eq!(sides, [0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0]);
        }
    }

    #[test]
    fn the_other_coin_is_the_same_round_with_the_sides_exchanged() {
        for seconds in [[0.0004, 0.0021], [0.02, 0.02], [1e-5, 3.0]] {
            let turns = Turns { first: 0, iterations: 30, duration: 0.0 };
            let exchanged = play(Turns { first: 1, ..turns }, [seconds[1], seconds[0]]);
            let exchanged: Vec<_> = exchanged.into_iter().map(|(side, n)| (1 - side, n)).collect();
            assert_eq!(play(turns, seconds), exchanged);
        }
    }

    #[test]
    fn a_steady_drift_cancels_over_an_even_number_of_pairs() {
        for iterations in [2, 5, 6, 7, 12, 30, 31, 100, 1000] {
            for seconds in [1e-6, 5e-5, 4e-4, 1e-3, 2.2e-3, 0.02, 1.0] {
                let sizes = sizes(iterations, seconds);
                assert_eq!(sizes.iter().sum::<u32>(), iterations, "{iterations} of {seconds} s: {sizes:?}");
                assert!(sizes.len() <= 6, "{iterations} of {seconds} s: {sizes:?}");
                assert!(sizes.len().is_multiple_of(2), "{iterations} of {seconds} s: {sizes:?}");
            }
        }
    }

    #[test]
    fn short_iterations_get_few_switches_and_long_ones_six() {
        assert_eq!(sizes(30, 50e-6), [5, 25]);
        assert_eq!(sizes(30, 1e-3), [5, 9, 8, 8]);
        assert_eq!(sizes(30, 2e-3), [5; 6]);
        assert_eq!(sizes(30, 0.02), [5; 6]);
        assert_eq!(sizes(1, 0.02), [1]);
    }

    #[test]
    fn each_side_measures_for_the_duration_where_there_is_one() {
        let order = play(Turns { first: 0, iterations: 30, duration: 0.5 }, [0.001, 0.0011]);
        for side in [0, 1] {
            let iterations: u32 = order.iter().filter(|block| block.0 == side).map(|block| block.1).sum();
            let seconds = f64::from(iterations) * [0.001, 0.0011][side];
            assert!((0.5..0.65).contains(&seconds), "{seconds}: {order:?}");
        }
        assert!(order.len() < 24, "{order:?}");
    }

    #[test]
    fn a_turn_that_was_not_given_cannot_be_given_back() {
        let now = Instant::now();
        let mut token = TurnToken::new(Turns { first: 0, iterations: 12, duration: 0.0 });
        token.on_yield(0, now).unwrap();
        assert_eq!(token.on_yield(0, now), Err(TurnFault::NotItsTurn));
        token.on_yield(1, now).unwrap();
        assert_eq!(token.next(now), NextTurn::Give { side: 0, iterations: 2 });
        assert_eq!(token.on_yield(1, now), Err(TurnFault::NotItsTurn));
    }

    #[test]
    fn a13_a_side_is_at_fault_that_keeps_the_processor_busy_in_the_turns_of_the_other_and_far_more_than_it_does()
     {
        // Out-of-turn CPU time of base and of head, with 200 ms of turns of each.
        let at_fault = |cpu: [u64; 2]| {
            let mut token = TurnToken::new(Turns { first: 0, iterations: 10, duration: 0.0 });
            for (side, cpu) in cpu.into_iter().enumerate() {
                token.sides[side].blocks = vec![Block { iterations: 5, seconds: 0.1 }; 2];
                token.on_work_out_of_turn(side, Duration::from_millis(cpu / 2));
                token.on_work_out_of_turn(side, Duration::from_millis(cpu / 2));
            }
            token.worked_out_of_turn()
        };
        assert_eq!(at_fault([0, 0]), None);
        assert_eq!(at_fault([0, 48]), None);
        assert_eq!(at_fault([0, 50]), Some(1));
        assert_eq!(at_fault([300, 4]), Some(0));
        // Threads that spin while idle do so on both sides.
        assert_eq!(at_fault([200, 150]), None);
        assert_eq!(at_fault([200, 400]), Some(1));
    }
}
