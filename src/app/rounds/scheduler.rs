//! The sequential scheduler: decides between the rounds of a comparison which cases are measured next, and reports what the
//! rest will cost.
//!
//! It asks the same rule that gives the verdict, and nothing else: a case is measured as long as that rule would leave
//! it open. Under a budget every open case gets an equal share of the time before any gets more, and what is left of the
//! shares goes to the cases that are soonest decided; choosing by what was seen so far is allowed, because an e-process
//! holds whenever one stops.
//!
//! Where cases share processes at first, a budget buys most evidence in these: one round is a round of every case. Until
//! they have decided whether the program is red, a case gets its own processes only where the time is enough for both. Then
//! the time goes to the cases that changed most clearly, one after the other.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use crate::app::progress::Reporter;
use crate::compare::{CaseProgress, Policy, SeqE, SideInput, case_progress, limits_of};
use crate::model::text::count;
use crate::model::{BenchmarkId, Budget, CaseId, Comparison, RunRecord};
use crate::run::{NextRound, RoundsState, StoppingPolicy};
use crate::stats::seq_e::SequentialLimits;
use crate::suite::plan::RoundsPlan;

/// Rounds of shared processes after which a case that is still open gets its own processes. With the one that lists, a
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
    /// The state before the round of this number.
    seen: (u32, Seen),
    /// Cases that have got their own processes.
    alone: HashSet<usize>,
    /// Once the budget was spent: what was left to do then.
    pub rest: Option<Rest>,
}

/// The cases that are still open when the budget ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rest {
    /// That would probably decide `cases`, by the rates measured.
    seconds: f64,
    cases: usize,
    open: usize,
    /// Benchmarks of which as much time again would not decide every case.
    pub hopeless: BTreeSet<BenchmarkId>,
}

impl Rest {
    /// `about 6m more would probably decide 9 of 12 open cases`.
    pub(crate) fn words(&self) -> String {
        let Self { seconds, cases, open, .. } = *self;
        let open_cases = count(open, "open case");
        match cases {
            0 => format!("more time would hardly decide {open_cases}"),
            _ if cases == open => {
                format!("about {} more would probably decide {open_cases}", rounded(seconds))
            }
            _ => format!("about {} more would probably decide {cases} of {open_cases}", rounded(seconds)),
        }
    }
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
            alone: HashSet::new(),
            rest: None,
        }
    }

    /// Takes seconds from the budget that were spent before the rounds.
    pub(crate) fn spend(&mut self, seconds: f64) {
        if let Some(left) = self.budget.left(seconds) {
            // A budget of zero would mean no limit.
            self.budget = Budget::from_seconds(left.max(f64::MIN_POSITIVE));
        }
    }

    fn standings(&self, state: &RoundsState<'_>) -> Vec<CaseProgress> {
        let side = |index: usize| SideInput { record: state.records[index], name: self.names[index].clone() };
        // It fails only for a record that has a case twice, which a plan cannot.
        case_progress(&self.rule, &side(0), &side(1), &self.policy).unwrap_or_default()
    }

    fn seen(&mut self, state: &RoundsState<'_>) -> &Seen {
        if self.seen.0 != state.passes + 1 {
            let (pairs, standings) = (pairs_by_case(state), self.standings(state));
            let those = |which: fn(&CaseProgress) -> bool| {
                let chosen = standings.iter().filter(|it| which(it));
                chosen.filter_map(|it| pairs.get(&it.case).copied()).collect()
            };
            let look_changed = those(|it| it.open && it.looks_changed);
            let counts_decided = those(|it| it.counts_decided);
            let of_red_program = those(|it| it.of_red_program);
            let open = standings.iter().filter(|it| it.open);
            let clarity = open.filter_map(|it| Some((*pairs.get(&it.case)?, it.clarity))).collect();
            self.seen = (
                state.passes + 1,
                Seen { look_changed, counts_decided, of_red_program, clarity, standings, ..Seen::default() },
            );
            self.leave_the_others(state);
            let shared = programs(state, &self.alone, &self.seen.1.clarity).into_values();
            let seconds =
                shared.flat_map(|it| it.pairs.into_iter().map(move |pair| (pair, it.seconds_per_round)));
            self.seen.1.shared_seconds = seconds.collect();
        }
        &self.seen.1
    }

    /// Cases to be measured in the rounds after the screen, dearest last, by what was seen before this round.
    fn candidates(&self, state: &RoundsState<'_>) -> Vec<Candidate> {
        let pairs = pairs_by_case(state);
        let (screen, most) = (self.rule.rule.screen_rounds, self.rule.rule.most_rounds);
        let candidate = |case_progress: &CaseProgress| {
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
        let mut candidates: Vec<Candidate> = self.seen.1.standings.iter().filter_map(candidate).collect();
        candidates
            .sort_by(|a, b| a.out_of_reach.cmp(&b.out_of_reach).then(a.probably.total_cmp(&b.probably)));
        candidates
    }

    /// Chooses the cases that get their own processes from now on, of those that share them while they screen. Without a
    /// budget: those that look changed, and those that were screened for so long that their noise and not their change
    /// keeps them open. With one: of these the clearest first, as far as the time is enough to decide them next to the
    /// shared rounds that are still to come. A case that has had its own process stays alone.
    fn leave_the_others(&mut self, state: &RoundsState<'_>) {
        let seen = &self.seen.1;
        let screening: Vec<usize> = (0..state.pairs.len()).filter(|pair| screens(*pair, state)).collect();
        self.alone.extend(screening.iter().copied().filter(|pair| was_alone(*pair, state)));
        let is_screened = |pair: &&usize| state.pairs[**pair].rounds >= self.rule.rule.screen_rounds;
        let is_suspect = |pair: &&usize| {
            state.pairs[**pair].rounds >= MAX_SHARED_ROUNDS || seen.look_changed.contains(*pair)
        };
        let suspects = screening.iter().filter(is_screened).filter(is_suspect).copied();
        let suspects: Vec<usize> = suspects.filter(|pair| !self.alone.contains(pair)).collect();
        let Some(left) = self.budget.left(state.seconds) else {
            self.alone.extend(suspects);
            return;
        };
        // A case that shares its processes with no other costs the same alone, and only then is evidence.
        let (in_company, single): (Vec<usize>, Vec<usize>) =
            suspects.into_iter().partition(|pair| has_company(*pair, state));
        self.alone.extend(single);
        let mut suspects = in_company;
        let clarity = |pair: &usize| seen.clarity.get(pair).copied().unwrap_or(0.0);
        suspects.retain(|pair| seen.clarity.contains_key(pair));
        suspects.sort_by(|one, other| clarity(other).total_cmp(&clarity(one)));
        let needed = self.rounds_of_a_red(screening.len());
        let mut shared = programs(state, &self.alone, &seen.clarity);
        // Without a share of alpha no program can be red.
        shared.retain(|_, program| self.rule.rule.alpha_programs > 0.0 && program.pairs.len() > 1);
        let is_undecided =
            |program: &&SharedProgram| !program.pairs.iter().any(|it| seen.of_red_program.contains(it));
        let to_come = |program: &SharedProgram| {
            program.seconds_per_round * f64::from(needed.saturating_sub(program.rounds))
        };
        let mut left = left - shared.values().filter(is_undecided).map(to_come).sum::<f64>();
        // Those that are alone already come first.
        let is_open = |pair: &&usize| seen.clarity.contains_key(*pair);
        let of_alone = |pair: &usize| {
            own_seconds(*pair, state) * f64::from(needed.saturating_sub(own_rounds(*pair, state)))
        };
        left -= self.alone.iter().filter(is_open).map(of_alone).sum::<f64>();
        for pair in suspects {
            left -= own_seconds(pair, state) * f64::from(needed);
            if left < 0.0 {
                break;
            }
            self.alone.insert(pair);
        }
    }

    /// Rounds after which a clear change is red among so many rows, with some to spare.
    fn rounds_of_a_red(&self, rows: usize) -> u32 {
        const SPARE: usize = 2;
        let rule = &self.rule.rule;
        let alpha = if rule.alpha_programs > 0.0 { rule.alpha_programs } else { rule.alpha };
        let limits = SequentialLimits { alpha, ..limits_of(rule) };
        (limits.least_rounds(rows) + SPARE) as u32
    }

    /// The candidates, sorted, that are measured in the next round. Without a budget: all. With one, every candidate first gets
    /// its share of the time that was left when the screen was over; what the soonest decided leave of theirs then goes to
    /// those that it probably suffices for, at least one.
    fn chosen(&mut self, candidates: &[Candidate], state: &RoundsState<'_>) -> Vec<usize> {
        let all = || candidates.iter().map(|candidate| candidate.pair);
        let Some(left) = self.budget.left(state.seconds) else { return all().collect() };
        let is_of_program = |it: &&Candidate| screens(it.pair, state);
        let (of_programs, ordinary): (Vec<&Candidate>, Vec<&Candidate>) =
            candidates.iter().partition(is_of_program);
        let (alone, sharing): (Vec<&Candidate>, Vec<&Candidate>) =
            of_programs.into_iter().partition(|it| self.alone.contains(&it.pair));
        let share = *self.share.get_or_insert(left / candidates.len() as f64);
        let ordinary = affordable(&ordinary, share, left);
        // Cases that share processes continue until they show whether the program is red, and again when no others are left.
        let needed =
            self.rounds_of_a_red((0..state.pairs.len()).filter(|pair| screens(*pair, state)).count());
        let is_due = |it: &&&Candidate| {
            let is_red = self.seen.1.of_red_program.contains(&it.pair);
            let may_be_red = self.rule.rule.alpha_programs > 0.0 && has_company(it.pair, state);
            may_be_red && state.pairs[it.pair].rounds < needed && !is_red
        };
        let due = sharing.iter().filter(is_due).map(|it| it.pair);
        let chosen: Vec<usize> = due.chain(alone.iter().map(|it| it.pair)).chain(ordinary).collect();
        if chosen.is_empty() { sharing.iter().map(|it| it.pair).collect() } else { chosen }
    }

    fn rest(&self, state: &RoundsState<'_>) -> Rest {
        let screen = self.rule.rule.screen_rounds;
        let (unscreened, screened): (Vec<usize>, Vec<usize>) =
            state.open().into_iter().partition(|pair| state.pairs[*pair].rounds < screen);
        let to_screen = |pair: &usize| {
            let pair = &state.pairs[*pair];
            pair.seconds_per_round().unwrap_or(0.0) * f64::from(screen - pair.rounds)
        };
        let candidates = self.candidates(state);
        let of_screened = || candidates.iter().filter(|it| !it.out_of_reach && screened.contains(&it.pair));
        // To decide a case takes its own processes, which cost more than its part of shared ones.
        let probably = |it: &Candidate| {
            let dearer = if screens(it.pair, state) { own_seconds(it.pair, state) / it.round } else { 1.0 };
            it.probably * if dearer.is_finite() { dearer } else { 1.0 }
        };
        let seconds =
            unscreened.iter().map(to_screen).sum::<f64>() + of_screened().map(probably).sum::<f64>();
        let open = unscreened.len() + candidates.iter().filter(|it| screened.contains(&it.pair)).count();
        let is_too_much = self.budget.seconds().is_some_and(|budget| seconds > budget);
        let is_hopeless = |it: &&Candidate| it.out_of_reach || is_too_much;
        let benchmark = |it: &Candidate| state.plan.pairs[it.pair].id().benchmark.clone();
        let hopeless = candidates.iter().filter(is_hopeless).map(benchmark).collect();
        Rest { seconds, cases: unscreened.len() + of_screened().count(), open, hopeless }
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
fn affordable(candidates: &[&Candidate], share: f64, mut left: f64) -> Vec<usize> {
    let pair = |candidate: &&Candidate| candidate.pair;
    let has_share_left = |candidate: &&&Candidate| candidate.spent + candidate.round <= share;
    let due: Vec<usize> = candidates.iter().filter(has_share_left).map(pair).collect();
    if !due.is_empty() || candidates.is_empty() {
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
    standings: Vec<CaseProgress>,
    /// They are open, and their change looks like one.
    look_changed: HashSet<usize>,
    /// Their counts of executions need no further one.
    counts_decided: HashSet<usize>,
    of_red_program: HashSet<usize>,
    /// How clearly those changed that are open.
    clarity: HashMap<usize, f64>,
    /// Probable seconds of the next round of all that share processes.
    shared_seconds: HashMap<usize, f64>,
}

/// Cases of one program that still share its processes.
#[derive(Default)]
struct SharedProgram {
    pairs: Vec<usize>,
    /// Whole rounds of the one that has most.
    rounds: u32,
    seconds_per_round: f64,
}

/// The programs whose open cases share processes, without those that are measured alone, by their benchmark.
fn programs<'a>(
    state: &RoundsState<'a>,
    alone: &HashSet<usize>,
    open: &HashMap<usize, f64>,
) -> HashMap<&'a BenchmarkId, SharedProgram> {
    let mut programs: HashMap<&BenchmarkId, SharedProgram> = HashMap::new();
    let shares = |pair: &usize| screens(*pair, state) && !alone.contains(pair) && open.contains_key(pair);
    for pair in state.open().into_iter().filter(shares) {
        let plan: &'a RoundsPlan = state.plan;
        let program = programs.entry(&plan.pairs[pair].id().benchmark).or_default();
        program.pairs.push(pair);
        program.rounds = program.rounds.max(state.pairs[pair].rounds);
        program.seconds_per_round += state.pairs[pair].seconds_per_round().unwrap_or(0.0);
    }
    programs
}

fn screens(pair: usize, state: &RoundsState<'_>) -> bool {
    let planned = &state.plan.pairs[pair];
    planned.cases.iter().any(|case| case.benchmark.shares(true) && !case.benchmark.shares(false))
}

fn has_company(pair: usize, state: &RoundsState<'_>) -> bool {
    let own = &state.plan.pairs[pair].id().benchmark;
    state.plan.pairs.iter().filter(|other| other.id().benchmark == *own).nth(1).is_some()
}

fn was_alone(pair: usize, state: &RoundsState<'_>) -> bool {
    let newest = |(record, index): (&&RunRecord, &Option<usize>)| {
        record.cases.get((*index)?)?.processes.last().map(|process| process.shared.is_none())
    };
    state.records.iter().zip(&state.pairs[pair].cases).find_map(newest) == Some(true)
}

fn own_rounds(pair: usize, state: &RoundsState<'_>) -> u32 {
    let case = state.pairs[pair].cases[0].and_then(|index| state.records.first()?.cases.get(index));
    case.map_or(0, |case| case.processes.iter().filter(|process| process.shared.is_none()).count() as u32)
}

/// Probable seconds of a round of a pair alone: starting its processes takes as long as in a shared round, and measuring
/// the others is saved.
fn own_seconds(pair: usize, state: &RoundsState<'_>) -> f64 {
    let of_benchmark = &state.plan.pairs[pair].id().benchmark;
    let of_pairs =
        (0..state.pairs.len()).filter(|other| state.plan.pairs[*other].id().benchmark == *of_benchmark);
    let shared: f64 = of_pairs.clone().filter_map(|other| state.pairs[other].seconds_per_round()).sum();
    let sides = state.plan.pairs[pair].cases.len() as f64;
    let settings = &state.plan.pairs[pair].cases[0].benchmark.settings;
    let measuring = sides * (settings.duration.value + settings.burnin.value);
    let others = of_pairs.count().saturating_sub(1) as f64;
    let own = state.pairs[pair].seconds_per_round().unwrap_or(0.0);
    (shared - others * measuring).max(own)
}

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
        self.seen(state);
        let candidates = self.candidates(state);
        self.report(state, None, &candidates);
        if candidates.is_empty() {
            // Cases of one side alone are measured in the first round, also where nothing can be compared.
            return if state.passes == 0 { NextRound::Measure(Vec::new()) } else { NextRound::Stop };
        }
        NextRound::Measure(self.chosen(&candidates, state))
    }

    fn is_candidate(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        self.seen(state);
        self.alone.contains(&pair)
    }

    fn wants_counts(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        !self.seen(state).counts_decided.contains(&pair)
    }

    fn may_start(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let own = state.pairs[pair].seconds_per_round().unwrap_or(0.0);
        let round = self.seen.1.shared_seconds.get(&pair).copied().unwrap_or(own);
        // A budget that was over before anything began would leave nothing to judge or to continue.
        let is_first = state.pairs.iter().all(|it| it.rounds == 0 && it.seconds == 0.0);
        let may = is_first || self.budget.has_room(state.seconds, round);
        if !may && self.rest.is_none() {
            self.rest = Some(self.rest(state));
        }
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
    fn the_end_of_a_budget_says_what_more_time_would_decide() {
        let rest = |cases| Rest { seconds: 61.2, cases, open: 3, hopeless: BTreeSet::new() }.words();
        assert_eq!(rest(3), "about 1m 2s more would probably decide 3 open cases");
        assert_eq!(rest(1), "about 1m 2s more would probably decide 1 of 3 open cases");
        assert_eq!(rest(0), "more time would hardly decide 3 open cases");
    }

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
            let chosen = affordable(&candidates.iter().collect::<Vec<_>>(), share, left);
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
