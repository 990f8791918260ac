//! Ranks several answers to one problem: the best, the factors to the others, and whether these are significant.
//!
//! A problem is everything that must agree for a meaningful ranking: the group of the suite file, every parameter of the
//! problem, the way of timing, cold or warm, the device, and the metric with its unit and direction. `implementation`,
//! `backend`, `technique` and `variant` describe how it is solved; `precision` does not, because another precision is
//! another result. Without a group, the cases of one benchmark that differ in `implementation` or `backend` are answers
//! to one problem; pairs have a separate table. Unmeasured cases have no rank, and a problem with a single answer is not
//! ranked. Rates that the gate derived from time are ranked by time alone.
//!
//! A difference to the best is significant by the rule of comparisons with threshold 0: over processes, with an error
//! rate of 5 % that the answers to a problem share. A single process is never significant. A baseline and its optimized
//! variant are compared as in the table of pairs, by the processes that they share.

use super::metric::{FactorInterval, MetricView, Rank};
use crate::layout::grouped::together;
use crate::layout::number;
use gbench_compare::{
    Evidence, MeasuredSide, PairMetric, PairSpeedup, ProcessWelchHolm, RowDecision, RowLimits, Rule, Verdict,
};
use gbench_model::text::percent;
use gbench_model::{Better, CODE_FIGURES, CaseId, CaseRecord, Metric, Params, Thermal, Timing, Variant};

/// Parameters that describe how a problem is solved.
const WAYS: [&str; 4] = ["implementation", "backend", "technique", "variant"];

/// Those by which cases of one benchmark are answers to one problem, without a group.
const IMPLIED: [&str; 2] = ["implementation", "backend"];

/// The chance, per problem, that equal answers appear different.
const ALPHA: f64 = 0.05;

pub(crate) struct Problem {
    /// `softmax[n=1024] time, lower is better`.
    pub title: String,
    /// The best first, equal ones in the record's order.
    pub entries: Vec<RankedAnswer>,
    /// The conclusion as a sentence.
    pub conclusion: String,
}

pub(crate) struct RankedAnswer {
    /// Index of its line, which has its place.
    pub line: usize,
    /// The name that distinguishes it: benchmark and variant.
    pub name: String,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key<'a> {
    group: &'a str,
    params: Params,
    timing: Timing,
    thermal: Thermal,
    device: &'a str,
    metric: &'a str,
    unit: &'a str,
    better: Better,
}

pub(crate) struct ContestAnswer<'a> {
    pub case: &'a CaseRecord,
    pub metric: &'a Metric,
    /// Index of its line.
    pub line: usize,
    pub center: f64,
    pub measured: MeasuredSide<'a>,
}

#[derive(Clone, Copy)]
pub(crate) struct Measure<'a> {
    pub metric: &'a str,
    pub unit: &'a str,
    pub better: Better,
}

impl Measure<'_> {
    /// Sorts answers, the best first; equal ones keep their order.
    pub(crate) fn sort(&self, answers: &mut [ContestAnswer]) {
        answers.sort_by(|a, b| match self.better {
            Better::Lower => a.center.total_cmp(&b.center),
            Better::Higher => b.center.total_cmp(&a.center),
        });
    }

    /// Compares each of `others` with the first. A baseline and its optimized variant have the answer of the table of pairs.
    fn against(&self, first: &ContestAnswer, others: &[&ContestAnswer]) -> Vec<WorseBy> {
        let evidence: Vec<Evidence> = others
            .iter()
            .map(|answer| Evidence {
                case: &answer.case.id,
                metric: self.metric,
                unit: self.unit,
                // A ranking is not a gate: figures that never vary are ranked as they are.
                exact: true,
                is_count: false,
                of_code: false,
                counted: false,
                of_pair: false,
                stated: [None, None],
                better: self.better,
                threshold: 0.0,
                limits: RowLimits::default(),
                base: first.measured.clone(),
                head: answer.measured.clone(),
            })
            .collect();
        let decisions = ProcessWelchHolm { alpha: ALPHA, believes_exact: true }.decide(&evidence);
        let of_pair = others.iter().map(|answer| self.of_pair(first, answer));
        of_pair.zip(decisions).map(|(pair, decision)| pair.unwrap_or_else(|| decision.into())).collect()
    }

    /// `None` where the two are not a pair.
    fn of_pair(&self, first: &ContestAnswer, other: &ContestAnswer) -> Option<WorseBy> {
        let members = [first.case.id.member_of_pair()?, other.case.id.member_of_pair()?];
        let is_turned = members == [Variant::Optimized, Variant::Baseline];
        if !is_turned && members != [Variant::Baseline, Variant::Optimized] {
            return None;
        }
        let [baseline, optimized] = if is_turned { [other, first] } else { [first, other] };
        let metric =
            PairMetric { baseline: baseline.metric, optimized: optimized.metric, better: self.better };
        let sides = [baseline.measured.clone(), optimized.measured.clone()];
        let speedup = PairSpeedup::between([baseline.case, optimized.case], &sides, &metric)?;
        // How many times as long the other one takes.
        let factor = |speedup: f64| if is_turned { speedup } else { 1.0 / speedup };
        let estimate = speedup.interval.map(|(low, high)| {
            let [one, end] = [low, high].map(factor);
            FactorInterval { factor: factor(speedup.factor), low: one.min(end), high: one.max(end) }
        });
        Some(WorseBy { estimate, is_worse: estimate.is_some_and(|estimate| estimate.low > 1.0) })
    }
}

/// How much worse an answer is than another one.
#[derive(Clone, Copy)]
struct WorseBy {
    /// Absent where the processes do not show how much they differ.
    estimate: Option<FactorInterval>,
    /// By more than chance explains.
    is_worse: bool,
}

impl From<RowDecision> for WorseBy {
    fn from(decision: RowDecision) -> Self {
        let estimate = decision.change.as_ref().map(|change| FactorInterval {
            factor: 1.0 + change.slowdown,
            low: 1.0 + change.low,
            high: 1.0 + change.high,
        });
        let is_finite = |it: &FactorInterval| it.low.is_finite() && it.high.is_finite();
        Self { estimate: estimate.filter(is_finite), is_worse: decision.verdict == Verdict::Regressed }
    }
}

/// Gives every line of a contest its place. The problems are in the record's order.
pub(crate) fn rank(lines: &mut [MetricView]) -> Vec<Problem> {
    let mut scratch = Vec::new();
    let answers = lines.iter().enumerate().filter_map(|(index, line)| answer(index, line, &mut scratch));
    let contests = together(answers);
    let mut problems = Vec::new();
    for (key, mut answers) in contests.into_iter().filter(|(_, answers)| answers.len() > 1) {
        let measure = Measure { metric: key.metric, unit: key.unit, better: key.better };
        measure.sort(&mut answers);
        let places = places(&answers, &measure);
        let entry =
            |answer: &ContestAnswer| RankedAnswer { line: answer.line, name: short_name(&answer.case.id) };
        let entries: Vec<RankedAnswer> = answers.iter().map(entry).collect();
        let title = title(&key, &answers[0].case.id);
        let conclusion = conclusion(&answers, &entries, &places) + &speedups(&answers, &measure);
        for (answer, place) in answers.iter().zip(places) {
            lines[answer.line].place = Some(place);
        }
        problems.push(Problem { title, conclusion, entries });
    }
    problems
}

fn answer<'a>(
    index: usize,
    line: &MetricView<'a>,
    scratch: &mut Vec<f64>,
) -> Option<(Key<'a>, ContestAnswer<'a>)> {
    let (case, metric) = (line.case, line.metric);
    // Work over time ranks as time does: a second ranking would only repeat the first.
    if line.is_derived {
        return None;
    }
    // A kernel's use of the device does not show how well it solves the problem.
    if case.device_code.is_some() && CODE_FIGURES.iter().any(|(name, ..)| *name == metric.name) {
        return None;
    }
    let of_benchmark = || {
        case.id.params.keys().any(|name| IMPLIED.contains(&name.as_str())).then(|| case.id.benchmark.as_str())
    };
    let group =
        case.group.as_deref().or_else(|| of_benchmark().filter(|_| case.id.member_of_pair().is_none()));
    let mut params = case.id.params.clone();
    params.retain(|name, _| !WAYS.contains(&name.as_str()));
    let key = Key {
        group: group.filter(|_| case.outcome.is_measured() && !line.is_absolute())?,
        params,
        timing: case.id.timing,
        thermal: case.id.thermal,
        device: &case.id.device,
        metric: &metric.name,
        unit: &metric.unit,
        // Without a direction there is no best.
        better: line.better()?,
    };
    let measured = MeasuredSide::of(case, metric, scratch).ok()?;
    Some((key, ContestAnswer { case, metric, line: index, center: line.center?, measured }))
}

pub(crate) fn places(answers: &[ContestAnswer], measure: &Measure) -> Vec<Rank> {
    let Some((best, others)) = answers.split_first() else { return Vec::new() };
    let against_best = |answer: &ContestAnswer<'_>| match measure.better {
        Better::Lower => answer.center / best.center,
        Better::Higher => best.center / answer.center,
    };
    let gaps = measure.against(best, &others.iter().collect::<Vec<_>>());
    let of_others = gaps.iter().map(|gap| (gap.is_worse, gap.estimate));
    let mut rank = 1;
    let mut place =
        |index: usize, answer: &ContestAnswer, (apart, estimate): (bool, Option<FactorInterval>)| {
            if index > 0 && answer.center != answers[index - 1].center {
                rank = index + 1;
            }
            let positive = best.center > 0.0 && answer.center > 0.0;
            Rank { rank, vs_best: positive.then(|| against_best(answer)), estimate, apart }
        };
    let of_all = std::iter::once((false, None)).chain(of_others);
    answers.iter().zip(of_all).enumerate().map(|(index, (answer, of))| place(index, answer, of)).collect()
}

/// `; k/a:optimized is 0.82x as fast as the baseline (0.80x to 0.84x)`, for each optimized answer with a baseline among
/// the answers: below 1 it is slower.
fn speedups(answers: &[ContestAnswer], measure: &Measure) -> String {
    let is = |variant| move |answer: &&ContestAnswer| answer.case.id.member_of_pair() == Some(variant);
    let Some(baseline) = answers.iter().find(is(Variant::Baseline)) else { return String::new() };
    let optimized: Vec<&ContestAnswer> = answers.iter().filter(is(Variant::Optimized)).collect();
    let gaps = measure.against(baseline, &optimized);
    let told = optimized.iter().zip(gaps).filter_map(|(answer, gap)| {
        let FactorInterval { factor, low, high } = gap.estimate?;
        let [value, low, high] = [factor, high, low].map(|times| number::times(1.0 / times));
        let name = short_name(&answer.case.id);
        Some(format!("; {name} is {value} as fast as the baseline ({low} to {high})"))
    });
    told.collect()
}

/// `kernels/softmax_online:optimized`, `kernels/softmax[backend=cuda]`: the rest of the case's name belongs to the
/// problem.
fn short_name(id: &CaseId) -> String {
    let variant = id.variant.map_or(String::new(), |variant| format!(":{}", variant.into_str()));
    let ways = WAYS.iter().filter_map(|name| Some(format!("{name}={}", id.params.get(*name)?)));
    let ways = ways.collect::<Vec<_>>().join(",");
    let ways = if ways.is_empty() { ways } else { format!("[{ways}]") };
    format!("{}{variant}{ways}", id.benchmark)
}

fn title(key: &Key, id: &CaseId) -> String {
    let problem = CaseId { variant: None, params: key.params.clone(), ..id.clone() }.to_string();
    let shared = problem.strip_prefix(id.benchmark.as_str()).unwrap_or_default();
    format!("{}{shared} {}, {} is better", key.group, key.metric, key.better.into_str())
}

/// Names the best, or all that may be it.
fn conclusion(answers: &[ContestAnswer], entries: &[RankedAnswer], places: &[Rank]) -> String {
    let others = entries.iter().zip(places).skip(1).filter(|(_, place)| !place.apart);
    let tied: Vec<&str> = others.map(|(entry, _)| entry.name.as_str()).collect();
    let behind = places[1].vs_best.map(|factor| factor - 1.0);
    let single = answers.iter().all(|answer| answer.measured.centres.len() == 1);
    match (tied.as_slice(), behind) {
        _ if single => "No clear best: one process of each shows no noise".into(),
        ([], Some(behind)) => format!("A clear best at 95 %: the next is {} behind", percent(behind)),
        ([], None) => "A clear best at 95 %".into(),
        (tied, _) => {
            let noun = if tied.len() == 1 { "difference" } else { "differences" };
            format!("No clear best: chance may explain the {noun} to {} (95 %)", tied.join(", "))
        }
    }
}
