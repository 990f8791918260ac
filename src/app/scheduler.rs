//! The sequential scheduler: decides between the rounds of a comparison which cases are measured next, and reports what the
//! rest will cost.
//!
//! It asks the same rule that gives the verdict, and nothing else: a case is measured as long as that rule would leave
//! it open. Under a budget every open case gets an equal share of the time before any gets more, and what is left of the
//! shares goes to the cases that are soonest decided; choosing by what was seen so far is allowed, because an e-process
//! holds whenever one stops.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::progress::Reporter;
use crate::compare::{CaseProgress, Policy, SeqE, SideInput, case_progress};
use crate::model::text::count;
use crate::model::{Budget, CaseId, Comparison, RunRecord};
use crate::run::{NextRound, RoundsState, StoppingPolicy};

/// Rounds of shared processes after which a case that is still open gets processes of its own. With the one that lists, a
/// harness in which nothing changed is so started at most nine times a side.
const MAX_SHARED_ROUNDS: u32 = 8;

/// Seconds between two lines about the same stage.
const PAUSE: f64 = 15.0;

/// Stops a case when the rule of `gbench-ci compare BASE..HEAD` has decided it.
pub(crate) struct SequentialStopping {
    rule: SeqE,
    policy: Policy,
    names: [String; 2],
    /// For the rounds of this call.
    budget: Budget,
    reporter: Reporter,
    /// Stage and seconds of the last reported line.
    reported: Option<(usize, f64)>,
    /// Seconds of the budget that each survivor of the screen may use before any uses more.
    share: Option<f64>,
    /// What was seen before the round of this number.
    seen: (u32, Seen),
    pub out_of_time: bool,
}

impl SequentialStopping {
    pub(crate) fn new(comparison: &Comparison, reporter: Reporter) -> Self {
        Self {
            rule: SeqE::of(comparison),
            policy: Policy::of(comparison),
            names: [comparison.base.clone(), comparison.head.clone()],
            budget: comparison.budget,
            reporter,
            reported: None,
            share: None,
            seen: Default::default(),
            out_of_time: false,
        }
    }

    fn standings(&self, state: &RoundsState<'_>) -> Vec<CaseProgress> {
        let side = |index: usize| SideInput { record: state.records[index], name: self.names[index].clone() };
        // It fails only for a record that holds a case twice, which a plan cannot.
        case_progress(&self.rule, &side(0), &side(1), &self.policy).unwrap_or_default()
    }

    /// What the rounds so far show; judged once before each.
    fn seen(&mut self, state: &RoundsState<'_>) -> &Seen {
        if self.seen.0 != state.passes + 1 {
            let (pairs, standings) = (pairs_by_case(state), self.standings(state));
            let those = |which: fn(&CaseProgress) -> bool| {
                let chosen = standings.iter().filter(|it| which(it));
                chosen.filter_map(|it| pairs.get(&it.case).copied()).collect()
            };
            let look_changed = those(|it| it.open && it.looks_changed);
            let seen = Seen { look_changed, counts_decided: those(|it| it.counts_decided) };
            self.seen = (state.passes + 1, seen);
        }
        &self.seen.1
    }

    /// Cases to be measured in the rounds after the screen, dearest last.
    fn candidates(&self, state: &RoundsState<'_>) -> Vec<Candidate> {
        let pairs = pairs_by_case(state);
        let (screen, most) = (self.rule.rule.screen_rounds, self.rule.rule.most_rounds);
        let candidate = |case_progress: CaseProgress| {
            let pair = *pairs.get(&case_progress.case)?;
            let left = most.saturating_sub(state.pairs[pair].rounds);
            let round = state.pairs[pair].seconds_per_round().unwrap_or(0.0);
            let open = case_progress.open && state.pairs[pair].open && left > 0;
            let probable = case_progress.more_rounds.map_or(left, |more| more.min(left));
            open.then(|| Candidate {
                pair,
                out_of_reach: case_progress.more_rounds.is_none(),
                round,
                spent: round * f64::from(state.pairs[pair].rounds.saturating_sub(screen)),
                probably: round * f64::from(probable),
                at_most: round * f64::from(left),
            })
        };
        let mut candidates: Vec<Candidate> =
            self.standings(state).into_iter().filter_map(candidate).collect();
        candidates
            .sort_by(|a, b| a.out_of_reach.cmp(&b.out_of_reach).then(a.probably.total_cmp(&b.probably)));
        candidates
    }

    /// The candidates, sorted, that are measured in the next round. Without a budget: all. With one, every candidate first gets
    /// its share of the time that was left when the screen was over; what the soonest decided leave of theirs then goes to
    /// those that it probably suffices for, at least one.
    fn chosen(&mut self, candidates: &[Candidate], state: &RoundsState<'_>) -> Vec<usize> {
        let all = || candidates.iter().map(|candidate| candidate.pair);
        let Some(left) = self.budget.left(state.seconds) else { return all().collect() };
        let share = *self.share.get_or_insert(left / candidates.len() as f64);
        affordable(candidates, share, left)
    }

    fn report(&mut self, state: &RoundsState<'_>, screening: Option<u32>, candidates: &[Candidate]) {
        // A line a round would be forty: the first of a stage and then one every PAUSE seconds suffice.
        let stage = usize::from(screening.is_none());
        let due = self.reported.is_none_or(|(last, at)| last != stage || state.seconds - at >= PAUSE);
        if state.passes == 0 || !due {
            return;
        }
        self.reported = Some((stage, state.seconds));
        let (what, probably, at_most): (_, f64, f64) = match screening {
            Some(rounds) => {
                let open = state.pairs.iter().filter(|pair| pair.open);
                let round: f64 = open.filter_map(|pair| pair.seconds_per_round()).sum();
                let left = self.rule.rule.most_rounds.saturating_sub(state.rounds());
                let what = format!("{} to go until all cases are screened", count(rounds as usize, "round"));
                (what, round * f64::from(rounds), round * f64::from(left))
            }
            None => (
                format!("{} still open", count(candidates.len(), "case")),
                candidates.iter().map(|candidate| candidate.probably).sum(),
                candidates.iter().map(|candidate| candidate.at_most).sum(),
            ),
        };
        let left = self.budget.left(state.seconds);
        let capped = |seconds: f64| left.map_or(seconds, |left| seconds.min(left));
        if screening.is_some() || !candidates.is_empty() {
            let [probably, at_most] = [probably, at_most].map(|seconds| rounded(capped(seconds)));
            let time = if probably == at_most {
                format!("at most {at_most} more")
            } else {
                format!("about {probably} more, at most {at_most}")
            };
            self.reporter.note(&format!("{}: {what}; {time}", count(state.rounds() as usize, "round")));
        }
    }
}

/// Of candidates that are sorted by what they will probably cost: those that have not used up their share of the time; where
/// there is none, those that the seconds left probably suffice for, at least one.
fn affordable(candidates: &[Candidate], share: f64, mut left: f64) -> Vec<usize> {
    let pair = |candidate: &Candidate| candidate.pair;
    let has_share_left = |candidate: &&Candidate| candidate.spent + candidate.round <= share;
    let due: Vec<usize> = candidates.iter().filter(has_share_left).map(pair).collect();
    if !due.is_empty() {
        return due;
    }
    let fits = candidates.iter().take_while(|candidate| {
        left -= candidate.probably;
        left >= 0.0
    });
    let fits = fits.count().max(1).min(candidates.len());
    candidates[..fits].iter().map(pair).collect()
}

/// Pairs by what their rounds show.
#[derive(Default)]
struct Seen {
    /// They are open, and their change looks like one.
    look_changed: HashSet<usize>,
    /// Their counts of executions need no further one.
    counts_decided: HashSet<usize>,
}

/// A case that another round may decide.
struct Candidate {
    pair: usize,
    /// No number of rounds in sight would decide it.
    out_of_reach: bool,
    /// Seconds of one round of it, and of all since the screen.
    round: f64,
    spent: f64,
    /// Seconds until it is decided, and until its rounds are over.
    probably: f64,
    at_most: f64,
}

impl StoppingPolicy for SequentialStopping {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        let screen = self.rule.rule.screen_rounds;
        let unscreened: Vec<usize> =
            state.open().into_iter().filter(|pair| state.pairs[*pair].rounds < screen).collect();
        if let Some(fewest) = unscreened.iter().map(|pair| state.pairs[*pair].rounds).min() {
            self.report(state, Some(screen.saturating_sub(fewest)), &[]);
            let behind = unscreened.iter().copied().filter(|pair| state.pairs[*pair].rounds == fewest);
            return NextRound::Measure(behind.collect());
        }
        let candidates = self.candidates(state);
        self.report(state, None, &candidates);
        if candidates.is_empty() {
            // What one side alone has is measured in the first round, also where nothing can be compared.
            return if state.passes == 0 { NextRound::Measure(Vec::new()) } else { NextRound::Stop };
        }
        NextRound::Measure(self.chosen(&candidates, state))
    }

    /// A case that screens in shared processes is a candidate once it looks changed, or was screened for so long that its
    /// noise and not its change keeps it open. It stays one.
    fn is_candidate(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let planned = &state.plan.pairs[pair];
        let screens =
            planned.cases.iter().any(|case| case.benchmark.shares(true) && !case.benchmark.shares(false));
        let rounds = state.pairs[pair].rounds;
        if !screens || rounds < self.rule.rule.screen_rounds {
            return false;
        }
        let newest = |(record, index): (&&RunRecord, &Option<usize>)| {
            record.cases.get((*index)?)?.processes.last().map(|process| process.shared.is_none())
        };
        let was_alone = state.records.iter().zip(&state.pairs[pair].cases).find_map(newest) == Some(true);
        was_alone || rounds >= MAX_SHARED_ROUNDS || self.seen(state).look_changed.contains(&pair)
    }

    fn wants_counts(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        !self.seen(state).counts_decided.contains(&pair)
    }

    fn may_start(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let round = state.pairs[pair].seconds_per_round().unwrap_or(0.0);
        let may = self.budget.has_room(state.seconds, round);
        self.out_of_time |= !may;
        may
    }
}

fn pairs_by_case<'a>(state: &RoundsState<'a>) -> HashMap<&'a CaseId, usize> {
    let mut pairs = HashMap::new();
    for (pair, place) in state.pairs.iter().enumerate() {
        for (record, index) in state.records.iter().zip(place.cases).take(2) {
            let record: &'a RunRecord = record;
            if let Some(case) = index.and_then(|index| record.cases.get(index)) {
                pairs.insert(&case.id, pair);
            }
        }
    }
    pairs
}

/// A duration in words: whole seconds, whole minutes from ten on.
pub(crate) fn rounded(seconds: f64) -> String {
    let seconds = match seconds {
        seconds if seconds >= 600.0 => (seconds / 60.0).ceil() * 60.0,
        seconds => seconds.ceil(),
    };
    humantime::format_duration(Duration::from_secs(seconds.clamp(0.0, 1e9) as u64)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n29_every_open_case_gets_its_share_before_any_gets_its_last() {
        // Five cases of different length, none ever decided, and a budget for about 20 rounds of each.
        let rounds_of = [0.1, 0.2, 0.5, 1.0, 2.0];
        let mut candidates: Vec<Candidate> = rounds_of
            .iter()
            .enumerate()
            .map(|(pair, round)| Candidate {
                pair,
                out_of_reach: pair % 2 == 0,
                round: *round,
                spent: 0.0,
                probably: 37.0 * round,
                at_most: 37.0 * round,
            })
            .collect();
        let mut left = 76.0;
        let share = left / 5.0;
        let mut spent = [0.0; 5];
        while left > 0.05 {
            let chosen = affordable(&candidates, share, left);
            let beyond = chosen.iter().any(|pair| spent[*pair] + rounds_of[*pair] > share);
            let all_had_theirs = (0..5).all(|pair| spent[pair] + rounds_of[pair] > share);
            assert!(!beyond || all_had_theirs, "{chosen:?} after {spent:?}");
            for pair in chosen {
                spent[pair] += rounds_of[pair];
                left -= rounds_of[pair];
                candidates.iter_mut().filter(|it| it.pair == pair).for_each(|it| it.spent = spent[pair]);
            }
        }
        assert!((0..5).all(|pair| spent[pair] + rounds_of[pair] > share), "{spent:?}");
    }
}
