//! The findings of a history for a person: lasting changes for the worse and drifts that were not accepted.

use serde::{Deserialize, Serialize};

use super::analysis::SeriesState;
use super::common::CommonStep;
use super::document::{TrendsDocument, V1ChangePoint, V1Drift, V1Series, V1TrendRun};
use gbench_model::sha256_hex;

/// A finding about the newest part of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenTrend<'d> {
    pub document: &'d TrendsDocument,
    pub series: &'d V1Series,
    pub finding: OpenFinding<'d>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OpenFinding<'d> {
    Step(&'d V1ChangePoint),
    Drift(&'d V1Drift),
}

/// The findings of several documents, in their order.
#[derive(Clone, Debug, Default)]
pub struct OpenTrends<'d> {
    /// For the worse, shown by the newest run and by the ones before it, and not accepted.
    pub standing: Vec<OpenTrend<'d>>,
    /// Likewise, and the newest run is the first to show it: the next one may take it back.
    pub unconfirmed: Vec<OpenTrend<'d>>,
    /// The runs before the newest one showed it, and the newest one takes it back.
    pub withdrawn: Vec<OpenTrend<'d>>,
}

/// A finding as it was reported, by which it is recognised again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToldTrend {
    /// Digest of machine, branch, case and metric, 16 hexadecimal digits.
    pub series: String,
    pub told: ToldFinding,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToldFinding {
    /// Starts of the runs between which the change lies, RFC 3339.
    Step { from: String, to: String },
    /// How much it was then, in thousandths.
    Drift { per_mille: i64 },
}

impl<'d> OpenTrends<'d> {
    pub fn of(documents: &'d [TrendsDocument]) -> Self {
        let mut found = Self::default();
        for document in documents {
            for series in &document.series {
                found.add(document, series);
            }
        }
        found
    }

    fn add(&mut self, document: &'d TrendsDocument, series: &'d V1Series) {
        let finding = |finding| OpenTrend { document, series, finding };
        let is_worse = |change: &&V1ChangePoint| change.worse == Some(true) && !change.is_of_one_commit();
        let withdrawn = series.withdrawn.iter().filter(is_worse);
        self.withdrawn.extend(withdrawn.map(|change| finding(OpenFinding::Step(change))));
        if series.state != SeriesState::Searched {
            return;
        }
        let change = series.last_change().filter(is_worse).filter(|change| change.accepted.is_none());
        if let Some(change) = change {
            let list = if change.new { &mut self.unconfirmed } else { &mut self.standing };
            list.push(finding(OpenFinding::Step(change)));
        }
        if let Some(drift) = series.drift.as_ref().filter(|drift| drift.worse == Some(true)) {
            self.standing.push(finding(OpenFinding::Drift(drift)));
        }
    }

    /// The steps of `standing` that most cases of their machine took at once.
    pub fn common(&self) -> Vec<CommonStep<'d>> {
        let mut documents: Vec<&TrendsDocument> = Vec::new();
        for open in &self.standing {
            if !documents.iter().any(|document| std::ptr::eq(*document, open.document)) {
                documents.push(open.document);
            }
        }
        let is_step = |open: &&OpenTrend<'_>| matches!(open.finding, OpenFinding::Step(_));
        let stands = |series: &V1Series| {
            self.standing.iter().filter(is_step).any(|open| std::ptr::eq(open.series, series))
        };
        documents.into_iter().flat_map(|document| CommonStep::all(document, stands)).collect()
    }

    /// Takes out of `standing` the findings that a person has dismissed.
    pub fn without(mut self, aside: &[ToldTrend]) -> Self {
        self.standing.retain(|open| !aside.iter().any(|told| open.is_told_by(told)));
        self
    }
}

impl OpenTrend<'_> {
    pub fn run(&self, point: u32) -> Option<&V1TrendRun> {
        self.document.runs.get(self.series.points.get(point as usize)?.run as usize)
    }

    pub fn as_told(&self) -> ToldTrend {
        let told = match self.finding {
            OpenFinding::Step(change) => {
                let start = |point| self.run(point).map_or(String::new(), |run| run.started.clone());
                ToldFinding::Step { from: start(change.from), to: start(change.to) }
            }
            OpenFinding::Drift(drift) => ToldFinding::Drift { per_mille: per_mille(drift.total) },
        };
        ToldTrend { series: digest(self.series), told }
    }

    /// True for a finding that was reported: the same step, or a drift that is less than twice as large as it was.
    pub fn is_told_by(&self, told: &ToldTrend) -> bool {
        if told.series != digest(self.series) {
            return false;
        }
        match (self.finding, &told.told) {
            (OpenFinding::Step(change), ToldFinding::Step { from, to }) => {
                self.run(change.at).is_some_and(|run| (from..=to).contains(&&run.started))
            }
            (OpenFinding::Drift(drift), ToldFinding::Drift { per_mille: before }) => {
                per_mille(drift.total).abs() < 2 * before.abs()
            }
            _ => false,
        }
    }
}

impl ToldTrend {
    /// True if it was reported for this series.
    pub fn is_of(&self, series: &V1Series) -> bool {
        self.series == digest(series)
    }
}

fn per_mille(share: f64) -> i64 {
    let rounded = (share * 1000.0).round() as i64;
    if rounded == 0 { 1 } else { rounded }
}

fn digest(series: &V1Series) -> String {
    let case = serde_json::to_string(&series.case).unwrap_or_else(|_| series.case.to_string());
    let whole = [&series.label, &series.branch, &case, &series.metric].map(String::as_str).join("\0");
    sha256_hex(whole.as_bytes())[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::document::V1AcceptedChange;
    use gbench_model::test_support::case_id;
    use serde_json::{Value, from_value, json};

    fn change() -> V1ChangePoint {
        let change = json!({"at": 3, "from": 2, "to": 4, "good": "a", "bad": "b", "change": 0.03,
                            "low": 0.02, "high": 0.04, "p": 1e-9, "worse": true, "new": false});
        from_value(change).unwrap()
    }

    fn document(changes: Vec<V1ChangePoint>, drift: Option<V1Drift>) -> [TrendsDocument; 1] {
        let run = |number: u32| {
            json!({"run_id": format!("2026010{number}T000000.000Z-000001"), "event": "schedule", "label": "",
                   "started": format!("2026-01-0{number}T00:00:00Z"), "branch": "main",
                   "commit": format!("{number:040}")})
        };
        let points: Vec<Value> = (0..8).map(|run| json!({"run": run, "value": 1.0})).collect();
        let series = json!({"case": case_id("a/b"), "metric": "time", "unit": "s", "branch": "main", "label": "",
                            "points": points, "breaks": [], "changes": changes, "withdrawn": [],
                            "drift": drift, "state": SeriesState::Searched});
        let document = json!({"schema": crate::trend::SCHEMA_TRENDS, "store": "git:gbench-history",
                              "runs": (1..9).map(run).collect::<Vec<_>>(), "series": [series],
                              "unmeasured": [], "left_out": 0, "warnings": []});
        [from_value(document).unwrap()]
    }

    #[test]
    fn what_is_new_accepted_better_or_no_change_of_the_code_does_not_stand_open() {
        let open = |change| {
            let documents = document(vec![change], None);
            let OpenTrends { standing, unconfirmed, withdrawn } = OpenTrends::of(&documents);
            [standing, unconfirmed, withdrawn].map(|open| open.len())
        };
        assert_eq!(open(change()), [1, 0, 0]);
        assert_eq!(open(V1ChangePoint { new: true, ..change() }), [0, 1, 0]);
        let accepted = Some(V1AcceptedChange { pull: 7, by: "mona".into(), reason: "exact".into() });
        for settled in [
            V1ChangePoint { worse: Some(false), ..change() },
            V1ChangePoint { good: Some("b".into()), ..change() },
            V1ChangePoint { accepted, ..change() },
        ] {
            assert_eq!(open(settled), [0, 0, 0]);
        }
    }

    fn left(before: &[TrendsDocument], now: &[TrendsDocument]) -> usize {
        let told = OpenTrends::of(before).standing[0].as_told();
        OpenTrends::of(now).without(&[told]).standing.len()
    }

    #[test]
    fn what_was_put_aside_is_known_again_and_a_later_step_or_a_drift_twice_as_large_is_not() {
        let step = |at| document(vec![V1ChangePoint { at, from: at, to: at, ..change() }], None);
        let told = document(vec![change()], None);
        assert_eq!([2, 3, 4, 5].map(|at| left(&told, &step(at))), [0, 0, 0, 1]);
        let drift = |total| {
            document(vec![], Some(V1Drift { from: 1, per_run: 0.001, total, p: 1e-9, worse: Some(true) }))
        };
        assert_eq!([0.015, 0.039, 0.041].map(|total| left(&drift(0.02), &drift(total))), [0, 0, 1]);
    }
}
