//! The test of one row, before the suite is considered as a whole, and the decision of a tested row.

use gbench_model::Better;
use gbench_stats::seq_e::POWER_Z;
use gbench_stats::{SampleGroup, TQuantiles, Welch, holm};

use super::rule::RowDecision;
use super::two_states::{in_two_states, least_that_differ};
use super::{absolute, summary_only};
use crate::evidence::quantized::{
    MIN_PROCESSES, Steps, Unit, centres_left_open, constants, digits_explain, steps_of,
};
use crate::evidence::samples::Evidence;
use crate::evidence::samples::spread;
use crate::evidence::scale::Scale;
use crate::verdict::change::Change;
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// More processes a side than this are not advised.
const MAX_PROCESSES: f64 = 200.0;

/// An end of an interval beyond this slowdown is cut there: JSON has no infinity.
const FARTHEST: f64 = 1e9;

/// Threshold comparisons of exact values forgive the rounding of a division, and nothing else.
const ROUNDING: f64 = 1e-12;

/// Processes a side from which on outliers may be left out: with fewer, two modes look like outliers.
const MIN_TRIMMED: usize = 10;

/// One in this many processes, rounded down, is left out at either end.
const TRIMMED: usize = 10;

/// Outliers are left out where the error without them is below this part of the error with them. With normal figures this
/// hardly ever happens, so they lose no power; a choice between two similar errors would raise the rate of false reds.
const TRIMMED_ERROR: f64 = 0.7;

pub(crate) enum RowTest {
    /// Nothing is left to chance, or nothing can be said.
    Settled(RowDecision),
    /// A side has one process, which does not show how much processes differ; the decision that follows from it.
    Alone(RowDecision),
    /// Each side's processes gave one exact value, and the two differ.
    Differs(ExactDifference),
    Tested(Test),
}

pub(crate) struct ExactDifference {
    /// The decision if chance does not explain the difference.
    decision: RowDecision,
    counts: (u32, u32),
}

fn too_few(counts: (u32, u32), level: f64, alpha: f64) -> (u32, u32) {
    let processes = counts.0.min(counts.1);
    (processes, (least_that_differ(1, level / beyond_most(alpha)) as u32).max(processes + 1))
}

/// The chance of a false red that differences of exact figures may have over a suite, where its error rate is larger: a
/// size that changes by itself is as annoying in a nightly as in a pull request.
const MOST_ALPHA: f64 = 0.01;

/// How many times the error rate of a suite is what exact figures may have of it.
fn beyond_most(alpha: f64) -> f64 {
    (alpha / MOST_ALPHA).max(1.0)
}

/// The p-value of a difference between exact figures, as one that is held against the error rate of the suite.
fn exact_p(counts: (u32, u32), alpha: f64) -> f64 {
    (in_two_states(counts) * beyond_most(alpha)).min(1.0)
}

impl ExactDifference {
    fn decide(self, level: f64, alpha: f64) -> RowDecision {
        if exact_p(self.counts, alpha) <= level {
            return RowDecision { tested: true, ..self.decision };
        }
        let (processes, needed) = too_few(self.counts, level, alpha);
        RowDecision {
            change: self.decision.change,
            tested: true,
            ..RowDecision::undecided(
                Reason::FewThatDiffer { processes, needed },
                Advice::MoreProcesses { processes: needed },
            )
        }
    }
}

/// A row that is left to chance.
pub(crate) struct Test {
    pub welch: Welch,
    /// Where outliers drown what `welch` could show. Red and improved may rest on it; unchanged must hold of both.
    pub trimmed: Option<Trimmed>,
    pub scale: Scale,
    /// Improved is below, regressed above; in the scale's own unit.
    pub limits: (f64, f64),
    pub counts: (u32, u32),
    /// As times do; sizes and counts hardly do, so that two states of a program may explain how they differ.
    pub varies: bool,
    /// How far the difference may lie from the truth because the figures come in steps, in the scale's own unit: no error
    /// that more processes make smaller, and added to every interval. With the steps, where it is not 0.
    pub unresolved: f64,
    pub steps: Option<Steps>,
    /// Between processes, as shares; `None` where a side has one.
    pub spreads: (Option<f64>, Option<f64>),
    /// Where the error includes sessions: their deviation as a share, and their number.
    pub sessions: Option<(f64, u32)>,
}

pub(crate) struct Trimmed {
    welch: Welch,
    /// Geometric means, and processes, of what is left.
    centres: [f64; 2],
    counts: [u32; 2],
}

impl RowTest {
    /// `believes_exact`: see [`crate::ProcessWelchHolm`].
    pub(crate) fn of(evidence: &Evidence, believes_exact: bool, quantiles: &mut TQuantiles) -> Self {
        if evidence.limits.absolute {
            return RowTest::Settled(absolute::apart(evidence, quantiles));
        }
        let believes_exact = believes_exact || evidence.of_code;
        let (base, head) = (evidence.base.centres.as_slice(), evidence.head.centres.as_slice());
        let constants = constants([base, head]);
        let enough = base.len() > 1 && head.len() > 1;
        if let Some([base_value, head_value]) = constants {
            let all_zero = base_value == 0.0 && head_value == 0.0;
            if (evidence.exact || all_zero) && (enough || base_value == head_value) {
                let threshold = least_that_matters(evidence, base_value, head_value, evidence.threshold);
                let decision = decide_exactly(base_value, head_value, evidence.better, threshold);
                let counts = (base.len() as u32, head.len() as u32);
                return match decision.verdict {
                    _ if believes_exact => RowTest::Settled(decision),
                    Verdict::Unchanged => RowTest::Settled(decision),
                    _ => RowTest::Differs(ExactDifference { decision, counts }),
                };
            }
        }
        let scale = Scale::of(base, head, evidence.better);
        let groups = (scale.group(base), scale.group(head));
        let (Some(base_group), Some(head_group)) = groups else {
            return RowTest::Alone(match evidence.stated {
                [Some(b), Some(h)] => summary_only::decide(evidence, b, h, quantiles),
                _ => RowDecision::undecided(
                    Reason::TooFewProcesses {
                        base_processes: base.len() as u32,
                        head_processes: head.len() as u32,
                    },
                    Advice::MeasureProcesses { least: 2, better: 5 },
                ),
            });
        };
        if let Some([base_value, head_value]) = constants.filter(|_| !evidence.exact) {
            if base.len().min(head.len()) < MIN_PROCESSES {
                let reason = Reason::TooFewRoundedFigures { base: base_value, head: head_value };
                let next = Advice::MoreProcessesOrDigits { processes: MIN_PROCESSES as u32 };
                return RowTest::Settled(RowDecision::undecided(reason, next));
            }
            if base_value == head_value && !digits_explain(evidence) {
                let reason = Reason::RepeatedFigure { value: base_value };
                return RowTest::Settled(RowDecision::undecided(
                    reason,
                    Advice::MeasureAnewOrDeclareExact {},
                ));
            }
        }
        let spread =
            |centres, group: &SampleGroup| Some(spread(centres).unwrap_or_else(|| scale.share(group.stddev)));
        let (unresolved, steps) = unresolved(evidence, scale);
        let welch = Welch::new(base_group, head_group);
        let test = Test {
            trimmed: trimmed(evidence, scale, &welch, unresolved),
            welch,
            unresolved,
            steps,
            limits: scale.limits(evidence),
            counts: (base_group.count, head_group.count),
            varies: !evidence.exact || believes_exact,
            spreads: (spread(base, &base_group), spread(head, &head_group)),
            sessions: None,
            scale,
        };
        RowTest::Tested(test)
    }

    /// Two-sided p-value of "the change is within the threshold".
    fn p(&self, alpha: f64) -> Option<f64> {
        match self {
            RowTest::Settled(_) | RowTest::Alone(_) => None,
            RowTest::Differs(difference) => Some(exact_p(difference.counts, alpha)),
            RowTest::Tested(test @ Test { limits, unresolved, counts, varies, .. }) => {
                let welch = test.sharpest();
                let chance = if *varies { 0.0 } else { exact_p(*counts, alpha) };
                let above = welch.p_above(limits.1 + unresolved);
                let one_sided = above.min(welch.p_below(limits.0 - unresolved));
                // Not the larger of both: the order of equal ones would be left to that of the rows.
                Some(chance + (1.0 - chance) * (2.0 * one_sided).min(1.0))
            }
        }
    }
}

/// Decides all rows of a suite: Holm shares `alpha` over the tested ones.
pub(crate) fn decide_all(
    row_tests: Vec<RowTest>,
    alpha: f64,
    quantiles: &mut TQuantiles,
) -> Vec<RowDecision> {
    let p: Vec<f64> = row_tests.iter().filter_map(|row_test| row_test.p(alpha)).collect();
    let mut steps = holm(&p, alpha).into_iter();
    let mut decide = |row_test| match row_test {
        RowTest::Settled(decision) | RowTest::Alone(decision) => decision,
        RowTest::Differs(difference) => {
            difference.decide(steps.next().map_or(alpha, |step| step.level), alpha)
        }
        RowTest::Tested(test) => {
            let (level, adjusted_p) = steps.next().map_or((alpha, 1.0), |s| (s.level, s.adjusted_p));
            test.decide(alpha, level, adjusted_p, quantiles)
        }
    };
    row_tests.into_iter().map(&mut decide).collect()
}

/// A decision between two sides whose every process gave one and the same exact value, each in at least `least`
/// processes; `None` of others. `threshold`: least relative change that matters.
pub(crate) fn known_exactly(evidence: &Evidence, least: usize, threshold: f64) -> Option<RowDecision> {
    if evidence.limits.absolute {
        return absolute::known(evidence, least);
    }
    let (base, head) = (evidence.base.one_value(least)?, evidence.head.one_value(least)?);
    let threshold = least_that_matters(evidence, base, head, threshold);
    evidence.exact.then(|| decide_exactly(base, head, evidence.better, threshold))
}

/// The threshold between two known values: none where they differ by no more than the row's absolute margin.
fn least_that_matters(evidence: &Evidence, base: f64, head: f64, threshold: f64) -> f64 {
    let within_margin = evidence.limits.margin.is_some_and(|margin| (head - base).abs() <= margin);
    if within_margin { f64::INFINITY } else { threshold }
}

fn decide_exactly(base: f64, head: f64, better: Better, threshold: f64) -> RowDecision {
    let (worse, best) = match better {
        Better::Lower => (head, base),
        Better::Higher => (base, head),
    };
    let slowdown = if base > 0.0 && head > 0.0 {
        worse / best - 1.0
    } else if worse == best {
        0.0
    } else {
        (worse - best) / base.abs()
    };
    let fastest = if base > 0.0 && head > 0.0 { 1.0 / (1.0 + threshold) - 1.0 } else { -threshold };
    let verdict = match slowdown {
        slowdown if slowdown > threshold + ROUNDING => Verdict::Regressed,
        slowdown if slowdown < fastest - ROUNDING => Verdict::Improved,
        _ => Verdict::Unchanged,
    };
    let ratio = if worse == best { 1.0 } else { head / base };
    let reason = (base != head).then_some(Reason::ExactValues { base, head });
    RowDecision {
        change: (ratio.is_finite() && slowdown.is_finite()).then(|| Change::known(ratio, slowdown)),
        ..RowDecision::plain(verdict, reason, None)
    }
}

/// The uncertainty of the difference of a row's centres by the steps of its figures, on the scale, and the steps; 0 and
/// `None` where that is negligible against the threshold.
fn unresolved(evidence: &Evidence, scale: Scale) -> (f64, Option<Steps>) {
    const NEGLIGIBLE: f64 = 1e-3;
    let unit = match scale {
        Scale::Log { .. } => Unit::Logarithms,
        Scale::Linear { unit, .. } => Unit::Of(unit),
    };
    let steps = steps_of(evidence).filter(|_| !evidence.exact);
    let open = steps.map_or(0.0, |steps| centres_left_open(evidence, steps.step, unit));
    if open < NEGLIGIBLE * scale.limits(evidence).1.max(NEGLIGIBLE) { (0.0, None) } else { (open, steps) }
}

/// The comparison without outliers, where they hide more than their loss costs and do not point the other way. Exact
/// figures have none: they are states of the program. Figures that are not all positive have a unit that outliers are
/// part of.
fn trimmed(evidence: &Evidence, scale: Scale, welch: &Welch, unresolved: f64) -> Option<Trimmed> {
    let Scale::Log { sign } = scale else { return None };
    let group = |centres: &[f64]| {
        let enough = !evidence.exact && centres.len() >= MIN_TRIMMED;
        enough.then(|| SampleGroup::trimmed(&scale.turned(centres)?, centres.len() / TRIMMED))?
    };
    let groups = [group(&evidence.base.centres)?, group(&evidence.head.centres)?];
    let without = Welch::new(groups[0], groups[1]);
    // An error of zero is believed only where the rounding of the figures is added to it.
    let known = without.error > 0.0 || unresolved > 0.0;
    let sharper = known && without.error < TRIMMED_ERROR * welch.error;
    (sharper && without.difference * welch.difference > 0.0).then(|| Trimmed {
        welch: without,
        centres: groups.map(|group| (sign * group.mean).exp()),
        counts: groups.map(|group| group.count),
    })
}

impl Test {
    fn interval(&self, welch: &Welch, level: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        let (low, high) = welch.interval(level, quantiles);
        (low - self.unresolved, high + self.unresolved)
    }

    /// The union of the intervals with the outliers and without them.
    fn widest(&self, level: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        let (own, other) = (&self.welch, self.sharpest());
        let [own, other] = [own, other].map(|welch| self.interval(welch, level, quantiles));
        (own.0.min(other.0), own.1.max(other.1))
    }

    fn sharpest(&self) -> &Welch {
        self.trimmed.as_ref().map_or(&self.welch, |trimmed| &trimmed.welch)
    }

    fn decide(&self, alpha: f64, level: f64, adjusted_p: f64, quantiles: &mut TQuantiles) -> RowDecision {
        let (fast, slow) = self.limits;
        let corrected = self.interval(self.sharpest(), level, quantiles);
        let plain = self.widest(alpha, quantiles);
        let (verdict, interval, error_rate) = match (corrected, plain) {
            ((low, _), _) if low > slow => (Verdict::Regressed, corrected, level),
            ((_, high), _) if high < fast => (Verdict::Improved, corrected, level),
            (_, (low, high)) if low >= fast && high <= slow => (Verdict::Unchanged, plain, alpha),
            _ => (Verdict::Inconclusive, self.widest(level, quantiles), level),
        };
        let without =
            self.trimmed.as_ref().filter(|_| matches!(verdict, Verdict::Regressed | Verdict::Improved));
        let shown = without.map_or(&self.welch, |trimmed| &trimmed.welch);
        // An inconclusive row states the smallest slowdown that would have been red.
        let detecting = if verdict == Verdict::Inconclusive { self.sharpest() } else { shown };
        let change = self.change([shown, detecting], interval, error_rate, adjusted_p, level, quantiles);
        if matches!(verdict, Verdict::Regressed | Verdict::Improved)
            && !self.varies
            && exact_p(self.counts, alpha) > level
        {
            let (processes, needed) = too_few(self.counts, level, alpha);
            let few = Reason::FewThatDiffer { processes, needed };
            return RowDecision {
                change,
                tested: true,
                ..RowDecision::undecided(few, Advice::MoreProcesses { processes: needed })
            };
        }
        let (reason, next) = match verdict {
            Verdict::Inconclusive => {
                let next = self.more(alpha, level, quantiles);
                (Some(self.doubt(change.as_ref(), error_rate)), Some(next))
            }
            _ => (without.map(|trimmed| self.left_out(trimmed)), None),
        };
        let centres = without.map(|trimmed| trimmed.centres);
        RowDecision { change, centres, tested: true, ..RowDecision::plain(verdict, reason, next) }
    }

    fn left_out(&self, trimmed: &Trimmed) -> Reason {
        let ([base, head], (base_processes, head_processes)) = (trimmed.counts, self.counts);
        Reason::OutliersLeftOut { base, base_processes, head, head_processes }
    }

    /// `None` where the base is zero and nothing can be said relative to it.
    fn change(
        &self,
        [welch, detecting]: [&Welch; 2],
        (low, high): (f64, f64),
        error_rate: f64,
        adjusted_p: f64,
        level: f64,
        quantiles: &mut TQuantiles,
    ) -> Option<Change> {
        let slowdown = self.scale.slowdown(welch.difference);
        let ratio = self.scale.ratio(welch.difference);
        let farthest = FARTHEST.max(slowdown.abs());
        let end = |difference| self.scale.slowdown(difference).clamp(-farthest, farthest);
        let reach = (quantiles.upper(level / 2.0, detecting.freedom) + POWER_Z) * detecting.error;
        let detectable = self.scale.slowdown(self.limits.1 + self.unresolved + reach);
        (slowdown.is_finite() && ratio.is_finite()).then(|| Change {
            ratio,
            slowdown,
            low: end(low),
            high: end(high),
            confidence: 1.0 - error_rate,
            adjusted_p: Some(adjusted_p),
            detectable: Some(detectable).filter(|detectable| *detectable < FARTHEST),
        })
    }

    fn steps_in_the_way(&self) -> Option<Steps> {
        self.steps.filter(|_| self.unresolved > self.welch.error)
    }

    fn doubt(&self, change: Option<&Change>, error_rate: f64) -> Reason {
        let (base_processes, head_processes) = self.counts;
        let Some(change) = change else { return Reason::ZeroBase { base_processes, head_processes } };
        let (base_spread, head_spread) = self.spreads;
        let (session_deviation, sessions) = self.sessions.unzip();
        let steps = self.steps_in_the_way();
        Reason::IntervalAcrossThreshold {
            confidence: 1.0 - error_rate,
            low: change.low,
            high: change.high,
            threshold: self.scale.slowdown(self.limits.1),
            base_processes,
            head_processes,
            base_spread,
            head_spread,
            detectable: change.detectable,
            session_deviation,
            sessions,
            step: steps.map(|steps| steps.step),
            step_share: steps.map(|steps| steps.share()),
        }
    }

    /// How many processes would probably settle it, if the change is what it looks like now. Two-sample size by
    /// the normal approximation with its usual correction for t (Guenther 1981).
    fn more(&self, alpha: f64, level: f64, quantiles: &mut TQuantiles) -> Advice {
        if self.steps_in_the_way().is_some() {
            return Advice::DeclareCounted {};
        }
        if self.sessions.is_some() {
            return Advice::MeasureInOneRun {};
        }
        let is_beyond = self.sharpest().difference.abs() > self.limits.1;
        let welch = if is_beyond { self.sharpest() } else { &self.welch };
        let size = welch.difference.abs();
        let (margin, error_rate) =
            if size > self.limits.1 { (size - self.limits.1, level) } else { (self.limits.1 - size, alpha) };
        let z = quantiles.upper(error_rate / 2.0, f64::MAX);
        // The error's square is the sum of each side's variance over its count; with equal counts n it is sum / n.
        let (base, head) = self.counts;
        let sum = welch.error.powi(2) * f64::from(base.max(head));
        let needed = ((z + POWER_Z).powi(2) * sum / margin.powi(2) + z.powi(2) / 4.0).ceil();
        let needed = needed.max(f64::from(base.max(head)) + 1.0);
        if needed <= MAX_PROCESSES {
            Advice::MoreProcesses { processes: needed as u32 }
        } else {
            Advice::ReduceNoiseOrRaiseThreshold {}
        }
    }
}
