//! Which cases are a baseline and which its optimized variants, and how many times as fast a variant is.
//!
//! A case is a member of a pair by its variant, or by a parameter of that name. The members of a pair agree in everything
//! that defines the problem: in all parameters but `variant`, in an optimized one's `technique`, and in its `file` where
//! the baseline has none. A baseline with several optimized variants makes a pair with each.

pub(crate) mod speedups;

use std::collections::HashMap;

use gbench_model::{
    Better, CaseId, CaseRecord, Metric, ParamValue, Params, ProcessRecord, VARIANT_PARAM, Variant, is_time,
};
use gbench_stats::{SampleGroup, TQuantiles};

use crate::evidence::samples::{Evidence, MeasuredSide, RowLimits};
use crate::rules::rule::Rule;
use crate::rules::welch_holm::ProcessWelchHolm;

/// Error rate of the interval of one speedup.
const ALPHA: f64 = 0.05;

/// Fewer processes show a spread with which an interval is too wide to say anything: Student's quantile is 12.7 at one
/// degree of freedom.
const MIN_PROCESSES: usize = 3;

const CHAPTER: &str = "chapter";
const CASE: &str = "case";
const TECHNIQUE: &str = "technique";
const FILE: &str = "file";

/// A baseline with one of its optimized variants, as positions in the list that was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantPair {
    pub baseline: usize,
    pub optimized: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PairMembers<'a> {
    pub baseline: &'a CaseId,
    pub metric: &'a str,
}

/// The pairs of a list of cases, and what found no partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariantPairs {
    pub pairs: Vec<VariantPair>,
    pub without_baseline: Vec<usize>,
    pub without_optimized: Vec<usize>,
}

impl VariantPairs {
    pub fn of<'c>(cases: impl IntoIterator<Item = &'c CaseId>) -> Self {
        let members: Vec<(usize, &CaseId, Variant)> = cases
            .into_iter()
            .enumerate()
            .filter_map(|(at, id)| Some((at, id, id.member_of_pair()?)))
            .collect();
        let of = |wanted| members.iter().filter(move |(.., variant)| *variant == wanted);
        let mut baselines: HashMap<CaseId, Vec<(usize, &str)>> = HashMap::new();
        for (at, id, _) in of(Variant::Baseline) {
            baselines.entry(problem(id, &[VARIANT_PARAM])).or_default().push((*at, &id.device));
        }
        let mut found = Self::default();
        for (at, id, _) in of(Variant::Optimized) {
            let keys =
                [problem(id, &[VARIANT_PARAM, TECHNIQUE]), problem(id, &[VARIANT_PARAM, TECHNIQUE, FILE])];
            let candidates = keys.iter().find_map(|key| baselines.get(key));
            match candidates.and_then(|candidates| on_device(candidates, &id.device)) {
                Some(baseline) => found.pairs.push(VariantPair { baseline, optimized: *at }),
                None => found.without_baseline.push(*at),
            }
        }
        let is_alone = |at: &usize| !found.pairs.iter().any(|pair| pair.baseline == *at);
        found.without_optimized = of(Variant::Baseline).map(|(at, ..)| *at).filter(is_alone).collect();
        found
    }
}

/// The baseline on the same device; else the only one: a case that failed before it named its device is recorded on the
/// host.
fn on_device(candidates: &[(usize, &str)], device: &str) -> Option<usize> {
    let same = candidates.iter().find(|(_, of_baseline)| *of_baseline == device);
    let only = || if let [only] = candidates { Some(only) } else { None };
    same.or_else(only).map(|(at, _)| *at)
}

/// The chapter of a case.
pub fn chapter_of(id: &CaseId) -> Option<String> {
    id.params.get(CHAPTER).map(ParamValue::to_string)
}

fn problem(id: &CaseId, without: &[&str]) -> CaseId {
    let mut params = id.params.clone();
    params.retain(|name, _| !without.contains(&name.as_str()));
    CaseId { variant: None, params, device: String::new(), ..id.clone() }
}

/// The name of a pair by its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairName {
    pub benchmark: String,
    /// Absent for pairs that lie in no folder.
    pub chapter: Option<String>,
    /// The parameter `case`, or in a chapter the benchmark's name; absent where the benchmark is the pair.
    pub case: Option<String>,
    /// The optimized member's technique, and its file where that distinguishes it from another one.
    pub technique: Option<String>,
    pub params: Params,
}

impl PairName {
    pub fn of(optimized: &CaseId) -> Self {
        let mut params = optimized.params.clone();
        params.remove(VARIANT_PARAM);
        let mut take = |name: &str| params.remove(name).map(|value| value.to_string());
        let (chapter, case) = (take(CHAPTER), take(CASE));
        let case = case.or_else(|| chapter.as_ref().map(|_| optimized.benchmark.name().to_owned()));
        let technique: Vec<String> = [take(TECHNIQUE), take(FILE)].into_iter().flatten().collect();
        let technique = (!technique.is_empty()).then(|| technique.join(" "));
        Self { benchmark: optimized.benchmark.to_string(), chapter, case, technique, params }
    }

    /// `ch04/softmax[n=1024], fused`; `with_benchmark`: with the benchmark first, because another one has a pair of that
    /// name.
    pub fn text(&self, with_benchmark: bool) -> String {
        let benchmark = Some(&self.benchmark).filter(|_| with_benchmark || self.case.is_none());
        let parts = [benchmark, self.chapter.as_ref(), self.case.as_ref()];
        let mut text = parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("/");
        if !self.params.is_empty() {
            let params = self.params.iter().map(|(name, value)| format!("{name}={value}"));
            text += &format!("[{}]", params.collect::<Vec<_>>().join(","));
        }
        self.technique.iter().for_each(|technique| text += &format!(", {technique}"));
        text
    }
}

/// The same figure of both members of a pair.
#[derive(Clone, Copy, Debug)]
pub struct PairMetric<'a> {
    pub baseline: &'a Metric,
    pub optimized: &'a Metric,
    pub better: Better,
}

impl<'a> PairMetric<'a> {
    /// For two cases on one device, among the metrics that both measured in one unit: `time`, else the first judged time,
    /// else the first judged figure with a direction.
    pub fn of(baseline: &'a CaseRecord, optimized: &'a CaseRecord) -> Option<Self> {
        if baseline.id.device != optimized.id.device {
            return None;
        }
        let shared = baseline.metrics.iter().filter_map(|of_baseline| {
            let of_optimized = optimized.metrics.iter().find(|metric| metric.name == of_baseline.name)?;
            let declared = baseline.declared.get(&of_baseline.name);
            let judged = declared.and_then(|declared| declared.gate) != Some(false);
            let better = baseline.direction(of_baseline)?;
            (judged && of_baseline.unit == of_optimized.unit).then_some(Self {
                baseline: of_baseline,
                optimized: of_optimized,
                better,
            })
        });
        let shared: Vec<Self> = shared.collect();
        let time = shared.iter().find(|pair| pair.baseline.name == "time");
        let other = || shared.iter().find(|pair| is_time(&pair.baseline.unit));
        time.or_else(other).or(shared.first()).copied()
    }

    /// How many times as fast, of a figure of each.
    pub fn factor(&self, baseline: f64, optimized: f64) -> f64 {
        match self.better {
            Better::Lower => baseline / optimized,
            Better::Higher => optimized / baseline,
        }
    }
}

/// How many times as fast the optimized member is as the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairSpeedup {
    /// By the medians over processes: below 1 the optimized member is slower.
    pub factor: f64,
    /// At 95 %, over processes, of the means of their logarithms, widened to the factor; absent where processes do not
    /// show how much they differ, as fewer than three do not.
    pub interval: Option<(f64, f64)>,
}

/// The answer about a speedup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairAnswer {
    Faster,
    Slower,
    /// The interval holds 1.
    Noise,
    /// There is no interval.
    Unknown,
}

impl PairSpeedup {
    /// `None` where a side has no complete figures above zero.
    pub fn of(baseline: &CaseRecord, optimized: &CaseRecord, metric: &PairMetric) -> Option<Self> {
        let mut scratch = Vec::new();
        let sides = [
            MeasuredSide::of(baseline, metric.baseline, &mut scratch).ok()?,
            MeasuredSide::of(optimized, metric.optimized, &mut scratch).ok()?,
        ];
        Self::between([baseline, optimized], &sides, metric)
    }

    /// Likewise, with the figures of each.
    pub fn between(
        [baseline, optimized]: [&CaseRecord; 2],
        [of_baseline, of_optimized]: &[MeasuredSide; 2],
        metric: &PairMetric,
    ) -> Option<Self> {
        let median = |side: &MeasuredSide| gbench_stats::median(&mut side.centres.clone());
        let (base, other) = (median(of_baseline)?, median(of_optimized)?);
        if !(base > 0.0 && other > 0.0) {
            return None;
        }
        let fewest = of_baseline.centres.len().min(of_optimized.centres.len());
        let interval = match together([baseline, optimized], [of_baseline, of_optimized]) {
            _ if fewest < MIN_PROCESSES => None,
            Some(turns) => paired(metric, &turns),
            None => apart(metric, of_baseline, of_optimized, optimized),
        };
        let factor = metric.factor(base, other);
        // Means and medians may disagree where one process is an outlier: the interval must contain the factor.
        let interval = interval.map(|(low, high)| (low.min(factor), high.max(factor)));
        Some(Self { factor, interval })
    }

    pub fn answer(&self) -> PairAnswer {
        match self.interval {
            None => PairAnswer::Unknown,
            Some((low, _)) if low > 1.0 => PairAnswer::Faster,
            Some((_, high)) if high < 1.0 => PairAnswer::Slower,
            Some(_) => PairAnswer::Noise,
        }
    }
}

/// The centres of both members process by process, where each two of them were measured together; `None` where they were
/// not.
fn together(
    [baseline, optimized]: [&CaseRecord; 2],
    [of_baseline, of_optimized]: [&MeasuredSide; 2],
) -> Option<Vec<(f64, f64)>> {
    if of_baseline.centres.len() != of_optimized.centres.len() {
        return None;
    }
    let turn = |at: usize| {
        let one = process(baseline, of_baseline.processes[at].process)?;
        let other = process(optimized, of_optimized.processes[at].process)?;
        were_together(one, other).then_some((of_baseline.centres[at], of_optimized.centres[at]))
    };
    (0..of_baseline.centres.len()).map(turn).collect()
}

pub(crate) fn process(case: &CaseRecord, index: u32) -> Option<&ProcessRecord> {
    case.processes.get(index as usize).filter(|process| process.index == index)
}

pub(crate) fn were_together(one: &ProcessRecord, other: &ProcessRecord) -> bool {
    let one_round = one.round.is_some() && one.round == other.round;
    let one_process = one.shared.is_some_and(|cases| cases > 1)
        && one.shared == other.shared
        && one.index == other.index
        && one.started == other.started;
    one_round || one_process
}

/// Student's interval of the mean of the ratios' logarithms: what a process or a round does to both members falls out.
fn paired(metric: &PairMetric, turns: &[(f64, f64)]) -> Option<(f64, f64)> {
    let ratios: Vec<f64> = turns.iter().map(|(base, other)| metric.factor(*base, *other).ln()).collect();
    let group = SampleGroup::of(&ratios).filter(|group| group.mean.is_finite())?;
    let count = f64::from(group.count);
    let half = TQuantiles::default().upper(ALPHA / 2.0, count - 1.0) * group.stddev / count.sqrt();
    Some(((group.mean - half).exp(), (group.mean + half).exp()))
}

fn apart(
    metric: &PairMetric,
    base: &MeasuredSide,
    head: &MeasuredSide,
    optimized: &CaseRecord,
) -> Option<(f64, f64)> {
    let evidence = Evidence {
        case: &optimized.id,
        metric: &metric.baseline.name,
        unit: &metric.baseline.unit,
        // Not a gate: figures that never vary are taken as they are.
        exact: true,
        is_count: false,
        of_code: false,
        counted: false,
        of_pair: true,
        stated: [None, None],
        better: metric.better,
        threshold: 0.0,
        limits: RowLimits::default(),
        base: base.clone(),
        head: head.clone(),
    };
    let decision = ProcessWelchHolm { alpha: ALPHA, believes_exact: true }.decide(&[evidence]).pop()?;
    let change = decision.change?;
    let (low, high) = (1.0 / (1.0 + change.high), 1.0 / (1.0 + change.low));
    (low.is_finite() && high.is_finite() && low > 0.0).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::test_support::case_id;

    fn id(text: &str) -> CaseId {
        let mut words = text.split(' ');
        let device = words.next().unwrap().into();
        let param = |word: &str| {
            let (name, value) = word.split_once('=').unwrap();
            (name.to_owned(), ParamValue::Text(value.into()))
        };
        CaseId { device, params: words.map(param).collect(), ..case_id("book/pairs") }
    }

    type Pairs = (Vec<(usize, usize)>, Vec<usize>, Vec<usize>);

    fn pairs(ids: &[CaseId]) -> Pairs {
        let VariantPairs { pairs, without_baseline, without_optimized } = VariantPairs::of(ids);
        let pairs = pairs.iter().map(|pair| (pair.baseline, pair.optimized)).collect();
        (pairs, without_optimized, without_baseline)
    }

    #[test]
    fn s0_50_a_baseline_makes_a_pair_with_each_of_its_optimized_variants() {
        let ids = [
            "host case=a chapter=ch1 variant=baseline",
            "host case=a chapter=ch1 variant=optimized",
            "host case=a chapter=ch1 variant=optimized technique=fused",
            "host case=b chapter=ch1 variant=baseline",
            "host case=c chapter=ch1 variant=optimized",
            "host case=a chapter=ch1 variant=optimized n=2",
            "host case=a chapter=ch1 variant=other",
        ];
        assert_eq!(pairs(&ids.map(id)), (vec![(0, 1), (0, 2)], vec![3], vec![4, 5]));
        let by_variant = [Variant::Optimized, Variant::Baseline]
            .map(|variant| CaseId { variant: Some(variant), ..id("host case=a chapter=ch1") });
        assert_eq!(pairs(&by_variant), (vec![(1, 0)], vec![], vec![]));
    }

    #[test]
    fn s0_50_a_file_tells_optimized_variants_apart_and_is_no_other_problem() {
        let ids = [
            "host variant=baseline",
            "host variant=optimized file=optimized_a.py",
            "host variant=optimized file=optimized_b.py",
        ];
        assert_eq!(pairs(&ids.map(id)), (vec![(0, 1), (0, 2)], vec![], vec![]));
        // Where the baseline has files, too, they are what is solved.
        let ids = [
            "host variant=baseline file=small",
            "host variant=baseline file=large",
            "host variant=optimized file=large",
        ];
        assert_eq!(pairs(&ids.map(id)), (vec![(1, 2)], vec![0], vec![]));
    }

    #[test]
    fn s0_50_what_failed_before_it_named_its_device_finds_its_partner() {
        let ids = ["cuda:0 variant=baseline", "host variant=optimized"];
        assert_eq!(pairs(&ids.map(id)), (vec![(0, 1)], vec![], vec![]));
        let ids = [
            "cuda:0 variant=baseline",
            "cuda:1 variant=baseline",
            "cuda:1 variant=optimized",
            "host variant=optimized",
        ];
        assert_eq!(pairs(&ids.map(id)), (vec![(1, 2)], vec![0], vec![3]));
    }

    #[test]
    fn s0_50_the_name_of_a_pair_has_its_chapter_its_parameters_and_its_technique() {
        let names = |params: &str| {
            let name = PairName::of(&id(&format!("host variant=optimized{params}")));
            [false, true].map(|with_benchmark| name.text(with_benchmark))
        };
        let whole = names(" case=a chapter=ch1 technique=fused n=4");
        assert_eq!(whole, ["ch1/a[n=4], fused", "book/pairs/ch1/a[n=4], fused"]);
        assert_eq!(names(""), ["book/pairs", "book/pairs"]);
        assert_eq!(names(" chapter=ch1"), ["ch1/pairs", "book/pairs/ch1/pairs"]);
    }
}
