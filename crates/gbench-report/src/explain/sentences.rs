//! Explains one row in sentences for readers who do not know the rule.

use std::collections::BTreeSet;
use std::f64::consts::LN_10;

use serde::{Serialize, Serializer};

use crate::layout::case_names::CaseNames;
use crate::layout::number;
use crate::verdict::method::checks;
use gbench_compare::{
    DecisionTrace, MeasuredRound, Row, RowSide, SequentialStep, SideSummary, Verdict, VerdictDocument,
};
use gbench_model::text::{count, percent};
use gbench_model::{CaseId, Interleaving};

/// One row of a verdict with its argument.
#[derive(Clone, Copy)]
pub struct Explained<'a> {
    pub document: &'a VerdictDocument,
    pub row: &'a Row,
    /// Absent if no rounds decided it.
    pub trace: Option<&'a DecisionTrace>,
}

impl Explained<'_> {
    /// `kernels/gemm time`.
    pub fn name(&self) -> String {
        let names = CaseNames::new(self.document.rows.iter().map(|row| &row.case));
        names.title(&self.row.case, &self.row.metric)
    }
}

/// A case of the records without a row in the verdict.
#[derive(Serialize)]
pub struct Rowless<'a> {
    #[serde(serialize_with = "as_text")]
    pub case: &'a CaseId,
    /// Why, in one sentence.
    pub reason: String,
}

fn as_text<S: Serializer>(case: &CaseId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(case)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(crate) enum Towards {
    Worse,
    Better,
}

impl Towards {
    pub(crate) fn log10(self, step: &SequentialStep) -> f64 {
        (if self == Towards::Worse { step.ln_worse } else { step.ln_better }) / LN_10
    }
}

/// The side to which the row leans, and log10 of the e-value that it needs.
pub(crate) fn side_of(trace: &DecisionTrace) -> (Towards, f64) {
    if trace.result.mean < 0.0 {
        (Towards::Better, trace.log10_improved())
    } else {
        (Towards::Worse, trace.log10_red())
    }
}

/// A difference as a slowdown with its sign: `+2.9 %`, `-0.25 %`; a plain number if the base is zero.
pub(crate) fn slowdown(trace: &DecisionTrace, difference: f64) -> String {
    match trace.rounds.scale.slowdown(difference) {
        Some(slowdown) => number::signed_percent(slowdown),
        None => number::figure(difference),
    }
}

/// An e-value from its logarithm: `1020`, `0.31`, `10^7.4`.
pub(crate) fn e_value(log10: f64) -> String {
    match log10 {
        log10 if log10 < -2.0 => "below 0.01".into(),
        log10 if log10 < 1.0 => format!("{:.2}", 10_f64.powf(log10)),
        log10 if log10 < 5.5 => format!("{:.0}", 10_f64.powf(log10)),
        log10 => format!("10^{log10:.1}"),
    }
}

/// The least change that matters: a share, or a figure if the row is judged by that.
pub(crate) fn least(row: &Row) -> String {
    row.margin.map_or_else(|| percent(row.threshold), |margin| number::value(margin, &row.unit))
}

pub(crate) fn headline(explained: &Explained) -> String {
    let row = explained.row;
    let alpha = percent(1.0 - explained.document.method.alpha);
    let sequence = row.sequence.as_ref();
    let Some(trace) = explained.trace else {
        return match &row.change {
            Some(change) => format!("changed by {}", number::signed_percent(change.slowdown)),
            None => format!("was not compared: {}", row.reason),
        };
    };
    let rounds = count(trace.result.rounds, "round");
    match (row.verdict, sequence.and_then(|sequence| sequence.at_least)) {
        (Verdict::Regressed, Some(least)) => {
            format!(
                "is at least {} {} ({alpha} confidence, over {rounds})",
                percent(least),
                number::word(row)
            )
        }
        (Verdict::Regressed, None) => format!("is {} ({alpha} confidence, over {rounds})", number::word(row)),
        (Verdict::Improved, _) => {
            let confidence = percent(1.0 - trace.limits.alpha_improved);
            format!("is {} ({confidence} confidence, over {rounds})", number::word(row))
        }
        (Verdict::Unchanged, _) => {
            format!("changed by less than {} either way ({rounds})", least(row))
        }
        _ if trace.ruled() != row.verdict => format!("is in doubt after {rounds}"),
        _ => format!("is undecided after {rounds}"),
    }
}

pub(crate) fn measured(explained: &Explained) -> Vec<(&'static str, String)> {
    let (document, row) = (explained.document, explained.row);
    let [base, head] = number::centres(row);
    let mut facts = vec![
        ("base", side(&document.base, row.base.as_ref(), base)),
        ("head", side(&document.head, row.head.as_ref(), head)),
    ];
    if let Some(trace) = explained.trace {
        facts.push(("how", how(explained, trace)));
    }
    facts
}

fn side(summary: &SideSummary, side: Option<&RowSide>, value: Option<String>) -> String {
    let Some(side) = side else { return format!("{}: absent", summary.name) };
    let value = value.unwrap_or_else(|| side.outcome.into_str().to_owned());
    let samples = match side.samples {
        0 => String::new(),
        samples => format!(", {}", count(samples as usize, "sample")),
    };
    format!("{value} in {}: {}{samples}", summary.name, count(side.processes as usize, "process"))
}

fn how(explained: &Explained, trace: &DecisionTrace) -> String {
    let rounds = count(trace.measured_rounds.len(), "round");
    let Some(method) = &explained.document.method.rounds else { return rounds };
    let way = match method.way {
        Interleaving::Alternating => "one after the other",
        Interleaving::Lockstep => "both alive and taking turns where the benchmark can",
    };
    let orders: Vec<bool> = trace.measured_rounds.iter().filter_map(|turn| turn.base_first).collect();
    let first = orders.iter().filter(|base| **base).count();
    let order = if orders.is_empty() {
        String::new()
    } else {
        format!("; base went first in {first} of them (run order seed {})", method.seed)
    };
    let shared = match trace.rounds.shared {
        0 => String::new(),
        shared => {
            format!("; in the first {shared} that process was shared with other cases, and screened alone")
        }
    };
    format!("{rounds}, each a fresh process of either side, {way}{order}{shared}")
}

pub(crate) fn noise(explained: &Explained, trace: &DecisionTrace) -> Vec<String> {
    let scale = |difference: f64| {
        trace.rounds.scale.slowdown(difference).map_or_else(|| number::figure(difference), percent)
    };
    let mut said = Vec::new();
    if let Some(sequence) = &explained.row.sequence {
        said.push(format!(
            "its own: one round's change differs from the next by {} (standard deviation over {})",
            // A deviation of logarithms, as in the report.
            percent(sequence.noise),
            count(sequence.rounds as usize, "round")
        ));
    }
    said.push(format!(
        "moderated by the suite: {}, from the {} of the screen and what the other rows of `{}` show, for a few rounds \
         may look quieter than they are",
        percent(trace.result.scale),
        count(trace.limits.screen_rounds, "round"),
        trace.metric
    ));
    if trace.result.unresolved > 0.0 {
        said.push(format!(
            "steps in its figures, of the timer or of the digits printed, leave {} either way unknown: that much is \
             neither certified nor called worse or better",
            scale(trace.result.unresolved)
        ));
    }
    said
}

pub(crate) fn validity(explained: &Explained, trace: &DecisionTrace) -> Vec<String> {
    let document = &explained.document;
    let rounds = document.method.rounds.as_ref();
    let mut said = rounds.map(|rounds| checks(document, rounds)).unwrap_or_default();
    let disturbed = trace.rounds.disturbed.iter().filter(|disturbed| **disturbed).count();
    let rounds = count(trace.measured_rounds.len(), "round");
    let held = clocks(trace, &rounds);
    said.push(match (disturbed, held.is_empty()) {
        (0, true) => "a busy or throttled machine: in no round".to_owned(),
        (0, false) => "rounds that are in doubt for what else the machine did: none".to_owned(),
        (some, true) => format!("a busy or throttled machine: in {some} of {rounds}"),
        (some, false) => {
            format!("rounds that are in doubt for what else the machine did: {some} of {rounds}")
        }
    });
    said.extend(held);
    said.extend(explained.row.telemetry.iter().flat_map(|telemetry| telemetry.sentences()));
    said
}

/// The rounds in which a GPU's clocks were reduced, and why: one line for both sides, and one for each affected alone.
fn clocks(trace: &DecisionTrace, rounds: &str) -> Vec<String> {
    let mut said = Vec::new();
    for (words, wanted) in [("on both sides", true), ("on one side alone", false)] {
        let of_kind = |turn: &&MeasuredRound| {
            let held = turn.throttled.each_ref().map(|reasons| !reasons.is_empty());
            if wanted { held == [true; 2] } else { held[0] != held[1] }
        };
        let held: Vec<&MeasuredRound> = trace.measured_rounds.iter().filter(of_kind).collect();
        let reasons: BTreeSet<&str> =
            held.iter().flat_map(|turn| turn.throttled.iter().flatten()).map(String::as_str).collect();
        if !held.is_empty() {
            let (count, reasons) = (held.len(), reasons.into_iter().collect::<Vec<_>>().join(", "));
            said.push(format!("a GPU's clocks held down {words}: in {count} of {rounds} ({reasons})"));
        }
    }
    let sick: Vec<&MeasuredRound> =
        trace.measured_rounds.iter().filter(|turn| !turn.faults.is_empty()).collect();
    let faults: BTreeSet<String> =
        sick.iter().flat_map(|turn| &turn.faults).map(ToString::to_string).collect();
    if !sick.is_empty() {
        let (count, faults) = (sick.len(), faults.into_iter().collect::<Vec<_>>().join(", "));
        said.push(format!("a fault of a GPU: in {count} of {rounds} ({faults})"));
    }
    said
}

/// Advice; never empty.
pub(crate) fn next(explained: &Explained) -> String {
    let row = explained.row;
    match row.verdict {
        _ if !row.next.is_empty() => row.next.clone(),
        Verdict::Unchanged if row.sequence.is_some() => format!(
            "nothing has to be done. A change within {} is not excluded; set a smaller `target` where it matters",
            least(row)
        ),
        Verdict::Improved => {
            "nothing has to be done, if it was meant; else look at what the benchmark no longer does".into()
        }
        Verdict::New => "nothing has to be done: the next comparison has a base for it".into(),
        _ => "nothing has to be done".into(),
    }
}
