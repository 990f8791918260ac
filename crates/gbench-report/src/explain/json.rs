//! Every step as a number, for programs: `gbench-ci/explanation/v1`.

use std::f64::consts::LN_10;
use std::io;

use serde::Serialize;

use super::sentences::{Explained, Rowless};
use gbench_compare::{DecisionTrace, Method, Row, Verdict, VerdictDocument};

const SCHEMA: &str = "gbench-ci/explanation/v1";

#[derive(Serialize)]
struct V1<'a> {
    schema: &'static str,
    sentence: &'a str,
    method: &'a Method,
    rows: Vec<V1Row<'a>>,
    /// Cases without a row in the verdict.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_judged: &'a [Rowless<'a>],
}

#[derive(Serialize)]
struct V1Row<'a> {
    /// The case as text; its parts are in `row`.
    name: String,
    row: &'a Row,
    /// Absent if no rounds decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<V1Argument>,
}

#[derive(Serialize)]
struct V1Argument {
    /// By the rounds alone, before any doubt.
    ruled: Verdict,
    suspects: usize,
    /// In the scale of the differences, like all figures below except those of `rounds`.
    target: f64,
    min_effect: f64,
    /// The moderated deviation of one round's difference: the unit of the evidence; since `seq-e-3` it is the target.
    scale: f64,
    log10_needed_worse: f64,
    log10_needed_better: f64,
    rounds: Vec<V1Round>,
    /// From the second round to the decision.
    steps: Vec<V1Step>,
}

#[derive(Serialize)]
struct V1Round {
    round: u32,
    /// In the metric's unit.
    base: f64,
    head: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_first: Option<bool>,
    disturbed: bool,
    /// Positive means worse.
    difference: f64,
}

#[derive(Serialize)]
struct V1Step {
    rounds: usize,
    mean: f64,
    /// `null` if the rounds do not bound it.
    half: Option<f64>,
    /// Estimate and interval by signed ranks, from nine rounds on; not under `seq-e`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<V1Ranks>,
    /// The part of the mean that steps in the figures leave undecided.
    #[serde(skip_serializing_if = "is_zero")]
    unresolved: f64,
    log10_worse: f64,
    log10_better: f64,
}

#[derive(Serialize)]
struct V1Ranks {
    centre: f64,
    low: f64,
    high: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Writes the explanation of every row. Errors: those of `out`.
pub fn render(
    document: &VerdictDocument,
    rows: &[Explained],
    rowless: &[Rowless],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let rows = rows.iter().map(|explained| V1Row {
        name: explained.row.case.to_string(),
        row: explained.row,
        argument: explained.trace.map(argument),
    });
    let explanation = V1 {
        schema: SCHEMA,
        sentence: &document.sentence,
        method: &document.method,
        rows: rows.collect(),
        not_judged: rowless,
    };
    crate::layout::json::render(&explanation, out)
}

fn argument(trace: &DecisionTrace) -> V1Argument {
    let rounds = trace.measured_rounds.iter().enumerate().map(|(at, turn)| V1Round {
        round: turn.round,
        base: turn.base,
        head: turn.head,
        base_first: turn.base_first,
        disturbed: trace.rounds.disturbed[at],
        difference: trace.rounds.differences[at],
    });
    let steps = trace.steps.iter().map(|step| V1Step {
        rounds: step.rounds,
        mean: step.mean,
        half: Some(step.half).filter(|half| half.is_finite()),
        ranks: step.ranks.map(|ranks| V1Ranks { centre: ranks.centre, low: ranks.low, high: ranks.high }),
        unresolved: step.unresolved,
        log10_worse: step.ln_worse / LN_10,
        log10_better: step.ln_better / LN_10,
    });
    V1Argument {
        ruled: trace.ruled(),
        suspects: trace.candidates,
        target: trace.target,
        min_effect: trace.min_effect,
        scale: trace.result.scale,
        log10_needed_worse: trace.log10_red(),
        log10_needed_better: trace.log10_improved(),
        rounds: rounds.collect(),
        steps: steps.collect(),
    }
}
