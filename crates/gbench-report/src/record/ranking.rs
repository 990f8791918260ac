//! Which of several answers to one problem is the best, by how much, and whether that can be told at all.
//!
//! A problem is everything that must agree before a ranking means anything: the group that the suite file
//! names, every parameter that says what is solved, the way of timing, cold or warm, the device, and the metric with its unit and
//! direction. `implementation`, `backend`, `technique` and `variant` say how it is solved; `precision` does not, because another
//! precision is another result. Without a group the cases of one benchmark that differ in `implementation` or `backend` are answers to one problem;
//! pairs have a table of their own. What was not measured has no place, and a problem with a single answer is no contest. Rates that the gate
//! derived from time are ranked by time alone.
//!
//! The best is told apart from another by the rule of comparisons, asked for any difference at all (threshold 0):
//! over processes, with an error rate of 5 % that the answers to a problem share. One process by itself
//! never tells anything apart.

use super::metric::{FactorInterval, MetricView, Rank};
use crate::layout::grouped::together;
use crate::layout::number;
use gbench_compare::{Evidence, MeasuredSide, ProcessWelchHolm, RowDecision, RowLimits, Rule, Verdict};
use gbench_model::text::percent;
use gbench_model::{Better, CODE_FIGURES, CaseId, Params, Thermal, Timing, Variant, direction_of_unit};

/// Parameters that say how a problem is solved, and not which.
const WAYS: [&str; 4] = ["implementation", "backend", "technique", "variant"];

/// Those of them by which cases of one benchmark are answers to one problem, without a group.
const IMPLIED: [&str; 2] = ["implementation", "backend"];

/// Chance, for each problem, of telling apart what does not differ.
const ALPHA: f64 = 0.05;

/// One problem with at least two answers.
pub(crate) struct Problem {
    /// `softmax[n=1024] time, lower is better`.
    pub title: String,
    /// The best first, equal ones in the record's order.
    pub entries: Vec<RankedAnswer>,
    /// The conclusion that may be drawn, as a sentence.
    pub conclusion: String,
}

/// One answer to a problem.
pub(crate) struct RankedAnswer {
    /// Index of its line, which has its place.
    pub line: usize,
    /// The name that tells it from the others: benchmark and variant.
    pub name: String,
}

/// The key that must agree.
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

/// One answer, before it has its place.
pub(crate) struct ContestAnswer<'a> {
    pub case: &'a CaseId,
    /// Index of its line.
    pub line: usize,
    pub center: f64,
    pub measured: MeasuredSide<'a>,
}

/// What the answers to a problem measure.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'a> {
    pub metric: &'a str,
    pub unit: &'a str,
    pub better: Better,
}

impl Measure<'_> {
    /// The answers, the best first; equal ones keep their order.
    pub(crate) fn sort(&self, answers: &mut [ContestAnswer]) {
        answers.sort_by(|a, b| match self.better {
            Better::Lower => a.center.total_cmp(&b.center),
            Better::Higher => b.center.total_cmp(&a.center),
        });
    }

    /// How each of `others` stands to the first: whether a difference can be told, and by which factor it is slower.
    fn against(&self, first: &ContestAnswer, others: &[&ContestAnswer]) -> Vec<RowDecision> {
        let evidence: Vec<Evidence> = others
            .iter()
            .map(|answer| Evidence {
                case: answer.case,
                metric: self.metric,
                unit: self.unit,
                // A ranking is no gate: figures that never vary are ranked as they stand.
                exact: true,
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
        ProcessWelchHolm { alpha: ALPHA }.decide(&evidence)
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
            |answer: &ContestAnswer| RankedAnswer { line: answer.line, name: short_name(answer.case) };
        let entries: Vec<RankedAnswer> = answers.iter().map(entry).collect();
        let title = title(&key, answers[0].case);
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
    // What a kernel takes of the device says nothing of how well it solves the problem.
    if case.device_code.is_some() && CODE_FIGURES.iter().any(|(name, ..)| *name == metric.name) {
        return None;
    }
    let declared = case.declared.get(&metric.name).and_then(|declared| declared.better);
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
        // Without a direction there is no better, and nothing is guessed at.
        better: declared.or(metric.better).or_else(|| direction_of_unit(&metric.unit))?,
    };
    let measured = MeasuredSide::of(case, metric, scratch).ok()?;
    Some((key, ContestAnswer { case: &case.id, line: index, center: line.center?, measured }))
}

/// The place of each of the sorted answers.
pub(crate) fn places(answers: &[ContestAnswer], measure: &Measure) -> Vec<Rank> {
    let Some((best, others)) = answers.split_first() else { return Vec::new() };
    let against_best = |answer: &ContestAnswer<'_>| match measure.better {
        Better::Lower => answer.center / best.center,
        Better::Higher => best.center / answer.center,
    };
    let decisions = measure.against(best, &others.iter().collect::<Vec<_>>());
    let of_others = decisions.iter().map(|decision| {
        let change = decision.change.as_ref();
        let estimate = change.map(|change| FactorInterval {
            factor: 1.0 + change.slowdown,
            low: 1.0 + change.low,
            high: 1.0 + change.high,
        });
        let is_finite = |it: &FactorInterval| it.low.is_finite() && it.high.is_finite();
        (decision.verdict == Verdict::Regressed, estimate.filter(is_finite))
    });
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

/// `; k/a:optimized is 0.82x as fast as the baseline (0.80x to 0.84x)`, for each optimized answer where a baseline is among them:
/// below 1 it is slower.
fn speedups(answers: &[ContestAnswer], measure: &Measure) -> String {
    let is = |variant| move |answer: &&ContestAnswer| answer.case.member_of_pair() == Some(variant);
    let Some(baseline) = answers.iter().find(is(Variant::Baseline)) else { return String::new() };
    let optimized: Vec<&ContestAnswer> = answers.iter().filter(is(Variant::Optimized)).collect();
    let decisions = measure.against(baseline, &optimized);
    let told = optimized.iter().zip(decisions).filter_map(|(answer, decision)| {
        let change = decision.change?;
        let factor = |slowdown: f64| number::times(1.0 / (1.0 + slowdown));
        let (value, low, high) = (factor(change.slowdown), factor(change.high), factor(change.low));
        let name = short_name(answer.case);
        Some(format!("; {name} is {value} as fast as the baseline ({low} to {high})"))
    });
    told.collect()
}

/// `kernels/softmax_online:optimized`, `kernels/softmax[backend=cuda]`: all else in the case's name is the problem's.
fn short_name(id: &CaseId) -> String {
    let variant = id.variant.map_or(String::new(), |variant| format!(":{}", variant.into_str()));
    let ways = WAYS.iter().filter_map(|name| Some(format!("{name}={}", id.params.get(*name)?)));
    let ways = ways.collect::<Vec<_>>().join(",");
    let ways = if ways.is_empty() { ways } else { format!("[{ways}]") };
    format!("{}{variant}{ways}", id.benchmark)
}

/// The group with what its answers have in common.
fn title(key: &Key, id: &CaseId) -> String {
    let problem = CaseId { variant: None, params: key.params.clone(), ..id.clone() }.to_string();
    let shared = problem.strip_prefix(id.benchmark.as_str()).unwrap_or_default();
    format!("{}{shared} {}, {} is better", key.group, key.metric, key.better.into_str())
}

/// Whether there is one best, and who else may be it.
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

#[cfg(test)]
mod tests {
    use crate::record::{test_support as records, view::RunView};
    use gbench_model::{CaseRecord, Outcome, RunRecord, Variant};

    use super::RankedAnswer;

    /// The names of each problem's answers in order, with their places' texts.
    fn ranking(record: &RunRecord) -> Vec<Vec<(String, String)>> {
        let view = RunView::new(record);
        let told = |entry: &RankedAnswer| {
            (entry.name.clone(), view.lines[entry.line].place.as_ref().unwrap().text())
        };
        view.problems.iter().map(|problem| problem.entries.iter().map(told).collect()).collect()
    }

    fn contest(cases: &[(&str, &[f64])]) -> RunRecord {
        records::contest(cases.iter().map(|(name, centers)| records::answer(name, centers)).collect())
    }

    fn texts(of: &[(&str, &str)]) -> Vec<Vec<(String, String)>> {
        vec![of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()]
    }

    #[test]
    fn the_best_comes_first_with_the_factor_of_each_other() {
        let record = contest(&[("k/slow", &[1.25, 1.251, 1.249]), ("k/fast", &[1.0, 1.001, 0.999])]);
        assert_eq!(ranking(&record), texts(&[("k/fast", "BEST"), ("k/slow", "1.25x")]));
        let mut record = record;
        for case in &mut record.cases {
            case.metrics[0].better = Some(gbench_model::Better::Higher);
        }
        assert_eq!(ranking(&record), texts(&[("k/slow", "BEST"), ("k/fast", "1.25x")]));
    }

    #[test]
    fn what_kernels_take_of_the_device_is_no_contest() {
        let mut record = contest(&[("k/a", &[1.0, 1.1]), ("k/b", &[2.0, 2.1])]);
        for case in &mut record.cases {
            case.metrics
                .push(gbench_model::Metric { name: "code.registers".into(), ..case.metrics[0].clone() });
        }
        assert_eq!(ranking(&record).len(), 2);
        record.cases.iter_mut().for_each(|case| case.device_code = Some(Default::default()));
        assert_eq!(ranking(&record).len(), 1);
    }

    #[test]
    fn what_noise_could_have_done_is_called_noise() {
        let record = contest(&[("k/a", &[1.00, 1.05, 0.95]), ("k/b", &[1.01, 1.06, 0.96])]);
        assert_eq!(ranking(&record), texts(&[("k/a", "BEST"), ("k/b", "1.01x (noise)")]));
        let alone = contest(&[("k/a", &[1.0]), ("k/b", &[3.0])]);
        assert_eq!(ranking(&alone), texts(&[("k/a", "BEST"), ("k/b", "3.00x (noise)")]));
        assert!(RunView::new(&alone).problems[0].conclusion.contains("one process of each"));
    }

    #[test]
    fn equal_ones_share_their_rank_in_the_records_order() {
        let record = contest(&[("k/z", &[2.0, 2.0]), ("k/b", &[1.0, 1.0]), ("k/a", &[1.0, 1.0])]);
        assert_eq!(ranking(&record), texts(&[("k/b", "BEST"), ("k/a", "BEST"), ("k/z", "2.00x")]));
        let view = RunView::new(&record);
        let ranks = view.lines.iter().map(|line| line.place.as_ref().unwrap().rank);
        assert_eq!(ranks.collect::<Vec<_>>(), [3, 1, 1]);
    }

    #[test]
    fn n21_a_problem_is_ranked_once_and_not_once_more_for_each_rate() {
        let mut record = contest(&[("k/a", &[1.0, 1.1]), ("k/b", &[2.0, 2.1])]);
        for case in &mut record.cases {
            for (amount, unit) in [("items", "items/s"), ("bytes", "B/s")] {
                case.metadata.insert(amount.into(), 100.into());
                let mut rate = case.metrics[0].clone();
                (rate.name, rate.unit) = (format!("{amount}_rate"), unit.into());
                rate.better = Some(gbench_model::Better::Higher);
                let values = rate.processes.iter_mut().flat_map(|set| &mut set.values);
                values.for_each(|value| *value = 100.0 / *value);
                case.metrics.push(rate);
            }
        }
        assert_eq!(ranking(&record).len(), 1);
        assert!(
            RunView::new(&record).findings.is_empty()
                || !format!("{:?}", RunView::new(&record).findings).contains("_rate")
        );
        // What a program measures itself, under whatever name, is ranked as ever.
        record.cases.iter_mut().for_each(|case| case.metadata.clear());
        assert_eq!(ranking(&record).len(), 3);
    }

    #[test]
    fn what_was_not_measured_or_solves_another_problem_is_not_ranked() {
        let changes: [fn(&mut CaseRecord); 7] = [
            |case| {
                case.outcome =
                    Outcome::Invalid { code: None, cause: "wrong".into(), advice: "mend it".into() }
            },
            |case| case.group = Some("gemm".into()),
            |case| drop(case.id.params.insert("n".into(), gbench_model::ParamValue::Int(2))),
            |case| case.id.thermal = gbench_model::Thermal::Cold,
            |case| case.id.device = "cuda:0".into(),
            |case| case.metrics[0].unit = "ms".into(),
            |case| case.metrics[0].processes.iter_mut().for_each(|set| set.partial = true),
        ];
        let cases: [(&str, &[f64]); 2] = [("k/a", &[1.0, 1.1]), ("k/b", &[2.0, 2.1])];
        assert_eq!(ranking(&contest(&cases)).len(), 1);
        for change in changes {
            let mut record = contest(&cases);
            change(&mut record.cases[1]);
            assert!(ranking(&record).is_empty());
            assert!(RunView::new(&record).lines.iter().all(|line| line.place.is_none()));
        }
    }

    #[test]
    fn the_title_says_what_the_answers_share_and_their_names_what_they_do_not() {
        let mut record = contest(&[("k/a", &[1.0, 1.1]), ("k/a", &[2.0, 2.1])]);
        for (case, variant) in record.cases.iter_mut().zip([Variant::Baseline, Variant::Optimized]) {
            (case.id.variant, case.id.device) = (Some(variant), "cuda:0".into());
        }
        let view = RunView::new(&record);
        assert_eq!(view.problems[0].title, "softmax[n=1024] (cuda:0) time, lower is better");
        let names = view.problems[0].entries.iter().map(|entry| entry.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["k/a:baseline", "k/a:optimized"]);
    }

    #[test]
    fn s1_18_s2_29_ways_to_solve_one_problem_are_ranked_and_precisions_are_not() {
        let way = |name: &str, value: &str, precision: &str, centers: &[f64]| {
            let mut case = records::answer("k/gemm", centers);
            case.group = None;
            for (name, value) in [(name, value), ("precision", precision)] {
                case.id.params.insert(name.into(), gbench_model::ParamValue::Text(value.into()));
            }
            case
        };
        let record = records::contest(vec![
            way("backend", "cpu", "fp32", &[2.0, 2.01, 1.99]),
            way("backend", "blas", "fp32", &[1.0, 1.01, 0.99]),
            way("backend", "cpu", "fp16", &[0.5, 0.51, 0.49]),
        ]);
        let best = [("k/gemm[backend=blas]", "BEST"), ("k/gemm[backend=cpu]", "2.00x")];
        assert_eq!(ranking(&record), texts(&best));
        assert_eq!(
            RunView::new(&record).problems[0].title,
            "k/gemm[n=1024,precision=fp32] time, lower is better"
        );
        // A technique and a variant make answers of a group; by itself a pair has its own table.
        let pair = |group: Option<&str>| {
            let mut cases = vec![
                way("variant", "baseline", "fp32", &[2.0, 2.01, 1.99]),
                way("variant", "optimized", "fp32", &[1.0, 1.01, 0.99]),
            ];
            cases[1].id.params.insert("technique".into(), gbench_model::ParamValue::Text("fused".into()));
            cases.iter_mut().for_each(|case| case.group = group.map(str::to_owned));
            ranking(&records::contest(cases))
        };
        let best =
            [("k/gemm[technique=fused,variant=optimized]", "BEST"), ("k/gemm[variant=baseline]", "2.00x")];
        assert_eq!((pair(None), pair(Some("gemm"))), (Vec::new(), texts(&best)));
    }

    #[test]
    fn a_metric_without_a_direction_has_no_best_unless_it_is_declared() {
        let mut record = contest(&[("k/a", &[1.0, 1.1]), ("k/b", &[2.0, 2.1])]);
        for case in &mut record.cases {
            (case.metrics[0].better, case.metrics[0].unit) = (None, "furlong".into());
        }
        assert!(ranking(&record).is_empty());
        for case in &mut record.cases {
            let declared = case.declared.entry("time".into()).or_default();
            declared.better = Some(gbench_model::Better::Higher);
        }
        assert_eq!(ranking(&record)[0][0], ("k/b".into(), "BEST".into()));
    }

    #[test]
    fn values_that_are_not_above_zero_are_ranked_without_a_factor() {
        let record = contest(&[("k/a", &[0.0, 0.0]), ("k/b", &[2.0, 2.0])]);
        assert_eq!(ranking(&record), texts(&[("k/a", "BEST"), ("k/b", "")]));
    }
}
