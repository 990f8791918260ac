//! The rules `seq-e` and `seq-e-2`: a screen over the whole suite, then e-processes over fresh rounds of the suspects. A record
//! names its rule, and is judged by it for ever.
//!
//! [`crate::stats::seq_e`] holds the arithmetic and why it may be believed; here stand the words, and the doubts that
//! can only make a verdict weaker. All rounds are replayed whenever the rule is asked, so that a verdict depends on
//! the records alone, and not on when somebody looked.
//!
//! ```text
//!  improved  |     unchanged: the interval      |  regressed: the e-value of
//!  likewise  |     lies within the target       |  "beyond the minimum effect"
//! -----------+----------+-----0-----+-----------+-----------------------------
//!        -target    -min_effect  min_effect   target
//! ```

mod words;

use std::f64::consts::LN_10;

use crate::model::{Comparison, Interleaving, RecordState, RunRecord, SequentialRule, SequentialRuleName};
use crate::stats::sample_stddev;
use crate::stats::seq_e::{self, Limits, Ruling, Screen, Series, Status, Version};

use super::doubts::{Stickiness, repeated_numbers, shift};
use super::question::known_exactly;
use super::words::{count, list};
use super::{
    Change, Decision, Evidence, Judgement, RoundScale, Rounds, RoundsMethod, Rule, Sequence, Verdict,
    throttling,
};

use words::{finer_figures, further_rounds, steps_in_the_way, what_next, why_better, why_open, why_red};

pub use words::{RESUME, is_known};

/// Control rows that one reason names.
const MOST_NAMED: usize = 3;

/// See the file's own comment.
#[derive(Clone, Debug)]
pub struct SeqE {
    pub rule: SequentialRule,
    pub seed: u64,
    pub way: Interleaving,
    /// Seconds that the rounds were given, where it was their end that ended them; see [`SeqE::ended_as`].
    pub spent: Option<f64>,
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
            controls: 0,
            flagged_controls: Vec::new(),
        }
    }

    pub(super) fn limits(&self) -> Limits {
        limits_of(&self.rule)
    }
}

/// What the arithmetic is asked to hold by a rule as records have it.
pub fn limits_of(rule: &SequentialRule) -> Limits {
    Limits {
        version: match rule.name {
            SequentialRuleName::SeqE => Version::One,
            SequentialRuleName::SeqE2 => Version::Two,
        },
        alpha: rule.alpha,
        alpha_improved: rule.alpha_improved,
        screen_rounds: (rule.screen_rounds as usize).max(2),
        most_rounds: (rule.most_rounds as usize).max(2),
    }
}

/// One row on its way to a decision.
pub(super) struct Line<'a, 'e> {
    pub evidence: &'e Evidence<'a>,
    pub rounds: Rounds,
    pub target: f64,
    pub min_effect: f64,
    family: usize,
    /// Both sides gave exact values that never vary: nothing is left to chance, and the row is none of the suspects.
    exact: Option<Decision>,
}

impl Line<'_, '_> {
    pub fn series<'d>(&'d self, differences: &'d [f64]) -> Series<'d> {
        Series {
            differences,
            target: self.target,
            min_effect: self.min_effect,
            family: self.family,
            unresolved: &self.rounds.unresolved,
        }
    }

    /// Nothing is left to chance.
    pub fn is_exact(&self) -> bool {
        self.exact.is_some()
    }
}

/// The lines of a suite; each piece of evidence gives one.
pub(super) fn lines<'a, 'e>(evidence: &'e [Evidence<'a>], limits: &Limits) -> Vec<Line<'a, 'e>> {
    let screen_rounds = limits.screen_rounds;
    let mut families: Vec<&str> = Vec::new();
    let mut scratch = Vec::new();
    let line = |evidence: &'e Evidence<'a>| {
        let family = families.iter().position(|name| *name == evidence.metric).unwrap_or_else(|| {
            families.push(evidence.metric);
            families.len() - 1
        });
        let rounds = Rounds::of(evidence, screen_rounds, &mut scratch);
        let (target, min_effect) = match rounds.scale {
            // Shares of nothing mean nothing: there the margin alone says what matters.
            RoundScale::Absolute { .. } => (rounds.margin, rounds.margin),
            _ => (evidence.limits.target.max(rounds.margin), evidence.limits.min_effect.max(rounds.margin)),
        };
        let exact = known_exactly(evidence, screen_rounds, evidence.limits.min_effect);
        let rounds = match limits.version {
            // An error that is always the same is no coarse one.
            Version::Two if exact.is_none() && !evidence.exact && !evidence.limits.absolute => {
                rounds.resolved(evidence, target)
            }
            _ => rounds,
        };
        Line { evidence, rounds, target, min_effect, family, exact }
    };
    evidence.iter().map(line).collect()
}

/// What the rule says of the lines that are left to chance, none for the others.
pub(super) fn rulings(lines: &[Line], limits: &Limits) -> (Screen, Vec<Option<Ruling>>) {
    let differences = |line: &Line| line.rounds.differences.clone();
    rulings_of(lines, &lines.iter().map(differences).collect::<Vec<_>>(), limits)
}

fn rulings_of(lines: &[Line], differences: &[Vec<f64>], limits: &Limits) -> (Screen, Vec<Option<Ruling>>) {
    let by_chance = lines.iter().zip(differences).filter(|(line, _)| line.exact.is_none());
    let series: Vec<Series> = by_chance.map(|(line, differences)| line.series(differences)).collect();
    let (screen, rulings) = seq_e::decide(&series, limits);
    let mut rulings = rulings.into_iter();
    let rulings = lines.iter().map(|line| if line.exact.is_none() { rulings.next() } else { None });
    (screen, rulings.collect())
}

impl SeqE {
    /// The rule that also knows why the rounds of these records ended. Those that nobody cut short go on until every row is
    /// decided or has had its rounds, or the budget is spent. Records of the first rule keep its words.
    pub fn ended_as(self, comparison: &Comparison, records: [&RunRecord; 2]) -> Self {
        let whole = records.iter().all(|record| record.state == RecordState::Complete);
        let known = whole && self.rule.name != SequentialRuleName::SeqE;
        Self { spent: comparison.budget.filter(|_| known), ..self }
    }
}

impl Rule for SeqE {
    fn name(&self) -> &str {
        self.rule.name.as_str()
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

    fn decide(&self, evidence: &[Evidence]) -> Vec<Decision> {
        self.judge(evidence).decisions
    }

    fn judge(&self, evidence: &[Evidence]) -> Judgement {
        let limits = self.limits();
        let lines = lines(evidence, &limits);
        let (screen, rulings) = rulings(&lines, &limits);
        let by_chance =
            || lines.iter().zip(&rulings).filter_map(|(line, ruling)| Some((line, ruling.as_ref()?)));
        let used = by_chance().map(|(line, ruling)| &line.rounds.differences[..ruling.rounds]);
        let stickiness = Stickiness::pooled(used);
        let sticky = stickiness.filter(|stickiness| stickiness.is_clear());
        let undisturbed = self.undisturbed(&lines, &limits);

        let mut decisions = Vec::with_capacity(lines.len());
        for (index, (line, ruling)) in lines.iter().zip(&rulings).enumerate() {
            let Some(ruling) = ruling else {
                decisions.extend(line.exact.clone());
                continue;
            };
            let spent = self.spent.filter(|_| ruling.status == Status::Open);
            let mut decision = decide(line, ruling, &screen, &limits, spent);
            if let Some(repeated) = repeated_numbers(line.evidence, limits.version) {
                decision.open = repeated.may_change && line.rounds.differences.len() < limits.most_rounds;
                weaken(&mut decision, repeated.reason, repeated.next);
            }
            if line.rounds.lost_its_scale {
                let reason = "a later round holds a value that is not above zero, so that ratios end there";
                let next =
                    "let the benchmark send values above zero, or zero and below from the first round on";
                weaken(&mut decision, reason.into(), next.into());
                decision.open = false;
            }
            let is_red = decision.verdict == Verdict::Regressed;
            if let Some(calm) = undisturbed.as_ref().and_then(|rulings| rulings[index].as_ref())
                && calm.status != ruling.status
                && decision.verdict != Verdict::Inconclusive
            {
                let disturbed = line.rounds.disturbed.iter().filter(|disturbed| **disturbed).count();
                let reason = format!(
                    "one side met a busy machine, or a throttled GPU, in {} of {}, and the others alone do not show it to be {}",
                    disturbed,
                    count(line.rounds.differences.len(), "round"),
                    decision.verdict.word()
                );
                let next = "keep other work off the machine, and compare again".into();
                let (reason, next) = throttling::doubt_of_rounds(
                    line.evidence,
                    decision.verdict,
                    line.rounds.differences.len(),
                )
                .unwrap_or((reason, next));
                weaken(&mut decision, reason, next);
                // Further rounds in which nothing happens may still show it.
                let left = line.rounds.differences.len() < limits.most_rounds;
                decision.open = calm.status == Status::Open && left;
                if let Some(sequence) = &mut decision.sequence {
                    let undisturbed = line.rounds.differences.len() - disturbed;
                    sequence.more_rounds = Some(ruling.rounds.saturating_sub(undisturbed).max(1) as u32);
                }
            }
            if let (true, Some(sticky)) = (is_red, sticky) {
                let next = "look for what one process leaves to the next of its side: caches, servers, files";
                weaken(&mut decision, sticky.words(), next.into());
            }
            if is_red && !self.flagged_controls.is_empty() {
                let reason = format!(
                    "the base compared with itself came out changed ({}), so a red proves nothing here",
                    list(&self.flagged_controls, MOST_NAMED)
                );
                let next = "look for what the order of processes leaves behind, and compare again";
                weaken(&mut decision, reason, next.into());
            }
            if decision.verdict != Verdict::Inconclusive
                && let Some(change) = &mut decision.change
            {
                // What was decided needs no word on what else would have been.
                change.detectable = None;
            }
            decisions.push(decision);
        }
        let (shift, warning) = suite_shift(&by_chance().collect::<Vec<_>>());
        let mut warnings: Vec<String> = warning.into_iter().collect();
        warnings.extend(sticky.map(Stickiness::words));
        Judgement {
            decisions,
            rounds: Some(RoundsMethod {
                alpha_improved: self.rule.alpha_improved,
                screen_rounds: limits.screen_rounds as u32,
                most_rounds: limits.most_rounds as u32,
                suspects: screen.suspects as u32,
                seed: self.seed,
                way: self.way,
                stickiness: stickiness.map(|stickiness| stickiness.correlation),
                stickiness_error: stickiness
                    .filter(|_| limits.version != Version::One)
                    .map(|stickiness| stickiness.error),
                shift,
                controls: self.controls,
                flagged_controls: self.flagged_controls.clone(),
            }),
            warnings,
        }
    }
}

impl SeqE {
    /// The same rows without their disturbed rounds; `None` where there are none.
    fn undisturbed(&self, lines: &[Line], limits: &Limits) -> Option<Vec<Option<Ruling>>> {
        if !lines.iter().any(|line| line.rounds.disturbed.contains(&true)) {
            return None;
        }
        let calm = |line: &Line| -> Vec<f64> {
            let rounds = line.rounds.differences.iter().zip(&line.rounds.disturbed);
            rounds.filter(|(_, disturbed)| !**disturbed).map(|(difference, _)| *difference).collect()
        };
        let calm: Vec<Vec<f64>> = lines.iter().map(calm).collect();
        Some(rulings_of(lines, &calm, limits).1)
    }
}

/// The median slowdown over the metric that most rows measure.
fn suite_shift(rows: &[(&Line, &Ruling)]) -> (Option<f64>, Option<String>) {
    let mut sizes = vec![0; rows.iter().map(|(line, _)| line.family + 1).max().unwrap_or(0)];
    rows.iter().for_each(|(line, _)| sizes[line.family] += 1);
    let Some(largest) = (0..sizes.len()).rev().max_by_key(|family| sizes[*family]) else {
        return (None, None);
    };
    let rows = rows.iter().filter(|(line, ruling)| line.family == largest && ruling.rounds > 0);
    let slowdowns: Vec<f64> =
        rows.filter_map(|(line, ruling)| line.rounds.scale.slowdown(ruling.mean)).collect();
    shift(&slowdowns)
}

/// What was red or green becomes inconclusive; what was inconclusive keeps its own reason.
fn weaken(decision: &mut Decision, reason: String, next: String) {
    if decision.verdict != Verdict::Inconclusive {
        decision.verdict = Verdict::Inconclusive;
        decision.reason = reason;
        decision.next = next;
        if let Some(sequence) = &mut decision.sequence {
            sequence.at_least = None;
        }
    }
}

/// `spent`: the budget whose end has ended the row's rounds.
fn decide(line: &Line, ruling: &Ruling, screen: &Screen, limits: &Limits, spent: Option<f64>) -> Decision {
    let differences = &line.rounds.differences[..ruling.rounds];
    let noise = sample_stddev(differences).unwrap_or(0.0);
    let fresh = differences.get(limits.screen_rounds..).unwrap_or_default();
    let scale = line.rounds.scale;
    let suspects = screen.suspects;
    let verdict = match ruling.status {
        Status::Regressed => Verdict::Regressed,
        Status::Improved => Verdict::Improved,
        Status::Unchanged => Verdict::Unchanged,
        Status::Open | Status::Exhausted => Verdict::Inconclusive,
    };
    let at_least = match verdict {
        Verdict::Regressed => seq_e::at_least(fresh, ruling.scale, limits, suspects),
        _ => None,
    };
    let at_least = at_least.map(|difference| (difference - ruling.unresolved).max(0.0));
    let at_least = at_least.and_then(|difference| scale.slowdown(difference));
    let possible = limits.most_rounds.saturating_sub(limits.screen_rounds);
    let detectable = seq_e::detectable(possible, noise.max(ruling.scale), line.min_effect, limits, suspects);
    let detectable = scale.slowdown(detectable);
    let change = (ruling.rounds > 0)
        .then(|| change(line, ruling, limits, detectable.filter(|slowdown| slowdown.is_finite())))
        .flatten();
    let further = match verdict {
        Verdict::Inconclusive => further_rounds(line, ruling, noise, limits, suspects),
        _ => None,
    };
    let (reason, next) = match verdict {
        Verdict::Regressed => (why_red(ruling, at_least, limits), String::new()),
        Verdict::Improved => (why_better(ruling, limits), String::new()),
        Verdict::Inconclusive => {
            let steps = steps_in_the_way(line, ruling);
            let next = match steps {
                Some(steps) => finer_figures(steps, line),
                None => what_next(ruling, further, limits, spent),
            };
            (why_open(line, ruling, change.as_ref(), noise, limits, spent), next)
        }
        _ => Default::default(),
    };
    let log10 = |ln: f64| ln / LN_10;
    Decision {
        verdict,
        reason,
        next,
        change,
        sequence: Some(Sequence {
            rounds: ruling.rounds as u32,
            min_effect: line.min_effect,
            noise,
            log10_worse: log10(ruling.ln_worse),
            log10_better: log10(ruling.ln_better),
            log10_needed: log10(limits.ln_red(suspects)),
            at_least,
            more_rounds: further,
        }),
        tested: true,
        open: ruling.status == Status::Open,
    }
}

fn change(line: &Line, ruling: &Ruling, limits: &Limits, detectable: Option<f64>) -> Option<Change> {
    /// An end beyond this says nothing more, and JSON has no infinity.
    const FARTHEST: f64 = 1e9;
    let scale = line.rounds.scale;
    let half = if ruling.half.is_finite() { ruling.half } else { FARTHEST };
    // "Unchanged" that rests on ranks shows what it rests on; a wild round may have carried the mean far away.
    let (centre, low, high) = match ruling.ranks {
        Some(ranks) => (ranks.centre, ranks.low, ranks.high),
        None => (ruling.mean, ruling.mean - half, ruling.mean + half),
    };
    let (low, high) = (low - ruling.unresolved, high + ruling.unresolved);
    let slowdown = scale.slowdown(centre)?;
    let end = |difference: f64| scale.slowdown(difference).map(|end| end.clamp(-FARTHEST, FARTHEST));
    let level = match ruling.rounds <= limits.screen_rounds {
        true => seq_e::CERTIFY_SCREEN,
        false => seq_e::CERTIFY_LATER,
    };
    Some(Change {
        ratio: scale.ratio(centre)?,
        slowdown,
        low: end(low)?,
        high: end(high)?,
        confidence: 1.0 - 2.0 * level,
        adjusted_p: None,
        detectable,
    })
}
