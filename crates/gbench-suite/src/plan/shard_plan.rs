//! How long the cases of a suite are expected to take, in a form that is short enough to be passed to every job of a matrix.
//!
//! The plan decides how a suite is cut, and not the history that a job sees: all jobs of a matrix get the same text. It has
//! six bytes for each case, a part of the hash of its name and its cost as a shortened float, so that 2,000 cases are
//! 16 KB. GitHub takes 1 MB of a job's outputs, and Linux 128 KB of an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::balance::deal;
use gbench_model::{BenchmarkId, CaseId, sha256_hex};

/// Begins the text of a plan.
const VERSION: &str = "shards1:";

/// Bytes of a case: four of the hash of its name, two of its cost.
const ENTRY: usize = 6;

/// Expected seconds of cases, and of the start of a shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardPlan {
    /// Building and starting, once in each shard.
    start: ShortSeconds,
    /// By a part of the hash of the case's name.
    costs: BTreeMap<u32, ShortSeconds>,
}

/// How long the shards of a cut are expected to take, start included, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShardEstimate {
    pub shards: u32,
    pub longest: f64,
    pub mean: f64,
}

impl ShardPlan {
    /// `start`: seconds that each shard needs before its first process. `costs`: seconds of cases; of a case that comes
    /// twice the longer ones. The figures are rounded as the text of the plan rounds them.
    pub fn new<'a>(start: f64, costs: impl IntoIterator<Item = (&'a CaseId, f64)>) -> Self {
        let mut plan = Self { start: ShortSeconds::new(start), costs: BTreeMap::new() };
        for (case, seconds) in costs {
            let cost = plan.costs.entry(hash_of(case)).or_default();
            *cost = ShortSeconds::new(seconds).max(*cost);
        }
        plan
    }

    /// True if a text is meant to be a plan, and not the path of one.
    pub fn is_begun_by(text: &str) -> bool {
        text.trim_start().starts_with(VERSION)
    }

    /// The number of cases that it knows.
    pub fn cases(&self) -> usize {
        self.costs.len()
    }

    /// The expected milliseconds of each of these cases, and how many of them it does not know: such a case is expected to
    /// take the median of its benchmark's known cases, else that of all.
    pub(super) fn expected<'a>(
        &self,
        cases: impl IntoIterator<Item = &'a CaseId>,
    ) -> (BTreeMap<&'a CaseId, u64>, BTreeSet<&'a CaseId>) {
        let mut expected = BTreeMap::new();
        let mut unknown = BTreeSet::new();
        let mut of_benchmark: BTreeMap<&BenchmarkId, Vec<u64>> = BTreeMap::new();
        for case in cases {
            match self.costs.get(&hash_of(case)) {
                Some(cost) if expected.insert(case, cost.milliseconds()).is_none() => {
                    of_benchmark.entry(&case.benchmark).or_default().push(cost.milliseconds());
                }
                Some(_) => {}
                None => drop(unknown.insert(case)),
            }
        }
        let of_all = median(self.costs.values().map(|cost| cost.milliseconds()).collect());
        let medians: BTreeMap<&BenchmarkId, u64> =
            of_benchmark.into_iter().map(|(benchmark, costs)| (benchmark, median(costs))).collect();
        for case in &unknown {
            expected.insert(case, medians.get(&case.benchmark).copied().unwrap_or(of_all));
        }
        (expected, unknown)
    }

    /// The shards of a suite with these cases, each a set that stays together. At least one set.
    pub fn estimate<'a>(&self, wholes: &[Vec<&'a CaseId>], shards: u32) -> ShardEstimate {
        let (expected, _) = self.expected(wholes.iter().flatten().copied());
        let cost = |whole: &Vec<&'a CaseId>| whole.iter().filter_map(|case| expected.get(case)).sum();
        let costs: Vec<u64> = wholes.iter().map(cost).collect();
        let mut loads = vec![self.start.milliseconds(); shards.max(1) as usize];
        deal(&costs, &mut loads);
        let longest = loads.iter().max().copied().unwrap_or_default();
        let mean = loads.iter().sum::<u64>() as f64 / loads.len() as f64;
        ShardEstimate { shards, longest: seconds(longest), mean: mean / 1000.0 }
    }

    /// The fewest shards of which none is expected to take longer than `within` seconds; at most `most` of them.
    ///
    /// Errors: the estimate for the most shards that there can be, `most` or as many as there are sets.
    pub fn fewest(
        &self,
        wholes: &[Vec<&CaseId>],
        within: f64,
        most: u32,
    ) -> Result<ShardEstimate, ShardEstimate> {
        let limit = u32::try_from(wholes.len()).unwrap_or(most).clamp(1, most.max(1));
        // More shards may make the longest one longer by a little, so none is passed over.
        let mut estimates = (1..=limit).map(|shards| self.estimate(wholes, shards));
        match estimates.find(|estimate| estimate.longest <= within) {
            Some(estimate) => Ok(estimate),
            None => Err(self.estimate(wholes, limit)),
        }
    }

    /// Seconds before the first process of a shard.
    pub fn start(&self) -> f64 {
        seconds(self.start.milliseconds())
    }
}

impl std::fmt::Display for ShardPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut bytes = Vec::with_capacity(2 + ENTRY * self.costs.len());
        bytes.extend(self.start.0.to_be_bytes());
        for (hash, cost) in &self.costs {
            bytes.extend(hash.to_be_bytes());
            bytes.extend(cost.0.to_be_bytes());
        }
        write!(f, "{VERSION}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for ShardPlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(encoded) = text.trim().strip_prefix(VERSION) else {
            return Err(format!("it does not begin with `{VERSION}`, as the plans of this version do"));
        };
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|error| format!("it is damaged: {error}"))?;
        let damaged = || "it is damaged: a part of it is missing, or does not belong to it".to_owned();
        let seconds = |bytes| ShortSeconds::read(bytes).ok_or_else(damaged);
        let (start, entries) = bytes.split_first_chunk::<2>().ok_or_else(damaged)?;
        let mut plan = Self { start: seconds(*start)?, costs: BTreeMap::new() };
        let (entries, rest) = entries.as_chunks::<ENTRY>();
        if entries.is_empty() || !rest.is_empty() {
            return Err(damaged());
        }
        for [a, b, c, d, high, low] in entries {
            let cost = seconds([*high, *low])?;
            if plan.costs.insert(u32::from_be_bytes([*a, *b, *c, *d]), cost).is_some() {
                return Err(damaged());
            }
        }
        Ok(plan)
    }
}

/// Seconds as the upper half of a 32-bit float: 0.4 % at most away from the exact ones. All such figures are finite and not
/// negative, so that their bits sort as they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ShortSeconds(u16);

impl ShortSeconds {
    const MOST: f32 = 1e7;

    fn new(seconds: f64) -> Self {
        let seconds = (if seconds.is_nan() { 0.0 } else { seconds } as f32).clamp(0.0, Self::MOST);
        Self(((seconds.to_bits() + 0x8000) >> 16) as u16)
    }

    /// `None`: no such figure would have been written.
    fn read(bytes: [u8; 2]) -> Option<Self> {
        let short = Self(u16::from_be_bytes(bytes));
        (0.0..=2.0 * Self::MOST).contains(&short.value()).then_some(short)
    }

    fn value(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    fn milliseconds(self) -> u64 {
        (f64::from(self.value()) * 1000.0).round() as u64
    }
}

/// The first bytes of the hash of its name, without the device, which is known only after it has run.
fn hash_of(case: &CaseId) -> u32 {
    let name = CaseId { device: "host".into(), ..case.clone() }.to_string();
    u32::from_str_radix(&sha256_hex(name.as_bytes())[..8], 16).unwrap_or_default()
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

/// The lower median; 0 of nothing.
fn median(mut costs: Vec<u64>) -> u64 {
    costs.sort_unstable();
    costs.get(costs.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::definition::Benchmark;
    use crate::benchmark::launch::Action;
    use crate::plan::case_id;
    use gbench_model::{ParamValue, Params};

    fn case(benchmark: &str, n: i64) -> CaseId {
        let action = Action::Command(vec!["true".into()]);
        let benchmark = Benchmark::new(benchmark.parse().unwrap(), action, "/".into());
        case_id(&benchmark, &Params::from([("n".to_owned(), ParamValue::Int(n))]))
    }

    #[test]
    fn a_plan_of_a_large_suite_is_a_short_word_that_reads_back() {
        let cases: Vec<CaseId> = (0..2000).map(|n| case("kernels/gemm", n)).collect();
        let plan = ShardPlan::new(95.3, cases.iter().enumerate().map(|(at, case)| (case, 0.01 * at as f64)));
        let text = plan.to_string();
        assert_eq!(text.parse::<ShardPlan>().as_ref(), Ok(&plan));
        assert!(text.len() < 17_000 && plan.cases() >= 1999, "{} {}", text.len(), plan.cases());
        assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || ":-_".contains(c)), "{text}");
        let (expected, unknown) = plan.expected(&cases);
        assert!(unknown.is_empty() && (19_900..20_100).contains(&expected[&cases[1999]]));
        assert!((plan.start() - 95.3).abs() < 0.4);
        // The card that measured it is not a part of the name.
        let there = CaseId { device: "cuda:0".into(), ..cases[7].clone() };
        assert_eq!(plan.expected([&there]).1.len(), 0);
    }

    #[test]
    fn a_damaged_plan_is_refused() {
        let (a, b) = (case("s/a", 1), case("s/b", 1));
        let text = ShardPlan::new(1.0, [(&a, 1.0), (&b, 2.0)]).to_string();
        assert_eq!(format!(" {text}\n").parse::<ShardPlan>().map(|plan| plan.cases()), Ok(2));
        let (body, twice) = (&text[VERSION.len()..], text.clone() + &text[VERSION.len() + 3..]);
        let bytes = |bytes: &[u8]| format!("{VERSION}{}", URL_SAFE_NO_PAD.encode(bytes));
        // Seconds that are negative, infinite, and not a number.
        let odd = [[0xbf, 0x80], [0x7f, 0x80], [0x7f, 0xc0]].map(|[a, b]| bytes(&[a, b, 0, 0, 0, 1, 0, 0]));
        assert!(bytes(&[0, 0, 0, 0, 0, 1, 0, 0]).parse::<ShardPlan>().is_ok());
        for wrong in
            ["", "2/3", VERSION, "shards1:AAA", body, &text[..text.len() - 1], &twice, "shards1:\u{fc}"]
                .into_iter()
                .chain(odd.iter().map(String::as_str))
        {
            assert!(wrong.parse::<ShardPlan>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_case_without_history_takes_the_median_of_its_benchmark_else_of_all() {
        let known = [case("s/a", 1), case("s/a", 2), case("s/a", 3), case("s/b", 1)];
        let plan = ShardPlan::new(0.0, known.iter().zip([1.0, 4.0, 64.0, 16.0]));
        let (of_benchmark, of_none) = (case("s/a", 4), case("s/new", 1));
        let (expected, unknown) = plan.expected(known.iter().chain([&of_benchmark, &of_none]));
        assert_eq!((expected[&of_benchmark], expected[&of_none]), (4000, 4000));
        assert_eq!(unknown, BTreeSet::from([&of_benchmark, &of_none]));
        let (expected, _) = plan.expected([&known[2], &of_benchmark]);
        assert_eq!(expected[&of_benchmark], 64_000);
        // Without any figure all cases are alike, and the cut is one by count.
        assert_eq!(ShardPlan::default().expected(&known).0.values().sum::<u64>(), 0);
    }

    #[test]
    fn the_fewest_shards_are_found_that_keep_within_a_time() {
        let cases: Vec<CaseId> = (0..12).map(|n| case("s/a", n)).collect();
        let wholes: Vec<Vec<&CaseId>> = cases.iter().map(|case| vec![case]).collect();
        let plan = ShardPlan::new(60.0, cases.iter().map(|case| (case, 120.0)));
        let shards = |within| plan.fewest(&wholes, within, 256).map(|estimate| estimate.shards);
        assert_eq!(shards(1500.0), Ok(1));
        assert_eq!(shards(600.0), Ok(3));
        assert_eq!(shards(539.0), Ok(4));
        // One case and the start alone take longer.
        assert_eq!(plan.fewest(&wholes, 600.0, 2).unwrap_err().shards, 2);
        let at_most = plan.fewest(&wholes, 179.0, 256).unwrap_err();
        assert_eq!((at_most.shards, at_most.longest), (12, 180.0));
    }
}
