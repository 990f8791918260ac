//! Steps that most cases of a machine took between the same runs: one finding, and one of the machine or the toolchain
//! before it is one of each case.

use std::collections::{BTreeMap, BTreeSet};

use super::analysis::SeriesState;
use super::document::{TrendsDocument, V1ChangePoint, V1Series};
use gbench_model::text::{percent, signed_percent};
use gbench_model::{Better, CaseId};

/// Fewer cases than these have no step in common.
const LEAST_CASES: usize = 4;
/// The share of the cases that a common step takes in.
const LEAST_SHARE: f64 = 0.6;

type Member<'d> = (&'d V1Series, &'d V1ChangePoint);

/// One step of many series. There is at least one member.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonStep<'d> {
    /// The newest change of each member, in the order of the document.
    pub members: Vec<Member<'d>>,
    /// Distinct cases of the members, and of all series of their branch and machine that were searched.
    pub cases: usize,
    pub searched: usize,
    pub worse: Option<bool>,
    /// Index of a run before which every member may have changed.
    pub run: usize,
}

impl<'d> CommonStep<'d> {
    /// The common steps among the newest changes of series that `is_meant`, those with most cases first. No series is in
    /// two.
    pub fn all(document: &'d TrendsDocument, is_meant: impl Fn(&V1Series) -> bool) -> Vec<Self> {
        let mut searched: BTreeMap<(&str, &str), BTreeSet<&CaseId>> = BTreeMap::new();
        let mut changed: BTreeMap<_, Vec<Member<'d>>> = BTreeMap::new();
        for series in document.series.iter().filter(|series| series.state == SeriesState::Searched) {
            searched.entry((&series.branch, &series.label)).or_default().insert(&series.case);
            if let Some(change) = series.last_change().filter(|_| is_meant(series)) {
                let key = (series.branch.as_str(), series.label.as_str(), change.worse);
                changed.entry(key).or_default().push((series, change));
            }
        }
        let mut found = Vec::new();
        for ((branch, label, worse), mut left) in changed {
            let searched = searched[&(branch, label)].len();
            while let Some(step) = Self::largest(&left, worse, searched) {
                left.retain(|(series, _)| !step.has(series));
                found.push(step);
            }
        }
        found.sort_by_key(|step| std::cmp::Reverse(step.cases));
        found
    }

    fn largest(changed: &[Member<'d>], worse: Option<bool>, searched: usize) -> Option<Self> {
        let run =
            |series: &V1Series, point: u32| series.points.get(point as usize).map(|point| point.run as usize);
        let step = |at: usize| {
            let may_lie_there = |(series, change): &&Member<'d>| {
                let range = [change.from, change.to].map(|point| run(series, point));
                matches!(range, [Some(from), Some(to)] if (from..=to).contains(&at))
            };
            let members: Vec<_> = changed.iter().filter(may_lie_there).copied().collect();
            let cases = members.iter().map(|(series, _)| &series.case).collect::<BTreeSet<_>>().len();
            Self { members, cases, searched, worse, run: at }
        };
        let is_common = |step: &Self| {
            step.cases >= LEAST_CASES && step.cases as f64 >= LEAST_SHARE * step.searched as f64
        };
        let runs: BTreeSet<usize> =
            changed.iter().filter_map(|(series, change)| run(series, change.at)).collect();
        runs.into_iter().map(step).filter(is_common).max_by_key(|step| step.cases)
    }

    pub fn has(&self, series: &V1Series) -> bool {
        self.members.iter().any(|(member, _)| std::ptr::eq(*member, series))
    }

    /// The least and the greatest change of its members, as shares; above 0 is worse where the metrics have a direction.
    pub fn range(&self) -> [f64; 2] {
        let slowdown = |(series, change): &Member<'d>| match series.better {
            Some(Better::Higher) => 1.0 / (1.0 + change.change) - 1.0,
            _ => change.change,
        };
        let changes = || self.members.iter().map(slowdown);
        [changes().fold(f64::INFINITY, f64::min), changes().fold(f64::NEG_INFINITY, f64::max)]
    }

    /// How its members changed: `became worse by 2 % to 3.4 %`.
    pub fn words(&self) -> String {
        let mut ends = self.range();
        let how = match self.worse {
            Some(true) => "became worse by",
            Some(false) => "became better by",
            None => "changed by",
        };
        if self.worse == Some(false) {
            ends = [-ends[1], -ends[0]];
        }
        let [low, high] =
            ends.map(|end| if self.worse.is_some() { percent(end) } else { signed_percent(end) });
        format!("{how} {low} to {high}")
    }

    /// The narrowest range of commits that any member gives.
    pub fn commits(&self) -> Option<(&'d str, &'d str)> {
        let known = self.members.iter().filter_map(|(_, change)| {
            Some((change.to - change.from, change.good.as_deref()?, change.bad.as_deref()?))
        });
        known.min_by_key(|(runs, ..)| *runs).map(|(_, good, bad)| (good, bad))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::test_support::case_id;
    use serde_json::{Value, from_value, json};

    fn series(case: usize, steps: &[(u32, u32)]) -> Value {
        let points: Vec<Value> = (0..8).map(|run| json!({"run": run, "value": 1.0})).collect();
        let change = |(from, to): &(u32, u32)| {
            json!({"at": from, "from": from, "to": to, "good": "a", "bad": "b", "change": 0.02 + 0.001 * case as f64,
                   "low": 0.02, "high": 0.04, "p": 1e-9, "worse": true, "new": false})
        };
        json!({"case": case_id(&format!("s/c{case}")), "metric": "time", "unit": "s", "branch": "main", "label": "",
               "points": points, "breaks": [], "changes": steps.iter().map(change).collect::<Vec<_>>(),
               "withdrawn": [], "state": SeriesState::Searched})
    }

    fn document(series: Vec<Value>) -> TrendsDocument {
        let document = json!({"schema": crate::trend::SCHEMA_TRENDS, "store": "x", "runs": [], "series": series,
                              "unmeasured": [], "left_out": 0, "warnings": []});
        from_value(document).unwrap()
    }

    #[test]
    fn e6_a_step_of_most_cases_is_one_and_that_of_a_few_is_theirs() {
        let with = |changed: usize, all: usize| {
            let steps =
                |case: usize| if case < changed { vec![(3, 4 + case as u32 % 2)] } else { Vec::new() };
            document((0..all).map(|case| series(case, &steps(case))).collect())
        };
        let found = |document: &TrendsDocument| {
            let steps = CommonStep::all(document, |_| true);
            steps.iter().map(|step| (step.cases, step.searched, step.run)).collect::<Vec<_>>()
        };
        assert_eq!(found(&with(10, 12)), [(10, 12, 3)]);
        assert_eq!(found(&with(3, 12)), []);
        assert_eq!(found(&with(3, 3)), [], "of three cases each may have changed by itself");
        let document = with(10, 12);
        let [low, high] = CommonStep::all(&document, |_| true)[0].range();
        assert!((low - 0.02).abs() < 1e-9 && (high - 0.029).abs() < 1e-9);
        assert_eq!(CommonStep::all(&document, |series| series.case.to_string() != "s/c0")[0].cases, 9);
    }

    #[test]
    fn e6_two_steps_of_other_nights_are_two() {
        let steps = |case: usize| if case < 6 { vec![(2, 2)] } else { vec![(6, 6)] };
        let six_and_four = document((0..10).map(|case| series(case, &steps(case))).collect());
        let steps = CommonStep::all(&six_and_four, |_| true);
        // Four of ten are not most of them.
        assert_eq!(steps.iter().map(|step| (step.cases, step.run)).collect::<Vec<_>>(), [(6, 2)]);
    }
}
