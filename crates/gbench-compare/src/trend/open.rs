//! What a history shows that a person should hear of: lasting changes for the worse and drifts that nobody accepted.

use serde::{Deserialize, Serialize};

use super::analysis::SeriesState;
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
    /// For the worse, shown by the newest run and by the ones before it, and accepted by nobody.
    pub standing: Vec<OpenTrend<'d>>,
    /// Likewise, and the newest run is the first to show it: the next one may take it back.
    pub unconfirmed: Vec<OpenTrend<'d>>,
    /// The runs before the newest one showed it, and the newest one takes it back.
    pub withdrawn: Vec<OpenTrend<'d>>,
}

/// A finding as it was told, by which it is known again.
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

    /// Takes out of `standing` what a person has put aside.
    pub fn without(mut self, aside: &[ToldTrend]) -> Self {
        self.standing.retain(|open| !aside.iter().any(|told| open.is_told_by(told)));
        self
    }
}

impl OpenTrend<'_> {
    /// The run of a point of the series.
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

    /// Whether it is what was told: the same step, or a drift that is less than twice as large as it was.
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
    /// Whether it was told of this series.
    pub fn is_of(&self, series: &V1Series) -> bool {
        self.series == digest(series)
    }
}

/// The share in thousandths, at least one of them away from zero.
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
    use crate::trend::document::{V1AcceptedChange, V1Point};

    fn change() -> V1ChangePoint {
        V1ChangePoint {
            at: 3,
            from: 2,
            to: 4,
            good: Some("a".into()),
            bad: Some("b".into()),
            change: 0.03,
            low: 0.02,
            high: 0.04,
            p: 1e-9,
            worse: Some(true),
            new: false,
            accepted: None,
        }
    }

    fn document(changes: Vec<V1ChangePoint>, drift: Option<V1Drift>) -> TrendsDocument {
        let run = |number: u32| V1TrendRun {
            run_id: format!("2026010{number}T000000.000Z-000001").parse().unwrap(),
            started: format!("2026-01-0{number}T00:00:00Z"),
            commit: format!("{number:040}"),
            branch: "main".into(),
            label: String::new(),
            event: "schedule".into(),
            conclusion: None,
        };
        TrendsDocument {
            schema: crate::trend::SCHEMA_TRENDS.into(),
            store: "git:gbench-history".into(),
            runs: (1..9).map(run).collect(),
            series: vec![V1Series {
                case: serde_json::from_str(r#"{"benchmark":"a/b","timing":"protocol","thermal":"warm"}"#)
                    .unwrap(),
                metric: "time".into(),
                unit: "s".into(),
                better: None,
                branch: "main".into(),
                label: String::new(),
                points: (0..8).map(|run| V1Point { run, value: 1.0, low: None, high: None }).collect(),
                breaks: Vec::new(),
                changes,
                withdrawn: Vec::new(),
                drift,
                noise: None,
                state: SeriesState::Searched,
            }],
            unmeasured: Vec::new(),
            left_out: 0,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn what_is_new_accepted_better_or_no_change_of_the_code_does_not_stand_open() {
        let standing = |change| OpenTrends::of(&[document(vec![change], None)]).standing.len();
        assert_eq!(standing(change()), 1);
        assert_eq!(standing(V1ChangePoint { new: true, ..change() }), 0);
        assert_eq!(standing(V1ChangePoint { worse: Some(false), ..change() }), 0);
        assert_eq!(standing(V1ChangePoint { good: Some("b".into()), ..change() }), 0);
        let accepted = V1AcceptedChange { pull: 7, by: "mona".into(), reason: "exact".into() };
        assert_eq!(standing(V1ChangePoint { accepted: Some(accepted), ..change() }), 0);
        let new = [document(vec![V1ChangePoint { new: true, ..change() }], None)];
        assert_eq!(OpenTrends::of(&new).unconfirmed.len(), 1);
    }

    #[test]
    fn what_was_put_aside_is_known_again_and_a_later_step_is_not() {
        let documents = [document(vec![change()], None)];
        let told = OpenTrends::of(&documents).standing[0].as_told();
        let left = |at| {
            let documents = [document(vec![V1ChangePoint { at, from: at, to: at, ..change() }], None)];
            OpenTrends::of(&documents).without(std::slice::from_ref(&told)).standing.len()
        };
        assert_eq!([2, 3, 4, 5].map(left), [0, 0, 0, 1]);
    }

    #[test]
    fn a_drift_is_told_again_when_it_has_doubled() {
        let drifting = |total| {
            let drift = V1Drift { from: 1, per_run: 0.001, total, p: 1e-9, worse: Some(true) };
            [document(Vec::new(), Some(drift))]
        };
        let documents = drifting(0.02);
        let told = OpenTrends::of(&documents).standing[0].as_told();
        let left =
            |total| OpenTrends::of(&drifting(total)).without(std::slice::from_ref(&told)).standing.len();
        assert_eq!([0.015, 0.039, 0.041].map(left), [0, 0, 1]);
    }
}
