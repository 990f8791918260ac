//! From pairs of cases to rows: what can be judged becomes evidence, all else a verdict of its own. Nothing
//! that was selected disappears: it is a row, or it is named in a warning.

use std::collections::{HashMap, HashSet};

use crate::model::{
    Better, CaseId, CaseRecord, Metric, MetricDeclaration, Outcome, Side, direction_of_unit, is_counted,
    is_time,
};

use super::evidence::{Evidence, MeasuredSide, Unusable, case_side, only_stated};
use super::key::other_settings;
use super::pairing::{PairedCase, loosely, near_match};
use super::policy::{Policy, declaration};
use super::{Advice, Change, Reason, Row, RowDecision, RowLimits, Verdict, throttling};

/// All rows of a comparison, some still without their decision.
#[derive(Default)]
pub struct PreparedRows<'a> {
    pub rows: Vec<Row>,
    /// For each piece of evidence the index of its row; none for evidence that counts for the prior alone.
    pub open: Vec<Option<usize>>,
    pub evidence: Vec<Evidence<'a>>,
    /// `case metric` that are shown and never judged.
    pub ungated: Vec<String>,
    /// Cases without a measurement on either side, with the reason.
    pub unmeasured: Vec<String>,
    /// `case metric` of optional metrics that one side lacks.
    pub absent: Vec<String>,
}

/// Sorts pairs into rows. `same_run`: both records carry one run id. `in_rounds`: a rule over rounds will decide, for which
/// also cases that did not end well count: for the prior and the number of comparisons, without a row.
pub fn prepare<'a>(
    pairs: &[PairedCase<'a>],
    policy: &Policy,
    same_run: bool,
    in_rounds: bool,
) -> PreparedRows<'a> {
    let only_base = pairs.iter().filter(|pair| pair.head.is_none()).map(|pair| pair.id);
    let only_head = pairs.iter().filter(|pair| pair.base.is_none()).map(|pair| pair.id);
    let unmatched = (loosely(only_base), loosely(only_head));
    let mut builder =
        RowBuilder { prepared: PreparedRows::default(), policy, same_run, in_rounds, scratch: Vec::new() };
    for pair in pairs {
        builder.pair(pair, &unmatched);
        if in_rounds {
            builder.prior_only(pair);
        }
    }
    builder.prepared
}

struct RowBuilder<'a, 'p> {
    prepared: PreparedRows<'a>,
    policy: &'p Policy,
    same_run: bool,
    in_rounds: bool,
    scratch: Vec<f64>,
}

type Unmatched<'a> = (HashMap<CaseId, &'a CaseId>, HashMap<CaseId, &'a CaseId>);

impl<'a> RowBuilder<'a, '_> {
    fn pair(&mut self, pair: &PairedCase<'a>, unmatched: &Unmatched) {
        match (pair.base, pair.head) {
            (Some(base), Some(head)) if base.outcome.is_measured() && head.outcome.is_measured() => {
                self.metrics(pair.id, base, head);
            }
            (Some(base), Some(head)) if base.outcome.is_failure() && head.outcome.is_failure() => {
                let [base_outcome, head_outcome] =
                    [base, head].map(|case| case.outcome.into_str().to_owned());
                let [base_cause, head_cause] = [base, head].map(|case| case.outcome.cause());
                let reason = Reason::FailedOnBothSides { base_outcome, base_cause, head_outcome, head_cause };
                self.case(pair, Verdict::Invalid, reason, of_outcome(head));
            }
            (_, Some(head)) if head.outcome.is_failure() => {
                let (outcome, cause) = said(head);
                self.case(pair, Verdict::Invalid, Reason::FailedOnHead { outcome, cause }, of_outcome(head));
            }
            (Some(base), Some(head)) if base.outcome.is_measured() => {
                let (outcome, cause) = said(head);
                let reason = Reason::NotMeasuredOnHead { outcome, cause };
                self.case(pair, Verdict::Missing, reason, of_outcome(head));
            }
            (Some(base), Some(head))
                if self.in_rounds && head.outcome.is_measured() && base.outcome.is_failure() =>
            {
                // Both were measured side by side: what broke there hides what the change does here.
                let (outcome, cause) = said(base);
                self.case(pair, Verdict::Invalid, Reason::FailedOnBase { outcome, cause }, of_outcome(base));
            }
            (Some(base), Some(head)) if head.outcome.is_measured() => {
                let (outcome, cause) = said(base);
                let reason = Reason::NotMeasuredOnBase { outcome, cause };
                self.case(pair, Verdict::New, reason, Some(Advice::MeasureBaseAgain {}));
            }
            (None, Some(head)) if head.outcome.is_measured() => {
                let reason = match near_match(pair.id, &unmatched.0) {
                    Some(near) => {
                        let (device, other_device) = near.devices.unzip();
                        let (other_thermal, other_timing) = (near.thermal, near.timing);
                        Reason::NewCaseRanOtherwise { device, other_device, other_thermal, other_timing }
                    }
                    None => Reason::NewCase {},
                };
                self.case(pair, Verdict::New, reason, Some(Advice::SaveBaseline {}));
            }
            (Some(base), None) if base.outcome.is_measured() => {
                let (reason, next) = match near_match(pair.id, &unmatched.1) {
                    Some(near) => {
                        let (device, other_device) = near.devices.unzip();
                        let (other_thermal, other_timing) = (near.thermal, near.timing);
                        let reason = Reason::MissingCaseRanOtherwise {
                            device,
                            other_device,
                            other_thermal,
                            other_timing,
                        };
                        (reason, Advice::MeasureAlike {})
                    }
                    None => (Reason::MissingCase {}, Advice::SelectOnBothSides {}),
                };
                self.case(pair, Verdict::Missing, reason, Some(next));
            }
            (base, head) => {
                let sides = [("base", base), ("head", head)];
                let outcomes = sides.into_iter().filter_map(|(side, case)| Some((side, &case?.outcome)));
                let why: Vec<String> = outcomes.map(|(side, outcome)| unmeasured(side, outcome)).collect();
                self.prepared.unmeasured.push(format!("{} ({})", pair.id, why.join("; ")));
            }
        }
    }

    /// What a case that did not end well showed before, if both sides had begun: later than others it would have been
    /// one of those that share the error rate, and nothing that is decided meanwhile may change because it broke.
    fn prior_only(&mut self, pair: &PairedCase<'a>) {
        let (Some(base), Some(head)) = (pair.base, pair.head) else { return };
        if base.outcome.is_measured() && head.outcome.is_measured() {
            return;
        }
        for metric in &head.metrics {
            if let Some(of_base) = base.metrics.iter().find(|of_base| of_base.name == metric.name) {
                self.add_prior_only(pair.id, (base, of_base), (head, metric));
            }
        }
    }

    /// Evidence of a row on which nothing is decided.
    fn add_prior_only(
        &mut self,
        id: &'a CaseId,
        (base, of_base): (&'a CaseRecord, &'a Metric),
        (head, metric): (&'a CaseRecord, &'a Metric),
    ) {
        let declared = self.declared(base, head, metric);
        let Some(better) = direction(base, of_base) else { return };
        let sides = (
            MeasuredSide::of(base, of_base, &mut self.scratch),
            MeasuredSide::of(head, metric, &mut self.scratch),
        );
        let (Ok(base_values), Ok(head_values)) = sides else { return };
        if declared.and_then(|declared| declared.gate) != Some(false) {
            self.prepared.open.push(None);
            self.prepared.evidence.push(Evidence {
                case: id,
                metric: &metric.name,
                unit: &metric.unit,
                exact: is_exact(declared, metric),
                stated: [None, None],
                better,
                threshold: self.policy.threshold_for(head, declared),
                limits: self.limits(base, base, metric, declared),
                base: base_values,
                head: head_values,
            });
        }
    }

    /// A row about a case as a whole.
    fn case(&mut self, pair: &PairedCase<'a>, verdict: Verdict, reason: Reason, next: Option<Advice>) {
        let of = pair.head.or(pair.base);
        let mut row = Row {
            case: pair.id.clone(),
            metric: String::new(),
            unit: String::new(),
            better: None,
            verdict,
            reason: String::new(),
            why: None,
            next: String::new(),
            advice: None,
            base: pair.base.map(case_side),
            head: pair.head.map(case_side),
            change: None,
            sequence: None,
            threshold: of.map_or(0.0, |case| self.policy.threshold_for(case, None)),
            margin: None,
        };
        row.explain(Some(reason), next);
        self.prepared.rows.push(row);
    }

    fn metrics(&mut self, id: &'a CaseId, base: &'a CaseRecord, head: &'a CaseRecord) {
        let before = (self.prepared.rows.len(), self.prepared.ungated.len());
        let of_base: HashMap<&str, &Metric> =
            base.metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect();
        let of_head: HashSet<&str> = head.metrics.iter().map(|metric| metric.name.as_str()).collect();
        let gone = base.metrics.iter().filter(|metric| !of_head.contains(metric.name.as_str()));
        let both =
            head.metrics.iter().map(|metric| (of_base.get(metric.name.as_str()).copied(), Some(metric)));
        for (base_metric, head_metric) in both.chain(gone.map(|metric| (Some(metric), None))) {
            // At least one side holds the metric.
            let Some(metric) = head_metric.or(base_metric) else { continue };
            let declared = self.declared(base, head, metric);
            if declared.and_then(|declared| declared.gate) == Some(false) {
                self.prepared.ungated.push(format!("{id} {}", metric.name));
                continue;
            }
            let is_optional = declared.and_then(|declared| declared.optional) == Some(true);
            let has_samples = |side: Option<&Metric>| {
                side.is_some_and(|metric| metric.processes.iter().any(|process| !process.partial))
            };
            if is_optional && !(has_samples(base_metric) && has_samples(head_metric)) {
                self.prepared.absent.push(format!("{id} {}", metric.name));
                continue;
            }
            let mut row = Row {
                case: id.clone(),
                metric: metric.name.clone(),
                unit: metric.unit.clone(),
                better: None,
                verdict: Verdict::Inconclusive,
                reason: String::new(),
                why: None,
                next: String::new(),
                advice: None,
                base: None,
                head: None,
                change: None,
                sequence: None,
                threshold: self.policy.threshold_for(head, declared),
                margin: None,
            };
            // What the base says counts, as its thresholds do: a change does not choose which way is better.
            let of_base = base_metric.and_then(|metric| direction(base, metric));
            row.better = of_base.or_else(|| head_metric.and_then(|metric| direction(head, metric)));
            self.metric((id, row), (base, base_metric), (head, head_metric));
        }
        if (self.prepared.rows.len(), self.prepared.ungated.len()) == before {
            let pair = PairedCase { id, base: Some(base), head: Some(head) };
            self.case(&pair, Verdict::Invalid, Reason::NoMetric {}, Some(Advice::SendSamples {}));
        }
    }

    /// One metric of a case that was measured on both sides.
    fn metric(
        &mut self,
        (id, mut row): (&'a CaseId, Row),
        (base_case, base): (&'a CaseRecord, Option<&'a Metric>),
        (head_case, head): (&'a CaseRecord, Option<&'a Metric>),
    ) {
        let base_values = base.map(|metric| MeasuredSide::of(base_case, metric, &mut self.scratch));
        let head_values = head.map(|metric| MeasuredSide::of(head_case, metric, &mut self.scratch));
        let side = |values: &Option<Result<MeasuredSide, Unusable>>, case: &CaseRecord| {
            values
                .as_ref()
                .map(|values| values.as_ref().map_or_else(|_| case_side(case), |v| v.row_side(case)))
        };
        row.base = side(&base_values, base_case);
        row.head = side(&head_values, head_case);
        let settle =
            |verdict, reason: Reason, next: Advice| RowDecision::plain(verdict, Some(reason), Some(next));
        let decision = match (base.zip(base_values), head.zip(head_values)) {
            (_, Some((_, Err(Unusable::NotFinite)))) => {
                settle(Verdict::Invalid, Reason::NotFinite {}, Advice::CorrectFigures {})
            }
            (_, Some((_, Err(Unusable::NoCompleteSamples)))) => {
                settle(Verdict::Invalid, Reason::NoCompleteSamples {}, Advice::ReadLogs {})
            }
            (_, None) => settle(Verdict::Missing, Reason::MissingMetric {}, Advice::SendMetric {}),
            (None | Some((_, Err(_))), Some((_, Ok(_)))) => {
                settle(Verdict::New, Reason::NewMetric {}, Advice::SaveBaseline {})
            }
            (Some((base, Ok(base_values))), Some((head, Ok(head_values)))) => {
                let units = [base, head].map(|metric| metric.unit.as_str());
                if self.in_rounds && direction(base_case, base).is_none() && row.better.is_some() {
                    // Else a change could say that it is an improvement.
                    row.better = None;
                    let (reason, next) = (Reason::DirectionOnHeadOnly {}, Advice::DeclareDirectionOnBase {});
                    return self.settled(row, settle(Verdict::New, reason, next));
                }
                let Some(better) = row.better else {
                    let (reason, next) = (Reason::NoDirection {}, Advice::DeclareDirection {});
                    return self.settled(row, settle(Verdict::Invalid, reason, next));
                };
                if units[0] != units[1] {
                    let [base, head] = units.map(str::to_owned);
                    let (reason, next) = (Reason::UnitsDiffer { base, head }, Advice::SendOneUnit {});
                    return self.settled(row, settle(Verdict::Invalid, reason, next));
                }
                if let Some(other) = direction(head_case, head).filter(|other| *other != better) {
                    let reason = Reason::DirectionsDiffer { base: better, head: other };
                    let next = Advice::DeclareOneDirection {};
                    return self.settled(row, settle(Verdict::Invalid, reason, next));
                }
                if let Some(reason) = other_settings(base_case, head_case) {
                    let next = Advice::SameSettings {};
                    return self.settled(row, settle(Verdict::Invalid, reason, next));
                }
                let sides = [(Side::Base, &base_values), (Side::Head, &head_values)];
                if let Some((side, value)) = sides.into_iter().find_map(no_time(&head.unit)) {
                    let reason = Reason::TakesNoTime { side, value, unit: head.unit.clone() };
                    self.settled(row, settle(Verdict::Invalid, reason, Advice::FinerClock {}));
                    // Rounds before it were evidence like any other; see [`RowBuilder::prior_only`].
                    if self.in_rounds {
                        self.add_prior_only(id, (base_case, base), (head_case, head));
                    }
                    return;
                }
                if self.same_run && base_values.same_samples(&head_values) {
                    return self.settled(row, the_same());
                }
                let declared = self.declared(base_case, head_case, head);
                let evidence = Evidence {
                    case: id,
                    metric: &head.name,
                    unit: &head.unit,
                    exact: is_exact(declared, head),
                    stated: [only_stated(base), only_stated(head)],
                    better,
                    threshold: row.threshold,
                    limits: self.limits(
                        base_case,
                        if self.in_rounds { base_case } else { head_case },
                        head,
                        declared,
                    ),
                    base: base_values,
                    head: head_values,
                };
                return self.ask(row, evidence);
            }
        };
        self.settled(row, decision);
    }

    fn settled(&mut self, mut row: Row, decision: RowDecision) {
        decision.settle(&mut row);
        self.prepared.rows.push(row);
    }

    /// How a metric is declared: in rounds by the base's suite file where that knows the metric, because a change shall
    /// not loosen its own gate; else by the head's, which is the newer one.
    fn declared(
        &self,
        base: &'a CaseRecord,
        head: &'a CaseRecord,
        metric: &Metric,
    ) -> Option<&'a MetricDeclaration> {
        if self.in_rounds && base.metrics.iter().any(|of_base| of_base.name == metric.name) {
            base.declared.get(&metric.name)
        } else {
            declaration(Some(base), Some(head), metric)
        }
    }

    /// What is asked of a row. `of`: the case whose settings speak; what the card usually does is always the base's word.
    fn limits(
        &self,
        base: &CaseRecord,
        of: &CaseRecord,
        metric: &Metric,
        declared: Option<&MetricDeclaration>,
    ) -> RowLimits {
        let limits = self.policy.limits_for(of, metric, declared);
        RowLimits { usual_slowdown: throttling::is_usual(base), ..limits }
    }

    fn ask(&mut self, mut row: Row, evidence: Evidence<'a>) {
        // What the row is held against: an absolute margin counts as the share of the base that it is.
        let of_margin = || Some(evidence.limits.margin? / row.base.as_ref()?.centre?.abs());
        row.threshold = if self.in_rounds || evidence.limits.absolute {
            evidence.limits.target
        } else {
            of_margin().filter(|share| share.is_finite()).unwrap_or(0.0).max(row.threshold)
        };
        row.margin = evidence.limits.margin.filter(|_| evidence.limits.absolute);
        self.prepared.open.push(Some(self.prepared.rows.len()));
        self.prepared.evidence.push(evidence);
        self.prepared.rows.push(row);
    }
}

/// Which way is better by what one side says: its suite file, else its program, else the unit.
fn direction(case: &CaseRecord, metric: &Metric) -> Option<Better> {
    let declared = case.declared.get(&metric.name).and_then(|declared| declared.better);
    declared.or(metric.better).or_else(|| direction_of_unit(&metric.unit))
}

/// Of a side whose unit is one of time: the first sample of it that is zero or less.
fn no_time(unit: &str) -> impl Fn((Side, &MeasuredSide)) -> Option<(Side, f64)> {
    let is_time = is_time(unit);
    move |(side, values)| {
        let mut samples = values.processes.iter().flat_map(|process| process.samples);
        let value = samples.find(|value| **value <= 0.0)?;
        is_time.then_some((side, *value))
    }
}

/// Its value is known and not merely rounded: by declaration, else by its unit.
fn is_exact(declared: Option<&MetricDeclaration>, metric: &Metric) -> bool {
    declared.and_then(|declared| declared.exact).unwrap_or_else(|| is_counted(&metric.unit))
}

fn unmeasured(side: &str, outcome: &Outcome) -> String {
    format!("{} on {side}: {}", outcome.into_str(), outcome.cause())
}

/// One measurement compared with itself: no chance is involved.
fn the_same() -> RowDecision {
    let change = Change {
        ratio: 1.0,
        slowdown: 0.0,
        low: 0.0,
        high: 0.0,
        confidence: 1.0,
        adjusted_p: None,
        detectable: None,
    };
    RowDecision { change: Some(change), ..RowDecision::plain(Verdict::Unchanged, None, None) }
}

/// The word and the cause of an outcome.
fn said(case: &CaseRecord) -> (String, String) {
    (case.outcome.into_str().to_owned(), case.outcome.cause())
}

fn of_outcome(case: &CaseRecord) -> Option<Advice> {
    let text = case.outcome.advice();
    (!text.is_empty()).then(|| Advice::OfOutcome { text: text.to_owned() })
}
