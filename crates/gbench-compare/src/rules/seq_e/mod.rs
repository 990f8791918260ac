//! The rules `seq-e`, `seq-e-2`, `seq-e-3`, `seq-e-4` and `seq-e-5`: a screen over the whole suite, then e-processes over fresh
//! rounds of the candidates. A record names its rule, and is always judged by it.
//!
//! [`gbench_stats::seq_e`] has the arithmetic and its proof; here are the reasons, and the validity checks, which can
//! only make a verdict weaker. All rounds are replayed whenever the rule is asked, so that a verdict depends on the
//! records alone, and not on the times at which it was asked for.
//!
//! ```text
//!  improved  |     unchanged: the interval      |  regressed: the e-value of
//!  likewise  |     lies within the target       |  "beyond the minimum effect"
//! -----------+----------+-----0-----+-----------+-----------------------------
//!        -target    -min_effect  min_effect   target
//! ```

mod programs;
mod reasons;
pub(crate) mod state;

use std::f64::consts::LN_10;

use gbench_model::{Comparison, Interleaving, RecordState, RunRecord, SequentialRule, SequentialRuleName};
use gbench_stats::sample_stddev;
use gbench_stats::seq_e::{
    self, Basis, Interval, Screen, SequentialLimits, SequentialResult, Status, Version,
};
use gbench_stats::spread::Spreads;

use super::rule::{ProgramDecision, RowDecision, Rule, RuleOutput};
use crate::evidence::samples::Evidence;
use crate::evidence::validity::{SerialCorrelation, location_shift, repeated_numbers};
use crate::evidence::{health, throttling};
use crate::verdict::change::Change;
use crate::verdict::document::{RoundsMethod, Sequence};
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::parts::counted;
use crate::wording::reason::Reason;
use crate::wording::warning::Warning;

use programs::{OfPrograms, RedProgram};
use reasons::{further_rounds, steps_in_the_way, what_next, why_open};

use state::{RowState, Taken, results, results_of, row_states};

const MAX_NAMED: usize = 3;

#[derive(Clone, Debug)]
pub struct SeqE {
    pub rule: SequentialRule,
    pub seed: u64,
    pub way: Interleaving,
    /// Seconds that the rounds were given, where it was their end that ended them; see [`SeqE::ended_as`].
    pub spent: Option<f64>,
    /// See [`Rule::judges_pairs`].
    pub pairs: bool,
    /// Rows of the base that were compared with itself, and those of them that came out changed.
    pub controls: u32,
    pub flagged_controls: Vec<String>,
}

impl SeqE {
    pub fn of(comparison: &Comparison) -> Self {
        Self {
            rule: comparison.rule,
            seed: comparison.seed,
            way: comparison.interleaving,
            spent: None,
            pairs: comparison.pairs,
            controls: 0,
            flagged_controls: Vec::new(),
        }
    }

    /// The rule that also knows why the rounds of these records ended. Unless they are interrupted, rounds continue until
    /// every row is decided or has had its rounds, or the budget is spent. Records of the first rule keep its words.
    pub fn ended_as(self, comparison: &Comparison, records: [&RunRecord; 2]) -> Self {
        let whole = records.iter().all(|record| record.state == RecordState::Complete);
        let known = whole && self.rule.name != SequentialRuleName::SeqE;
        Self { spent: comparison.budget.seconds().filter(|_| known), ..self }
    }

    /// The rule for the base against itself. A row that changes there by chance takes all reds of the comparison with it,
    /// so that from SEQ-E 3 on it may do so in one of a thousand comparisons.
    pub(crate) fn of_control(&self) -> Self {
        const EACH_WAY: f64 = 0.0005;
        let mut rule = self.clone();
        if rule.rule.name >= SequentialRuleName::SeqE3 {
            (rule.rule.alpha, rule.rule.alpha_improved) = (EACH_WAY, EACH_WAY);
            if rule.rule.alpha_programs > 0.0 {
                rule.rule.alpha_programs = EACH_WAY / 2.0;
            }
        }
        rule
    }

    pub(crate) fn limits(&self) -> SequentialLimits {
        limits_of(&self.rule)
    }

    /// For a row that was not decided: head varies far more than base, and by more than the target. All rows share
    /// `alpha`. Rounds in which one side met other work are left out.
    fn noisier_head(&self, state: &RowState, decision: &RowDecision, screen: &Screen) -> Option<Reason> {
        let is_open =
            matches!(decision.reason, Some(Reason::RangeUndecided { .. } | Reason::ChangeUnknown { .. }));
        if self.rule.name < SequentialRuleName::SeqE4 || !is_open {
            return None;
        }
        let rounds = state.rounds.calm_places(state.rounds.shared);
        let spreads = Spreads::of(&rounds, state.rounds.shared == 0)?;
        let share = self.rule.alpha / screen.candidates as f64;
        let of_side = |spread: f64| state.rounds.scale.slowdown(spread);
        spreads.head_is_noisier(state.target, share).then_some(Reason::HeadVariesMore {
            base: of_side(spreads.base)?,
            head: of_side(spreads.head)?,
            rounds: rounds.len() as u32,
            confidence: 1.0 - self.rule.alpha,
        })
    }
}

/// The limits for rows that a recorded rule gives the arithmetic.
pub fn limits_of(rule: &SequentialRule) -> SequentialLimits {
    SequentialLimits {
        version: match rule.name {
            SequentialRuleName::SeqE => Version::One,
            SequentialRuleName::SeqE2 => Version::Two,
            SequentialRuleName::SeqE3 | SequentialRuleName::SeqE4 | SequentialRuleName::SeqE5 => {
                Version::Three
            }
        },
        alpha: rule.alpha - rule.alpha_programs,
        alpha_improved: rule.alpha_improved,
        screen_rounds: (rule.screen_rounds as usize).max(2),
        most_rounds: (rule.most_rounds as usize).max(2),
        beside: 0,
    }
}

impl Rule for SeqE {
    fn name(&self) -> &str {
        self.rule.name.into_str()
    }

    fn alpha(&self) -> f64 {
        self.rule.alpha
    }

    fn over_rounds(&self) -> bool {
        true
    }

    fn believes_any_change(&self) -> bool {
        self.rule.name == SequentialRuleName::SeqE
    }

    fn precedes_seq_e_5(&self) -> bool {
        self.rule.name < SequentialRuleName::SeqE5
    }

    fn judges_pairs(&self) -> bool {
        self.pairs
    }

    fn decide(&self, evidence: &[Evidence]) -> Vec<RowDecision> {
        self.judge(evidence).decisions
    }

    fn judge(&self, evidence: &[Evidence]) -> RuleOutput {
        let limits = self.limits();
        let states = row_states(evidence, &limits);
        let (screen, results) = results(&states, &limits);
        let by_chance =
            || states.iter().zip(&results).filter_map(|(state, result)| Some((state, result.as_ref()?)));
        // A pair's speedup repeats what the rows of its times say.
        let independent = by_chance().filter(|(state, _)| !state.evidence.of_pair);
        let used = independent.map(|(state, result)| {
            let differences = &state.rounds.differences[result.from..result.rounds];
            (state.processes(result.from), differences)
        });
        let serial_correlation = match limits.version {
            Version::One | Version::Two => {
                SerialCorrelation::pooled(used.map(|(_, differences)| differences))
            }
            Version::Three => SerialCorrelation::clustered(used),
        };
        let correlated = serial_correlation.filter(SerialCorrelation::is_clear);
        let of_programs = |taken: &[Taken]| OfPrograms::of(&states, taken, &limits, self.rule.alpha_programs);
        let all: Vec<Taken> = states.iter().map(RowState::all_rounds).collect();
        let all = of_programs(&all);
        let calm_rounds = calm_rounds(&states);
        let calm =
            calm_rounds.as_ref().map(|rounds| rounds.iter().map(CalmRounds::taken).collect::<Vec<_>>());
        let undisturbed = calm.as_ref().map(|calm| results_of(&states, calm, &limits).1);

        let mut decisions = Vec::with_capacity(states.len());
        for (index, (state, result)) in states.iter().zip(&results).enumerate() {
            let Some(result) = result else {
                decisions.extend(state.exact.clone());
                continue;
            };
            let spent = self.spent.filter(|_| result.status == Status::Open);
            let of_all = all.as_ref().and_then(|all| all.result(index));
            let mut decision = decide(state, result, of_all, &screen, &limits, spent);
            if let Some(reason) = self.noisier_head(state, &decision, &screen) {
                (decision.reason, decision.next) = (Some(reason), Some(Advice::SteadyHead {}));
            }
            if let Some(repeated) = repeated_numbers(state.evidence, limits.version) {
                decision.open = repeated.may_change && state.rounds.differences.len() < limits.most_rounds;
                weaken(&mut decision, repeated.reason, repeated.next);
            }
            if let Some(shared) = result.shared_differ
                && decision.verdict == Verdict::Unchanged
            {
                let slowdown = |difference| state.rounds.scale.slowdown(difference);
                let reason = Reason::SharedProcessesDiffer {
                    shared: slowdown(shared),
                    shared_rounds: state.rounds.shared as u32,
                    own: slowdown(result.mean),
                    own_rounds: (result.rounds - result.from) as u32,
                };
                weaken(&mut decision, reason, Advice::LookForInteraction {});
            }
            if state.rounds.lost_its_scale {
                weaken(&mut decision, Reason::NoRatio {}, Advice::KeepOneSign {});
                decision.open = false;
            }
            let is_red = decision.verdict == Verdict::Regressed;
            if let Some(calm) = undisturbed.as_ref().and_then(|results| results[index].as_ref())
                && calm.status != result.status
                && decision.verdict != Verdict::Inconclusive
            {
                let disturbed = state.rounds.disturbed.iter().filter(|disturbed| **disturbed).count();
                let (rounds, shown) = (state.rounds.differences.len() as u32, decision.verdict);
                let of_card = health::doubt_of_rounds(state.evidence, shown, rounds)
                    .or_else(|| throttling::doubt_of_rounds(state.evidence, shown, rounds));
                let (reason, next) = of_card.unwrap_or((
                    Reason::OneSideDisturbed { disturbed: disturbed as u32, rounds, shown },
                    Advice::KeepMachineFree {},
                ));
                weaken(&mut decision, reason, next);
                // Further rounds in which nothing happens may still show it.
                let left = state.rounds.differences.len() < limits.most_rounds;
                decision.open = calm.status == Status::Open && left;
                if let Some(sequence) = &mut decision.sequence {
                    let undisturbed = state.rounds.differences.len() - disturbed;
                    sequence.more_rounds = Some(result.rounds.saturating_sub(undisturbed).max(1) as u32);
                }
            }
            if let (true, Some(SerialCorrelation { correlation, error })) = (is_red, correlated) {
                let reason = Reason::SerialCorrelation { correlation, error };
                weaken(&mut decision, reason, Advice::LookForSharedState {});
            }
            if is_red && !self.flagged_controls.is_empty() {
                let (count, named) = counted(&self.flagged_controls, MAX_NAMED);
                let reason = Reason::ControlChanged { count, named };
                weaken(&mut decision, reason, Advice::LookForOrderEffects {});
            }
            if decision.verdict != Verdict::Inconclusive
                && let Some(change) = &mut decision.change
            {
                change.detectable = None;
            }
            decisions.push(decision);
        }
        // Doubts about every red row are doubts about programs, too.
        let programs = all.as_ref().filter(|_| correlated.is_none() && self.flagged_controls.is_empty());
        let programs = programs.map_or(Vec::new(), |all| {
            let calm = calm.as_ref().and_then(|calm| of_programs(calm));
            let usable = |state: &RowState| {
                !state.rounds.lost_its_scale && repeated_numbers(state.evidence, limits.version).is_none()
            };
            let red = all.red(&states, &decisions, calm.as_ref(), usable);
            red.iter().filter_map(|program| decide_program(program, &states, &all.limits)).collect()
        });
        let (location_shift, warning) = suite_location_shift(&by_chance().collect::<Vec<_>>());
        let mut warnings: Vec<Warning> = warning.into_iter().collect();
        let warning =
            |SerialCorrelation { correlation, error }| Warning::CorrelatedRounds { correlation, error };
        warnings.extend(correlated.map(warning));
        RuleOutput {
            decisions,
            programs,
            rounds: Some(RoundsMethod {
                alpha_improved: self.rule.alpha_improved,
                screen_rounds: limits.screen_rounds as u32,
                shared_screen: states.iter().any(|state| state.rounds.shared > 0),
                alpha_programs: Some(self.rule.alpha_programs).filter(|_| all.is_some()),
                most_rounds: limits.most_rounds as u32,
                candidates: screen.candidates as u32,
                seed: self.seed,
                way: self.way,
                serial_correlation: serial_correlation.map(|it| it.correlation),
                serial_correlation_error: serial_correlation
                    .filter(|_| limits.version != Version::One)
                    .map(|it| it.error),
                location_shift,
                controls: self.controls,
                flagged_controls: self.flagged_controls.clone(),
            }),
            warnings,
        }
    }
}

struct CalmRounds {
    differences: Vec<f64>,
    head_second: Vec<bool>,
    shared: usize,
}

impl CalmRounds {
    fn taken(&self) -> Taken<'_> {
        Taken { differences: &self.differences, head_second: &self.head_second, shared: self.shared }
    }
}

/// Every row without its disturbed rounds; `None` where there are none.
fn calm_rounds(states: &[RowState]) -> Option<Vec<CalmRounds>> {
    if !states.iter().any(|state| state.rounds.disturbed.contains(&true)) {
        return None;
    }
    let calm = |state: &RowState| {
        let (all, disturbed) = (state.all_rounds(), &state.rounds.disturbed);
        CalmRounds {
            differences: calm_of(all.differences, disturbed),
            head_second: calm_of(all.head_second, disturbed),
            shared: calm_of(&disturbed[..all.shared], disturbed).len(),
        }
    };
    Some(states.iter().map(calm).collect())
}

fn calm_of<T: Copy>(of_rounds: &[T], disturbed: &[bool]) -> Vec<T> {
    let calm = of_rounds.iter().zip(disturbed).filter(|(_, disturbed)| !**disturbed);
    calm.map(|(of_round, _)| *of_round).collect()
}

fn suite_location_shift(rows: &[(&RowState, &SequentialResult)]) -> (Option<f64>, Option<Warning>) {
    let mut sizes = vec![0; rows.iter().map(|(state, _)| state.family + 1).max().unwrap_or(0)];
    rows.iter().for_each(|(state, _)| sizes[state.family] += 1);
    let Some(largest) = (0..sizes.len()).rev().max_by_key(|family| sizes[*family]) else {
        return (None, None);
    };
    let rows = rows.iter().filter(|(state, result)| state.family == largest && result.rounds > 0);
    let slowdowns: Vec<f64> =
        rows.filter_map(|(state, result)| state.rounds.scale.slowdown(result.mean)).collect();
    location_shift(&slowdowns)
}

fn weaken(decision: &mut RowDecision, reason: Reason, next: Advice) {
    if decision.verdict != Verdict::Inconclusive {
        decision.verdict = Verdict::Inconclusive;
        decision.reason = Some(reason);
        decision.next = Some(next);
        if let Some(sequence) = &mut decision.sequence {
            sequence.at_least = None;
        }
    }
}

/// The decision about a program, with the figures of the row that changed most clearly. `None` where these have no ratio.
fn decide_program(
    program: &RedProgram,
    states: &[RowState],
    limits: &SequentialLimits,
) -> Option<ProgramDecision> {
    let RedProgram { likeliest, cases, result, at_least } = program;
    let state = &states[*likeliest];
    let scale = state.rounds.scale;
    let proven = at_least.map(|difference| (difference - result.unresolved).max(0.0));
    let at_least = proven.and_then(|difference| scale.slowdown(difference));
    let change = change(state, result, limits, proven, None);
    let reason = Reason::ProgramWorse {
        likeliest: state.evidence.case.to_string(),
        cases: *cases,
        rounds: result.rounds as u32,
        shared_rounds: state.rounds.shared.min(result.rounds) as u32,
        slowdown: change.as_ref()?.slowdown,
        confidence: 1.0 - limits.alpha,
    };
    let noise = sample_stddev(&state.rounds.differences[..result.rounds]).unwrap_or(0.0);
    let decision = RowDecision {
        centres: state.rounds.centres(state.evidence, 0..result.rounds),
        change,
        sequence: Some(sequence(state, result, noise, at_least, None)),
        tested: true,
        ..RowDecision::plain(Verdict::Regressed, Some(reason), Some(Advice::ConfirmTheCase {}))
    };
    Some(ProgramDecision { likeliest: *likeliest, decision })
}

fn sequence(
    state: &RowState,
    result: &SequentialResult,
    noise: f64,
    at_least: Option<f64>,
    more_rounds: Option<u32>,
) -> Sequence {
    Sequence {
        rounds: result.rounds as u32,
        min_effect: state.shown()[1],
        noise,
        log10_worse: result.ln_worse / LN_10,
        log10_better: result.ln_better / LN_10,
        log10_needed: result.ln_needed_worse / LN_10,
        at_least,
        more_rounds,
    }
}

/// `of_all`: what the shared rounds of a row show together with its own, where programs are judged by them. `spent`: the
/// budget whose end has ended the row's rounds.
fn decide(
    state: &RowState,
    result: &SequentialResult,
    of_all: Option<&SequentialResult>,
    screen: &Screen,
    limits: &SequentialLimits,
    spent: Option<f64>,
) -> RowDecision {
    // A few own rounds show less of an open row than the shared ones before them.
    let has_few =
        matches!(result.status, Status::Open | Status::Exhausted) && result.rounds < 2 * result.from;
    let shown = of_all.filter(|_| has_few).unwrap_or(result);
    let differences = &state.rounds.differences[..shown.rounds];
    let (shared, own) = differences.split_at(shown.from);
    // One round in own processes shows no spread: until the second, that of the shared ones is used.
    let noise = sample_stddev(own).or_else(|| sample_stddev(shared)).unwrap_or(0.0);
    let scale = state.rounds.scale;
    let (candidates, rounds) = (screen.candidates, result.rounds as u32);
    let verdict = Verdict::from(result.status);
    let proven = seq_e::at_least(&state.series(&state.all_rounds()), result, screen, limits)
        .map(|difference| (difference - result.unresolved).max(0.0));
    let at_least =
        proven.filter(|_| verdict == Verdict::Regressed).and_then(|difference| scale.slowdown(difference));
    let possible = limits.bets_in(limits.most_rounds, state.rounds.shared);
    let power = state.power(noise.max(result.scale));
    let detectable = seq_e::detectable(possible, power, limits, candidates);
    let detectable = scale.slowdown(detectable).filter(|slowdown| slowdown.is_finite());
    let change = if result.rounds > 0 { change(state, shown, limits, proven, detectable) } else { None };
    let forecast = SequentialResult { mean: shown.mean, ..result.clone() };
    let further =
        (verdict == Verdict::Inconclusive).then(|| further_rounds(state, &forecast, noise, limits)).flatten();
    let (reason, next) = match verdict {
        Verdict::Regressed => {
            (Some(Reason::WorseOverRounds { rounds, at_least, confidence: 1.0 - limits.alpha }), None)
        }
        Verdict::Improved => {
            (Some(Reason::BetterOverRounds { rounds, confidence: 1.0 - limits.alpha_improved }), None)
        }
        Verdict::Inconclusive => {
            // A screen that is not over needs more rounds, whatever the figures are.
            let is_screened = result.rounds >= limits.screen_rounds || limits.version != Version::Three;
            let next = match steps_in_the_way(state, result).filter(|_| is_screened) {
                Some(steps) => Advice::FinerFigures { launches: steps.batch(state.shown()[0]) },
                None => what_next(result, further, limits, spent.is_some()),
            };
            let shown = SequentialResult { status: result.status, ..shown.clone() };
            (Some(why_open(state, &shown, change.as_ref(), noise, limits, spent)), Some(next))
        }
        _ => (None, None),
    };
    RowDecision {
        verdict,
        reason,
        next,
        centres: state.rounds.centres(state.evidence, shown.from..shown.rounds),
        change,
        sequence: Some(sequence(state, result, noise, at_least, further)),
        tested: true,
        open: result.status == Status::Open,
        wants_rounds: None,
    }
}

fn change(
    state: &RowState,
    result: &SequentialResult,
    limits: &SequentialLimits,
    proven: Option<f64>,
    detectable: Option<f64>,
) -> Option<Change> {
    /// An end beyond this is cut there: JSON has no infinity.
    const FARTHEST: f64 = 1e9;
    let scale = state.rounds.scale;
    let half = if result.half.is_finite() { result.half } else { FARTHEST };
    // "Unchanged" shows what it rests on; a wild round may have carried the mean far away.
    let shown = result.certified.unwrap_or(Interval {
        centre: result.mean,
        low: result.mean - half,
        high: result.mean + half,
        level: result.level,
        basis: Basis::StudentT,
    });
    let (mut low, mut high) = (shown.low - result.unresolved, shown.high + result.unresolved);
    let (mut centre, mut outside) = (shown.centre, 2.0 * shown.level);
    // A range that contains "slower" next to a verdict that is certain of "faster" explains nothing: the bound that the
    // verdict proves replaces one end.
    if let Some(proven) = proven.filter(|_| limits.version == Version::Three) {
        match result.status {
            Status::Improved => {
                (high, centre) = (-proven, centre.min(-proven));
                (low, outside) = (low.min(centre), limits.alpha_improved + shown.level);
            }
            _ => {
                (low, centre) = (proven, centre.max(proven));
                (high, outside) = (high.max(centre), limits.alpha + shown.level);
            }
        }
    }
    let slowdown = scale.slowdown(centre)?;
    let end = |difference: f64| scale.slowdown(difference).map(|end| end.clamp(-FARTHEST, FARTHEST));
    Some(Change {
        ratio: scale.ratio(centre)?,
        slowdown,
        low: end(low)?,
        high: end(high)?,
        confidence: 1.0 - outside,
        adjusted_p: None,
        detectable,
    })
}
