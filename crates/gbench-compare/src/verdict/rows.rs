//! From pairs of cases to rows: a case that can be judged becomes evidence, every other one gets its verdict here.
//! Nothing that was selected disappears: it is a row, or it is named in a warning.

use std::collections::{HashMap, HashSet};

use gbench_model::{
    Better, CODE_FIGURES, CaseId, CaseRecord, FailureKind, Metric, MetricDeclaration, Outcome, OwnFigure,
    Side, is_counted, is_time,
};

use super::change::Change;
use super::document::Row;
use super::outcome::Verdict;
use super::policy::Policy;
use crate::evidence::quantized::are_counts;
use crate::evidence::samples::RowLimits;
use crate::evidence::samples::{Evidence, MeasuredSide, Unusable, case_side, is_instructions, only_stated};
use crate::evidence::throttling;
use crate::identity::answers::other_answer;
use crate::identity::cases::{NearMatch, PairedCase, loosely, near_match};
use crate::identity::measurement::other_settings;
use crate::identity::wholes::Wholes;
use crate::rules::rule::Rule;
use crate::variants::PairMembers;
use crate::variants::speedups::Speedups;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// All rows of a comparison, some still without their decision.
#[derive(Default)]
pub(crate) struct PreparedRows<'a> {
    pub rows: Vec<Row>,
    /// For each piece of evidence the index of its row; none for evidence that counts for the prior alone.
    pub open: Vec<Option<usize>>,
    pub evidence: Vec<Evidence<'a>>,
    /// `case metric` that the suite file or a program will not have judged.
    pub ungated: Vec<String>,
    /// Metrics that are shown and never judged, those of the gate's own choice too.
    pub shown_alone: usize,
    /// Why cases have no measurement on either side, and which those are.
    pub unmeasured: Vec<(String, Vec<String>)>,
    /// `case metric` of optional metrics that one side lacks.
    pub absent: Vec<String>,
    pub wholes: Wholes<'a>,
    /// Rows that are the speedup of a pair, by their index.
    pub members: HashMap<usize, PairMembers<'a>>,
}

/// Sorts pairs into rows. `same_run`: both records carry one run id. `rule`: will decide; if over rounds, also cases that did
/// not end well count: for the prior and the number of comparisons, without a row.
pub(crate) fn prepare<'a>(
    pairs: &[PairedCase<'a>],
    speedups: &'a Speedups,
    policy: &Policy,
    same_run: bool,
    rule: &dyn Rule,
) -> PreparedRows<'a> {
    let in_rounds = rule.over_rounds();
    let only_base = pairs.iter().filter(|pair| pair.head.is_none()).map(|pair| pair.id);
    let only_head = pairs.iter().filter(|pair| pair.base.is_none()).map(|pair| pair.id);
    let unmatched = (loosely(only_base), loosely(only_head));
    let mut builder = RowBuilder {
        prepared: PreparedRows { wholes: Wholes::of(pairs), ..PreparedRows::default() },
        policy,
        same_run,
        in_rounds,
        precedes_seq_e_5: rule.precedes_seq_e_5(),
        of_pairs: false,
        scratch: Vec::new(),
    };
    for pair in pairs {
        builder.pair(pair, &unmatched);
        if in_rounds {
            builder.prior_only(pair);
        }
    }
    builder.of_pairs = true;
    for pair in speedups.pairs() {
        let members = PairMembers { baseline: pairs[pair.baseline].id, metric: &pair.metric };
        builder.speedup(&pair.paired(), members);
    }
    builder.prepared
}

struct RowBuilder<'a, 'p> {
    prepared: PreparedRows<'a>,
    policy: &'p Policy,
    same_run: bool,
    in_rounds: bool,
    precedes_seq_e_5: bool,
    of_pairs: bool,
    scratch: Vec<f64>,
}

type MetricOf<'a> = (&'a CaseRecord, &'a Metric);

type Unmatched<'a> = (HashMap<CaseId, &'a CaseId>, HashMap<CaseId, &'a CaseId>);

impl<'a> RowBuilder<'a, '_> {
    fn speedup(&mut self, pair: &PairedCase<'a>, members: PairMembers<'a>) {
        if self.in_rounds {
            self.prior_only(pair);
        }
        let (Some(base), Some(head)) = (pair.base, pair.head) else { return };
        if base.outcome.is_measured() && head.outcome.is_measured() {
            let from = self.prepared.rows.len();
            self.metrics(pair.id, base, head);
            let rows = from..self.prepared.rows.len();
            self.prepared.members.extend(rows.map(|row| (row, members)));
        }
    }

    fn pair(&mut self, pair: &PairedCase<'a>, unmatched: &Unmatched) {
        if let Some((verdict, reason)) = self.prepared.wholes.part_of_one_side(pair) {
            return self.case(pair, verdict, reason, None);
        }
        let (verdict, reason, next) = match (pair.base, pair.head) {
            (Some(base), Some(head)) if base.outcome.is_measured() && head.outcome.is_measured() => {
                let Some(reason) = other_answer(base, head, self.in_rounds) else {
                    return self.metrics(pair.id, base, head);
                };
                (Verdict::Invalid, reason, Some(Advice::CorrectAnswer {}))
            }
            (Some(base), Some(head)) if base.outcome.is_failure() && head.outcome.is_failure() => {
                let [(base_outcome, base_cause), (head_outcome, head_cause)] = [base, head].map(said);
                let reason = Reason::FailedOnBothSides { base_outcome, base_cause, head_outcome, head_cause };
                let is_broken = !self.precedes_seq_e_5 && failed_alike(&base.outcome, &head.outcome);
                let verdict = if is_broken { Verdict::Broken } else { Verdict::Invalid };
                (verdict, reason, of_outcome(head))
            }
            (_, Some(head)) if head.outcome.is_failure() => {
                let (outcome, cause) = said(head);
                (Verdict::Invalid, Reason::FailedOnHead { outcome, cause }, of_outcome(head))
            }
            (Some(base), Some(head)) if base.outcome.is_measured() => {
                let (outcome, cause) = said(head);
                (Verdict::Missing, Reason::NotMeasuredOnHead { outcome, cause }, of_outcome(head))
            }
            (Some(base), Some(head)) if head.outcome.is_measured() => {
                let (outcome, cause) = said(base);
                let never_ran = base.processes.iter().all(|process| !process.outcome.is_measured());
                let may_be_mended = self.in_rounds && !self.precedes_seq_e_5;
                if may_be_mended && never_ran && is_own_failure(&base.outcome) {
                    // Base may have failed for another reason: its own advice leads there.
                    (Verdict::Mended, Reason::MendedOnHead { outcome, cause }, of_outcome(base))
                } else if self.in_rounds
                    && (base.outcome.is_failure()
                        || !self.precedes_seq_e_5 && !never_ran && !base.part_of_whole)
                {
                    // It ran there at first: what broke later hides what the change does here.
                    (Verdict::Invalid, Reason::FailedOnBase { outcome, cause }, of_outcome(base))
                } else {
                    let reason = Reason::NotMeasuredOnBase { outcome, cause };
                    (Verdict::New, reason, Some(Advice::MeasureBaseAgain {}))
                }
            }
            (None, Some(head)) if head.outcome.is_measured() => {
                let reason = match near_match(pair.id, &unmatched.0) {
                    Some(NearMatch { device, other_device, other_thermal, other_timing }) => {
                        Reason::NewCaseRanOtherwise { device, other_device, other_thermal, other_timing }
                    }
                    None => Reason::NewCase {},
                };
                (Verdict::New, reason, Some(self.of_new()))
            }
            (Some(base), None) if base.outcome.is_measured() => {
                let (reason, next) = match near_match(pair.id, &unmatched.1) {
                    Some(NearMatch { device, other_device, other_thermal, other_timing }) => (
                        Reason::MissingCaseRanOtherwise { device, other_device, other_thermal, other_timing },
                        Advice::MeasureAlike {},
                    ),
                    None => (Reason::MissingCase {}, self.of_missing(Advice::SelectOnBothSides {})),
                };
                (Verdict::Missing, reason, Some(next))
            }
            (base, head) => {
                let sides = [("base", base), ("head", head)];
                let cases = sides.into_iter().filter_map(|(side, case)| Some((side, said(case?))));
                let why = match cases.collect::<Vec<_>>().as_slice() {
                    [(_, base), (_, head)] if base == head => format!("{} on both sides: {}", base.0, base.1),
                    sides => {
                        let of_side =
                            |(side, (outcome, cause)): &(_, (_, _))| format!("{outcome} on {side}: {cause}");
                        sides.iter().map(of_side).collect::<Vec<_>>().join("; ")
                    }
                };
                let name = pair.id.to_string();
                match self.prepared.unmeasured.iter_mut().find(|(other, _)| *other == why) {
                    Some((_, names)) => names.push(name),
                    None => self.prepared.unmeasured.push((why, vec![name])),
                }
                return;
            }
        };
        self.case(pair, verdict, reason, next);
    }

    /// Advice about something that head alone has. Rounds are between commits, which have no baseline.
    fn of_new(&self) -> Advice {
        if self.in_rounds { Advice::ComparedOnceOnBase {} } else { Advice::SaveBaseline {} }
    }

    /// Advice about something that base alone has; `of_records`: where stored records are compared.
    fn of_missing(&self, of_records: Advice) -> Advice {
        if self.in_rounds { Advice::BringBackOrLetGo {} } else { of_records }
    }

    /// The evidence of a case before it failed or computed something else, if both sides had begun: it shared the error rate until then, and no
    /// decision made meanwhile may change because it failed.
    fn prior_only(&mut self, pair: &PairedCase<'a>) {
        let (Some(base), Some(head)) = (pair.base, pair.head) else { return };
        let both = base.outcome.is_measured() && head.outcome.is_measured();
        if both && other_answer(base, head, self.in_rounds).is_none() {
            return;
        }
        for metric in &head.metrics {
            if let Some(of_base) = base.metrics.iter().find(|of_base| of_base.name == metric.name) {
                self.add_prior_only(pair.id, (base, of_base), (head, metric));
            }
        }
    }

    fn add_prior_only(&mut self, id: &'a CaseId, base: MetricOf<'a>, head: MetricOf<'a>) {
        let Some(better) = base.0.direction(base.1) else { return };
        let values = [base, head].map(|(case, metric)| MeasuredSide::of(case, metric, &mut self.scratch));
        let [Ok(base_values), Ok(head_values)] = values else { return };
        if self.declared(base.0, head).and_then(|declared| declared.gate) != Some(false) {
            let evidence = self.evidence(id, base, head, better, [base_values, head_values]);
            self.prepared.open.push(None);
            self.prepared.evidence.push(evidence);
        }
    }

    fn evidence(
        &self,
        case: &'a CaseId,
        base: MetricOf<'a>,
        head: MetricOf<'a>,
        better: Better,
        [base_values, head_values]: [MeasuredSide<'a>; 2],
    ) -> Evidence<'a> {
        let declared = self.declared(base.0, head);
        let metric = head.1;
        let settings = if self.in_rounds { base.0 } else { head.0 };
        let exact = declared.and_then(|declared| declared.exact).or(is_counted(&metric.unit).then_some(true));
        let is_count = !self.precedes_seq_e_5
            && exact.is_none()
            && declared.and_then(|declared| declared.absolute) != Some(true)
            && are_counts(&metric.unit, [&base_values, &head_values]);
        Evidence {
            case,
            metric: &metric.name,
            unit: &metric.unit,
            exact: exact.unwrap_or(is_count),
            is_count,
            of_code: [base, head].iter().all(|(case, metric)| is_of_code(case, metric)),
            counted: [base, head].iter().all(|(case, metric)| is_instructions(&case.id, &metric.unit)),
            of_pair: self.of_pairs,
            stated: [only_stated(base.1), only_stated(metric)],
            better,
            threshold: self.policy.threshold_for(head.0, declared),
            limits: RowLimits {
                usual_slowdown: throttling::is_usual(base.0),
                ..self.policy.limits_for(settings, metric, declared)
            },
            base: base_values,
            head: head_values,
        }
    }

    fn case(&mut self, pair: &PairedCase<'a>, verdict: Verdict, reason: Reason, next: Option<Advice>) {
        let threshold = pair.head.or(pair.base).map_or(0.0, |case| self.policy.threshold_for(case, None));
        let mut row = Row {
            verdict,
            base: pair.base.map(case_side),
            head: pair.head.map(case_side),
            ..undecided(pair.id, "", "", threshold)
        };
        row.explain(Some(reason), next);
        self.prepared.rows.push(row);
    }

    fn metrics(&mut self, id: &'a CaseId, base: &'a CaseRecord, head: &'a CaseRecord) {
        let before = (self.prepared.rows.len(), self.prepared.shown_alone);
        let of_base: HashMap<&str, &Metric> =
            base.metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect();
        let of_head: HashSet<&str> = head.metrics.iter().map(|metric| metric.name.as_str()).collect();
        let gone = base.metrics.iter().filter(|metric| !of_head.contains(metric.name.as_str()));
        let both =
            head.metrics.iter().map(|metric| (of_base.get(metric.name.as_str()).copied(), Some(metric)));
        for (base_metric, head_metric) in both.chain(gone.map(|metric| (Some(metric), None))) {
            let Some(metric) = head_metric.or(base_metric) else { continue };
            let declared = self.declared(base, (head, metric));
            if declared.and_then(|declared| declared.gate) == Some(false) {
                self.prepared.shown_alone += 1;
                if OwnFigure::of(head, metric).is_none() {
                    self.prepared.ungated.push(format!("{id} {}", metric.name));
                }
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
            let threshold = self.policy.threshold_for(head, declared);
            let mut row = undecided(id, &metric.name, &metric.unit, threshold);
            // The base decides, as for thresholds: a change does not choose which way is better.
            let of_base = base_metric.and_then(|metric| base.direction(metric));
            row.better = of_base.or_else(|| head.direction(head_metric?));
            self.metric((id, row), (base, base_metric), (head, head_metric));
        }
        if (self.prepared.rows.len(), self.prepared.shown_alone) == before {
            let pair = PairedCase { id, base: Some(base), head: Some(head) };
            self.case(&pair, Verdict::Invalid, Reason::NoMetric {}, Some(Advice::SendSamples {}));
        }
    }

    fn metric(
        &mut self,
        (id, mut row): (&'a CaseId, Row),
        (base_case, base): (&'a CaseRecord, Option<&'a Metric>),
        (head_case, head): (&'a CaseRecord, Option<&'a Metric>),
    ) {
        let mut side = |case: &'a CaseRecord, metric: Option<&'a Metric>| {
            let values = metric.map(|metric| MeasuredSide::of(case, metric, &mut self.scratch));
            let shown = values.as_ref().map(|values| match values {
                Ok(values) => values.row_side(case),
                Err(_) => case_side(case),
            });
            (shown, metric.zip(values))
        };
        let (base_values, head_values);
        (row.base, base_values) = side(base_case, base);
        (row.head, head_values) = side(head_case, head);
        let (base, base_values, head, head_values) = match (base_values, head_values) {
            (_, Some((_, Err(Unusable::NotFinite)))) => {
                let next = Advice::CorrectFigures {};
                return self.settle(row, Verdict::Invalid, Reason::NotFinite {}, next);
            }
            (_, Some((_, Err(Unusable::NoCompleteSamples)))) => {
                let next = Advice::ReadLogs {};
                return self.settle(row, Verdict::Invalid, Reason::NoCompleteSamples {}, next);
            }
            (_, None) => {
                let next = self.of_missing(Advice::SendMetric {});
                return self.settle(row, Verdict::Missing, Reason::MissingMetric {}, next);
            }
            (None | Some((_, Err(_))), Some((_, Ok(_)))) => {
                let next = self.of_new();
                return self.settle(row, Verdict::New, Reason::NewMetric {}, next);
            }
            (Some((base, Ok(base_values))), Some((head, Ok(head_values)))) => {
                ((base_case, base), base_values, (head_case, head), head_values)
            }
        };
        if self.in_rounds && base.0.direction(base.1).is_none() && row.better.is_some() {
            // Else a change could say that it is an improvement.
            row.better = None;
            let next = Advice::DeclareDirectionOnBase {};
            return self.settle(row, Verdict::New, Reason::DirectionOnHeadOnly {}, next);
        }
        let Some(better) = row.better else {
            return self.settle(row, Verdict::Invalid, Reason::NoDirection {}, Advice::DeclareDirection {});
        };
        let [base_unit, head_unit] = [base.1, head.1].map(|metric| metric.unit.clone());
        if base_unit != head_unit {
            // The row has one unit, the head's: a figure in another would be read as one of it.
            if let Some(side) = &mut row.base {
                side.centre = None;
            }
            let reason = Reason::UnitsDiffer { base: base_unit, head: head_unit };
            return self.settle(row, Verdict::Invalid, reason, Advice::SendOneUnit {});
        }
        if let Some(other) = head.0.direction(head.1).filter(|other| *other != better) {
            let reason = Reason::DirectionsDiffer { base: better, head: other };
            return self.settle(row, Verdict::Invalid, reason, Advice::DeclareOneDirection {});
        }
        if let Some(reason) = other_settings(base_case, head_case) {
            return self.settle(row, Verdict::Invalid, reason, Advice::SameSettings {});
        }
        let sides = [(Side::Base, &base_values), (Side::Head, &head_values)];
        if let Some((side, value)) = sides.into_iter().find_map(no_time(&head_unit)) {
            let reason = Reason::TakesNoTime { side, value, unit: head_unit };
            self.settle(row, Verdict::Invalid, reason, Advice::FinerClock {});
            // Rounds before it were evidence like any other; see [`RowBuilder::prior_only`].
            if self.in_rounds {
                self.add_prior_only(id, base, head);
            }
            return;
        }
        if self.same_run && base_values.same_samples(&head_values) {
            // One measurement compared with itself: no chance is involved.
            row.verdict = Verdict::Unchanged;
            row.change = Some(Change::known(1.0, 0.0));
            return self.prepared.rows.push(row);
        }
        let evidence = self.evidence(id, base, head, better, [base_values, head_values]);
        self.ask(row, evidence);
    }

    fn settle(&mut self, mut row: Row, verdict: Verdict, reason: Reason, next: Advice) {
        row.verdict = verdict;
        row.explain(Some(reason), Some(next));
        self.prepared.rows.push(row);
    }

    /// How a metric is declared: in rounds by the base's suite file where that knows the metric, because a change shall
    /// not loosen its own gate; else by the head's, which is the newer one.
    fn declared(&self, base: &'a CaseRecord, (head, metric): MetricOf<'a>) -> Option<&'a MetricDeclaration> {
        if self.in_rounds && base.metrics.iter().any(|of_base| of_base.name == metric.name) {
            base.declared.get(&metric.name)
        } else {
            [head, base].into_iter().find_map(|case| case.declared.get(&metric.name))
        }
    }

    fn ask(&mut self, mut row: Row, evidence: Evidence<'a>) {
        let of_margin = || Some(evidence.limits.margin? / row.base.as_ref()?.centre?.abs());
        row.threshold = if self.in_rounds || evidence.limits.absolute {
            evidence.limits.target
        } else {
            of_margin().filter(|share| share.is_finite()).unwrap_or(0.0).max(row.threshold)
        };
        row.counted = evidence.is_count;
        row.margin = evidence.limits.margin.filter(|_| evidence.limits.absolute);
        self.prepared.open.push(Some(self.prepared.rows.len()));
        self.prepared.evidence.push(evidence);
        self.prepared.rows.push(row);
    }
}

fn no_time(unit: &str) -> impl Fn((Side, &MeasuredSide)) -> Option<(Side, f64)> {
    let is_time = is_time(unit);
    move |(side, values)| {
        let mut samples = values.processes.iter().flat_map(|process| process.samples);
        let value = samples.find(|value| **value <= 0.0)?;
        is_time.then_some((side, *value))
    }
}

fn is_of_code(case: &CaseRecord, metric: &Metric) -> bool {
    case.device_code.is_some()
        && !case.device_code_varies
        && CODE_FIGURES.iter().any(|(name, ..)| *name == metric.name)
}

fn undecided(case: &CaseId, metric: &str, unit: &str, threshold: f64) -> Row {
    Row {
        case: case.clone(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        better: None,
        verdict: Verdict::Inconclusive,
        reason: String::new(),
        next: String::new(),
        why: None,
        advice: None,
        base: None,
        head: None,
        change: None,
        threshold,
        margin: None,
        sequence: None,
        counted: false,
        time_verdict: None,
        in_cycles: None,
        of_peak: None,
        pair: None,
        device_code: None,
        telemetry: None,
    }
}

/// True if both failures are of one kind. A crash of head is not excused by a base that failed otherwise.
fn failed_alike(base: &Outcome, head: &Outcome) -> bool {
    match (base, head) {
        (Outcome::Failed { kind: base, .. }, Outcome::Failed { kind: head, .. }) => base == head,
        (Outcome::TimedOut { stage: base, .. }, Outcome::TimedOut { stage: head, .. }) => base == head,
        (Outcome::Invalid { code: base, .. }, Outcome::Invalid { code: head, .. }) => base == head,
        _ => false,
    }
}

/// True for a failure of the benchmark itself, and not of a machine that lacked memory, time or a requirement.
fn is_own_failure(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed { kind, .. } => {
            !matches!(kind, FailureKind::OutOfMemory | FailureKind::MissingDependency)
        }
        Outcome::Invalid { .. } => true,
        _ => false,
    }
}

fn said(case: &CaseRecord) -> (String, String) {
    (case.outcome.into_str().to_owned(), case.outcome.cause())
}

fn of_outcome(case: &CaseRecord) -> Option<Advice> {
    let text = case.outcome.advice();
    (!text.is_empty()).then(|| Advice::OfOutcome { text: text.to_owned() })
}
